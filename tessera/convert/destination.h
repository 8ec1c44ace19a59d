// Where a conversion goes: what may be there, and how it lies to the source.
#ifndef TESSERA_CONVERT_DESTINATION_H_
#define TESSERA_CONVERT_DESTINATION_H_

#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/convert/plan.h"
#include "tessera/convert/publish.h"
#include "tessera/convert/request.h"
#include "tessera/convert/source.h"
#include "tessera/core/io_context.h"

namespace tessera::convert {

// A path or a file:// URL.  Unimplemented for other URLs; errors of ResolveDestination.
absl::StatusOr<DestinationPath> ParseDestination(std::string_view location);

// Whether one safetensors file is made, and not a folder; and what its name begins with.
bool IsLoneFile(const DestinationPath& destination, const Target& target);
std::string StemOf(const DestinationPath& destination);

// InvalidArgument when the source lies inside the destination, which might be replaced, or the
// destination inside the source, where its files could be taken for the source's.
absl::Status CheckApart(std::string_view source_location, const ConvertSource& source,
                        const DestinationPath& destination, bool lone_file);

// AlreadyExists when something is there and is not to be replaced; FailedPrecondition when it is to
// be, but is a folder with something else than a checkpoint in it.
absl::Status CheckDestination(const DestinationPath& destination, bool overwrite, IoContext& io,
                              std::stop_token stop);

// What an opened checkpoint calls the path of an array that was planned.
std::string PathOf(const ConvertPlan& plan, const ConvertArray& array);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_DESTINATION_H_
