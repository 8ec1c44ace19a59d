// Parts of an array to many boxes, against memory that holds the same array.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/file_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/zarr/testing/boxes.h"
#include "tessera/zarr/testing/random_arrays.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

// The cells that a box meets, each cut to the box.
std::vector<Box> PartsOf(const Metadata& metadata, const Box& box) {
  const CellRange cells = CellRange::Of(box, metadata.chunk_shape).value();
  std::vector<Box> parts;
  for (int64_t i = 0; i < cells.size(); ++i) {
    parts.push_back(Intersect(CellBox(cells.at(i), metadata.chunk_shape, metadata.shape), box));
  }
  return parts;
}

// What the box of a dense array holds.
std::vector<std::byte> Cut(const std::vector<std::byte>& elements, const Metadata& metadata,
                           const Box& box) {
  const int64_t size = DTypeBytes(metadata.dtype);
  std::vector<std::byte> cut(NumBytes(metadata.dtype, box.shape()).value());
  if (box.empty()) return cut;
  EXPECT_THAT(CopyStrided(SubView(RowMajorView(elements.data(), metadata.shape, size), box),
                          RowMajorView(cut.data(), box.shape(), size)),
              IsOk());
  return cut;
}

TEST(ReadPartsTest, FillsManyBoxesOfRandomArrays) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    RandomArrays random(seed);
    // With little memory shards are verified in a pass of their own.
    IoContext io(
        {.in_flight = 3, .compute = 2, .budget_bytes = random.Chance(0.5) ? 64 << 20 : 12 << 20});
    store::testing::TemporaryFolder folder;
    const bool on_disk = seed % 4 == 0;
    const auto store =
        on_disk ? store::OpenFileStore(folder.path(), {.durability = store::Durability::kKernel})
                      .value()
                : store::MakeMemoryStore();
    const Metadata metadata = random.AnyMetadata();
    TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store, "w", metadata));
    const std::vector<std::byte> elements = random.Elements(metadata.dtype, metadata.shape);
    const int64_t size = DTypeBytes(metadata.dtype);
    Manifest manifest;
    ASSERT_THAT(
        array.Write(Box::Whole(metadata.shape), RowMajorView(elements.data(), metadata.shape, size),
                    io, manifest.Fill()),
        IsOk());
    const Box hull = random.AnyBox(metadata.shape);
    Boxes destination(random.Chance(0.7));
    std::vector<Box> boxes;
    std::vector<AnyMemory> memories;
    for (int i = 0; i < 3; ++i) {
      boxes.push_back(i == 0 ? hull : Intersect(hull, random.AnyBox(metadata.shape)));
      memories.emplace_back(random, boxes.back().shape(), size);
    }
    // The first box alone, replicas of it, or others that meet it.
    const int used = static_cast<int>(random.Number(1, 3));
    for (int i = 0; i < used; ++i) destination.Add(boxes[i], memories[i].view());
    const auto report = array.ReadParts(PartsOf(metadata, hull), destination, io,
                                        random.Chance(0.5) ? manifest.Ask() : ReadOptions{});
    ASSERT_THAT(report, IsOk());
    EXPECT_EQ(report->absent_chunks, 0);
    for (int i = 0; i < used; ++i) {
      ASSERT_EQ(memories[i].Dense(), Cut(elements, metadata, boxes[i])) << boxes[i].Text();
      EXPECT_TRUE(memories[i].GapsAreClean());
    }
    EXPECT_EQ(io.budget().in_use(), 0);
  }
}

struct LargeCase {
  std::string name;
  ChunkCodecs codecs;
  bool file = true;
};

ChunkCodecs Compressed(std::vector<codec::BytesSpec> compression, std::vector<Dims> transposes = {},
                       codec::Endian endian = codec::Endian::kLittle) {
  return {
      .transposes = std::move(transposes), .endian = endian, .compression = std::move(compression)};
}

ChunkCodecs Sharded(Dims inner, ChunkCodecs codecs) {
  ChunkCodecs outer;
  outer.shard = std::make_shared<ShardSpec>(
      ShardSpec{std::move(inner), std::move(codecs), {.compression = {codec::Crc32cSpec{}}}});
  return outer;
}

std::vector<LargeCase> LargeCases() {
  using codec::Crc32cSpec;
  using codec::ZstdSpec;
  return {{"none", Compressed({})},
          {"none_memory", Compressed({}), false},
          {"none_order_f", Compressed({}, {{1, 0}})},
          {"none_big_endian", Compressed({}, {}, codec::Endian::kBig)},
          {"zstd", Compressed({ZstdSpec{1}})},
          {"zstd_memory", Compressed({ZstdSpec{1}}), false},
          {"zstd_order_f", Compressed({ZstdSpec{1}}, {{1, 0}})},
          {"zstd_crc32c", Compressed({ZstdSpec{1}, Crc32cSpec{}})},
          {"gzip", Compressed({codec::DeflateSpec{.level = 1}})},
          {"blosc", Compressed({codec::BloscSpec{.element_bytes = 4}})},
          {"crc32c", Compressed({Crc32cSpec{}})},
          {"shard_zstd", Sharded({600, 500}, Compressed({ZstdSpec{1}}))},
          {"shard_none", Sharded({600, 1000}, Compressed({}))},
          {"shard_memory", Sharded({100, 100}, Compressed({ZstdSpec{1}})), false},
          {"shard_in_shard", Sharded({600, 500}, Sharded({300, 500}, Compressed({ZstdSpec{1}})))}};
}

// Small enough to damage every byte.
TEST(ReadPartsTest, EveryFlippedByteAndTruncationIsDataLoss) {
  IoContext io({.in_flight = 2, .compute = 2, .budget_bytes = 16 << 20});
  RandomArrays random(3);
  for (LargeCase each : LargeCases()) {
    SCOPED_TRACE(each.name);
    Metadata metadata;
    metadata.format = Format::kV3;
    metadata.dtype = DType::kFloat32;
    metadata.shape = {8, 11};
    metadata.chunk_shape = {6, 10};
    metadata.fill_value = std::vector<std::byte>(4);
    metadata.codecs = each.codecs;
    if (each.codecs.shard != nullptr) {
      metadata.codecs = Sharded({3, 5}, Compressed({codec::ZstdSpec{1}}));
    }
    const auto store = store::MakeMemoryStore();
    TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store, "w", metadata));
    const std::vector<std::byte> elements = random.Elements(metadata.dtype, metadata.shape);
    Manifest manifest;
    ASSERT_THAT(array.Write(Box::Whole(metadata.shape),
                            RowMajorView(elements.data(), metadata.shape, 4), io, manifest.Fill()),
                IsOk());
    std::vector<std::byte> memory(elements.size());
    const auto expect_loss = [&](size_t at) {
      for (const bool own_memory : {true, false}) {
        Boxes destination(own_memory);
        destination.Add(Box::Whole(metadata.shape), RowMajorView(memory.data(), metadata.shape, 4));
        // Only a part: the rest of the value is seen all the same.
        EXPECT_THAT(
            array.ReadParts(std::vector{BoxOf({1, 2}, {2, 3})}, destination, io, manifest.Ask()),
            StatusIs(absl::StatusCode::kDataLoss, HasSubstr("w/0.0")))
            << at;
      }
    };
    TESSERA_ASSERT_OK_AND_ASSIGN(const store::ReadResult chunk, store->Read("w/0.0"));
    const std::vector<std::byte> bytes(chunk.value->span().begin(), chunk.value->span().end());
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::vector<std::byte> damaged = bytes;
      damaged[i] ^= std::byte{0x10};
      ASSERT_THAT(store->Write("w/0.0", damaged), IsOk());
      expect_loss(i);
      ASSERT_THAT(store->Write("w/0.0", std::span(bytes).first(i)), IsOk());
      expect_loss(i);
    }
  }
}

// Chunks of 2.4 MB, that are read in pieces and decoded in slabs where the codecs can.
class LargePartsTest : public ::testing::TestWithParam<LargeCase> {
 protected:
  void SetUp() override {
    store_ = GetParam().file
                 ? store::OpenFileStore(folder_.path(), {.durability = store::Durability::kKernel})
                       .value()
                 : store::MakeMemoryStore();
    metadata_.format = Format::kV3;
    metadata_.dtype = DType::kFloat32;
    metadata_.shape = {700, 1900};
    metadata_.chunk_shape = {600, 1000};
    metadata_.chunk_keys = {ChunkKeys::Style::kPrefix, '/'};
    metadata_.fill_value = std::vector<std::byte>(4);
    metadata_.codecs = GetParam().codecs;
    static const std::vector<std::byte> elements =
        RandomArrays(11).Elements(metadata_.dtype, metadata_.shape);
    elements_ = elements;
    TESSERA_ASSERT_OK_AND_ASSIGN(Array array, Array::Create(*store_, "w", metadata_));
    array_.emplace(std::move(array));
    ASSERT_THAT(array_->Write(Box::Whole(metadata_.shape),
                              RowMajorView(static_cast<const std::byte*>(elements_.data()),
                                           metadata_.shape, 4),
                              io_, manifest_.Fill()),
                IsOk());
  }

  // Reads the parts of `hull` to all boxes, and compares.
  void ExpectRead(const Box& hull, const std::vector<Box>& boxes, bool own_memory, bool verify,
                  IoContext& io) {
    SCOPED_TRACE(::testing::Message() << hull.Text() << (own_memory ? " memory" : " put")
                                      << (verify ? " verified" : ""));
    Boxes destination(own_memory);
    std::vector<std::vector<std::byte>> memories(boxes.size());
    for (size_t i = 0; i < boxes.size(); ++i) {
      memories[i].assign(NumBytes(metadata_.dtype, boxes[i].shape()).value(), std::byte{0xEE});
      destination.Add(boxes[i], RowMajorView(memories[i].data(), boxes[i].shape(), 4));
    }
    ASSERT_THAT(array_->ReadParts(PartsOf(metadata_, hull), destination, io,
                                  verify ? manifest_.Ask() : ReadOptions{}),
                IsOk());
    for (size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_TRUE(memories[i] == Cut(elements_, metadata_, boxes[i])) << boxes[i].Text();
    }
    EXPECT_LE(io.budget().peak(), io.budget().limit());
  }

  absl::Status Read(bool own_memory, const ReadOptions& options, IoContext& io) {
    std::vector<std::byte> memory(elements_.size());
    Boxes destination(own_memory);
    destination.Add(Box::Whole(metadata_.shape), RowMajorView(memory.data(), metadata_.shape, 4));
    return array_
        ->ReadParts(PartsOf(metadata_, Box::Whole(metadata_.shape)), destination, io, options)
        .status();
  }

  store::testing::TemporaryFolder folder_;
  std::unique_ptr<store::KvStore> store_;
  IoContext io_{{.in_flight = 2, .compute = 2, .budget_bytes = 64 << 20}};
  Metadata metadata_;
  std::vector<std::byte> elements_;
  std::optional<Array> array_;
  Manifest manifest_;
};

TEST_P(LargePartsTest, FillsStripesReplicasAndParts) {
  const Box whole = Box::Whole(metadata_.shape);
  std::vector<Box> columns;
  std::vector<Box> rows;
  for (int64_t i = 0; i < 10; ++i) {
    columns.push_back(BoxOf({0, 190 * i}, {700, 190}));
    rows.push_back(BoxOf({70 * i, 0}, {70, 1900}));
  }
  const Box part = BoxOf({37, 111}, {600, 1500});
  for (const bool verify : {false, true}) {
    ExpectRead(whole, {whole}, true, verify, io_);
    ExpectRead(whole, {whole, whole}, true, verify, io_);
    ExpectRead(whole, columns, true, verify, io_);
    ExpectRead(whole, rows, false, verify, io_);
    ExpectRead(part, {part}, true, verify, io_);
    ExpectRead(part, {part, BoxOf({100, 900}, {30, 300})}, false, verify, io_);
  }
}

// With this little memory shards are not kept to be verified.
TEST_P(LargePartsTest, ManagesWithLittleMemory) {
  const std::string name = GetParam().name;
  const bool wants_all = name == "blosc" || !GetParam().file;
  IoContext small({.in_flight = 4, .compute = 2, .budget_bytes = wants_all ? 20 << 20 : 3 << 20});
  const Box whole = Box::Whole(metadata_.shape);
  for (const bool verify : {false, true}) {
    ExpectRead(whole, {whole, whole}, false, verify, small);
    ExpectRead(whole, {whole}, true, verify, small);
  }
  if (name != "blosc") return;
  IoContext little({.budget_bytes = 3 << 20});
  EXPECT_THAT(Read(false, {}, little), StatusIs(absl::StatusCode::kResourceExhausted,
                                                HasSubstr("w/: memory for one chunk at a time")));
}

TEST_P(LargePartsTest, NamesTheValueThatIsDamaged) {
  IoContext small(
      {.in_flight = 2, .compute = 2, .budget_bytes = GetParam().file ? 6 << 20 : 20 << 20});
  TESSERA_ASSERT_OK_AND_ASSIGN(const store::ReadResult chunk, store_->Read("w/c/0/1"));
  const std::vector<std::byte> bytes(chunk.value->span().begin(), chunk.value->span().end());
  const auto expect_loss = [&](const std::string& what) {
    for (const bool own_memory : {true, false}) {
      EXPECT_THAT(Read(own_memory, manifest_.Ask(), io_),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("w/c/0/1")))
          << what << own_memory;
    }
    if (GetParam().name == "blosc") return;
    EXPECT_THAT(Read(false, manifest_.Ask(), small),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("w/c/0/1")))
        << what << " with little memory";
  };
  for (size_t i = 0; i < 12; ++i) {
    std::vector<std::byte> damaged = bytes;
    // The first bytes, which are headers, the last ones, and some between.
    const size_t at = i < 7 ? i : (i < 10 ? bytes.size() - (i - 6) : bytes.size() / i);
    damaged[at] ^= std::byte{0x24};
    ASSERT_THAT(store_->Write("w/c/0/1", damaged), IsOk());
    expect_loss(::testing::PrintToString(at));
  }
  for (const size_t length : {size_t{0}, size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
    ASSERT_THAT(store_->Write("w/c/0/1", std::span(bytes).first(length)), IsOk());
    expect_loss("truncated");
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  ASSERT_THAT(store_->Write("w/c/0/1", longer), IsOk());
  expect_loss("longer");
  ASSERT_THAT(store_->Delete("w/c/0/1"), IsOk());
  expect_loss("deleted");
  EXPECT_THAT(Read(false, manifest_.Ask(), io_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("there is")));
  manifest_.Forget("w/c/0/1");
  EXPECT_THAT(Read(false, manifest_.Ask(), io_), IsOk());
  ASSERT_THAT(store_->Write("w/c/0/1", bytes), IsOk());
  EXPECT_THAT(Read(false, manifest_.Ask(), io_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("w/c/0/1: nothing is known")));
}

TEST_P(LargePartsTest, AbsentChunksArePutAsTheFillValue) {
  ASSERT_THAT(store_->Delete("w/c/0/1"), IsOk());
  std::fill(elements_.begin(), elements_.end(), std::byte{0});
  ASSERT_THAT(store_->Delete("w/c/0/0"), IsOk());
  const Box gone = BoxOf({0, 500}, {600, 1400});
  ExpectRead(gone, {gone, gone}, false, false, io_);
  ExpectRead(gone, {gone}, true, false, io_);
}

INSTANTIATE_TEST_SUITE_P(Codecs, LargePartsTest, ::testing::ValuesIn(LargeCases()),
                         [](const auto& info) { return info.param.name; });

// 64 MiB in one chunk, through 4 MiB.
TEST(ReadPartsTest, AChunkMayBeLargerThanTheBudget) {
  const Dims shape{8192, 4096};
  std::vector<std::byte> elements(size_t{64} << 20);
  // Runs of a few values, so that compressors are quick.
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::byte>(i >> 7 ^ i % 3);
  const std::vector<LargeCase> cases{
      {"none", Compressed({})},
      {"zstd", Compressed({codec::ZstdSpec{1}})},
      {"zstd_order_f", Compressed({codec::ZstdSpec{1}}, {{1, 0}})},
      {"gzip", Compressed({codec::DeflateSpec{.level = 1}})},
      {"shard", Sharded({4096, 4096}, Compressed({codec::ZstdSpec{1}}))}};
  for (const LargeCase& each : cases) {
    SCOPED_TRACE(each.name);
    store::testing::TemporaryFolder folder;
    const auto store =
        store::OpenFileStore(folder.path(), {.durability = store::Durability::kKernel}).value();
    Metadata metadata;
    metadata.format = Format::kV3;
    metadata.dtype = DType::kBfloat16;
    metadata.shape = shape;
    metadata.chunk_shape = shape;
    metadata.fill_value = std::vector<std::byte>(2);
    metadata.codecs = each.codecs;
    TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store, "w", metadata));
    Manifest manifest;
    IoContext large;
    const Box whole = Box::Whole(shape);
    ASSERT_THAT(
        array.Write(whole, RowMajorView(static_cast<const std::byte*>(elements.data()), shape, 2),
                    large, manifest.Fill()),
        IsOk());
    IoContext small({.in_flight = 4, .compute = 2, .budget_bytes = 4 << 20});
    std::vector<std::byte> left(elements.size() / 2);
    std::vector<std::byte> right(elements.size() / 2);
    const Dims half{8192, 2048};
    Boxes destination(false);
    destination.Add(BoxOf({0, 0}, half), RowMajorView(left.data(), half, 2));
    destination.Add(BoxOf({0, 2048}, half), RowMajorView(right.data(), half, 2));
    ASSERT_THAT(array.ReadParts(std::vector{whole}, destination, small, manifest.Ask()), IsOk());
    EXPECT_TRUE(left == Cut(elements, metadata, BoxOf({0, 0}, half)));
    EXPECT_TRUE(right == Cut(elements, metadata, BoxOf({0, 2048}, half)));
    EXPECT_LE(small.budget().peak(), 4 << 20);
    EXPECT_GE(destination.puts(), 16);
  }
}

// Written at another level than the metadata says.
TEST(ReadPartsTest, AWindowLargerThanItsLevelHasIsDecodedWhereMemoryAllows) {
  store::testing::TemporaryFolder folder;
  const auto store =
      store::OpenFileStore(folder.path(), {.durability = store::Durability::kKernel}).value();
  Metadata metadata = JaxMetadata({{2048, 2048}, DType::kFloat32}, Dims{2048, 2048});
  std::vector<std::byte> elements(size_t{16} << 20);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::byte>(i >> 9 ^ i % 5);
  const Box whole = Box::Whole(metadata.shape);
  IoContext large;
  Manifest manifest;
  metadata.codecs.compression = {codec::ZstdSpec{9}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array written, Array::Assume(*store, "w", metadata));
  ASSERT_THAT(
      written.Write(whole,
                    RowMajorView(static_cast<const std::byte*>(elements.data()), metadata.shape, 4),
                    large, manifest.Fill()),
      IsOk());
  metadata.codecs.compression = {codec::ZstdSpec{1}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Assume(*store, "w", metadata));
  std::vector<std::byte> memory(elements.size());
  Boxes destination(false);
  destination.Add(whole, RowMajorView(memory.data(), metadata.shape, 4));
  ASSERT_THAT(array.ReadParts(std::vector{whole}, destination, large, manifest.Ask()), IsOk());
  EXPECT_TRUE(memory == elements);
  IoContext small({.budget_bytes = 4 << 20});
  EXPECT_THAT(array.ReadParts(std::vector{whole}, destination, small, manifest.Ask()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("w/0.0: zstd: the frame wants a larger window")));
  TESSERA_ASSERT_OK_AND_ASSIGN(const store::ReadResult chunk, store->Read("w/0.0"));
  std::vector<std::byte> damaged(chunk.value->span().begin(), chunk.value->span().end());
  damaged.back() ^= std::byte{1};
  ASSERT_THAT(store->Write("w/0.0", damaged), IsOk());
  for (IoContext* io : {&small, &large}) {
    EXPECT_THAT(array.ReadParts(std::vector{whole}, destination, *io, manifest.Ask()),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("w/0.0: the bytes have hash")));
  }
}

// Refuses, or asks to stop, at the n-th Put.
class Refusing final : public Destination {
 public:
  explicit Refusing(std::function<absl::Status(const Box&)> put) : put_(std::move(put)) {}
  std::optional<StridedView> MemoryFor(const Box&) override { return memory_; }
  absl::Status Put(const Box& box, const ConstStridedView&) override { return put_(box); }

  std::optional<StridedView> memory_;

 private:
  const std::function<absl::Status(const Box&)> put_;
};

TEST(ReadPartsTest, ErrorsOfTheDestinationPassThrough) {
  IoContext io({.in_flight = 2, .compute = 2, .budget_bytes = 16 << 20});
  for (const int64_t rows : {10, 2000}) {
    const auto store = store::MakeMemoryStore();
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const Array array,
        Array::Create(*store, "w", JaxMetadata({{rows, 300}, DType::kFloat32}, Dims{rows, 300})));
    const std::vector<std::byte> elements(rows * 300 * 4);
    const Box whole = Box::Whole(array.metadata().shape);
    ASSERT_THAT(array.Write(whole, RowMajorView(elements.data(), whole.shape(), 4), io), IsOk());
    // Even one that reading itself would make something of.
    Refusing full([](const Box&) { return ResourceExhausted("the device is full"); });
    EXPECT_EQ(array.ReadParts(std::vector{whole}, full, io).status(),
              absl::ResourceExhaustedError("the device is full"));
  }
}

TEST(ReadPartsTest, StopsBetweenSlabs) {
  store::testing::TemporaryFolder folder;
  const auto store = store::OpenFileStore(folder.path()).value();
  IoContext io({.in_flight = 2, .compute = 2, .budget_bytes = 64 << 20});
  Metadata metadata = JaxMetadata({{8000, 300}, DType::kFloat32}, Dims{4000, 300});
  metadata.codecs.compression.clear();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store, "w", metadata));
  const std::vector<std::byte> elements(8000 * 300 * 4);
  ASSERT_THAT(
      array.Write(Box::Whole(metadata.shape), RowMajorView(elements.data(), metadata.shape, 4), io),
      IsOk());
  std::stop_source source;
  std::atomic<int> puts{0};
  Refusing stopping([&](const Box&) {
    ++puts;
    source.request_stop();
    return absl::OkStatus();
  });
  EXPECT_THAT(array.ReadParts(PartsOf(metadata, Box::Whole(metadata.shape)), stopping, io, {},
                              source.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
  EXPECT_LE(puts, 2) << "of 38";
}

TEST(ReadPartsTest, RefusesPartsAndMemoryThatDoNotFit) {
  IoContext io;
  const auto store = store::MakeMemoryStore();
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const Array array, Array::Create(*store, "w", JaxMetadata({{8}, DType::kFloat32}, Dims{4})));
  Boxes nowhere(false);
  const auto read = [&](std::vector<Box> parts) { return array.ReadParts(parts, nowhere, io); };
  EXPECT_THAT(read({BoxOf({2}, {4})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the part [2:6] lies in 2 chunks, expected one")));
  EXPECT_THAT(read({BoxOf({0}, {2}), BoxOf({3}, {1})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the part [3:4] is the second one of its chunk")));
  EXPECT_THAT(read({BoxOf({7}, {2})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not within")));
  EXPECT_THAT(read({BoxOf({3}, {0}), BoxOf({4}, {0})}), IsOk()) << "nothing is wanted";
  std::byte memory[16];
  Refusing wrong([](const Box&) { return absl::OkStatus(); });
  wrong.memory_ = RowMajorView(memory, Dims{4}, 4);
  EXPECT_THAT(array.ReadParts(std::vector{BoxOf({0}, {3})}, wrong, io),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("memory of shape [4] for a box of shape [3]")));
}

}  // namespace
}  // namespace tessera::zarr
