// Checkpoints of a few arrays in memory, opened, for the tests of what looks into them.
#ifndef TESSERA_INSPECT_TESTING_OPENED_H_
#define TESSERA_INSPECT_TESTING_OPENED_H_

#include <cstddef>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/status.h"

namespace tessera::inspect::testing {

struct TestArray {
  std::string path;
  ShapeDtype about;
  Dims chunks;
  std::vector<std::byte> elements;
};

template <typename T>
std::vector<std::byte> BytesOf(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Bytes that any dtype takes: of types under a byte only the low bits are set.
inline std::vector<std::byte> RandomElements(DType dtype, int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  const DTypeInfo& info = InfoOf(dtype);
  const unsigned mask = info.kind == DTypeKind::kBool ? 1 : (1U << std::min(info.bits, 8)) - 1;
  std::vector<std::byte> bytes(static_cast<size_t>(count * info.bytes));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & mask);
  return bytes;
}

class Opened {
 public:
  explicit Opened(const std::vector<TestArray>& arrays, const IoOptions& options = {},
                  bool sealed = false)
      : io_(options) {
    for (const TestArray& array : arrays) {
      stored_.AddBytes(array.path, array.about, array.chunks, array.elements);
    }
    if (sealed) {
      stored_.Sealed();
    } else {
      stored_.Index();
    }
    auto opened = checkpoint::Checkpoint::Open(stored_.store(), io_);
    TESSERA_CHECK(opened.ok());
    checkpoint_ = *std::move(opened);
  }

  IoContext& io() { return io_; }
  store::KvStore& store() { return stored_.store(); }
  const checkpoint::Checkpoint& checkpoint() const { return *checkpoint_; }
  const checkpoint::CheckpointArray& array(size_t i = 0) const { return checkpoint_->arrays()[i]; }

 private:
  checkpoint::testing::StoredCheckpoint stored_;
  IoContext io_;
  std::optional<checkpoint::Checkpoint> checkpoint_;
};

}  // namespace tessera::inspect::testing

#endif  // TESSERA_INSPECT_TESTING_OPENED_H_
