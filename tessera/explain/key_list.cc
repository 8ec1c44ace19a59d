#include "tessera/explain/key_list.h"

#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::explain {

void KeyList::Add(std::string_view key) {
  if (count_++ < static_cast<int64_t>(kMost)) keys_.emplace_back(key);
}

std::string KeyList::Text() const {
  std::string text;
  for (size_t i = 0; i < keys_.size(); ++i) {
    text += Concat(i == 0 ? "" : ", ", keys_[i].empty() ? "the root" : Quoted(keys_[i]));
  }
  const int64_t others = count_ - static_cast<int64_t>(keys_.size());
  if (others == 0) return text;
  return Concat(text, " and ", CountText(others), others == 1 ? " other" : " others");
}

}  // namespace tessera::explain
