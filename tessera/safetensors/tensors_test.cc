#include "tessera/safetensors/tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/safetensors/testing/small_files.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/store/wrappers.h"

namespace tessera::safetensors {
namespace {

using store::testing::TemporaryFolder;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FileOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

template <typename T>
TensorView ViewOf(const std::string& name, DType dtype, const std::vector<T>& values,
                  const Dims& shape) {
  return {name, dtype,
          RowMajorView(reinterpret_cast<const std::byte*>(values.data()), shape, sizeof(T))};
}

template <typename T, typename TensorType>
std::vector<T> ValuesOf(const TensorType& tensor) {
  std::vector<T> values(static_cast<size_t>(*NumElements(tensor.about.shape)));
  if (!values.empty()) std::memcpy(values.data(), tensor.view().data, values.size() * sizeof(T));
  return values;
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TensorsTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  const TemporaryFolder folder_;
  IoContext io_{{.in_flight = 4}};
};

TEST_F(TensorsTest, SavesTheBytesThatTheReferenceWrites) {
  const std::vector<float> b = {1, -2};
  const std::vector<uint16_t> a = {0x3f80};
  const std::vector<uint8_t> m;
  const std::vector<TensorView> tensors = {ViewOf("m", DType::kBool, m, {0, 3}),
                                           ViewOf("a", DType::kBfloat16, a, {}),
                                           ViewOf("b", DType::kFloat32, b, {2})};
  ASSERT_THAT(SaveFile(Path("x.st"), tensors, {.metadata = {{"format", "pt"}}}), IsOk());
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},)"
      R"("m":{"dtype":"BOOL","shape":[0,3],"data_offsets":[10,10]}}   )";
  EXPECT_EQ(TextOf(Path("x.st")), std::string("\xc8\0\0\0\0\0\0\0", 8) + header +
                                      std::string("\0\0\x80\x3f\0\0\0\xc0\x80\x3f", 10));
}

TEST_F(TensorsTest, WhatWasSavedIsLoadedAndMapped) {
  std::vector<uint16_t> large(3'000'001);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<uint16_t>(i * 31);
  const std::vector<double> small = {1, 2, 3, 4, 5, 6};
  const std::vector<uint8_t> none;
  const std::vector<TensorView> tensors = {ViewOf("large", DType::kBfloat16, large, {3'000'001}),
                                           ViewOf("none", DType::kUint8, none, {4, 0}),
                                           ViewOf("small", DType::kFloat64, small, {2, 3})};
  for (const auto durability : {store::Durability::kDisk, store::Durability::kKernel}) {
    ASSERT_THAT(SaveFile(Path("m"), tensors, {.metadata = {{"k", "v"}}, .durability = durability}),
                IsOk());
    TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedFile loaded, LoadFile(Path("m"), io_));
    EXPECT_THAT(loaded.metadata, ElementsAre(Pair("k", "v")));
    ASSERT_EQ(loaded.tensors.size(), 3u);
    EXPECT_EQ(loaded.tensors[0].name, "small");
    EXPECT_EQ(loaded.tensors[0].about, (ShapeDtype{{2, 3}, DType::kFloat64}));
    EXPECT_EQ(ValuesOf<double>(loaded.tensors[0]), small);
    EXPECT_TRUE(ValuesOf<uint16_t>(loaded.tensors[1]) == large);
    EXPECT_EQ(loaded.tensors[2].about, (ShapeDtype{{4, 0}, DType::kUint8}));
    EXPECT_EQ(loaded.tensors[2].memory, nullptr);
    TESSERA_ASSERT_OK_AND_ASSIGN(const MappedFile mapped, MapTensors(Path("m"), io_));
    EXPECT_EQ(mapped.metadata, loaded.metadata);
    ASSERT_EQ(mapped.tensors.size(), 3u);
    EXPECT_EQ(ValuesOf<double>(mapped.tensors[0]), small);
    EXPECT_TRUE(ValuesOf<uint16_t>(mapped.tensors[1]) == large);
    EXPECT_TRUE(mapped.tensors[0].aligned && mapped.tensors[1].aligned);
    EXPECT_THAT(mapped.tensors[2].bytes.span(), IsEmpty());
  }
}

TEST_F(TensorsTest, ViewsOfAnyOrderAndElementsUnderAByteAreSaved) {
  std::vector<float> turned(700 * 500);
  for (size_t i = 0; i < turned.size(); ++i) turned[i] = static_cast<float>(i);
  std::vector<uint8_t> packed(300'000);
  for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<uint8_t>(i * 5 % 64);
  const Dims shape{500, 700};
  const std::vector<TensorView> tensors = {
      {"t",
       DType::kFloat32,
       {reinterpret_cast<const std::byte*>(turned.data()), shape, {4, 500 * 4}, 4}},
      ViewOf("p", DType::kFloat6E3m2fn, packed, {1000, 300})};
  const auto store = store::MakeMemoryStore();
  ASSERT_THAT(SaveFile(*store, "m", tensors), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedFile loaded, LoadFile(*store, "m", io_));
  ASSERT_EQ(loaded.tensors.size(), 2u);
  const auto values = ValuesOf<float>(loaded.tensors[0]);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], turned[i % 700 * 500 + i / 700]) << i;
  }
  EXPECT_TRUE(ValuesOf<uint8_t>(loaded.tensors[1]) == packed);
  EXPECT_THAT(MapTensors(*store, "m", io_),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("memory:m: tensor 'p' has packed float6_e3m2fn elements")));
}

TEST_F(TensorsTest, TensorsThatAreNotAlignedAreToldApart) {
  const auto store = store::MakeMemoryStore();
  const std::string text =
      FileOf({{"b", DType::kUint8, {1}, "x"}, {"f", DType::kFloat32, {1}, "abcd"}});
  ASSERT_THAT(store->Write("m", std::as_bytes(std::span(text))), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const MappedFile mapped, MapTensors(*store, "m", io_));
  EXPECT_TRUE(mapped.tensors[0].aligned);
  EXPECT_FALSE(mapped.tensors[1].aligned);
  EXPECT_EQ(mapped.tensors[1].bytes.text(), "abcd");
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedFile loaded, LoadFile(*store, "m", io_));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(loaded.tensors[1].memory.get()) % 64, 0u);
}

// Of sizes that leave gaps when each begins at a multiple of 64.
std::vector<testing::SmallTensor> ManySmall(size_t count) {
  std::vector<testing::SmallTensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    std::string data(1 + i * 37 % 300, '\0');
    const bool bools = i % 3 == 0;
    for (size_t j = 0; j < data.size(); ++j)
      data[j] = static_cast<char>((i + j) % (bools ? 2 : 251));
    tensors.push_back({Concat("t", i),
                       bools ? DType::kBool : DType::kUint8,
                       {static_cast<int64_t>(data.size())},
                       data});
  }
  return tensors;
}

TEST_F(TensorsTest, SmallTensorsAreReadTogetherAndEachIsAligned) {
  const auto tensors = ManySmall(1000);
  const auto base = store::MakeMemoryStore();
  const std::string text = FileOf(tensors);
  ASSERT_THAT(base->Write("m", std::as_bytes(std::span(text))), IsOk());
  store::StoreCounts counts;
  const auto store = store::MakeCountingStore(*base, counts);
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedFile loaded, LoadFile(*store, "m", io_));
  EXPECT_LE(counts.reads, 3);  // two for the header
  ASSERT_EQ(loaded.tensors.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const LoadedTensor& tensor = loaded.tensors[i];
    EXPECT_EQ(tensor.name, tensors[i].name);
    EXPECT_EQ(tensor.about, (ShapeDtype{tensors[i].shape, tensors[i].dtype}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.memory.get()) % 64, 0u);
    const auto values = ValuesOf<char>(tensor);
    ASSERT_EQ(std::string(values.begin(), values.end()), tensors[i].data) << i;
  }
}

TEST_F(TensorsTest, ASmallTensorOutlivesThoseThatWereReadWithIt) {
  const auto store = store::MakeMemoryStore();
  const std::string text = FileOf(ManySmall(10));
  ASSERT_THAT(store->Write("m", std::as_bytes(std::span(text))), IsOk());
  LoadedTensor kept;
  {
    TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedFile loaded, LoadFile(*store, "m", io_));
    kept = loaded.tensors[4];
  }
  EXPECT_EQ(ValuesOf<char>(kept)[5], 9);
}

TEST_F(TensorsTest, WhatIsWrongWithASmallTensorIsNamed) {
  auto tensors = ManySmall(10);
  tensors[6].data[2] = 2;
  const auto store = store::MakeMemoryStore();
  const std::string text = FileOf(tensors);
  ASSERT_THAT(store->Write("m", std::as_bytes(std::span(text))), IsOk());
  size_t place = text.size();
  for (size_t i = 6; i < 10; ++i) place -= tensors[i].data.size();
  EXPECT_THAT(LoadFile(*store, "m", io_),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr(Concat("memory:m: tensor 't6': bytes [", place + 2, ", ",
                                        place + 3, "): found 2 as a bool, expected 0 or 1"))));
}

TEST_F(TensorsTest, LoadsTheFilesOfAnIndex) {
  const auto put = [&](const std::string& name, const std::string& text) {
    std::ofstream(Path(name), std::ios::binary) << text;
  };
  put("1", FileOf({{"a", DType::kUint8, {2}, "ab"}}));
  put("2", FileOf({{"b", DType::kUint8, {1}, "c"}}));
  put("i.json", R"({"weight_map": {"b": "2", "a": "1"}})");
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedFile loaded, LoadFile(Path("i.json"), io_));
  ASSERT_EQ(loaded.tensors.size(), 2u);
  EXPECT_EQ(loaded.tensors[0].name, "b");
  EXPECT_THAT(ValuesOf<char>(loaded.tensors[1]), ElementsAre('a', 'b'));
}

TEST_F(TensorsTest, WhatCannotBeSavedIsNamedAndTheOldFileStays) {
  const std::vector<float> values = {1, 2};
  ASSERT_THAT(SaveFile(Path("m"), std::vector{ViewOf("a", DType::kFloat32, values, {2})}), IsOk());
  const std::string before = TextOf(Path("m"));
  EXPECT_THAT(SaveFile(Path("m"), std::vector{ViewOf("a", DType::kFloat64, values, {2})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("/m: tensor 'a': a view of elements of 4 bytes"),
                             HasSubstr("float64"))));
  EXPECT_THAT(
      SaveFile(Path("m"), std::vector{ViewOf("a", DType::kInt4, std::vector<int8_t>(2), {2})}),
      StatusIs(absl::StatusCode::kUnimplemented, AllOf(HasSubstr("/m: "), HasSubstr("int4"))));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(SaveFile(Path("m"), std::vector{ViewOf("b", DType::kFloat32, values, {2})}, {},
                       stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("/m: stopped while writing")));
  EXPECT_EQ(TextOf(Path("m")), before);
}

TEST_F(TensorsTest, PathsThatLeadNowhereAreNamed) {
  EXPECT_THAT(LoadFile(Path("none"), io_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none: no such file")));
  EXPECT_THAT(LoadFile(Path("no/folder"), io_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no: open directory")));
  EXPECT_THAT(MapTensors(Path("no/"), io_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not the path of a file")));
  EXPECT_THAT(SaveFile(Path("no/folder"), {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no: open directory")));
}

}  // namespace
}  // namespace tessera::safetensors
