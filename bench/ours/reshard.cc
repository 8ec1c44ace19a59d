// reshard: an array on host devices goes from rows to columns in memory.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/ours/state.h"
#include "bench/ours/verbs.h"
#include "tessera/array/reshard.h"
#include "tessera/comm/alone.h"
#include "tessera/core/convert.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/sharding.h"

namespace tessera::bench {
namespace {

constexpr int64_t kColumns = 32768;

absl::StatusOr<ShapeDtype> ArrayOf(int64_t bytes, DType dtype) {
  const int64_t row = kColumns * DTypeBytes(dtype);
  if (bytes == 0 || bytes % row != 0) {
    return InvalidArgument("bytes=", bytes, " is no multiple of a row, ", row, " bytes");
  }
  return ShapeDtype{{bytes / row, kColumns}, dtype};
}

// Element [row, column] is (7 * row + column) % 251, as in bench/peers: every dtype holds these
// numbers, and no two neighbours are equal.
absl::Status FillNumbers(DType dtype, const Box& box, const StridedView& target) {
  const int64_t columns = box.shape()[1];
  const auto row_bytes = static_cast<size_t>(columns * target.element_bytes);
  std::vector<int32_t> numbers(static_cast<size_t>(columns));
  for (int64_t row = 0; row < box.shape()[0]; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t number = 7 * (box.begin(0) + row) + box.begin(1) + column;
      numbers[static_cast<size_t>(column)] = static_cast<int32_t>(number % 251);
    }
    TESSERA_RETURN_IF_ERROR(
        ConvertElements(DType::kInt32, std::as_bytes(std::span(numbers)), dtype,
                        {target.data + static_cast<size_t>(row) * row_bytes, row_bytes}));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Result> ReshardRowsToColumns(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, arguments.Count("bytes"));
  TESSERA_ASSIGN_OR_RETURN(
      const DType dtype, ParseDType(arguments.Has("dtype") ? arguments.Text("dtype") : "float32"));
  TESSERA_ASSIGN_OR_RETURN(const int64_t devices, arguments.CountOr("devices", 8));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const bool wants_digest, arguments.digest());
  TESSERA_ASSIGN_OR_RETURN(const ShapeDtype about, ArrayOf(bytes, dtype));
  TESSERA_ASSIGN_OR_RETURN(const auto platform, device::MakeHostPlatform({.count = devices}));
  TESSERA_ASSIGN_OR_RETURN(const mesh::Mesh mesh, mesh::Mesh::MakeHost({{"x", devices}}));
  TESSERA_ASSIGN_OR_RETURN(const mesh::Sharding rows, mesh::NamedSharding::Make(mesh, {"x"}));
  TESSERA_ASSIGN_OR_RETURN(const mesh::Sharding columns,
                           mesh::NamedSharding::Make(mesh, {nullptr, "x"}));
  const auto fill = [&](const Box& box, const StridedView& target) {
    return FillNumbers(dtype, box, target);
  };
  TESSERA_ASSIGN_OR_RETURN(const auto source,
                           array::ShardedArray::FromCallback(about, rows, *platform, fill));
  const auto comm = comm::MakeAlone();
  std::optional<array::ShardedArray> moved;
  const auto drop = [&] {
    moved.reset();
    return absl::OkStatus();
  };
  Result result{.bytes = bytes};
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(warm, drop, [&]() -> absl::Status {
                             TESSERA_ASSIGN_OR_RETURN(
                                 moved, array::Reshard(source, columns, *platform, *comm));
                             return absl::OkStatus();
                           }));
  if (!wants_digest) return result;
  const NamedArray named[] = {{"array", *moved}};
  TESSERA_ASSIGN_OR_RETURN(result.digest, DigestOf(named, *platform));
  return result;
}

}  // namespace tessera::bench
