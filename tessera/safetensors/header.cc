#include "tessera/safetensors/header.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"
#include "tessera/safetensors/header_parser.h"

namespace tessera::safetensors {
namespace {

// Names that may stand there once.
class Names {
 public:
  explicit Names(size_t count) { seen_.reserve(count); }

  // `name` outlives the set.
  absl::Status Add(std::string_view name) {
    if (!IsValidUtf8(name)) return InvalidArgument("the name is not UTF-8");
    if (!seen_.insert(absl::string_view(name.data(), name.size())).second) {
      return InvalidArgument("the name stands there twice");
    }
    return absl::OkStatus();
  }

 private:
  absl::flat_hash_set<absl::string_view> seen_;
};

absl::Status InTensor(std::string_view name, const absl::Status& status) {
  return Prefixed(status, Concat("tensor ", Quoted(name)));
}

absl::Status ValidateMetadata(const Header& header) {
  Names names(header.metadata.size());
  for (const auto& [name, value] : header.metadata) {
    absl::Status status = names.Add(name);
    if (status.ok() && !IsValidUtf8(value)) status = InvalidArgument("the value is not UTF-8");
    if (!status.ok()) return Prefixed(status, Concat(kMetadataMember, ": ", Quoted(name)));
  }
  return absl::OkStatus();
}

absl::Status ValidateNames(const Header& header) {
  Names names(header.tensors.size());
  for (const Tensor& tensor : header.tensors) {
    absl::Status status = names.Add(tensor.name);
    if (tensor.name == kMetadataMember) status = InvalidArgument("no tensor can have that name");
    if (!status.ok()) return InTensor(tensor.name, status);
  }
  return absl::OkStatus();
}

// Every byte of the data is of one tensor.
absl::Status ValidateOffsets(const Tensor& tensor, const Tensor* before) {
  const uint64_t expected = before == nullptr ? 0 : before->end;
  if (tensor.begin != expected && before == nullptr) {
    return InvalidArgument("data_offsets: it begins at ", tensor.begin,
                           ", and bytes before it have no tensor");
  }
  if (tensor.begin > expected) {
    return InvalidArgument("data_offsets: it begins at ", tensor.begin, ", but ",
                           Quoted(before->name), " before it ends at ", expected,
                           ": the bytes between have no tensor");
  }
  if (tensor.begin < expected) {
    return InvalidArgument("data_offsets: it begins at ", tensor.begin, ", but ",
                           Quoted(before->name), " before it ends at ", expected,
                           ": the tensors overlap");
  }
  if (tensor.end < tensor.begin) {
    return InvalidArgument("data_offsets: it ends at ", tensor.end, ", before its begin at ",
                           tensor.begin);
  }
  return absl::OkStatus();
}

absl::Status ValidateTensor(const Tensor& tensor, const Tensor* before) {
  const DTypeInfo& info = InfoOf(tensor.dtype);
  if (info.safetensors.empty()) {
    return Unimplemented("dtype ", info.name, " cannot be stored in safetensors");
  }
  TESSERA_RETURN_IF_ERROR(ValidateOffsets(tensor, before));
  TESSERA_ASSIGN_OR_RETURN(const uint64_t bytes, StoredBytes(tensor.dtype, tensor.shape));
  if (tensor.end - tensor.begin != bytes) {
    return InvalidArgument("data_offsets: [", tensor.begin, ",", tensor.end, ") are ",
                           tensor.end - tensor.begin, " bytes; ", info.safetensors, " of shape ",
                           ShapeText(tensor.shape), " has ", bytes);
  }
  return absl::OkStatus();
}

bool LiesBefore(const Tensor& a, const Tensor& b) {
  return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
}

void AppendEscaped(char c, std::string& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
  }
}

bool NeedsEscape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void AppendString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const size_t plain = std::find_if(text.begin(), text.end(), NeedsEscape) - text.begin();
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    AppendEscaped(text[0], out);
    text.remove_prefix(1);
  }
  out += '"';
}

void AppendTensor(const Tensor& tensor, std::string& out) {
  fmt::format_to(std::back_inserter(out), R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                 InfoOf(tensor.dtype).safetensors, fmt::join(tensor.shape, ","), tensor.begin,
                 tensor.end);
}

void AppendMetadata(const Header& header, std::string& out) {
  AppendString(kMetadataMember, out);
  char separator = '{';
  out += ':';
  for (const auto& [name, value] : header.metadata) {
    out += separator;
    AppendString(name, out);
    out += ':';
    AppendString(value, out);
    separator = ',';
  }
  out += '}';
}

std::string HeaderText(const Header& header) {
  std::string text = "{";
  if (!header.metadata.empty()) AppendMetadata(header, text);
  for (const Tensor& tensor : header.tensors) {
    if (text.size() > 1) text += ',';
    AppendString(tensor.name, text);
    text += ':';
    AppendTensor(tensor, text);
  }
  text += '}';
  return text;
}

}  // namespace

absl::StatusOr<uint64_t> StoredBytes(DType dtype, DimsView shape) {
  TESSERA_RETURN_IF_ERROR(ValidateShape(shape));
  const DTypeInfo& info = InfoOf(dtype);
  int64_t bits = 1;
  bool fits = true;
  for (const int64_t size : shape) fits = fits && !__builtin_mul_overflow(bits, size, &bits);
  if (!fits || __builtin_mul_overflow(bits, int64_t{info.bits}, &bits)) {
    return InvalidArgument("shape: the bits of ", info.name, " of shape ", ShapeText(shape),
                           " do not fit 63 bits");
  }
  if (bits % 8 != 0) {
    return InvalidArgument("shape: ", info.name, " of shape ", ShapeText(shape), " has ", bits,
                           " bits, which are no whole bytes");
  }
  return static_cast<uint64_t>(bits) / 8;
}

absl::StatusOr<uint64_t> DecodeHeaderLength(std::span<const std::byte> first, uint64_t file_size) {
  const uint64_t available = std::min<uint64_t>(first.size(), file_size);
  if (available < kLengthBytes) {
    return InvalidArgument("the file has ", available, " bytes; a safetensors file begins with ",
                           kLengthBytes, " that are the length of its header");
  }
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i > 0; --i) {
    length = (length << 8) | std::to_integer<uint64_t>(first[i - 1]);
  }
  if (length > kMaxHeaderBytes) {
    return InvalidArgument("the header has a length of ", length, " bytes; at most ",
                           kMaxHeaderBytes, " are allowed");
  }
  if (length > file_size - kLengthBytes) {
    return InvalidArgument("the header has a length of ", length, " bytes, but the file ends ",
                           file_size - kLengthBytes, " bytes after it begins");
  }
  return length;
}

absl::StatusOr<Header> DecodeHeader(std::string_view text, uint64_t data_size) {
  if (text.size() > kMaxHeaderBytes) {
    return InvalidArgument("the header has ", text.size(), " bytes; at most ", kMaxHeaderBytes,
                           " are allowed");
  }
  if (const auto bad = FirstInvalidUtf8(text); bad.has_value()) {
    return InvalidArgument("byte ", *bad, ": the header is not UTF-8");
  }
  TESSERA_ASSIGN_OR_RETURN(Header header, ParseHeader(text));
  // Tensors of no bytes keep their order, so that what was written as the reference writes it comes
  // out the same.
  if (!std::is_sorted(header.tensors.begin(), header.tensors.end(), LiesBefore)) {
    std::stable_sort(header.tensors.begin(), header.tensors.end(), LiesBefore);
  }
  TESSERA_ASSIGN_OR_RETURN(const uint64_t end, Validate(header));
  if (end > data_size) {
    return DataLoss("the tensors have ", end, " bytes, but only ", data_size,
                    " follow the header: the file is cut short");
  }
  if (end < data_size) {
    return DataLoss("the tensors have ", end, " bytes, but ", data_size,
                    " follow the header: the last ", data_size - end, " have no tensor");
  }
  return header;
}

absl::StatusOr<uint64_t> Validate(const Header& header) {
  TESSERA_RETURN_IF_ERROR(ValidateMetadata(header));
  TESSERA_RETURN_IF_ERROR(ValidateNames(header));
  const Tensor* before = nullptr;
  for (const Tensor& tensor : header.tensors) {
    const absl::Status status = ValidateTensor(tensor, before);
    if (!status.ok()) return InTensor(tensor.name, status);
    before = &tensor;
  }
  return before == nullptr ? 0 : before->end;
}

absl::StatusOr<std::string> EncodeHeader(const Header& header, uint64_t alignment) {
  TESSERA_RETURN_IF_ERROR(Validate(header));
  if (alignment == 0 || alignment > kMaxHeaderBytes) {
    return InvalidArgument("the alignment of the data is ", alignment, "; expected 1 to ",
                           kMaxHeaderBytes);
  }
  const std::string text = HeaderText(header);
  const uint64_t unfilled = kLengthBytes + text.size();
  const uint64_t whole = (unfilled + alignment - 1) / alignment * alignment;
  const uint64_t length = whole - kLengthBytes;
  if (length > kMaxHeaderBytes) {
    return InvalidArgument("the header would have ", length, " bytes; at most ", kMaxHeaderBytes,
                           " are allowed");
  }
  std::string encoded;
  encoded.reserve(whole);
  for (size_t i = 0; i < kLengthBytes; ++i) encoded += static_cast<char>(length >> (8 * i));
  encoded += text;
  encoded.resize(whole, ' ');
  return encoded;
}

std::string TensorText(const Tensor& tensor) {
  std::string text;
  AppendTensor(tensor, text);
  return text;
}

}  // namespace tessera::safetensors
