// Converts checkpoints until it is killed, and looks at what is there.
//
//   convert_program make FOLDER SEED            writes arrays that follow from the seed
//   convert_program convert SOURCE MADE FORMAT  prints "resumed N of M"; replaces what is there
//   convert_program which MADE SOURCE...        prints the place of the source that MADE is, from
//   0,
//                                               or "none" when there is nothing
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "tessera/checkpoint/content_hash.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/convert/convert.h"
#include "tessera/convert/testing/folders.h"
#include "tessera/core/environment.h"
#include "tessera/core/status.h"

namespace tessera::convert {
namespace {

constexpr int kArrays = 40;

absl::Status Make(const std::string& folder, int64_t seed) {
  testing::ZarrFolder source(folder);
  for (int i = 0; i < kArrays; ++i) {
    const ShapeDtype about{{256 + 8 * i, 500}, i % 3 == 0 ? DType::kFloat32 : DType::kBfloat16};
    source.AddBytes({Concat("layer", i, "/kernel"), about, {100, 300}},
                    testing::SomeElements(about, static_cast<uint64_t>(seed * kArrays + i)));
  }
  return absl::OkStatus();
}

absl::Status ConvertTo(const std::string& source, const std::string& made,
                       const std::string& format) {
  IoContext io({.in_flight = 4, .budget_bytes = int64_t{32} << 20});
  ConvertRequest request;
  TESSERA_ASSIGN_OR_RETURN(request.target.format, ParseTargetFormat(format));
  if (!made.ends_with(".safetensors")) request.target.shard_bytes = int64_t{4} << 20;
  request.overwrite = true;
  TESSERA_ASSIGN_OR_RETURN(const ConvertReport report, Convert(source, made, request, {.io = io}));
  std::printf("resumed %lld of %lld\n", static_cast<long long>(report.resumed_arrays),
              static_cast<long long>(report.arrays));
  return absl::OkStatus();
}

absl::Status Which(const std::string& made, int count, char** sources) {
  IoContext io;
  if (!std::filesystem::exists(made)) {
    std::printf("none\n");
    return absl::OkStatus();
  }
  if (std::filesystem::is_directory(made)) {
    TESSERA_ASSIGN_OR_RETURN(const auto store, store::OpenFileStore(made));
    TESSERA_ASSIGN_OR_RETURN(const checkpoint::VerifyReport report,
                             checkpoint::VerifyCheckpoint(*store, io));
    if (!report.ok() || report.unsealed_arrays > 0) return DataLoss("verify finds problems");
  }
  const auto content = testing::ContentOf(made, io);
  for (int i = 0; i < count; ++i) {
    if (content != testing::ContentOf(sources[i], io)) continue;
    std::printf("%d\n", i);
    return absl::OkStatus();
  }
  return DataLoss(made, ": it is none of the sources: ", content.begin()->second);
}

absl::Status Run(int argc, char** argv) {
  const std::string verb = argc < 4 ? "" : argv[1];
  if (verb == "make") {
    TESSERA_ASSIGN_OR_RETURN(const int64_t seed, ParseInteger(argv[3]));
    return Make(argv[2], seed);
  }
  if (verb == "convert" && argc == 5) return ConvertTo(argv[2], argv[3], argv[4]);
  if (verb == "which") return Which(argv[2], argc - 3, argv + 3);
  return InvalidArgument("usage: ", argv[0], " make|convert|which ...");
}

}  // namespace
}  // namespace tessera::convert

int main(int argc, char** argv) {
  const absl::Status status = tessera::convert::Run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
