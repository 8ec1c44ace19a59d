// memcpy and sha256: memory alone.
#include <algorithm>
#include <cstring>
#include <memory>

#include "bench/limits/machine.h"
#include "bench/limits/verbs.h"
#include "tessera/core/sha256.h"
#include "tessera/core/status.h"

namespace tessera::bench {
namespace {

constexpr size_t kBlock = size_t{4} << 20;

// Calls work(begin, size) for each block of `bytes`.
absl::Status ForEachBlock(size_t bytes, absl::FunctionRef<void(size_t, size_t)> work) {
  return OnAllCores((bytes + kBlock - 1) / kBlock, [&](size_t block) {
    work(block * kBlock, std::min(kBlock, bytes - block * kBlock));
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<Result> LimitMemcpy(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, arguments.Count("bytes"));
  TESSERA_ASSIGN_OR_RETURN(const bool fresh, arguments.FlagOr("fresh", false));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  const auto size = static_cast<size_t>(bytes);
  TESSERA_ASSIGN_OR_RETURN(const auto source, Memory::Make(size));
  source->Touch();
  std::unique_ptr<Memory> target;
  const auto renew = [&]() -> absl::Status {
    target.reset();  // before the next one is taken
    TESSERA_ASSIGN_OR_RETURN(target, Memory::Make(size));
    if (!fresh) target->Touch();
    return absl::OkStatus();
  };
  Result result{.bytes = bytes};
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(warm, renew, [&] {
                             return ForEachBlock(size, [&](size_t begin, size_t length) {
                               std::memcpy(target->data() + begin, source->data() + begin, length);
                             });
                           }));
  return result;
}

absl::StatusOr<Result> LimitSha256(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, arguments.Count("bytes"));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const auto source, Memory::Make(static_cast<size_t>(bytes)));
  source->Touch();
  Result result{.bytes = bytes};
  TESSERA_ASSIGN_OR_RETURN(
      result.measured, Measure(
                           warm, [] { return absl::OkStatus(); },
                           [&] {
                             return ForEachBlock(source->size(), [&](size_t begin, size_t length) {
                               Sha256 hash;
                               hash.Update(source->span().subspan(begin, length));
                               hash.Finish();
                             });
                           }));
  return result;
}

}  // namespace tessera::bench
