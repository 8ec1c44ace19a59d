#include "tessera/checkpoint/stored_layout.h"

#include <algorithm>
#include <variant>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/tree/stored_path.h"

namespace tessera::checkpoint {

absl::StatusOr<std::vector<std::string>> PrefixFolders(std::string_view prefix) {
  if (prefix.empty()) return std::vector<std::string>();
  std::string slashed(prefix);
  std::replace(slashed.begin(), slashed.end(), '.', '/');
  std::vector<std::string> folders = tree::SplitLegacyPath(slashed);
  for (const std::string& folder : folders) {
    if (!folder.empty()) continue;
    return InvalidArgument("prefix ", Quoted(prefix),
                           " has nothing before, behind or between its dots and slashes");
  }
  return folders;
}

CodecList CodecsFor(CodecList codecs, DType dtype) {
  for (codec::BytesSpec& spec : codecs) {
    if (auto* blosc = std::get_if<codec::BloscSpec>(&spec)) {
      blosc->element_bytes = DTypeBytes(dtype);
    }
  }
  return codecs;
}

}  // namespace tessera::checkpoint
