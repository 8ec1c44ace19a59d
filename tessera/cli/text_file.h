// Whole texts that people hand to the command and get from it.
#ifndef TESSERA_CLI_TEXT_FILE_H_
#define TESSERA_CLI_TEXT_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::cli {

// NotFound, or InvalidArgument for a folder, what cannot be read, and more than 16 MiB; the message
// begins with the path.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

// In one step, so that a reader sees the old text or the new one; what is no plain file, such as a
// pipe, is written to.  InvalidArgument, beginning with the path, when it cannot be.
absl::Status WriteTextFile(const std::string& path, std::string_view text);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_TEXT_FILE_H_
