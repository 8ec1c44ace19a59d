// The header of a safetensors file: its tensors and where their bytes lie.
//
// Layout: FORMAT.md.  Pure: text in, values out, no I/O.
#ifndef TESSERA_SAFETENSORS_HEADER_H_
#define TESSERA_SAFETENSORS_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"

namespace tessera::safetensors {

// More than this is refused, by the reference implementation as well.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;
// What stands before the header: its length.
inline constexpr uint64_t kLengthBytes = 8;

// One tensor.  Its bytes are [begin, end) of the data, which follows the header.
struct Tensor {
  std::string name;
  DType dtype = DType::kFloat32;
  Dims shape = {};
  uint64_t begin = 0;
  uint64_t end = 0;
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

struct Header {
  std::vector<Tensor> tensors;  // as their bytes lie
  // Member "__metadata__", in the order of the file.
  std::vector<std::pair<std::string, std::string>> metadata = {};
  friend bool operator==(const Header&, const Header&) = default;
};

// The bytes of a tensor; elements under a byte are packed.  InvalidArgument when they are no whole
// number of bytes, or more than 63 bits count: the product is taken from left to right, so that a
// zero at the end does not undo an overflow.
absl::StatusOr<uint64_t> StoredBytes(DType dtype, DimsView shape);

// The length of the header, from the first bytes of a file of `file_size`.  InvalidArgument when
// there are fewer than eight, the length is above kMaxHeaderBytes, or the file ends before it.
absl::StatusOr<uint64_t> DecodeHeaderLength(std::span<const std::byte> first, uint64_t file_size);

// Reads and validates the text of a header, of a file with `data_size` bytes behind it.
// InvalidArgument, naming tensor and member, for text that is no such header; also for what the
// reference lets pass: a name or a member that stands there twice.  DataLoss when the tensors end
// before the data does, or after.
absl::StatusOr<Header> DecodeHeader(std::string_view text, uint64_t data_size);

// What decides, after reading and before writing, whether a header is good: tensors begin at 0,
// touch one another, have the bytes that their shapes say, names are unique and UTF-8, dtypes have
// a code.  Returns the end of the last one.  InvalidArgument naming the tensor; Unimplemented for a
// dtype without a code.
absl::StatusOr<uint64_t> Validate(const Header& header);

// The length and the text, filled up with spaces so that the data begins at a multiple of
// `alignment`: byte for byte what the reference writes for 8.  `__metadata__` comes first, in the
// order given.  Errors of Validate; InvalidArgument above kMaxHeaderBytes, also of the alignment.
absl::StatusOr<std::string> EncodeHeader(const Header& header, uint64_t alignment = 8);

// The members of one tensor, as the header has them: `{"dtype":..,"shape":..,"data_offsets":..}`.
std::string TensorText(const Tensor& tensor);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_HEADER_H_
