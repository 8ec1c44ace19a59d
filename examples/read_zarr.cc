// Writes a bfloat16 array as JAX does, reads a box of it back, and shows what is missing when a
// chunk is lost.
//
// usage: read_zarr [FOLDER]
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/store/file_store.h"
#include "tessera/zarr/array.h"

int main(int count, char** arguments) {
  using namespace tessera;
  const std::string folder = count > 1 ? arguments[1]
                                       : std::filesystem::temp_directory_path() /
                                             ("read_zarr-" + std::to_string(getpid()));
  const auto store = store::OpenFileStore(folder).value();
  IoContext io({.budget_bytes = 64 << 20});

  const Dims shape{6, 8};
  const auto weights = zarr::Array::Create(*store, "params/kernel",
                                           zarr::JaxMetadata({shape, DType::kBfloat16}, Dims{3, 4}))
                           .value();
  std::vector<uint16_t> values(48);
  for (int i = 0; i < 48; ++i) values[i] = static_cast<uint16_t>(0x3f80 + i);
  const ConstStridedView source =
      RowMajorView(reinterpret_cast<const std::byte*>(values.data()), shape, 2);
  const auto written = weights.Write(Box::Whole(shape), source, io).value();
  std::printf("wrote %d chunks\n", static_cast<int>(written.chunks));

  const auto array = zarr::Array::Open(*store, "params/kernel").value();
  std::vector<uint16_t> row(8);
  const Box third = Box::Make(Dims{2, 0}, Dims{1, 8}).value();
  const StridedView target =
      RowMajorView(reinterpret_cast<std::byte*>(row.data()), third.shape(), 2);
  const auto whole = array.Read(third, target, io).value();
  std::printf("row 2 starts with 0x%04x; absent chunks: %d\n", unsigned{row[0]},
              static_cast<int>(whole.absent_chunks));

  if (!store->Delete("params/kernel/0.1").ok()) return 1;
  const auto damaged = array.Read(third, target, io).value();
  for (const auto& absent : damaged.absent) {
    std::printf("lost: %s, which holds %s\n", absent.key.c_str(), absent.box.Text().c_str());
  }
  if (count <= 1) std::filesystem::remove_all(folder);
  return row[0] == 0x3f90 && row[7] == 0 && damaged.absent_chunks == 1 ? 0 : 1;
}
