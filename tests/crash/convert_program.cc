// Converts checkpoints until it is killed, and looks at what is there.
//
//   convert_program make FOLDER SEED            writes arrays that follow from the seed
//   convert_program convert SOURCE MADE FORMAT  prints "resumed N of M"; replaces what is there
//   convert_program which MADE SOURCE...        prints the place of the source that MADE is, from
//   0,
//                                               or "none" when there is nothing
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>

#include "tessera/checkpoint/content_hash.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/convert/convert.h"
#include "tessera/convert/testing/folders.h"
#include "tessera/core/environment.h"
#include "tessera/core/sha256.h"
#include "tessera/core/status.h"

namespace tessera::convert {
namespace {

constexpr int kArrays = 30;

absl::Status Make(const std::string& folder, int64_t seed) {
  testing::ZarrFolder source(folder);
  for (int i = 0; i < kArrays; ++i) {
    const ShapeDtype about{{128 + 8 * i, 500}, i % 3 == 0 ? DType::kFloat32 : DType::kBfloat16};
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

absl::Status Digest(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    std::printf("none\n");
    return absl::OkStatus();
  }
  IoContext io;
  // A lone file has nothing to be held against, and a source was never sealed.
  if (std::filesystem::is_directory(path)) {
    TESSERA_ASSIGN_OR_RETURN(const auto store, store::OpenFileStore(path));
    TESSERA_ASSIGN_OR_RETURN(const checkpoint::VerifyReport report,
                             checkpoint::VerifyCheckpoint(*store, io));
    if (!report.ok()) return DataLoss("verify: ", report.problems.front().problem);
  }
  std::string text;
  for (const auto& [key, hash] : testing::ContentOf(path, io)) text += Concat(key, " ", hash, "\n");
  std::printf("%s\n", Sha256Text(std::as_bytes(std::span(text))).c_str());
  return absl::OkStatus();
}

absl::Status Run(int argc, char** argv) {
  const std::string verb = argc < 3 ? "" : argv[1];
  if (verb == "make" && argc == 4) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t seed, ParseInteger(argv[3]));
    return Make(argv[2], seed);
  }
  if (verb == "convert" && argc == 5) return ConvertTo(argv[2], argv[3], argv[4]);
  if (verb == "digest") return Digest(argv[2]);
  return InvalidArgument("usage: ", argv[0], " make|convert|digest ...");
}

}  // namespace
}  // namespace tessera::convert

int main(int argc, char** argv) {
  const absl::Status status = tessera::convert::Run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
