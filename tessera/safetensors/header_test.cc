#include "tessera/safetensors/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::string_view kWorkedText =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("a":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},)"
    R"("m":{"dtype":"BOOL","shape":[0,3],"data_offsets":[10,10]}}   )";

Header Worked() {
  return {.tensors = {{"b", DType::kFloat32, {2}, 0, 8},
                      {"a", DType::kBfloat16, {}, 8, 10},
                      {"m", DType::kBool, {0, 3}, 10, 10}},
          .metadata = {{"format", "pt"}}};
}

Header WithName(std::string name) {
  return {.tensors = {{std::move(name), DType::kUint8, {1}, 0, 1}}, .metadata = {}};
}

// The text of a header without its padding and the length before it.
std::string TextOf(const std::string& encoded) {
  return encoded.substr(kLengthBytes, encoded.find_last_not_of(' ') + 1 - kLengthBytes);
}

TEST(DecodeHeaderTest, ReadsTheWorkedFile) {
  EXPECT_THAT(DecodeHeader(kWorkedText, 10), IsOkAndHolds(Worked()));
}

TEST(DecodeHeaderTest, ReadsTheEmptyFile) {
  EXPECT_THAT(DecodeHeader("{}      ", 0), IsOkAndHolds(Header()));
  EXPECT_THAT(DecodeHeader(R"({"__metadata__":null})", 0), IsOkAndHolds(Header()));
  EXPECT_THAT(DecodeHeader(R"({"__metadata__":{}})", 0), IsOkAndHolds(Header()));
}

TEST(DecodeHeaderTest, OrdersTensorsAsTheirBytesLie) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const Header header, DecodeHeader(R"({"c":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
                                        R"("z":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},)"
                                        R"("e":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},)"
                                        R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                        3));
  std::vector<std::string> names;
  for (const Tensor& tensor : header.tensors) names.push_back(tensor.name);
  // Those of no bytes keep the order of the text.
  EXPECT_THAT(names, ElementsAre("a", "z", "e", "c"));
}

TEST(DecodeHeaderTest, TakesWhiteSpaceAndMembersInAnyOrder) {
  EXPECT_THAT(DecodeHeader("\t\r\n { \"a\" :\n{ \"data_offsets\" : [ 0 , 1 ] , \"shape\" : [ 1 ] ,"
                           "\"dtype\" : \"U8\" } }\r\n\t ",
                           1),
              IsOkAndHolds(WithName("a")));
}

TEST(DecodeHeaderTest, PassesOverUnknownMembersOfATensor) {
  EXPECT_THAT(DecodeHeader(R"({"a":{"x":{"y":[1,-2.5e-3,true,false,null,"\u00e4",{}]},"x":0.0,)"
                           R"("dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                           1),
              IsOkAndHolds(WithName("a")));
}

TEST(DecodeHeaderTest, UndoesEscapes) {
  EXPECT_THAT(DecodeHeader(R"({"\"\\\/\b\f\n\r\t\u0000\u00E9\u20aC\ud83D\uDE00":{"dty\u0070e":)"
                           R"("U\u0038","shape":[1],"data_offsets":[0,1]}})",
                           1),
              IsOkAndHolds(WithName(std::string("\"\\/\b\f\n\r\t\0é€😀", 18))));
}

TEST(DecodeHeaderTest, NamesAreOnlyNames) {
  for (const std::string name : {"", "../../x", "/etc/passwd", "a/b", ".", "model.é.weight"}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const std::string encoded, EncodeHeader(WithName(name)));
    EXPECT_THAT(DecodeHeader(encoded.substr(kLengthBytes), 1), IsOkAndHolds(WithName(name)));
  }
}

TEST(DecodeHeaderTest, KeepsTheOrderOfMetadata) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Header header,
                               DecodeHeader(R"({"__metadata__":{"z":"1","a":"","m":"{}"}})", 0));
  EXPECT_THAT(header.metadata, ElementsAre(Pair("z", "1"), Pair("a", ""), Pair("m", "{}")));
}

TEST(DecodeHeaderTest, KnowsEveryDTypeWithACode) {
  int codes = 0;
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.safetensors.empty()) continue;
    ++codes;
    const int64_t bytes = info.bits;  // of eight elements
    EXPECT_THAT(DecodeHeader(Concat(R"({"a":{"dtype":")", info.safetensors,
                                    R"(","shape":[8],"data_offsets":[0,)", bytes, "]}}"),
                             bytes),
                IsOkAndHolds(Header{{{"a", info.dtype, {8}, 0, static_cast<uint64_t>(bytes)}}, {}}))
        << info.name;
  }
  EXPECT_EQ(codes, 22);
}

TEST(DecodeHeaderTest, EveryTruncationIsRefused) {
  const std::string_view text = kWorkedText.substr(0, kWorkedText.find_last_of('}') + 1);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_THAT(DecodeHeader(text.substr(0, length), 10),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("byte ")))
        << length;
  }
}

TEST(DecodeHeaderTest, EveryFlippedByteIsRefusedOrReadsAsAnotherGoodHeader) {
  for (size_t i = 0; i < kWorkedText.size(); ++i) {
    for (const int mask : {0x01, 0x02, 0x04, 0x10, 0x20, 0x80, 0xFF}) {
      std::string text(kWorkedText);
      text[i] = static_cast<char>(text[i] ^ mask);
      const auto header = DecodeHeader(text, 10);
      if (header.ok()) {
        EXPECT_THAT(Validate(*header), IsOkAndHolds(10u));
      } else {
        EXPECT_THAT(header, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(" ")));
      }
    }
  }
}

TEST(EncodeHeaderTest, WritesTheWorkedFile) {
  EXPECT_THAT(EncodeHeader(Worked()),
              IsOkAndHolds(Eq(std::string("\xC8\0\0\0\0\0\0\0", 8) + std::string(kWorkedText))));
}

TEST(EncodeHeaderTest, WritesTheEmptyFile) {
  EXPECT_THAT(EncodeHeader({}), IsOkAndHolds(Eq(std::string("\x08\0\0\0\0\0\0\0{}      ", 16))));
}

TEST(EncodeHeaderTest, FillsUpToTheAlignment) {
  for (const uint64_t alignment : {1u, 7u, 64u, 4096u}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const std::string encoded, EncodeHeader(Worked(), alignment));
    EXPECT_EQ(encoded.size() % alignment, 0u);
    EXPECT_LT(encoded.size() - (kLengthBytes + TextOf(encoded).size()), alignment);
    EXPECT_THAT(DecodeHeader(encoded.substr(kLengthBytes), 10), IsOkAndHolds(Worked()));
  }
  EXPECT_THAT(EncodeHeader({}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("the alignment of the data is 0; expected 1 to 100000000")));
  EXPECT_THAT(EncodeHeader({}, uint64_t{1} << 63),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the alignment of the data")));
}

TEST(EncodeHeaderTest, EscapesOnlyWhatItMust) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const std::string encoded,
      EncodeHeader(WithName(std::string("\"\\/\b\f\n\r\t\0\x1F\x7Fé€😀", 20))));
  EXPECT_EQ(TextOf(encoded),
            "{\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7Fé€😀\":"
            "{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}");
}

TEST(EncodeHeaderTest, RefusesAHeaderThatIsTooLong) {
  Header header;
  header.metadata = {{"a", std::string(kMaxHeaderBytes, 'x')}};
  EXPECT_THAT(EncodeHeader(header),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("the header would have 100000032 bytes; at most 100000000 are allowed")));
}

TEST(EncodeHeaderTest, RefusesWhatCannotBeRead) {
  const auto error_of = [](const Header& header) { return EncodeHeader(header).status(); };
  using absl::StatusCode;
  EXPECT_THAT(error_of(WithName("__metadata__")),
              StatusIs(StatusCode::kInvalidArgument,
                       Eq("tensor '__metadata__': no tensor can have that name")));
  EXPECT_THAT(error_of(WithName("\xED\xA0\x80")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the name is not UTF-8")));
  Header header = WithName("a");
  header.tensors[0].dtype = DType::kComplex128;
  EXPECT_THAT(error_of(header),
              StatusIs(StatusCode::kUnimplemented,
                       Eq("tensor 'a': dtype complex128 cannot be stored in safetensors")));
  header = WithName("a");
  header.tensors[0].shape = {-1};
  EXPECT_THAT(error_of(header), StatusIs(StatusCode::kInvalidArgument, HasSubstr("tensor 'a': ")));
  header = WithName("a");
  header.metadata = {{"k", "\xFF"}};
  EXPECT_THAT(error_of(header), StatusIs(StatusCode::kInvalidArgument,
                                         Eq("__metadata__: 'k': the value is not UTF-8")));
}

TEST(ValidateTest, ReturnsTheEndOfTheLastTensor) {
  EXPECT_THAT(Validate(Worked()), IsOkAndHolds(10u));
  EXPECT_THAT(Validate({}), IsOkAndHolds(0u));
}

TEST(TensorTextTest, IsWhatTheHeaderHas) {
  EXPECT_EQ(TensorText(Worked().tensors[2]),
            R"({"dtype":"BOOL","shape":[0,3],"data_offsets":[10,10]})");
}

TEST(StoredBytesTest, CountsBitsAndPacksThem) {
  EXPECT_THAT(StoredBytes(DType::kFloat32, Dims{}), IsOkAndHolds(4u));
  EXPECT_THAT(StoredBytes(DType::kFloat32, Dims{2, 3}), IsOkAndHolds(24u));
  EXPECT_THAT(StoredBytes(DType::kFloat4E2m1fn, Dims{3, 2}), IsOkAndHolds(3u));
  EXPECT_THAT(StoredBytes(DType::kFloat6E2m3fn, Dims{4}), IsOkAndHolds(3u));
  EXPECT_THAT(StoredBytes(DType::kFloat64, Dims{0, 7}), IsOkAndHolds(0u));
}

TEST(StoredBytesTest, RefusesOverflowAlsoBeforeAZero) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  EXPECT_THAT(StoredBytes(DType::kUint8, Dims{kLarge, kLarge, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not fit 63 bits")));
  EXPECT_THAT(StoredBytes(DType::kUint64, Dims{int64_t{1} << 57}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not fit 63 bits")));
  EXPECT_THAT(StoredBytes(DType::kUint8, Dims{0, kLarge, kLarge}), IsOkAndHolds(0u));
}

TEST(StoredBytesTest, RefusesBitsThatAreNoWholeBytes) {
  EXPECT_THAT(StoredBytes(DType::kFloat6E3m2fn, Dims{3}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("shape: float6_e3m2fn of shape [3] has 18 bits, which are no whole "
                          "bytes")));
}

TEST(DecodeHeaderLengthTest, ReadsEightBytesLittleEndian) {
  const std::string encoded = *EncodeHeader(Worked());
  EXPECT_THAT(DecodeHeaderLength(std::as_bytes(std::span(encoded)), 218), IsOkAndHolds(200u));
  EXPECT_THAT(DecodeHeaderLength(std::as_bytes(std::span(encoded)).first(8), 208),
              IsOkAndHolds(200u));
}

// Any text that is UTF-8.
std::string AnyText() {
  return *rc::gen::container<std::string>(
      rc::gen::element('a', '.', '"', '\\', '\n', '\0', '\x1f', '/', '\x7f', 'u'));
}

RC_GTEST_PROP(HeaderProperty, WhatIsWrittenIsReadAgain, ()) {
  std::set<std::string> names;
  const auto count = *rc::gen::inRange(0, 20);
  for (int i = 0; i < count; ++i) names.insert(AnyText());
  Header header;
  uint64_t begin = 0;
  for (const std::string& name : names) {
    const DTypeInfo& info = AllDTypes()[*rc::gen::inRange(0, kDTypeCount)];
    const auto sizes = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, 5));
    const Dims shape(sizes.begin(), sizes.begin() + std::min<size_t>(sizes.size(), kMaxRank));
    const auto bytes = StoredBytes(info.dtype, shape);
    if (info.safetensors.empty() || !bytes.ok()) continue;
    header.tensors.push_back({name, info.dtype, shape, begin, begin + *bytes});
    begin += *bytes;
  }
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    header.metadata.emplace_back(Concat(i), AnyText());
  }
  const auto encoded = EncodeHeader(header);
  RC_ASSERT(encoded.ok());
  const auto length = DecodeHeaderLength(std::as_bytes(std::span(*encoded)), encoded->size());
  RC_ASSERT(length.ok() && *length + kLengthBytes == encoded->size());
  const auto back = DecodeHeader(std::string_view(*encoded).substr(kLengthBytes), begin);
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == header);
}

}  // namespace
}  // namespace tessera::safetensors
