// A document, a NUL and the bytes of the first chunk: opened and read within a small budget, they
// give elements or an error, and touch nothing else.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/store/memory_store.h"
#include "tessera/zarr/array.h"

namespace tessera::zarr {
namespace {

constexpr int64_t kMost = 1 << 20;

void ReadOnce(Format format, std::span<const std::byte> document,
              std::span<const std::byte> chunk) {
  const auto store = store::MakeMemoryStore();
  TESSERA_CHECK(store->Write(MetadataName(format), document).ok());
  const auto array = Array::Open(*store, "");
  if (!array.ok()) return;
  const Dims first(array->metadata().shape.size(), 0);
  TESSERA_CHECK(store->Write(array->KeyOf(first), chunk).ok());
  const ShapeDtype about = array->shape_dtype();
  const auto bytes = NumBytes(about.dtype, about.shape);
  if (!bytes.ok() || *bytes > kMost) return;
  std::vector<std::byte> memory(*bytes);
  IoContext io({.in_flight = 1, .compute = 1, .budget_bytes = kMost});
  const auto report =
      array->Read(Box::Whole(about.shape),
                  RowMajorView(memory.data(), about.shape, DTypeBytes(about.dtype)), io);
  TESSERA_CHECK(io.budget().in_use() == 0 && io.budget().peak() <= kMost);
  if (!report.ok()) return;
  TESSERA_CHECK(report->absent_chunks >= static_cast<int64_t>(report->absent.size()));
}

}  // namespace
}  // namespace tessera::zarr

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* end = static_cast<const uint8_t*>(size == 0 ? nullptr : std::memchr(data, 0, size));
  if (end == nullptr) return 0;
  const auto document = std::as_bytes(std::span(data, end));
  const auto chunk = std::as_bytes(std::span(end + 1, data + size));
  tessera::zarr::ReadOnce(tessera::zarr::Format::kV2, document, chunk);
  tessera::zarr::ReadOnce(tessera::zarr::Format::kV3, document, chunk);
  return 0;
}
