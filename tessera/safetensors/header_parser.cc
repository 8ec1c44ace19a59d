#include "tessera/safetensors/header_parser.h"

#include <limits>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/safetensors/json_cursor.h"

namespace tessera::safetensors {
namespace {

constexpr std::string_view kDType = "dtype";
constexpr std::string_view kShape = "shape";
constexpr std::string_view kOffsets = "data_offsets";

class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : cursor_(text) {
    // Those of real models have somewhat more; a hostile text reserves no more than its own size.
    constexpr size_t kLikelyEntryBytes = 100;
    header_.tensors.reserve(text.size() / kLikelyEntryBytes);
  }

  absl::StatusOr<Header> Parse() && {
    TESSERA_RETURN_IF_ERROR(cursor_.Object([this](std::string_view key) { return Member(key); }));
    TESSERA_RETURN_IF_ERROR(cursor_.End());
    return std::move(header_);
  }

 private:
  absl::Status Member(std::string_view key) {
    if (key == kMetadataMember) return Within(kMetadataMember, Metadata());
    Tensor& tensor = header_.tensors.emplace_back();
    tensor.name = key;
    const absl::Status status = Entry(tensor);
    if (status.ok()) return status;
    return Prefixed(status, Concat("tensor ", Quoted(tensor.name)));
  }

  static absl::Status Within(std::string_view member, absl::Status status) {
    return status.ok() ? status : Prefixed(status, member);
  }

  absl::Status Metadata() {
    if (std::exchange(has_metadata_, true)) {
      return InvalidArgument("byte ", cursor_.NextByte(), ": the member stands there twice");
    }
    if (cursor_.NextIs('n')) return cursor_.Any().status();
    return cursor_.Object([this](std::string_view key) {
      auto& [name, value] = header_.metadata.emplace_back(key, std::string());
      TESSERA_ASSIGN_OR_RETURN(value, Text(Quoted(name)));
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::string> Text(std::string_view member) {
    const absl::StatusOr<std::string_view> text = cursor_.String();
    if (!text.ok()) return Within(member, text.status());
    return std::string(*text);
  }

  absl::Status Entry(Tensor& tensor) {
    bool has_dtype = false;
    bool has_shape = false;
    bool has_offsets = false;
    const size_t begin = cursor_.NextByte();
    TESSERA_RETURN_IF_ERROR(cursor_.Object([&](std::string_view key) {
      if (key == kDType) return Once(kDType, has_dtype, [&] { return ReadDType(tensor); });
      if (key == kShape) return Once(kShape, has_shape, [&] { return ReadShape(tensor); });
      if (key == kOffsets) return Once(kOffsets, has_offsets, [&] { return ReadOffsets(tensor); });
      return cursor_.Any().status();
    }));
    if (has_dtype && has_shape && has_offsets) return absl::OkStatus();
    return InvalidArgument("byte ", begin, ": the member ",
                           !has_dtype   ? kDType
                           : !has_shape ? kShape
                                        : kOffsets,
                           " is missing");
  }

  template <typename Read>
  absl::Status Once(std::string_view member, bool& seen, Read read) {
    if (std::exchange(seen, true)) {
      return InvalidArgument(member, ": byte ", cursor_.NextByte(),
                             ": the member stands there twice");
    }
    return Within(member, read());
  }

  absl::Status ReadDType(Tensor& tensor) {
    const size_t begin = cursor_.NextByte();
    TESSERA_ASSIGN_OR_RETURN(const std::string_view code, cursor_.String());
    for (const DTypeInfo& info : AllDTypes()) {
      if (info.safetensors != code || code.empty()) continue;
      tensor.dtype = info.dtype;
      return absl::OkStatus();
    }
    return InvalidArgument("byte ", begin, ": ", Quoted(code), " is no dtype of the format");
  }

  absl::Status ReadShape(Tensor& tensor) {
    return cursor_.Array([&]() -> absl::Status {
      const size_t begin = cursor_.NextByte();
      TESSERA_ASSIGN_OR_RETURN(const uint64_t size, cursor_.Unsigned());
      if (size > uint64_t{std::numeric_limits<int64_t>::max()}) {
        return InvalidArgument("byte ", begin, ": a size of ", size, " does not fit 63 bits");
      }
      if (tensor.shape.size() == kMaxRank) {
        return InvalidArgument("byte ", begin, ": more than the ", kMaxRank,
                               " dimensions that are supported");
      }
      tensor.shape.push_back(static_cast<int64_t>(size));
      return absl::OkStatus();
    });
  }

  absl::Status ReadOffsets(Tensor& tensor) {
    const size_t begin = cursor_.NextByte();
    uint64_t offsets[2] = {};
    size_t count = 0;
    TESSERA_RETURN_IF_ERROR(cursor_.Array([&]() -> absl::Status {
      TESSERA_ASSIGN_OR_RETURN(const uint64_t offset, cursor_.Unsigned());
      if (count < 2) offsets[count] = offset;
      ++count;
      return absl::OkStatus();
    }));
    if (count != 2) {
      return InvalidArgument("byte ", begin, ": expected begin and end, found ", count, " numbers");
    }
    tensor.begin = offsets[0];
    tensor.end = offsets[1];
    return absl::OkStatus();
  }

  JsonCursor cursor_;
  Header header_;
  bool has_metadata_ = false;
};

}  // namespace

absl::StatusOr<Header> ParseHeader(std::string_view text) { return HeaderParser(text).Parse(); }

}  // namespace tessera::safetensors
