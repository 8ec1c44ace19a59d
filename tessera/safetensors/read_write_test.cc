// What is written by boxes is read by parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/pack_bits.h"
#include "tessera/safetensors/read.h"
#include "tessera/safetensors/testing/small_files.h"
#include "tessera/safetensors/write.h"
#include "tessera/store/file_store.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/store/wrappers.h"

namespace tessera::safetensors {
namespace {

using store::KvStore;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::SmallTensor;
using testing::WholeDestination;

constexpr std::string_view kFile = "m.safetensors";

// The parts of a box that lie in one block each.
std::vector<Box> PartsOf(const Box& box, const Tensor& tensor) {
  const Dims block_shape = BlockShape(tensor.shape, tensor.dtype);
  const CellRange cells = CellRange::Of(box, block_shape).value();
  std::vector<Box> parts;
  for (int64_t i = 0; i < cells.size(); ++i) {
    parts.push_back(Intersect(CellBox(cells.at(i), block_shape, tensor.shape), box));
  }
  return parts;
}

// The same ones each time; they fit the bits of their dtype.
std::vector<std::byte> ElementsOf(const Dims& shape, DType dtype) {
  std::vector<std::byte> elements(static_cast<size_t>(*NumBytes(dtype, shape)));
  const int bits = InfoOf(dtype).bits;
  const int values = dtype == DType::kBool ? 2 : bits < 8 ? 1 << bits : 251;
  uint32_t random = 1;
  for (std::byte& element : elements) {
    random = random * 1664525 + 1013904223;
    element = static_cast<std::byte>((random >> 16) * static_cast<uint32_t>(values) >> 16);
  }
  return elements;
}

struct TypeAndShape {
  DType dtype;
  Dims shape;
};

const std::vector<TypeAndShape>& Cases() {
  static const std::vector<TypeAndShape> cases = {
      {DType::kFloat32, {}},
      {DType::kBfloat16, {1}},
      {DType::kInt64, {7, 0, 3}},
      {DType::kFloat32, {3, 5, 7}},
      {DType::kBool, {40, 50}},
      {DType::kFloat4E2m1fn, {6, 5, 4}},
      {DType::kFloat6E2m3fn, {9, 8}},
      {DType::kFloat6E3m2fn, {4}},
      {DType::kFloat64, {300, 2000}},         // blocks of rows of the first dimension
      {DType::kBfloat16, {2, 3, 700'001}},    // blocks of rows of the second
      {DType::kFloat4E2m1fn, {900, 10'000}},  // packed blocks
      {DType::kUint8, {2, (4 << 20) + 17}},   // blocks of a part of a row
      {DType::kComplex64, {1, 40'000, 1, 33}},
  };
  return cases;
}

// On disk and in memory.
class ReadWriteTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    store_ = GetParam() ? *store::OpenFileStore(folder_.path().string(),
                                                {.durability = store::Durability::kKernel})
                        : store::MakeMemoryStore();
  }

  SetPlan PlanAll() {
    std::vector<NewTensor> tensors;
    for (size_t i = 0; i < Cases().size(); ++i) {
      tensors.push_back({Concat("t", i), {Cases()[i].shape, Cases()[i].dtype}});
    }
    return PlanSet(tensors, {.stem = "m"}).value();
  }

  // Every tensor as a whole.
  void WriteAll(const SetPlan& plan) {
    const PlannedFile& file = plan.files[0];
    ASSERT_THAT(StartFile(*store_, kFile, file), IsOk());
    for (const Tensor& tensor : file.header.tensors) {
      const auto elements = ElementsOf(tensor.shape, tensor.dtype);
      ASSERT_THAT(
          WriteBox(*store_, kFile, file, tensor, Box::Whole(tensor.shape),
                   RowMajorView(elements.data(), tensor.shape, DTypeBytes(tensor.dtype)), room_),
          IsOk())
          << tensor.name;
    }
  }

  // The one of 300 rows of 2000 doubles, in two blocks.
  static const Tensor& Doubles(const FileSet& set) {
    const auto& tensors = set.files()[0].header->tensors;
    const auto found = std::ranges::find(tensors, DType::kFloat64, &Tensor::dtype);
    TESSERA_CHECK(found != tensors.end());
    return *found;
  }

  FileSet Open() { return FileSet::Open(*store_, kFile, io_).value(); }

  absl::StatusOr<ReadReport> Read(const FileSet& set, const Tensor& tensor, const Box& box,
                                  const StridedView& target, bool direct,
                                  const ReadOptions& options = {}) {
    WholeDestination destination(target, direct);
    return ReadParts(*store_, set.files()[0], tensor, PartsOf(box, tensor), destination, io_,
                     options);
  }

  // Reads `box` into memory that lies as `strides` say, and looks at all of it.
  void ExpectBox(const FileSet& set, const Tensor& tensor, const Box& box, const Dims& strides,
                 bool direct, const ReadOptions& options = {}) {
    const int64_t bytes = DTypeBytes(tensor.dtype);
    const auto elements = ElementsOf(tensor.shape, tensor.dtype);
    std::vector<std::byte> found(elements.size(), std::byte{0xee});
    ASSERT_THAT(
        Read(set, tensor, box, {found.data(), tensor.shape, strides, bytes}, direct, options),
        IsOk());
    std::vector<std::byte> expected(elements.size(), std::byte{0xee});
    ASSERT_THAT(
        CopyStrided(SubView(RowMajorView(elements.data(), tensor.shape, bytes), box),
                    SubView(StridedView{expected.data(), tensor.shape, strides, bytes}, box)),
        IsOk());
    EXPECT_TRUE(found == expected) << tensor.name << " " << box.Text();
  }

  const store::testing::TemporaryFolder folder_;
  std::unique_ptr<KvStore> store_;
  IoContext io_{{.in_flight = 4, .budget_bytes = 40 << 20}};
  Buffer room_;
};

INSTANTIATE_TEST_SUITE_P(Stores, ReadWriteTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "file" : "memory"; });

Box RandomBox(const Dims& shape, std::mt19937& random) {
  Dims origin(shape.size());
  Dims size(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    size[d] = shape[d] == 0 ? 0 : 1 + static_cast<int64_t>(random()) % shape[d];
    origin[d] = shape[d] == 0 ? 0 : static_cast<int64_t>(random()) % (shape[d] - size[d] + 1);
    if (random() % 2 == 0) {
      origin[d] = 0;
      size[d] = shape[d];
    }
  }
  return Box::Make(origin, size).value();
}

TEST_P(ReadWriteTest, AnyBoxIsReadIntoAnyMemory) {
  WriteAll(PlanAll());
  const FileSet set = Open();
  std::mt19937 random(3);
  for (const Tensor& tensor : set.files()[0].header->tensors) {
    const int64_t bytes = DTypeBytes(tensor.dtype);
    const Dims dense = RowMajorStrides(tensor.shape, bytes);
    const Dims turned = ColumnMajorStrides(tensor.shape, bytes);
    const int boxes = tensor.end - tensor.begin > 1'000'000 ? 1 : 10;
    for (const bool direct : {true, false}) {
      ExpectBox(set, tensor, Box::Whole(tensor.shape), direct ? dense : turned, direct);
      for (int i = 0; i < boxes; ++i) {
        const Box box = RandomBox(tensor.shape, random);
        ExpectBox(set, tensor, box, random() % 2 == 0 ? dense : turned, direct);
      }
    }
  }
  EXPECT_EQ(io_.budget().in_use(), 0);
}

TEST_P(ReadWriteTest, BoxesInAnyOrderFromManyThreadsMakeTheFile) {
  const SetPlan plan = PlanAll();
  WriteAll(plan);
  const std::string whole(store_->Read(kFile)->value->text());
  const PlannedFile& file = plan.files[0];
  ASSERT_THAT(StartFile(*store_, kFile, file), IsOk());
  const auto write_some = [&](size_t first) {
    Buffer room;
    for (const Tensor& tensor : file.header.tensors) {
      const int64_t bytes = DTypeBytes(tensor.dtype);
      const auto elements = ElementsOf(tensor.shape, tensor.dtype);
      // As a transposed array, so that no view is dense.
      std::vector<std::byte> turned(elements.size());
      const StridedView view{turned.data(), tensor.shape, ColumnMajorStrides(tensor.shape, bytes),
                             bytes};
      EXPECT_THAT(CopyStrided(RowMajorView(elements.data(), tensor.shape, bytes), view), IsOk());
      // Blocks of two sizes: halves of large tensors, and all of small ones.
      const auto parts = PartsOf(Box::Whole(tensor.shape), tensor);
      for (size_t i = first; i < parts.size(); i += 2) {
        EXPECT_THAT(WriteBox(*store_, kFile, file, tensor, parts[i],
                             AsConst(SubView(view, parts[i])), room),
                    IsOk());
      }
    }
  };
  std::thread other([&] { write_some(1); });
  write_some(0);
  other.join();
  EXPECT_TRUE(store_->Read(kFile)->value->text() == whole);
}

TEST_P(ReadWriteTest, ColumnsAreWrittenRunByRun) {
  const Dims shape{50, 3000};
  const SetPlan plan = PlanSet({{"a", {shape, DType::kFloat32}}}, {.stem = "m"}).value();
  ASSERT_THAT(StartFile(*store_, kFile, plan.files[0]), IsOk());
  const auto elements = ElementsOf(shape, DType::kFloat32);
  const auto view = RowMajorView(elements.data(), shape, 4);
  for (const auto& [begin, end] : {std::pair{1000, 3000}, std::pair{0, 1000}}) {
    const Box box = Box::Make(Dims{0, begin}, Dims{50, end - begin}).value();
    const Tensor& tensor = plan.files[0].header.tensors[0];
    ASSERT_THAT(WriteBox(*store_, kFile, plan.files[0], tensor, box, SubView(view, box), room_),
                IsOk());
  }
  const FileSet set = Open();
  ExpectBox(set, set.files()[0].header->tensors[0], Box::Whole(shape), RowMajorStrides(shape, 4),
            true);
}

TEST_P(ReadWriteTest, ElementsOfAnotherShapeOrSizeAreRefused) {
  const SetPlan plan = PlanSet({{"a", {{4}, DType::kFloat32}}}, {.stem = "m"}).value();
  const Tensor& tensor = plan.files[0].header.tensors[0];
  ASSERT_THAT(StartFile(*store_, kFile, plan.files[0]), IsOk());
  const std::vector<std::byte> elements(64);
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("m.safetensors: elements of shape"));
  EXPECT_THAT(WriteBox(*store_, kFile, plan.files[0], tensor, Box::Whole(Dims{4}),
                       RowMajorView(elements.data(), Dims{3}, 4), room_),
              refused);
  EXPECT_THAT(WriteBox(*store_, kFile, plan.files[0], tensor, Box::Whole(Dims{4}),
                       RowMajorView(elements.data(), Dims{4}, 2), room_),
              refused);
}

TEST_P(ReadWriteTest, BlocksAreVerified) {
  WriteAll(PlanAll());
  const FileSet set = Open();
  const SetFile& file = set.files()[0];
  std::mt19937 random(5);
  for (const Tensor& tensor : file.header->tensors) {
    const Dims block_shape = BlockShape(tensor.shape, tensor.dtype);
    std::vector<StoredValue> blocks;
    for (const Box& block : PartsOf(Box::Whole(tensor.shape), tensor)) {
      const ByteSpan span = SpanOf(block, tensor.shape, tensor.dtype);
      const auto read =
          store_->Read(kFile, {file.data_begin + tensor.begin + span.begin, span.size()});
      blocks.push_back({span.size(), HashOf(read->value->span())});
    }
    const ReadOptions options{.expected = [&](int64_t cell) -> std::optional<StoredValue> {
      return blocks.at(static_cast<size_t>(cell));
    }};
    const Dims dense = RowMajorStrides(tensor.shape, DTypeBytes(tensor.dtype));
    for (const bool direct : {true, false}) {
      ExpectBox(set, tensor, Box::Whole(tensor.shape), dense, direct, options);
      ExpectBox(set, tensor, RandomBox(tensor.shape, random), dense, direct, options);
    }
    if (blocks.empty()) continue;
    blocks.back().hash.low ^= 1;
    std::vector<std::byte> target(static_cast<size_t>(*NumBytes(tensor.dtype, tensor.shape)));
    const auto view = RowMajorView(target.data(), tensor.shape, DTypeBytes(tensor.dtype));
    for (const bool direct : {true, false}) {
      EXPECT_THAT(
          Read(set, tensor, Box::Whole(tensor.shape), view, direct, options),
          StatusIs(absl::StatusCode::kDataLoss,
                   AllOf(HasSubstr(Concat("m.safetensors: tensor '", tensor.name, "': bytes [")),
                         HasSubstr(Concat(", ", file.data_begin + tensor.end, "): found hash")))));
    }
  }
}

TEST_P(ReadWriteTest, WhatIsExpectedOfABlockMustBeKnownAndOfItsSize) {
  WriteAll(PlanAll());
  const FileSet set = Open();
  const Tensor& tensor = Doubles(set);
  std::vector<std::byte> target(static_cast<size_t>(tensor.end - tensor.begin));
  const auto view = RowMajorView(target.data(), tensor.shape, DTypeBytes(tensor.dtype));
  const auto read = [&](std::optional<StoredValue> value) {
    return Read(set, tensor, Box::Whole(tensor.shape), view, true,
                {.expected = [value](int64_t) { return value; }});
  };
  EXPECT_THAT(read(std::nullopt),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("nothing is known of this block")));
  EXPECT_THAT(read(StoredValue{3, {}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes, expected 3")));
}

TEST_P(ReadWriteTest, OnlyWhatIsWantedIsRead) {
  const Dims shape{64, 100'000};
  const SetPlan plan = PlanSet({{"a", {shape, DType::kUint8}}}, {.stem = "m"}).value();
  ASSERT_THAT(StartFile(*store_, kFile, plan.files[0]), IsOk());
  const auto elements = ElementsOf(shape, DType::kUint8);
  const Tensor tensor = plan.files[0].header.tensors[0];
  ASSERT_THAT(WriteBox(*store_, kFile, plan.files[0], tensor, Box::Whole(shape),
                       RowMajorView(elements.data(), shape, 1), room_),
              IsOk());
  const FileSet set = Open();
  const auto bytes_read = [&](const Dims& origin, const Dims& size, bool direct) {
    std::vector<std::byte> target(elements.size());
    const Box box = Box::Make(origin, size).value();
    return Read(set, tensor, box, RowMajorView(target.data(), shape, 1), direct)->bytes_read;
  };
  // A block has 41 rows.  Rows, then a few columns, by one request a block from first to last.
  EXPECT_EQ(bytes_read({3, 0}, {5, 100'000}, true), 500'000);
  EXPECT_EQ(bytes_read({3, 10}, {5, 10}, true), 400'010);
  EXPECT_EQ(bytes_read({0, 0}, {64, 20'000}, false), 4'020'000 + 2'220'000);
  // Long runs of few bytes are asked for by themselves.
  const Dims wide{4, 4, 250'000};
  const SetPlan other = PlanSet({{"a", {wide, DType::kUint8}}}, {.stem = "m"}).value();
  ASSERT_THAT(StartFile(*store_, kFile, other.files[0]), IsOk());
  const FileSet second = Open();
  std::vector<std::byte> target(4'000'000);
  const Box box = Box::Make(Dims{0, 1, 0}, Dims{4, 1, 70'000}).value();
  for (const bool direct : {true, false}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const ReadReport report,
                                 Read(second, second.files()[0].header->tensors[0], box,
                                      RowMajorView(target.data(), wide, 1), direct));
    EXPECT_EQ(report.bytes_read, 280'000);
    EXPECT_EQ(report.blocks, 1);
  }
}

TEST_P(ReadWriteTest, ABoolOfAnotherByteIsNamed) {
  const std::string text =
      testing::FileOf({{"mask", DType::kBool, {2, 3}, std::string("\0\1\1\0\2\1", 6)}});
  ASSERT_THAT(store_->Write(kFile, std::as_bytes(std::span(text))), IsOk());
  const FileSet set = Open();
  const SetFile& file = set.files()[0];
  std::vector<std::byte> target(6);
  const auto view = RowMajorView(target.data(), Dims{2, 3}, 1);
  for (const bool direct : {true, false}) {
    EXPECT_THAT(
        Read(set, file.header->tensors[0], Box::Whole(Dims{2, 3}), view, direct),
        StatusIs(absl::StatusCode::kDataLoss,
                 HasSubstr(Concat("tensor 'mask': bytes [", file.data_begin + 4, ", ",
                                  file.data_begin + 5, "): found 2 as a bool, expected 0 or 1"))));
    EXPECT_THAT(Read(set, file.header->tensors[0], Box::Whole(Dims{1, 3}), view, direct), IsOk());
  }
}

TEST_P(ReadWriteTest, AFileThatWasReplacedOrIsGoneIsToldApart) {
  WriteAll(PlanAll());
  const FileSet set = Open();
  const Tensor& tensor = set.files()[0].header->tensors.back();
  std::vector<std::byte> target(static_cast<size_t>(*NumBytes(tensor.dtype, tensor.shape)));
  const auto read = [&] {
    return Read(set, tensor, Box::Whole(tensor.shape),
                RowMajorView(target.data(), tensor.shape, DTypeBytes(tensor.dtype)), true);
  };
  const auto aborted = StatusIs(absl::StatusCode::kAborted,
                                HasSubstr("m.safetensors: was replaced while it was read"));
  const std::string text(store_->Read(kFile)->value->text());
  ASSERT_THAT(store_->Write(kFile, std::as_bytes(std::span(text))), IsOk());
  EXPECT_THAT(read(), aborted);
  ASSERT_THAT(store_->Write(kFile, std::as_bytes(std::span(text).first(20))), IsOk());
  EXPECT_THAT(read(), aborted);
  ASSERT_THAT(store_->Delete(kFile), IsOk());
  EXPECT_THAT(read(), aborted);
}

TEST_P(ReadWriteTest, MemoryBesideTheDestinationStaysWithinTheBudget) {
  WriteAll(PlanAll());
  const FileSet set = Open();
  IoContext small({.in_flight = 4, .budget_bytes = 13 << 20});
  IoContext tiny({.in_flight = 4, .budget_bytes = 1 << 20});
  const Tensor& tensor = Doubles(set);
  std::vector<std::byte> target(static_cast<size_t>(tensor.end - tensor.begin));
  const auto view = RowMajorView(target.data(), tensor.shape, DTypeBytes(tensor.dtype));
  const auto parts = PartsOf(Box::Whole(tensor.shape), tensor);
  WholeDestination put(view, false);
  EXPECT_THAT(ReadParts(*store_, set.files()[0], tensor, parts, put, small), IsOk());
  EXPECT_LE(small.budget().peak(), 13 << 20);
  EXPECT_GT(small.budget().peak(), 3 << 20);
  EXPECT_THAT(ReadParts(*store_, set.files()[0], tensor, parts, put, tiny),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("m.safetensors: memory")));
  WholeDestination direct(view, true);
  EXPECT_THAT(ReadParts(*store_, set.files()[0], tensor, parts, direct, tiny), IsOk());
  EXPECT_EQ(tiny.budget().peak(), 0);
}

TEST(StartFileTest, NeedsAStoreThatWritesParts) {
  const auto store = store::MakeMemoryStore({.writes_parts = false});
  const SetPlan plan = PlanSet({{"a", {{4}, DType::kFloat32}}}, {}).value();
  EXPECT_THAT(StartFile(*store, "m", plan.files[0]),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("memory:m")));
}

}  // namespace
}  // namespace tessera::safetensors
