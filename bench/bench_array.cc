// Putting a host array on devices and gathering it again, beside memcpy of the same bytes.
//
// Put takes fresh memory on every turn and so pays for its pages; FreshMemcpy does the same.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstring>
#include <memory>

#include "tessera/array/sharded_array.h"
#include "tessera/array/to_host.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"

namespace tessera::array {
namespace {

constexpr int64_t kColumns = 4096;
constexpr int64_t kMiB = 1 << 20;

std::shared_ptr<std::byte> Filled(int64_t bytes) {
  auto memory = AllocateHostMemory(bytes);
  TESSERA_CHECK(memory != nullptr);
  std::memset(memory.get(), 1, static_cast<size_t>(bytes));
  return memory;
}

// memcpy as all cores do it, which is what this machine can move at most.
void CopyOnAllCores(std::byte* target, const std::byte* source, int64_t bytes) {
  ParallelFor(bytes / kMiB, 16, [&](int64_t begin, int64_t end) {
    std::memcpy(target + begin * kMiB, source + begin * kMiB,
                static_cast<size_t>((end - begin) * kMiB));
  });
}

void Memcpy(benchmark::State& state) {
  const int64_t bytes = state.range(0) * kMiB;
  const auto source = Filled(bytes);
  const auto target = Filled(bytes);
  for (auto _ : state) {
    std::memcpy(target.get(), source.get(), static_cast<size_t>(bytes));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * bytes);
}
BENCHMARK(Memcpy)->Arg(64)->Arg(1024)->UseRealTime();

void MemcpyOnAllCores(benchmark::State& state) {
  const int64_t bytes = state.range(0) * kMiB;
  const auto source = Filled(bytes);
  const auto target = Filled(bytes);
  for (auto _ : state) {
    CopyOnAllCores(target.get(), source.get(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * bytes);
}
BENCHMARK(MemcpyOnAllCores)->Arg(64)->Arg(1024)->UseRealTime();

void FreshMemcpyOnAllCores(benchmark::State& state) {
  const int64_t bytes = state.range(0) * kMiB;
  const auto source = Filled(bytes);
  for (auto _ : state) {
    const auto target = AllocateHostMemory(bytes);
    CopyOnAllCores(target.get(), source.get(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * bytes);
}
BENCHMARK(FreshMemcpyOnAllCores)->Arg(64)->Arg(1024)->UseRealTime();

// Rows of kColumns bfloat16 over `devices` devices, by rows or by columns.
struct Case {
  explicit Case(const benchmark::State& state)
      : bytes(state.range(1) * kMiB),
        platform(*device::MakeHostPlatform({.count = state.range(0)})),
        source(Filled(bytes)),
        view(RowMajorView<const std::byte>(source.get(), Dims{bytes / (2 * kColumns), kColumns},
                                           2)) {}
  mesh::Sharding Sharding(const benchmark::State& state, bool by_columns) const {
    const mesh::Mesh mesh = *mesh::Mesh::MakeHost({{"dp", state.range(0)}});
    const mesh::PartitionSpec rows = {"dp"};
    const mesh::PartitionSpec columns = {nullptr, "dp"};
    return *mesh::NamedSharding::Make(mesh, by_columns ? columns : rows);
  }

  int64_t bytes;
  std::unique_ptr<device::Platform> platform;
  std::shared_ptr<std::byte> source;
  ConstStridedView view;
};

void Put(benchmark::State& state, bool by_columns) {
  const Case input(state);
  const mesh::Sharding sharding = input.Sharding(state, by_columns);
  for (auto _ : state) {
    auto array = ShardedArray::FromHost(input.view, DType::kBfloat16, sharding, *input.platform);
    TESSERA_CHECK(array.ok());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * input.bytes);
}

void Gather(benchmark::State& state, bool by_columns) {
  const Case input(state);
  const auto array = *ShardedArray::FromHost(input.view, DType::kBfloat16,
                                             input.Sharding(state, by_columns), *input.platform);
  const auto memory = Filled(input.bytes);
  const StridedView target = RowMajorView(memory.get(), array.shape(), 2);
  for (auto _ : state) {
    TESSERA_CHECK(GatherInto(array, *input.platform, DType::kBfloat16, target).ok());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * input.bytes);
}

// Gather into another dtype.
void GatherAsFloat32(benchmark::State& state) {
  const Case input(state);
  const auto array = *ShardedArray::FromHost(input.view, DType::kBfloat16,
                                             input.Sharding(state, false), *input.platform);
  const auto memory = Filled(2 * input.bytes);
  const StridedView target = RowMajorView(memory.get(), array.shape(), 4);
  for (auto _ : state) {
    TESSERA_CHECK(GatherInto(array, *input.platform, DType::kFloat32, target).ok());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * 3 * input.bytes);
}

// One device more or less, or one byte, must cost its share and no more.
void Sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t mib : {64, 1024}) {
    for (const int64_t devices : {1, 8, 64, 512}) bench->Args({devices, mib});
  }
  bench->UseRealTime();
}

BENCHMARK_CAPTURE(Put, Rows, false)->Apply(Sizes);
BENCHMARK_CAPTURE(Put, Columns, true)->Apply(Sizes);
BENCHMARK_CAPTURE(Gather, Rows, false)->Apply(Sizes);
BENCHMARK_CAPTURE(Gather, Columns, true)->Apply(Sizes);
BENCHMARK(GatherAsFloat32)->Args({8, 1024})->UseRealTime();

// What a device costs beside its bytes.
void PutSmall(benchmark::State& state) {
  const auto platform = *device::MakeHostPlatform({.count = state.range(0)});
  const mesh::Mesh mesh = *mesh::Mesh::MakeHost({{"dp", state.range(0)}});
  const mesh::Sharding sharding = *mesh::NamedSharding::Make(mesh, {"dp"});
  const auto source = Filled(state.range(0) * 64);
  const auto view = RowMajorView<const std::byte>(source.get(), Dims{state.range(0), 32}, 2);
  for (auto _ : state) {
    auto array = ShardedArray::FromHost(view, DType::kBfloat16, sharding, *platform);
    TESSERA_CHECK(array.ok());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(PutSmall)->Arg(1)->Arg(8)->Arg(64)->Arg(512)->UseRealTime();

}  // namespace
}  // namespace tessera::array

BENCHMARK_MAIN();
