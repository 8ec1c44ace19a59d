// Small arrays of int32 and the devices they lie on, for tests.
#ifndef TESSERA_ARRAY_TESTING_ARRAYS_H_
#define TESSERA_ARRAY_TESTING_ARRAYS_H_

#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/array/host_array.h"
#include "tessera/array/sharded_array.h"
#include "tessera/core/status.h"
#include "tessera/core/strided.h"
#include "tessera/device/host_platform.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array::testing {

using Ints = std::vector<int32_t>;

// dp=2, tp=4 on devices 0 to 7 of process 0.
inline mesh::Mesh Mesh24() { return *mesh::Mesh::MakeHost({{"dp", 2}, {"tp", 4}}); }
inline mesh::NamedSharding On24(mesh::PartitionSpec spec) {
  return *mesh::NamedSharding::Make(Mesh24(), std::move(spec));
}

// The same mesh with device d in process d * ranks / 8, and the devices of one of them.
inline mesh::Mesh Mesh24OverRanks(int ranks) {
  std::vector<mesh::Device> devices;
  for (int64_t d = 0; d < 8; ++d) devices.push_back({d, static_cast<int>(d * ranks / 8)});
  return *mesh::Mesh::Make({{"dp", 2}, {"tp", 4}}, devices);
}
inline mesh::NamedSharding On24OverRanks(int ranks, mesh::PartitionSpec spec) {
  return *mesh::NamedSharding::Make(Mesh24OverRanks(ranks), std::move(spec));
}
inline std::unique_ptr<device::Platform> PlatformOfRank(int ranks, int rank,
                                                        int64_t limit = device::kNoLimit) {
  device::HostPlatformOptions options = {.limit_bytes = limit, .process = rank};
  const mesh::Mesh mesh = Mesh24OverRanks(ranks);
  for (const mesh::Device& device : mesh.devices()) {
    if (device.process == rank) options.ids.push_back(device.id);
  }
  return *device::MakeHostPlatform(options);
}

inline std::unique_ptr<device::Platform> Host(int64_t count, int64_t limit = device::kNoLimit) {
  return *device::MakeHostPlatform({.count = count, .limit_bytes = limit});
}

inline std::vector<int64_t> InUse(const device::Platform& platform) {
  std::vector<int64_t> bytes;
  for (const auto& device : platform.devices()) bytes.push_back(device->in_use());
  return bytes;
}

// 0, 1, 2, ...
inline Ints Iota(int64_t count) {
  Ints values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}
inline ConstStridedView ViewOf(const Ints& values, const Dims& shape) {
  return RowMajorView(reinterpret_cast<const std::byte*>(values.data()), shape, 4);
}

inline HostArray HostIota(const Dims& shape) {
  auto values = std::make_shared<Ints>(Iota(*NumElements(shape)));
  return *HostArray::Borrow(ViewOf(*values, shape), DType::kInt32, values);
}
inline ShardedArray ShardedIota(const Dims& shape, const mesh::Sharding& sharding,
                                device::Platform& platform) {
  return *ShardedArray::FromHost(HostIota(shape).view(), DType::kInt32, sharding, platform);
}

// The elements in C order, whatever the strides.
inline Ints ValuesOf(const ConstStridedView& view) {
  Ints values(static_cast<size_t>(*NumElements(view.shape)));
  const auto target = RowMajorView(reinterpret_cast<std::byte*>(values.data()), view.shape, 4);
  TESSERA_CHECK(CopyStrided(view, target).ok());
  return values;
}
inline Ints ValuesOf(const Shard& shard) { return ValuesOf(shard.View(DType::kInt32)); }
inline Ints ValuesOf(const HostArray& array) { return ValuesOf(array.view()); }

inline mesh::PartitionSpec SpecOf(const ShardedArray& array) {
  return std::get<mesh::NamedSharding>(array.sharding()).spec();
}

}  // namespace tessera::array::testing

#endif  // TESSERA_ARRAY_TESTING_ARRAYS_H_
