#include "tessera/inspect/npy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "tessera/checkpoint/load_array.h"
#include "tessera/core/buffer.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"
#include "tessera/inspect/look_policy.h"
#include "tessera/inspect/values.h"
#include "tessera/store/file_handle.h"
#include "tessera/store/file_replace.h"

namespace tessera::inspect {
namespace {

using checkpoint::ArrayReader;

constexpr size_t kAlignment = 64;
// NumPy leaves room for so many digits of the first size, so that a file can grow in place.
constexpr size_t kGrowthDigits = 21;

std::string TupleText(DimsView shape) {
  std::string text = "(";
  for (size_t d = 0; d < shape.size(); ++d) text += Concat(d == 0 ? "" : ", ", shape[d]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

// So many rows of one dimension, all of the inner ones and one of each outer one follow one another
// in the file.
Dims RowBlock(const Selection& selection, DimsView chunk_shape, int64_t most_elements) {
  Dims block = selection.counts();
  int64_t inner = 1;
  for (size_t d = block.size(); d-- > 0;) {
    const int64_t fit = std::max<int64_t>(1, most_elements / inner);
    if (fit >= block[d]) {
      inner *= block[d];
      continue;
    }
    // Whole chunks where they fit, so that each is read once.
    block[d] = fit < chunk_shape[d] ? fit : fit / chunk_shape[d] * chunk_shape[d];
    std::fill(block.begin(), block.begin() + static_cast<ptrdiff_t>(d), 1);
    break;
  }
  return block;
}

Selection PartOf(const Selection& selection, const Box& box) {
  Selection part = selection;
  for (int d = 0; d < box.rank(); ++d) {
    part = part.Part(static_cast<size_t>(d), box.begin(d), box.shape()[d]);
  }
  return part;
}

struct FilePlace {
  std::string folder;
  std::string name;
};

absl::StatusOr<FilePlace> PlaceOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  FilePlace place{slash == std::string::npos ? "." : path.substr(0, slash + 1),
                  slash == std::string::npos ? path : path.substr(slash + 1)};
  if (place.name.empty()) return InvalidArgument(path, ": expected the path of a file");
  return place;
}

absl::Status CheckFree(const std::string& path, bool overwrite) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : store::ErrnoStatus(errno, "look at", path);
  }
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgument(path, ": there is something that is no file, expected nothing there");
  }
  if (overwrite) return absl::OkStatus();
  return absl::AlreadyExistsError(Concat(path, ": there is a file already"));
}

absl::Status WriteElements(const ArrayReader& reader, const checkpoint::CheckpointArray& array,
                           const Selection& selection, store::FileAppender& file,
                           const WriteNpyOptions& options, IoContext& io,
                           const std::stop_token& stop) {
  if (selection.empty()) return absl::OkStatus();
  const int64_t element_bytes = DTypeBytes(array.dtype());
  const Dims counts = selection.counts();
  const Dims block =
      RowBlock(selection, array.chunk_shape(), io.budget().limit() / 4 / element_bytes);
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(Box::Whole(counts), block));
  Buffer buffer;
  for (int64_t i = 0; i < cells.size(); ++i) {
    const Box box = CellBox(cells.at(i), block, counts);
    TESSERA_ASSIGN_OR_RETURN(const int64_t elements, box.num_elements());
    const auto room = buffer.Resize(static_cast<size_t>(elements * element_bytes));
    TESSERA_RETURN_IF_ERROR(ReadSelection(reader, array, PartOf(selection, box),
                                          RowMajorView(room.data(), box.shape(), element_bytes), io,
                                          stop));
    TESSERA_RETURN_IF_ERROR(file.Append(room));
    if (options.on_bytes != nullptr) options.on_bytes(elements * element_bytes);
  }
  return absl::OkStatus();
}

}  // namespace

bool NpyKnows(DType dtype) {
  const std::string_view code = InfoOf(dtype).zarr2;
  return !code.empty() && (code[0] == '<' || code[0] == '|');
}

std::string NpyDescr(DType dtype) {
  if (NpyKnows(dtype)) return std::string(InfoOf(dtype).zarr2);
  return Concat("<V", DTypeBytes(dtype));
}

std::string NpyHeader(DType dtype, DimsView shape) {
  std::string header = Concat("{'descr': '", NpyDescr(dtype),
                              "', 'fortran_order': False, 'shape': ", TupleText(shape), ", }");
  if (!shape.empty()) header.append(kGrowthDigits - std::to_string(shape[0]).size(), ' ');
  constexpr size_t kBefore = 10;  // magic, version and length
  header.append(kAlignment - (kBefore + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  const std::string length = {static_cast<char>(header.size() & 0xFF),
                              static_cast<char>(header.size() >> 8)};
  return Concat("\x93NUMPY", std::string_view("\x01\x00", 2), length, header);
}

absl::Status WriteNpy(const checkpoint::Checkpoint& checkpoint,
                      const checkpoint::CheckpointArray& array, const Selection& selection,
                      const std::string& path, const WriteNpyOptions& options, IoContext& io,
                      std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const FilePlace place, PlaceOf(path));
  TESSERA_RETURN_IF_ERROR(CheckFree(path, options.overwrite));
  const store::FileHandle folder(open(place.folder.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  if (!folder.valid()) return store::ErrnoStatus(errno, "open the folder of", path);
  TESSERA_ASSIGN_OR_RETURN(const ArrayReader reader,
                           ArrayReader::Make(checkpoint, array, kLookPolicy));
  const auto fill = [&](const store::FileHandle& file) -> absl::Status {
    store::FileAppender appender(file, store::WriteBack::kLater, path);
    const std::string header = NpyHeader(array.dtype(), selection.shape());
    TESSERA_RETURN_IF_ERROR(appender.Append(std::as_bytes(std::span(header))));
    return WriteElements(reader, array, selection, appender, options, io, stop);
  };
  return store::ReplaceFile(folder, Concat(".", place.name, ".tmp-"), place.name, fill,
                            store::Syncing(true, 0), path)
      .status();
}

}  // namespace tessera::inspect
