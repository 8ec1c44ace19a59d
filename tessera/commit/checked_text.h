// A text whose first line is the hash of the rest.
//
// A power cut may leave a record cut short.  One whose hash is wrong was never whole, so what it
// was to say has not happened.
#ifndef TESSERA_COMMIT_CHECKED_TEXT_H_
#define TESSERA_COMMIT_CHECKED_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tessera::commit {

std::string AddHash(std::string_view text);

// The text after the first line.  DataLoss when it is not what that line says.
absl::StatusOr<std::string_view> RemoveHash(std::string_view text);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_CHECKED_TEXT_H_
