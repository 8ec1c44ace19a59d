#include "tessera/comm/engine.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera::comm {

std::string RanksText(std::span<const int> ranks) {
  constexpr size_t kNamed = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) {
    text += Concat(i == 0 ? "" : ", ", ranks[i]);
  }
  if (ranks.size() > kNamed) text += Concat(" and ", ranks.size() - kNamed, " others");
  return text;
}

std::string Call::Text() const { return Concat(name, " (call ", index, ")"); }

}  // namespace tessera::comm
