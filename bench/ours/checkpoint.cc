// ckpt_load and ckpt_save: whole checkpoints onto and from host devices.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "bench/ours/state.h"
#include "bench/ours/verbs.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"

namespace tessera::bench {
namespace {

constexpr int64_t kDevices = 8;

checkpoint::SaveCodec CodecNamed(std::string_view name) {
  if (name == "auto") return checkpoint::AutoCodec{};
  return name == "none" ? checkpoint::CodecList{} : checkpoint::JaxCodec();
}

struct Saved {
  checkpoint::SaveReport report;
  double blocked_seconds = 0;
};

absl::StatusOr<Saved> SaveState(const array::ValueTree& state, const std::string& to,
                                const checkpoint::SaveCodec& codec, checkpoint::Saver& saver) {
  Saved saved;
  const auto start = std::chrono::steady_clock::now();
  TESSERA_ASSIGN_OR_RETURN(const auto future,
                           checkpoint::Save(state).To(to).Codec(codec).Start(saver));
  saved.blocked_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  TESSERA_ASSIGN_OR_RETURN(saved.report, future.Wait());
  return saved;
}

}  // namespace

absl::StatusOr<Result> CheckpointLoad(const Arguments& arguments) {
  const std::string dir = arguments.Text("dir");
  constexpr std::string_view kMeshes[] = {"rows", "columns", "whole"};
  Layout layout;
  TESSERA_ASSIGN_OR_RETURN(layout.how, arguments.Choice("mesh", kMeshes));
  TESSERA_ASSIGN_OR_RETURN(layout.devices, arguments.CountOr("devices", kDevices));
  TESSERA_ASSIGN_OR_RETURN(const bool verify, arguments.FlagOr("verify", true));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const bool wants_digest, arguments.digest());
  TESSERA_RETURN_IF_ERROR(CheckThere(dir));
  TESSERA_ASSIGN_OR_RETURN(const auto platform,
                           device::MakeHostPlatform({.count = layout.devices}));
  IoContext io;
  std::optional<checkpoint::LoadResult> loaded;
  const auto drop = [&] {
    loaded.reset();
    return absl::OkStatus();
  };
  Result result;
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(warm, drop, [&]() -> absl::Status {
                             TESSERA_ASSIGN_OR_RETURN(
                                 loaded, LoadState(dir, layout, verify, *platform, io));
                             return absl::OkStatus();
                           }));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<NamedArray> arrays, ArraysOf(loaded->tree));
  TESSERA_ASSIGN_OR_RETURN(result.bytes, PayloadBytes(arrays));
  result.more = {{"arrays", loaded->report.arrays},
                 {"result_bytes", loaded->report.result_bytes},
                 {"bytes_read", loaded->report.counts.bytes_read}};
  if (!wants_digest) return result;
  TESSERA_ASSIGN_OR_RETURN(result.digest, DigestOf(arrays, *platform));
  return result;
}

absl::StatusOr<Result> CheckpointSave(const Arguments& arguments) {
  const std::string from = arguments.Text("from"), to = arguments.Text("to");
  constexpr std::string_view kCodecs[] = {"zstd", "auto", "none"};
  TESSERA_ASSIGN_OR_RETURN(const std::string codec, arguments.Choice("codec", kCodecs));
  TESSERA_ASSIGN_OR_RETURN(const int64_t devices, arguments.CountOr("devices", kDevices));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_RETURN_IF_ERROR(CheckThere(from));
  TESSERA_ASSIGN_OR_RETURN(const auto platform, device::MakeHostPlatform({.count = devices}));
  IoContext io;
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::LoadResult state,
                           LoadState(from, {"rows", devices}, false, *platform, io));
  checkpoint::Saver saver({.io = &io, .platform = platform.get()});
  Saved saved;
  Result result;
  TESSERA_ASSIGN_OR_RETURN(result.measured,
                           Measure(
                               warm, [&] { return Remove(to); },
                               [&]() -> absl::Status {
                                 TESSERA_ASSIGN_OR_RETURN(
                                     saved, SaveState(state.tree, to, CodecNamed(codec), saver));
                                 return absl::OkStatus();
                               }));
  result.bytes = saved.report.nbytes;
  result.more = {{"blocked_s", saved.blocked_seconds},
                 {"stored_bytes", saved.report.stored_bytes},
                 {"arrays", saved.report.arrays}};
  return result;
}

}  // namespace tessera::bench
