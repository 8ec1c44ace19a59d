#include "tessera/ledger/pickle_writer.h"

#include <bit>
#include <limits>

#include "tessera/core/status.h"
#include "tessera/ledger/pickle_opcodes.h"

namespace tessera::ledger {
namespace {

// Python writes no frame around less.
constexpr size_t kLeastFrame = 4;

// The fewest bytes of two's complement that hold `value`.
size_t SignedBytes(int64_t value) {
  size_t bytes = 8;
  while (bytes > 1 && (value >> (8 * (bytes - 1) - 1)) == (value < 0 ? -1 : 0)) --bytes;
  return bytes;
}

}  // namespace

void PickleWriter::LittleEndian(uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) body_.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void PickleWriter::Integer(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  if (value >= 0 && value <= 0xff) {
    Op(pickle_op::kBinInt1);
    return LittleEndian(bits, 1);
  }
  if (value >= 0 && value <= 0xffff) {
    Op(pickle_op::kBinInt2);
    return LittleEndian(bits, 2);
  }
  if (value >= std::numeric_limits<int32_t>::min() &&
      value <= std::numeric_limits<int32_t>::max()) {
    Op(pickle_op::kBinInt);
    return LittleEndian(bits, 4);
  }
  Op(pickle_op::kLong1);
  LittleEndian(SignedBytes(value), 1);
  LittleEndian(bits, SignedBytes(value));
}

void PickleWriter::Float(double value) {
  Op(pickle_op::kBinFloat);
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8) {
    body_.push_back(static_cast<std::byte>(bits >> shift));
  }
}

void PickleWriter::Text(std::string_view text) {
  TESSERA_CHECK(text.size() <= std::numeric_limits<uint32_t>::max());
  const bool is_short = text.size() <= 0xff;
  Op(is_short ? pickle_op::kShortBinUnicode : pickle_op::kBinUnicode);
  LittleEndian(text.size(), is_short ? 1 : 4);
  const auto bytes = std::as_bytes(std::span(text));
  body_.insert(body_.end(), bytes.begin(), bytes.end());
}

void PickleWriter::Global(const PickleGlobal& global) {
  Text(global.module);
  Op(pickle_op::kMemoize);
  Text(global.name);
  Op(pickle_op::kMemoize);
  Op(pickle_op::kStackGlobal);
  Op(pickle_op::kMemoize);
}

std::vector<std::byte> PickleWriter::Finish() && {
  Op(pickle_op::kStop);
  PickleWriter whole;
  whole.Op(pickle_op::kProto);
  whole.Op(4);
  if (body_.size() >= kLeastFrame) {
    whole.Op(pickle_op::kFrame);
    whole.LittleEndian(body_.size(), 8);
  }
  whole.body_.insert(whole.body_.end(), body_.begin(), body_.end());
  return std::move(whole.body_);
}

}  // namespace tessera::ledger
