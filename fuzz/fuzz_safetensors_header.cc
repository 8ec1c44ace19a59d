// Any bytes as the text of a header, with as much data behind it as its tensors say: refused, or
// good, and written and read again as the same header.  Also as a whole file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/header.h"
#include "tessera/safetensors/header_parser.h"

namespace {

using namespace tessera::safetensors;

void CheckGood(const Header& header, uint64_t data_size) {
  const auto end = Validate(header);
  TESSERA_CHECK(end.ok() && *end == data_size);
  for (const Tensor& tensor : header.tensors) {
    const auto bytes = StoredBytes(tensor.dtype, tensor.shape);
    TESSERA_CHECK(bytes.ok() && *bytes == tensor.end - tensor.begin);
    const tessera::Dims block = BlockShape(tensor.shape, tensor.dtype, 64);
    for (const int64_t size : block) TESSERA_CHECK(size >= 1);
    const ByteSpan span = SpanOf(tessera::Box::Whole(tensor.shape), tensor.shape, tensor.dtype);
    TESSERA_CHECK(span == (ByteSpan{0, *bytes}));
  }
  const auto encoded = EncodeHeader(header);
  TESSERA_CHECK(encoded.ok());
  const auto length = DecodeHeaderLength(std::as_bytes(std::span(*encoded)), encoded->size());
  TESSERA_CHECK(length.ok() && *length == encoded->size() - kLengthBytes);
  const auto again = DecodeHeader(std::string_view(*encoded).substr(kLengthBytes), data_size);
  TESSERA_CHECK(again.ok() && *again == header);
}

void Decode(std::string_view text, uint64_t data_size) {
  const auto header = DecodeHeader(text, data_size);
  if (header.ok()) {
    CheckGood(*header, data_size);
  } else {
    TESSERA_CHECK(absl::IsInvalidArgument(header.status()) || absl::IsDataLoss(header.status()));
  }
}

// The largest end: what the data must be for the tensors to fill it.
uint64_t EndOf(std::string_view text) {
  uint64_t end = 0;
  if (const auto header = ParseHeader(text); header.ok()) {
    for (const Tensor& tensor : header->tensors) end = std::max(end, tensor.end);
  }
  return end;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Decode(text, EndOf(text));
  const auto length = DecodeHeaderLength(std::as_bytes(std::span(data, size)), size);
  if (!length.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(length.status()));
    return 0;
  }
  TESSERA_CHECK(*length <= size - kLengthBytes);
  Decode(text.substr(kLengthBytes, *length), size - kLengthBytes - *length);
  return 0;
}
