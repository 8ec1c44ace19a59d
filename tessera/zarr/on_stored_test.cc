// What a writer is told of the values that it stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tessera/core/mutex.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"
#include "tessera/zarr/array.h"
#include "tessera/zarr/testing/random_arrays.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOk;

// The last that was told of each key.
class Told {
 public:
  WriteOptions Options(bool omit) {
    return {.omit_fill_chunks = omit,
            .on_stored = [this](std::string_view key, const StoredValue& value) {
              MutexLock lock(mutex_);
              values_.insert_or_assign(std::string(key), value);
              ++calls_;
            }};
  }
  std::map<std::string, StoredValue> values() {
    MutexLock lock(mutex_);
    return values_;
  }
  int64_t calls() {
    MutexLock lock(mutex_);
    return calls_;
  }

 private:
  Mutex mutex_;
  std::map<std::string, StoredValue> values_ ABSL_GUARDED_BY(mutex_);
  int64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
};

void ExpectTrue(store::KvStore& store, const std::map<std::string, StoredValue>& told) {
  for (const auto& [key, value] : told) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const store::ReadResult stored, store.Read(key));
    if (!stored.value.has_value()) continue;  // left out by a later write
    EXPECT_EQ(value, (StoredValue{stored.size, HashOf(stored.value->span())})) << key;
  }
}

TEST(OnStoredTest, TellsSizeAndHashOfWhatIsInTheStore) {
  IoContext io({.in_flight = 3, .compute = 2, .budget_bytes = 64 << 20});
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomArrays random(seed);
    const auto store = store::MakeMemoryStore();
    TESSERA_ASSERT_OK_AND_ASSIGN(const Array array,
                                 Array::Create(*store, "w", random.AnyMetadata()));
    Told told;
    int64_t chunks = 0;
    // The first box is the whole array; the others merge.
    for (int round = 0; round < 3; ++round) {
      const Dims& shape = array.metadata().shape;
      const Box box = round == 0 ? Box::Whole(shape) : random.AnyBox(shape);
      const std::vector<std::byte> elements = random.Elements(array.metadata().dtype, box.shape());
      TESSERA_ASSERT_OK_AND_ASSIGN(
          const WriteReport report,
          array.Write(
              box, RowMajorView(elements.data(), box.shape(), DTypeBytes(array.metadata().dtype)),
              io, told.Options(random.Chance(0.2))));
      chunks += report.chunks;
    }
    EXPECT_EQ(told.calls(), chunks);
    ExpectTrue(*store, told.values());
  }
}

TEST(OnStoredTest, HashesLargeValuesPieceByPiece) {
  IoContext io;
  const Dims shape{1000, 1031};
  RandomArrays random(7);
  const std::vector<std::byte> elements = random.Elements(DType::kFloat32, shape);
  for (const bool compressed : {false, true}) {
    const auto store = store::MakeMemoryStore();
    Metadata metadata = JaxMetadata({shape, DType::kFloat32}, Dims{500, 1031});
    if (!compressed) metadata.codecs.compression.clear();
    TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store, "w", metadata));
    Told told;
    ASSERT_THAT(array.Write(Box::Whole(shape), RowMajorView(elements.data(), shape, 4), io,
                            told.Options(false)),
                IsOk());
    EXPECT_EQ(told.values().size(), 2);
    ExpectTrue(*store, told.values());
  }
}

}  // namespace
}  // namespace tessera::zarr
