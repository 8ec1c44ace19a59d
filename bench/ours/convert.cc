// convert: a folder of zarr arrays becomes one safetensors file.
#include <string>

#include "bench/ours/verbs.h"
#include "tessera/convert/convert.h"
#include "tessera/core/io_context.h"
#include "tessera/core/status.h"

namespace tessera::bench {

absl::StatusOr<Result> ConvertToSafetensors(const Arguments& arguments) {
  const std::string from = arguments.Text("from"), to = arguments.Text("to");
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_RETURN_IF_ERROR(CheckThere(from));
  // Else it would become a folder with a file in it.
  if (!to.ends_with(".safetensors")) return InvalidArgument("to=", to, " is no *.safetensors");
  // The peer does not read its file again.
  convert::ConvertRequest request{.target = {.format = convert::TargetFormat::kSafetensors}};
  request.verify = false;
  IoContext io;
  convert::ConvertReport report;
  Result result;
  TESSERA_ASSIGN_OR_RETURN(result.measured,
                           Measure(
                               warm, [&] { return Remove(to); },
                               [&]() -> absl::Status {
                                 TESSERA_ASSIGN_OR_RETURN(
                                     report, convert::Convert(from, to, request, {.io = io}));
                                 return absl::OkStatus();
                               }));
  result.bytes = report.nbytes;
  result.more = {{"arrays", report.arrays}};
  return result;
}

}  // namespace tessera::bench
