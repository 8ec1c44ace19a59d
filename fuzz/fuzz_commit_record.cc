// Any bytes as the records of a save and of a commit, as they are and behind a hash that fits them:
// decoded or refused, and what is decoded comes back when it is written again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/commit/checked_text.h"
#include "tessera/commit/commit_record.h"
#include "tessera/commit/save_record.h"
#include "tessera/core/status.h"

namespace {

using namespace tessera::commit;

void CheckRefusal(const absl::Status& status) {
  TESSERA_CHECK(absl::IsInvalidArgument(status) || absl::IsDataLoss(status) ||
                absl::IsUnimplemented(status));
}

void Decode(std::string_view text) {
  if (const auto save = DecodeSaveRecord(text); save.ok()) {
    const auto back = DecodeSaveRecord(EncodeSaveRecord(*save));
    TESSERA_CHECK(back.ok() && *back == *save);
  } else {
    CheckRefusal(save.status());
  }
  if (const auto commit = DecodeCommitRecord(text); commit.ok()) {
    const auto again = EncodeCommitRecord(*commit);
    TESSERA_CHECK(again.ok());
    const auto back = DecodeCommitRecord(*again);
    TESSERA_CHECK(back.ok() && *back == *commit);
  } else {
    CheckRefusal(commit.status());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Decode(text);
  Decode(AddHash(text));
  return 0;
}
