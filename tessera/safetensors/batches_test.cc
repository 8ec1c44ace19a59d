#include "tessera/safetensors/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/safetensors/testing/small_files.h"
#include "tessera/store/memory_store.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::IsOk;
using ::testing::ElementsAre;
using testing::FileOf;
using testing::SmallTensor;

class BatchesOfTest : public ::testing::Test {
 protected:
  void Put(const std::string& key, const std::string& text) {
    ASSERT_THAT(store_->Write(key, std::as_bytes(std::span(text))), IsOk());
  }
  FileSet Open(const std::string& key) {
    auto set = FileSet::Open(*store_, key, io_);
    TESSERA_CHECK(set.ok());
    return *std::move(set);
  }

  const std::unique_ptr<store::KvStore> store_ = store::MakeMemoryStore();
  IoContext io_{{.in_flight = 1}};
};

SmallTensor BytesNamed(const std::string& name, size_t size) {
  return {name, DType::kUint8, {static_cast<int64_t>(size)}, std::string(size, 'x')};
}

TEST_F(BatchesOfTest, SmallTensorsAreTogetherAndOthersByThemselves) {
  Put("m", FileOf({BytesNamed("a", 3),
                   BytesNamed("b", kSmallTensorBytes - 1),
                   BytesNamed("large", kSmallTensorBytes),
                   BytesNamed("c", 1),
                   {"packed", DType::kFloat4E2m1fn, {2}, "y"},
                   BytesNamed("d", 5),
                   {"none", DType::kFloat32, {0}, ""},
                   BytesNamed("e", 1),
                   BytesNamed("f", 1)}));
  EXPECT_THAT(BatchesOf(Open("m")),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3), ElementsAre(4),
                          ElementsAre(5), ElementsAre(6), ElementsAre(7, 8)));
}

TEST_F(BatchesOfTest, ABatchEndsWithTheTensorThatFillsIt) {
  constexpr size_t kEach = kSmallTensorBytes / 2;
  constexpr size_t kFull = kBatchBytes / kEach;
  std::vector<SmallTensor> tensors;
  for (size_t i = 0; i < 2 * kFull + 1; ++i)
    tensors.push_back(BytesNamed(std::to_string(i), kEach));
  Put("m", FileOf(tensors));
  const std::vector<Batch> batches = BatchesOf(Open("m"));
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[0].size(), kFull);
  EXPECT_EQ(batches[1].size(), kFull);
  EXPECT_THAT(batches[2], ElementsAre(2 * kFull));
}

// Places are in the order of the index, batches in that of the files.
TEST_F(BatchesOfTest, OnlyNeighboursOfOneFileAreTogether) {
  Put("1", FileOf({BytesNamed("a", 1), BytesNamed("b", 1), BytesNamed("left out", 1),
                   BytesNamed("c", 1)}));
  Put("2", FileOf({BytesNamed("d", 1), BytesNamed("e", 1)}));
  Put("i", R"({"weight_map": {"e": "2", "c": "1", "b": "1", "d": "2", "a": "1"}})");
  EXPECT_THAT(BatchesOf(Open("i")),
              ElementsAre(ElementsAre(3, 0), ElementsAre(4, 2), ElementsAre(1)));
}

TEST_F(BatchesOfTest, AFileWithoutTensorsHasNone) {
  Put("m", FileOf({}));
  EXPECT_TRUE(BatchesOf(Open("m")).empty());
}

}  // namespace
}  // namespace tessera::safetensors
