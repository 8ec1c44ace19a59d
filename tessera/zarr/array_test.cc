#include "tessera/zarr/array.h"

#include <cstring>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/file_store.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/store/wrappers.h"
#include "tessera/zarr/testing/boxes.h"
#include "tessera/zarr/testing/random_arrays.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Metadata Float32(Dims shape, Dims chunks) {
  return JaxMetadata({std::move(shape), DType::kFloat32}, chunks);
}

// An array of floats and memory for all of it.
class ArrayTest : public ::testing::Test {
 protected:
  absl::StatusOr<WriteReport> WriteAll(const Array& array, const std::vector<float>& values,
                                       const WriteOptions& options = {}) {
    return array.Write(Box::Whole(array.metadata().shape), View(array, values), io_, options);
  }
  absl::StatusOr<std::vector<float>> ReadAll(const Array& array) {
    std::vector<float> values(NumElements(array.metadata().shape).value(), -1);
    TESSERA_ASSIGN_OR_RETURN(last_report_,
                             array.Read(Box::Whole(array.metadata().shape),
                                        RowMajorView(reinterpret_cast<std::byte*>(values.data()),
                                                     array.metadata().shape, 4),
                                        io_));
    return values;
  }
  static ConstStridedView View(const Array& array, const std::vector<float>& values) {
    return RowMajorView(reinterpret_cast<const std::byte*>(values.data()), array.metadata().shape,
                        4);
  }
  static std::vector<float> Counting(int count) {
    std::vector<float> values(count);
    for (int i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1);
    return values;
  }

  std::unique_ptr<store::KvStore> store_ = store::MakeMemoryStore();
  IoContext io_{{.in_flight = 4, .compute = 2, .budget_bytes = 16 << 20}};
  ReadReport last_report_;
};

TEST_F(ArrayTest, WritesWhatJaxWrites) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array,
                               Array::Create(*store_, "model/w", Float32({4, 4}, {2, 4})));
  const std::vector<float> values = Counting(16);
  TESSERA_ASSERT_OK_AND_ASSIGN(const WriteReport report, WriteAll(array, values));
  EXPECT_EQ(report.chunks, 2);
  EXPECT_EQ(report.merged_chunks, 0);
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto metadata, store_->Read("model/w/.zarray"));
  EXPECT_EQ(metadata.value->text(),
            R"({"chunks":[2,4],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
            R"("dtype":"<f4","fill_value":null,"filters":null,"order":"C","shape":[4,4],)"
            R"("zarr_format":2})");
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto keys, store_->List("model/w/"));
  EXPECT_THAT(keys, SizeIs(3));
  EXPECT_EQ(keys[1].key, "model/w/0.0");
  EXPECT_EQ(keys[2].key, "model/w/1.0");
  EXPECT_THAT(ReadAll(array), IsOkAndHolds(values));
}

TEST_F(ArrayTest, OpensWhatIsThere) {
  EXPECT_THAT(
      Array::Open(*store_, "w"),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("w/.zarray: array metadata not found, and no zarr.json beside it")));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store_, "w", Float32({3}, {2})));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array opened, Array::Open(*store_, "w"));
  EXPECT_EQ(opened.metadata(), array.metadata());
  EXPECT_THAT(Array::Open(*store_, "w", Format::kV3),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("w/zarr.json")));
  Metadata v3 = array.metadata();
  v3.format = Format::kV3;
  v3.chunk_keys.style = ChunkKeys::Style::kPrefix;
  v3.fill_value = std::vector<std::byte>(4);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array second, Array::Create(*store_, "w", v3));
  EXPECT_THAT(Array::Open(*store_, "w"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  HasSubstr("holds both .zarray and zarr.json")));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array chosen, Array::Open(*store_, "w", Format::kV3));
  EXPECT_EQ(chosen.metadata(), v3);
}

TEST_F(ArrayTest, NeverChangesAnArrayThatIsThere) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store_, "w", Float32({4}, {2})));
  EXPECT_THAT(Array::Create(*store_, "w", Float32({4}, {2})),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("w/.zarray")));
  EXPECT_THAT(Array::Create(*store_, "w", Float32({4}, {2}), Array::IfThere::kOpenIfSame), IsOk());
  EXPECT_THAT(Array::Create(*store_, "w", Float32({4}, {4}), Array::IfThere::kOpenIfSame),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chunks: [2] and [4]")));
}

TEST_F(ArrayTest, ReportsAbsentChunksAndFillsThemIn) {
  Metadata metadata = Float32({5, 4}, {2, 2});
  const float seven = 7;
  metadata.fill_value.emplace(4);
  std::memcpy(metadata.fill_value->data(), &seven, 4);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store_, "w", metadata));
  std::vector<float> values = Counting(20);
  ASSERT_THAT(WriteAll(array, values), IsOk());
  ASSERT_THAT(store_->Delete("w/2.1"), IsOk());
  ASSERT_THAT(store_->Delete("w/0.0"), IsOk());
  for (const int lost : {0, 1, 4, 5, 18, 19}) values[lost] = seven;
  EXPECT_THAT(ReadAll(array), IsOkAndHolds(values));
  EXPECT_EQ(last_report_.chunks, 4);
  EXPECT_EQ(last_report_.absent_chunks, 2);
  EXPECT_THAT(last_report_.absent, ElementsAre(AbsentChunk{"w/0.0", BoxOf({0, 0}, {2, 2})},
                                               AbsentChunk{"w/2.1", BoxOf({4, 2}, {1, 2})}));
}

TEST_F(ArrayTest, NullFillReadsAsZeros) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store_, "w", Float32({3}, {2})));
  EXPECT_THAT(ReadAll(array), IsOkAndHolds(std::vector<float>{0, 0, 0}));
  EXPECT_EQ(last_report_.absent_chunks, 2);
}

TEST_F(ArrayTest, ChunksOfTheFillValueAreStoredUnlessLeftOut) {
  Metadata metadata = Float32({4}, {2});
  metadata.fill_value = std::vector<std::byte>(4);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store_, "w", metadata));
  TESSERA_ASSERT_OK_AND_ASSIGN(const WriteReport all, WriteAll(array, {0, 0, 0, 1}));
  EXPECT_EQ(all.chunks, 2);
  TESSERA_ASSERT_OK_AND_ASSIGN(const WriteReport some,
                               WriteAll(array, {0, 0, -0.0F, 0}, {.omit_fill_chunks = true}));
  EXPECT_EQ(some.chunks, 1) << "-0.0 is not the fill value";
  EXPECT_EQ(some.omitted_chunks, 1);
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto gone, store_->Read("w/0"));
  EXPECT_FALSE(gone.value.has_value());
}

TEST_F(ArrayTest, RefusesBoxesAndMemoryThatDoNotFit) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store_, "w", Float32({4}, {2})));
  float memory[8];
  const auto view = [&](Dims shape, int64_t bytes) {
    return RowMajorView(reinterpret_cast<std::byte*>(memory), shape, bytes);
  };
  EXPECT_THAT(array.Read(BoxOf({2}, {3}), view({3}, 4), io_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("[2:5] is not within an array of shape [4]")));
  EXPECT_THAT(array.Read(BoxOf({0, 0}, {1, 1}), view({1, 1}, 4), io_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not within")));
  EXPECT_THAT(array.Read(BoxOf({0}, {2}), view({3}, 4), io_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("memory of shape [3] for a box of shape [2]")));
  EXPECT_THAT(array.Read(BoxOf({0}, {2}), view({2}, 2), io_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("elements of 2 bytes")));
}

TEST_F(ArrayTest, ReadsEachChunkOnceWhateverTheBox) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array written,
                               Array::Create(*store_, "w", Float32({64, 64}, {16, 16})));
  ASSERT_THAT(WriteAll(written, Counting(64 * 64)), IsOk());
  store::StoreCounts counts;
  const auto counting = store::MakeCountingStore(*store_, counts);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array,
                               Array::Assume(*counting, "w", written.metadata()));
  std::vector<float> column(64 * 4);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ReadReport report,
      array.Read(BoxOf({0, 14}, {64, 4}),
                 RowMajorView(reinterpret_cast<std::byte*>(column.data()), Dims{64, 4}, 4), io_));
  EXPECT_EQ(counts.reads, 8);
  EXPECT_EQ(report.chunks, 8);
  EXPECT_EQ(report.bytes_read, counts.bytes_read);
}

TEST_F(ArrayTest, ReadsOnlyTheInnerChunksThatAreWanted) {
  Metadata metadata = Float32({64}, {64});
  metadata.format = Format::kV3;
  metadata.chunk_keys = {ChunkKeys::Style::kPrefix, '/'};
  metadata.fill_value = std::vector<std::byte>(4);
  metadata.codecs = {};
  metadata.codecs.shard =
      std::make_shared<ShardSpec>(ShardSpec{{8}, {}, {.compression = {codec::Crc32cSpec{}}}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array written, Array::Create(*store_, "w", metadata));
  ASSERT_THAT(WriteAll(written, Counting(64)), IsOk());
  store::StoreCounts counts;
  const auto counting = store::MakeCountingStore(*store_, counts);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Assume(*counting, "w", metadata));
  std::vector<float> part(4);
  ASSERT_THAT(array.Read(BoxOf({14}, {4}),
                         RowMajorView(reinterpret_cast<std::byte*>(part.data()), Dims{4}, 4), io_),
              IsOk());
  EXPECT_THAT(part, ElementsAre(15, 16, 17, 18));
  constexpr int kIndex = 8 * 16 + 4;
  EXPECT_EQ(counts.bytes_read, kIndex + 4 * 4) << "of plain chunks, only the elements wanted";
}

// Writes another value in the place of one after its first read.
class ReplacingStore final : public store::ForwardingStore {
 public:
  ReplacingStore(store::KvStore& base, std::vector<std::byte> other)
      : ForwardingStore(base), other_(std::move(other)) {}

  absl::StatusOr<store::ReadResult> Read(std::string_view key, const store::ByteRange& range,
                                         std::stop_token stop) override {
    auto result = base().Read(key, range, std::move(stop));
    EXPECT_THAT(base().Write(key, other_), IsOk());
    return result;
  }

 private:
  const std::vector<std::byte> other_;
};

TEST_F(ArrayTest, NoticesAShardThatIsReplacedWhileItIsRead) {
  Metadata metadata = Float32({8}, {8});
  metadata.format = Format::kV3;
  metadata.chunk_keys = {ChunkKeys::Style::kPrefix, '/'};
  metadata.fill_value = std::vector<std::byte>(4);
  metadata.codecs = {.shard = std::make_shared<ShardSpec>(ShardSpec{.chunk_shape = {4}})};
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array written, Array::Create(*store_, "w", metadata));
  ASSERT_THAT(WriteAll(written, Counting(8)), IsOk());
  ReplacingStore replacing(*store_, std::vector<std::byte>(64));
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Assume(replacing, "w", metadata));
  EXPECT_THAT(ReadAll(array),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("w/c/0: the value was replaced")));
}

TEST_F(ArrayTest, FailsWhenTheBudgetIsTooSmallForOneChunk) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array,
                               Array::Create(*store_, "w", Float32({1 << 16}, {1 << 16})));
  ASSERT_THAT(WriteAll(array, Counting(1 << 16)), IsOk());
  IoContext small({.budget_bytes = 1000});
  std::vector<float> values(1 << 16);
  EXPECT_THAT(array.Read(Box::Whole(array.metadata().shape),
                         RowMajorView(reinterpret_cast<std::byte*>(values.data()),
                                      array.metadata().shape, 4),
                         small),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("one chunk at a time")));
}

TEST_F(ArrayTest, StopsAtTheFirstErrorOfTheStore) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array written,
                               Array::Create(*store_, "w", Float32({64}, {1})));
  ASSERT_THAT(WriteAll(written, Counting(64)), IsOk());
  std::vector<float> values(64);
  const StridedView view = RowMajorView(reinterpret_cast<std::byte*>(values.data()), Dims{64}, 4);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(written.Read(Box::Whole(Dims{64}), view, io_, stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
}

// Reads and writes of random boxes of random arrays against memory that holds the same array.
TEST(ArrayPropertyTest, BehavesAsAnArrayInMemory) {
  IoContext io({.in_flight = 3, .compute = 2, .budget_bytes = 64 << 20});
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    RandomArrays random(seed);
    const auto store = store::MakeMemoryStore();
    const Metadata metadata = random.AnyMetadata();
    SCOPED_TRACE(MetadataText(metadata));
    TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store, "a/b", metadata));
    const int64_t size = DTypeBytes(metadata.dtype);
    std::vector<std::byte> model(NumBytes(metadata.dtype, metadata.shape).value());
    const StridedView model_view = RowMajorView(model.data(), metadata.shape, size);
    for (size_t i = 0; i < model.size(); ++i) model[i] = array.fill()[i % size];
    for (int step = 0; step < 4; ++step) {
      const Box box = random.AnyBox(metadata.shape);
      AnyMemory source(random, box.shape(), size);
      source.Assign(random.Elements(metadata.dtype, box.shape()));
      ASSERT_THAT(
          array.Write(box, AsConst(source.view()), io, {.omit_fill_chunks = random.Chance(0.3)}),
          IsOk());
      if (!box.empty()) {
        ASSERT_THAT(CopyStrided(AsConst(source.view()), SubView(model_view, box)), IsOk());
      }
      const Box wanted = random.AnyBox(metadata.shape);
      AnyMemory target(random, wanted.shape(), size);
      TESSERA_ASSERT_OK_AND_ASSIGN(const Array opened, Array::Open(*store, "a/b"));
      ASSERT_THAT(opened.Read(wanted, target.view(), io), IsOk());
      EXPECT_TRUE(target.GapsAreClean());
      if (wanted.empty()) continue;
      std::vector<std::byte> expected(target.Dense().size());
      ASSERT_THAT(CopyStrided(AsConst(SubView(model_view, wanted)),
                              RowMajorView(expected.data(), wanted.shape(), size)),
                  IsOk());
      ASSERT_EQ(target.Dense(), expected) << wanted.Text();
    }
    EXPECT_EQ(io.budget().in_use(), 0);
  }
}

// Chunks large enough to be decoded while they are read, in a store that streams and one that does
// not.
class LargeChunkTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const auto on_disk = [&] {
      return store::OpenFileStore(folder_.path(), {.durability = store::Durability::kKernel});
    };
    store_ = GetParam() ? on_disk().value() : store::MakeMemoryStore();
    RandomArrays random(5);
    elements_ = random.Elements(DType::kBfloat16, kShape);
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const Array array,
        Array::Create(*store_, "w", JaxMetadata({kShape, DType::kBfloat16}, Dims{512, 1024})));
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const WriteReport report,
        array.Write(Box::Whole(kShape),
                    RowMajorView(static_cast<const std::byte*>(elements_.data()), kShape, 2), io_));
    EXPECT_EQ(report.chunks, 4);
  }

  absl::Status Read(const Box& box, std::vector<std::byte>& memory) {
    TESSERA_ASSIGN_OR_RETURN(const Array array, Array::Open(*store_, "w"));
    memory.assign(NumBytes(DType::kBfloat16, box.shape()).value(), std::byte{0xEE});
    TESSERA_ASSIGN_OR_RETURN(report_,
                             array.Read(box, RowMajorView(memory.data(), box.shape(), 2), io_));
    return absl::OkStatus();
  }

  const Dims kShape{1000, 2048};
  store::testing::TemporaryFolder folder_;
  std::unique_ptr<store::KvStore> store_;
  IoContext io_{{.in_flight = 2, .compute = 2, .budget_bytes = 16 << 20}};
  std::vector<std::byte> elements_;
  ReadReport report_;
};

TEST_P(LargeChunkTest, ReadsWholeAndInPart) {
  std::vector<std::byte> memory;
  ASSERT_THAT(Read(Box::Whole(kShape), memory), IsOk());
  EXPECT_EQ(memory, elements_);
  EXPECT_EQ(report_.chunks, 4);
  const Box part = BoxOf({500, 1000}, {100, 100});
  ASSERT_THAT(Read(part, memory), IsOk());
  std::vector<std::byte> expected(memory.size());
  ASSERT_THAT(
      CopyStrided(
          SubView(RowMajorView(static_cast<const std::byte*>(elements_.data()), kShape, 2), part),
          RowMajorView(expected.data(), part.shape(), 2)),
      IsOk());
  EXPECT_EQ(memory, expected);
  EXPECT_EQ(report_.chunks, 4);
}

TEST_P(LargeChunkTest, NamesWhatIsDamagedAndReportsWhatIsAbsent) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const store::ReadResult chunk, store_->Read("w/0.1"));
  const std::span<const std::byte> bytes = chunk.value->span();
  std::vector<std::byte> memory;
  for (const size_t length : {size_t{0}, size_t{3}, size_t{300'000}, bytes.size() - 1}) {
    ASSERT_THAT(store_->Write("w/0.1", bytes.first(length)), IsOk());
    EXPECT_THAT(Read(Box::Whole(kShape), memory),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("w/0.1: zstd")))
        << length;
  }
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.push_back(std::byte{0});
  ASSERT_THAT(store_->Write("w/0.1", longer), IsOk());
  EXPECT_THAT(Read(Box::Whole(kShape), memory),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("follow the frame")));
  longer.resize(8 << 20);
  ASSERT_THAT(store_->Write("w/0.1", longer), IsOk());
  EXPECT_THAT(Read(Box::Whole(kShape), memory),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than the")));
  ASSERT_THAT(store_->Delete("w/0.1"), IsOk());
  ASSERT_THAT(Read(Box::Whole(kShape), memory), IsOk());
  EXPECT_EQ(report_.absent_chunks, 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, LargeChunkTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "file" : "memory"; });

// Many threads write boxes that share chunks; every element must arrive.
TEST(ArrayPropertyTest, ConcurrentMergesLoseNothing) {
  const auto store = store::MakeMemoryStore();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store, "w", Float32({64}, {16})));
  IoContext io({.in_flight = 8, .compute = 8, .budget_bytes = 64 << 20});
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i) values[i] = static_cast<float>(i);
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; i += 2) {
    threads.emplace_back([&, i] {
      EXPECT_THAT(
          array.Write(BoxOf({i}, {2}),
                      RowMajorView(reinterpret_cast<const std::byte*>(&values[i]), Dims{2}, 4), io),
          IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<float> read(64);
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ReadReport report,
      array.Read(Box::Whole(Dims{64}),
                 RowMajorView(reinterpret_cast<std::byte*>(read.data()), Dims{64}, 4), io));
  EXPECT_EQ(read, values);
  EXPECT_THAT(report.absent, IsEmpty());
}

}  // namespace
}  // namespace tessera::zarr
