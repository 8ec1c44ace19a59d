// NumPy's .npy files, version 1.0.
//
// NumPy itself lacks the types of ml_dtypes.  It saves them as raw bytes, '<V2' for bfloat16, and
// so does this: numpy.load(path).view(ml_dtypes.bfloat16) has the values back.
#ifndef TESSERA_INSPECT_NPY_H_
#define TESSERA_INSPECT_NPY_H_

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/io_context.h"
#include "tessera/core/shape.h"
#include "tessera/inspect/slice.h"

namespace tessera::inspect {

// "<f4", "|b1", "<V2".
std::string NpyDescr(DType dtype);
// NumPy alone knows what the elements are.
bool NpyKnows(DType dtype);

// The bytes before the elements, the same as numpy.save writes.
std::string NpyHeader(DType dtype, DimsView shape);

struct WriteNpyOptions {
  bool overwrite = false;
  // Told how many bytes of elements were written.
  std::function<void(int64_t bytes)> on_bytes = nullptr;
};

// Writes the selected elements of an array to the file `path`: blocks of rows, as many at once as a
// quarter of the budget holds, or one element; a chunk is read more than once only where a row of
// chunks is larger.  The file appears when it is whole.  AlreadyExists when there is one, unless
// `overwrite`; NotFound without a folder for it; errors of ArrayReader.
absl::Status WriteNpy(const checkpoint::Checkpoint& checkpoint,
                      const checkpoint::CheckpointArray& array, const Selection& selection,
                      const std::string& path, const WriteNpyOptions& options, IoContext& io,
                      std::stop_token stop = {});

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_NPY_H_
