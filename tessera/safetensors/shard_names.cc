#include "tessera/safetensors/shard_names.h"

#include <fmt/format.h>

#include "tessera/core/status.h"

namespace tessera::safetensors {
namespace {

constexpr std::string_view kFileSuffix = ".safetensors";
constexpr std::string_view kIndexSuffix = ".safetensors.index.json";

// Cuts a run of at least five ASCII digits from the end; false when there is none.
bool CutNumber(std::string_view& text) {
  constexpr size_t kLeastDigits = 5;
  const size_t last = text.find_last_not_of("0123456789");
  const size_t begin = last == std::string_view::npos ? 0 : last + 1;
  if (text.size() - begin < kLeastDigits) return false;
  text = text.substr(0, begin);
  return true;
}

bool CutSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

}  // namespace

std::string DeriveBasePrefixFromPath(std::string_view path) {
  std::string_view stem = path;
  if (CutSuffix(stem, kIndexSuffix)) return std::string(stem);
  CutSuffix(stem, kFileSuffix);
  std::string_view rest = stem;
  if (CutNumber(rest) && CutSuffix(rest, "-of-") && CutNumber(rest) && CutSuffix(rest, "-")) {
    return std::string(rest);
  }
  return std::string(stem);
}

absl::StatusOr<std::string> ShardFilename(std::string_view base_prefix, int64_t index,
                                          int64_t total) {
  if (index < 1 || index > total) {
    return InvalidArgument("shard_filename: shard ", index, " of ", total,
                           "; expected 1 <= shard <= total");
  }
  return fmt::format("{}-{:05}-of-{:05}{}", base_prefix, index, total, kFileSuffix);
}

std::string IndexFilename(std::string_view base_prefix) {
  return Concat(base_prefix, kIndexSuffix);
}

}  // namespace tessera::safetensors
