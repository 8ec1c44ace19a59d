// What convert and rechunk have in common: options as a request, and the run of it.
#ifndef TESSERA_CLI_CONVERSION_H_
#define TESSERA_CLI_CONVERSION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/comm/comm.h"
#include "tessera/convert/convert.h"

namespace tessera::cli {

// For calls among ranks that may wait for all the work of another.
comm::Limit WholeWork();

// What a progress line is called: it shows the share of the first rank, where there are several.
std::string ShareText(std::string_view what, const Context& context);

// "RE=>TEXT".
absl::StatusOr<convert::RenameRule> ParseRename(std::string_view text);
// "RE" or "RE=1,0,2".
absl::StatusOr<convert::TransposeRule> ParseTranspose(std::string_view text);
// "KEY=VALUE".
absl::StatusOr<std::pair<std::string, std::string>> ParseMetadataItem(std::string_view text);

// Those that both verbs take.
std::vector<Option> ConversionOptions();

// What both verbs may be told: --prefix, --match, --codec, --overwrite, --no-verify, --no-resume.
absl::StatusOr<convert::ConvertRequest> CommonRequest(const Arguments& arguments);

// --memory, before anything is opened.
absl::Status UseMemory(const Arguments& arguments, Context& context);

// By --to, else by how `destination` ends; nullopt: neither tells.  InvalidArgument for a name that
// is none, and for an ending that two formats share.
absl::StatusOr<std::optional<convert::TargetFormat>> FormatAskedFor(const Arguments& arguments);

// The format that the source is in.
absl::StatusOr<convert::TargetFormat> FormatOfSource(const Arguments& arguments, Context& context);

// Converts, or with --dry-run tells what would be done, and prints.  `done` is the verb as the
// summary has it, `doing` as the progress line has it.
absl::StatusOr<Answer> RunConversion(const convert::ConvertRequest& request,
                                     const Arguments& arguments, Context& context,
                                     std::string_view doing, std::string_view done);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_CONVERSION_H_
