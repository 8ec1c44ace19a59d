// CopyStrided beside memcpy of the same bytes: whole arrays, blocks of rows, columns, transposes.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/core/strided.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 8192;
constexpr int64_t kColumns = 8192;
constexpr int64_t kElement = 2;  // bfloat16
constexpr int64_t kBytes = kRows * kColumns * kElement;

std::vector<std::byte> Buffer() { return std::vector<std::byte>(kBytes, std::byte{1}); }

void Copy(benchmark::State& state, const ConstStridedView& source, const StridedView& target,
          int64_t bytes) {
  for (auto _ : state) {
    TESSERA_CHECK(CopyStrided(source, target).ok());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * bytes);
}

void Memcpy(benchmark::State& state) {
  const auto source = Buffer();
  auto target = Buffer();
  for (auto _ : state) {
    std::memcpy(target.data(), source.data(), kBytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * kBytes);
}
BENCHMARK(Memcpy);

void Whole(benchmark::State& state) {
  const auto source = Buffer();
  auto target = Buffer();
  const Dims shape{kRows, kColumns};
  Copy(state, RowMajorView(source.data(), shape, kElement),
       RowMajorView(target.data(), shape, kElement), kBytes);
}
BENCHMARK(Whole);

// One column block of a row-major array into a dense buffer: runs of `range` elements.
void ColumnBlock(benchmark::State& state) {
  const auto source = Buffer();
  const int64_t columns = state.range(0);
  std::vector<std::byte> target(static_cast<size_t>(kRows * columns * kElement));
  const auto whole = RowMajorView(source.data(), Dims{kRows, kColumns}, kElement);
  Copy(state, SubView(whole, *Box::Make(Dims{0, columns}, Dims{kRows, columns})),
       RowMajorView(target.data(), Dims{kRows, columns}, kElement), kRows * columns * kElement);
}
BENCHMARK(ColumnBlock)->Arg(16)->Arg(128)->Arg(1024)->Arg(4096);

void Transpose(benchmark::State& state) {
  const auto source = Buffer();
  auto target = Buffer();
  const Dims shape{kRows, kColumns};
  StridedView turned = RowMajorView(target.data(), shape, kElement);
  std::swap(turned.strides[0], turned.strides[1]);
  Copy(state, RowMajorView(source.data(), shape, kElement), turned, kBytes);
}
BENCHMARK(Transpose);

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
