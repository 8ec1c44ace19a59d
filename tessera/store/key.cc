#include "tessera/store/key.h"

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::store {
namespace {

constexpr size_t kLongestName = 255;

// What is wrong with one name of a key; empty when nothing is.
std::string_view ProblemOf(std::string_view name) {
  if (name.empty()) return "has an empty name";
  if (name == "." || name == "..") return "has a name that is '.' or '..'";
  if (name.size() > kLongestName) return "has a name of more than 255 bytes";
  if (name.find('\0') != std::string_view::npos) return "has a NUL byte";
  if (name.find(kTemporaryMark) != std::string_view::npos) return "has the mark of temporary files";
  return {};
}

absl::Status ValidateNames(std::string_view kind, std::string_view text, std::string_view names) {
  while (true) {
    const size_t slash = names.find('/');
    const std::string_view problem = ProblemOf(names.substr(0, slash));
    if (!problem.empty()) return InvalidArgument(kind, " ", Quoted(text), " ", problem);
    if (slash == std::string_view::npos) return absl::OkStatus();
    names.remove_prefix(slash + 1);
  }
}

}  // namespace

absl::Status ValidateKey(std::string_view key) { return ValidateNames("key", key, key); }

absl::Status ValidatePrefix(std::string_view prefix) {
  const size_t slash = prefix.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? prefix : prefix.substr(slash + 1);
  if (last.find('\0') != std::string_view::npos) {
    return InvalidArgument("prefix ", Quoted(prefix), " has a NUL byte");
  }
  if (slash == std::string_view::npos) return absl::OkStatus();
  return ValidateNames("prefix", prefix, prefix.substr(0, slash));
}

std::pair<std::string_view, std::string_view> SplitKey(std::string_view key) {
  const size_t slash = key.rfind('/');
  if (slash == std::string_view::npos) return {{}, key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

absl::Status ValidateMove(std::string_view from, std::string_view to) {
  for (const std::string_view prefix : {from, to}) {
    TESSERA_RETURN_IF_ERROR(ValidatePrefix(prefix));
    if (!prefix.empty() && !prefix.ends_with('/')) {
      return InvalidArgument("prefix ", Quoted(prefix), " of a move does not end in '/'");
    }
  }
  if (!to.starts_with(from)) return absl::OkStatus();
  return InvalidArgument("what begins with ", Quoted(from), " cannot move to ", Quoted(to),
                         ", which lies inside");
}

}  // namespace tessera::store
