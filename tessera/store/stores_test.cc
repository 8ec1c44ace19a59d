// Every back end and wrapper through the conformance suite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/file_store.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/conformance.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/store/testing/text_values.h"
#include "tessera/store/testing/volatile_store.h"
#include "tessera/store/wrappers.h"

namespace tessera::store {
namespace {

using ::tessera::testing::StatusIs;
using testing::AsBytes;
using ::testing::HasSubstr;
using testing::KvStoreConformance;
using testing::KvStorePartsConformance;
using testing::MakerName;
using testing::StoreMaker;
using testing::TemporaryFolder;
using testing::VolatileOptions;
using testing::VolatileStore;

// Keeps what a wrapper needs alive as long as the wrapper.
template <typename Owned>
class OwningStore final : public ForwardingStore {
 public:
  OwningStore(Owned owned, std::unique_ptr<KvStore> store)
      : ForwardingStore(*store), owned_(std::move(owned)), store_(std::move(store)) {}

 private:
  Owned owned_;
  std::unique_ptr<KvStore> store_;
};

std::unique_ptr<KvStore> MakeFile(const FileStoreOptions& options) {
  auto folder = std::make_unique<TemporaryFolder>();
  auto store = OpenFileStore(folder->path().string(), options);
  return std::make_unique<OwningStore<std::unique_ptr<TemporaryFolder>>>(std::move(folder),
                                                                         *std::move(store));
}

template <typename Wrap>
std::unique_ptr<KvStore> Wrapped(Wrap wrap) {
  auto base = MakeMemoryStore();
  auto store = wrap(*base);
  return std::make_unique<OwningStore<std::unique_ptr<KvStore>>>(std::move(base), std::move(store));
}

StoreCounts& SharedCounts() {
  static StoreCounts counts;
  return counts;
}

std::vector<StoreMaker> Makers() {
  return {
      {"memory", [] { return MakeMemoryStore(); }},
      {"memory_moves", [] { return MakeMemoryStore({.moves = true}); }},
      {"volatile",
       [] {
         return Wrapped([](KvStore& base) {
           return std::make_unique<VolatileStore>(base, VolatileOptions{});
         });
       }},
      {"file", [] { return MakeFile({}); }},
      {"file_kernel", [] { return MakeFile({.durability = Durability::kKernel}); }},
      {"file_parallel", [] { return MakeFile({.parallelism = 4, .parallel_threshold = 1}); }},
      {"prefix",
       [] { return Wrapped([](KvStore& base) { return *MakePrefixStore(base, "p/q"); }); }},
      {"retry", [] { return Wrapped([](KvStore& base) { return MakeRetryStore(base); }); }},
      {"counting",
       [] {
         return Wrapped([](KvStore& base) { return MakeCountingStore(base, SharedCounts()); });
       }},
  };
}

INSTANTIATE_TEST_SUITE_P(Stores, KvStoreConformance, ::testing::ValuesIn(Makers()), MakerName);
INSTANTIATE_TEST_SUITE_P(WholeValues, KvStoreConformance,
                         ::testing::Values(StoreMaker{
                             "memory", [] { return MakeMemoryStore({.writes_parts = false}); }}),
                         MakerName);
INSTANTIATE_TEST_SUITE_P(Stores, KvStorePartsConformance, ::testing::ValuesIn(Makers()), MakerName);

TEST(MemoryStoreTest, ByOptionValuesAreWrittenOnlyAsAWhole) {
  const auto store = MakeMemoryStore({.writes_parts = false});
  const auto refused = StatusIs(absl::StatusCode::kUnimplemented,
                                HasSubstr("memory:k: this store writes values only as a whole"));
  EXPECT_FALSE(store->writes_parts());
  EXPECT_THAT(store->Reserve("k", 4), refused);
  EXPECT_THAT(store->WriteAt("k", 0, AsBytes("x")), refused);
}

}  // namespace
}  // namespace tessera::store
