// State on host devices: loaded from a checkpoint, taken apart by name, and summed up in a digest.
#ifndef TESSERA_BENCH_OURS_STATE_H_
#define TESSERA_BENCH_OURS_STATE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/sharded_array.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/load_tree.h"
#include "tessera/core/io_context.h"
#include "tessera/device/device.h"

namespace tessera::bench {

struct Layout {
  std::string how;  // "rows", "columns" or "whole"
  int64_t devices = 1;
};

// Everything at `from` onto the layout's devices: the first or second dimension split, arrays of
// one dimension whole on each.  Bytes are held against a manifest where there is one and `verify`.
absl::StatusOr<checkpoint::LoadResult> LoadState(const std::string& from, const Layout& layout,
                                                 bool verify, device::Platform& platform,
                                                 IoContext& io);

// Everything at `from`, which nobody vouches for, whole on one device.
absl::StatusOr<checkpoint::LoadResult> LoadWhole(const std::string& from,
                                                 device::Platform& platform, IoContext& io);

struct NamedArray {
  std::string name;  // its key with slashes
  array::ShardedArray array;
};

// By name.
absl::StatusOr<std::vector<NamedArray>> ArraysOf(const array::ValueTree& tree);

// Of each array once, on however many devices it is.
absl::StatusOr<int64_t> PayloadBytes(std::span<const NamedArray> arrays);

// Of the gathered arrays.
absl::StatusOr<std::string> DigestOf(std::span<const NamedArray> arrays,
                                     const device::Platform& platform);

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_OURS_STATE_H_
