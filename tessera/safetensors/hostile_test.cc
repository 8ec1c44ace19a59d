// Headers that someone made up: each is refused for what is wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/safetensors/header.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Eq;

struct Case {
  std::string_view text;
  std::string_view error;
};

void ExpectRefused(const std::vector<Case>& cases, uint64_t data_size = 4) {
  for (const auto& [text, error] : cases) {
    EXPECT_THAT(DecodeHeader(text, data_size),
                StatusIs(absl::StatusCode::kInvalidArgument, Eq(std::string(error))))
        << text;
  }
}

// A header of one tensor "a" with these members.
std::string OfOne(std::string_view members) { return Concat(R"({"a":{)", members, "}}"); }

// The error of a tensor "a" with this shape, an F32 of four bytes.
absl::Status ErrorOfShape(std::string_view shape) {
  return DecodeHeader(OfOne(Concat(R"("dtype":"F32","data_offsets":[0,4],"shape":)", shape)), 4)
      .status();
}

absl::Status ErrorOfOffsets(std::string_view offsets) {
  return DecodeHeader(OfOne(Concat(R"("dtype":"F32","shape":[1],"data_offsets":)", offsets)), 4)
      .status();
}

auto Refused(std::string_view error) {
  return StatusIs(absl::StatusCode::kInvalidArgument, Eq(std::string(error)));
}

absl::Status ErrorOfLength(uint64_t length, uint64_t file_size, size_t available = 8) {
  std::vector<std::byte> first(8);
  for (size_t i = 0; i < first.size(); ++i) first[i] = std::byte(length >> (8 * i));
  first.resize(available);
  return DecodeHeaderLength(first, file_size).status();
}

TEST(HostileLengthTest, FilesThatAreTooShort) {
  EXPECT_THAT(ErrorOfLength(0, 0, 0),
              Refused("the file has 0 bytes; a safetensors file begins with 8 that are the length "
                      "of its header"));
  EXPECT_THAT(ErrorOfLength(2, 7, 7),
              Refused("the file has 7 bytes; a safetensors file begins with 8 that are the length "
                      "of its header"));
  // What is at hand decides, whatever the size is said to be.
  EXPECT_THAT(ErrorOfLength(2, 100, 3),
              Refused("the file has 3 bytes; a safetensors file begins with 8 that are the length "
                      "of its header"));
}

TEST(HostileLengthTest, LengthsAboveTheLimit) {
  constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();
  EXPECT_THAT(ErrorOfLength(100'000'001, kLargest),
              Refused("the header has a length of 100000001 bytes; at most 100000000 are allowed"));
  EXPECT_THAT(ErrorOfLength(uint64_t{1} << 63, kLargest),
              Refused("the header has a length of 9223372036854775808 bytes; at most 100000000 are "
                      "allowed"));
  EXPECT_THAT(ErrorOfLength(kLargest, 100),
              Refused("the header has a length of 18446744073709551615 bytes; at most 100000000 "
                      "are allowed"));
  EXPECT_THAT(ErrorOfLength(100'000'000, 100'000'008), IsOk());
}

TEST(HostileLengthTest, LengthsPastTheEndOfTheFile) {
  EXPECT_THAT(ErrorOfLength(1, 8),
              Refused("the header has a length of 1 bytes, but the file ends 0 bytes after it "
                      "begins"));
  EXPECT_THAT(ErrorOfLength(100'000'000, 100'000'007),
              Refused("the header has a length of 100000000 bytes, but the file ends 99999999 "
                      "bytes after it begins"));
}

TEST(HostileTextTest, TextAboveTheLimitIsNotLookedAt) {
  // No such memory is there: only the size is looked at.
  const std::string_view text("{}", kMaxHeaderBytes + 1);
  EXPECT_THAT(DecodeHeader(text, 0),
              Refused("the header has 100000001 bytes; at most 100000000 are allowed"));
}

TEST(HostileTextTest, TextThatIsNotUtf8) {
  ExpectRefused({
      {"\xFF{}", "byte 0: the header is not UTF-8"},
      {"{\"\xC0\xAF\":1}", "byte 2: the header is not UTF-8"},
      {"{\"\xED\xA0\x80\":1}", "byte 2: the header is not UTF-8"},
      {"{\"a\xF4\x90\x80\x80\":1}", "byte 3: the header is not UTF-8"},
      {"{} \xE2\x82", "byte 3: the header is not UTF-8"},
  });
}

TEST(HostileTextTest, TextThatIsNoObject) {
  ExpectRefused({
      {"", "byte 0: expected an object, found the end"},
      {" \n", "byte 2: expected an object, found the end"},
      {"\xEF\xBB\xBF{}", "byte 0: expected an object, found '\xEF\xBB\xBF{}'"},
      {"[]", "byte 0: expected an object, found '[]'"},
      {"null", "byte 0: expected an object, found 'null'"},
      {"\v{}", "byte 0: expected an object, found '\\x0b{}'"},
      {"'a'", "byte 0: expected an object, found ''a''"},
      {std::string_view("\0{}", 3), "byte 0: expected an object, found '\\x00{}'"},
  });
}

TEST(HostileTextTest, TextBehindTheObject) {
  ExpectRefused({
      {"{}x", "byte 2: expected nothing more, found 'x'"},
      {"{} {}", "byte 3: expected nothing more, found '{}'"},
      {std::string_view("{}\0", 3), "byte 2: expected nothing more, found '\\x00'"},
      {"{}}", "byte 2: expected nothing more, found '}'"},
      {"{}//", "byte 2: expected nothing more, found '//'"},
  });
}

TEST(HostileTextTest, TextThatIsNoJson) {
  ExpectRefused({
      {"{", "byte 1: expected a string, found the end"},
      {"{a:1}", "byte 1: expected a string, found 'a:1}'"},
      {"{,}", "byte 1: expected a string, found ',}'"},
      {R"({"a")", "byte 4: expected ':', found the end"},
      {R"({"a",1})", "byte 4: expected ':', found ',1}'"},
      {R"({"a":{"x":1 "y":2}})", R"(tensor 'a': byte 12: expected ',' or '}', found '"y":2}}')"},
      {R"({"a":{"x":1,}})", "tensor 'a': byte 12: expected a string, found '}}'"},
      {R"({"a":{"x":[1,]}})", "tensor 'a': byte 13: expected a JSON value, found ']}}'"},
      {R"({"a":{"x":[1 2]}})", "tensor 'a': byte 13: expected ',' or ']', found '2]}}'"},
      {R"({"__metadata__":{},})", "byte 19: expected a string, found '}'"},
      {"{/**/}", "byte 1: expected a string, found '/**/}'"},
  });
}

TEST(HostileTextTest, StringsThatAreNone) {
  ExpectRefused({
      {R"({"a)", "byte 1: a string without an end"},
      {R"({"a\)", "byte 3: no such escape in a string"},
      {R"({"a\x41":1})", "byte 3: no such escape in a string"},
      {R"({"a\u12)", "byte 3: \\u without four hex digits"},
      {R"({"a\u12g4":1})", "byte 3: \\u without four hex digits"},
      {R"({"\ud800":1})", "byte 2: half of a surrogate pair in a string"},
      {R"({"\udc00":1})", "byte 2: half of a surrogate pair in a string"},
      {R"({"\udc00\ud800":1})", "byte 2: half of a surrogate pair in a string"},
      {R"({"\ud800\u0041":1})", "byte 2: half of a surrogate pair in a string"},
      {R"({"\ud800\ud800":1})", "byte 2: half of a surrogate pair in a string"},
      {R"({"\ud800\u00":1})", "byte 8: \\u without four hex digits"},
      {std::string_view("{\"a\0b\":1}", 9), "byte 3: a control character in a string"},
      {"{\"a\nb\":1}", "byte 3: a control character in a string"},
      {"{\"long enough for eight at once\x1F\":1}", "byte 31: a control character in a string"},
  });
}

TEST(HostileTextTest, ValuesOfUnknownMembersThatAreNoJson) {
  for (const std::string_view value : {"tru", "nul", "True", "NaN", "Infinity", "+1", ".5", "1.",
                                       "1e", "1e+", "-", "--1", "'x'", "undefined", ""}) {
    EXPECT_THAT(DecodeHeader(OfOne(Concat(R"("x":)", value)), 0),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::StartsWith("tensor 'a': byte 10: expected a JSON value")))
        << value;
  }
  EXPECT_THAT(DecodeHeader(OfOne(R"("x":01)"), 0),
              Refused("tensor 'a': byte 11: expected ',' or '}', found '1}}'"));
  EXPECT_THAT(DecodeHeader(OfOne(R"("x":"\ud800")"), 0),
              Refused("tensor 'a': byte 11: half of a surrogate pair in a string"));
}

TEST(HostileTextTest, ValuesThatNestTooDeep) {
  const auto nested = [](int depth) {
    return OfOne(Concat(R"("dtype":"U8","shape":[],"data_offsets":[0,1],"x":)",
                        std::string(depth, '['), std::string(depth, ']')));
  };
  EXPECT_THAT(DecodeHeader(nested(126), 1), IsOk());
  EXPECT_THAT(DecodeHeader(nested(127), 1),
              Refused("tensor 'a': byte 181: values nest deeper than 128"));
  EXPECT_THAT(DecodeHeader(nested(1'000'000), 1),
              Refused("tensor 'a': byte 181: values nest deeper than 128"));
  EXPECT_THAT(DecodeHeader(std::string(1'000'000, '{'), 1),
              Refused("byte 1: expected a string, found '{{{{{{{{{{{{'"));
}

TEST(HostileEntryTest, TensorsThatAreNoObjects) {
  ExpectRefused({
      {R"({"a":1})", "tensor 'a': byte 5: expected an object, found '1}'"},
      {R"({"a":null})", "tensor 'a': byte 5: expected an object, found 'null}'"},
      {R"({"a":["F32",[1],[0,4]]})",
       R"(tensor 'a': byte 5: expected an object, found '["F32",[1],[')"},
  });
}

TEST(HostileEntryTest, MembersThatAreMissing) {
  ExpectRefused({
      {R"({"a":{}})", "tensor 'a': byte 5: the member dtype is missing"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})",
       "tensor 'a': byte 5: the member shape is missing"},
      {R"({"a":{"dtype":"F32","shape":[1]}})",
       "tensor 'a': byte 5: the member data_offsets is missing"},
      {R"({"a":{"Dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "tensor 'a': byte 5: the member dtype is missing"},
  });
}

TEST(HostileEntryTest, MembersThatStandThereTwice) {
  ExpectRefused({
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "tensor 'a': dtype: byte 28: the member stands there twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"sh\u0061pe":[1],"data_offsets":[0,4]}})",
       "tensor 'a': shape: byte 45: the member stands there twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"data_offsets":[0,4]}})",
       "tensor 'a': data_offsets: byte 68: the member stands there twice"},
  });
}

TEST(HostileEntryTest, NamesThatStandThereTwice) {
  ExpectRefused({
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "tensor 'a': the name stands there twice"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("\u0061":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "tensor 'a': the name stands there twice"},
  });
}

TEST(HostileEntryTest, DTypesThatAreNone) {
  const auto of = [](std::string_view dtype) {
    return DecodeHeader(OfOne(Concat(R"("dtype":)", dtype, R"(,"shape":[1],"data_offsets":[0,4])")),
                        4);
  };
  EXPECT_THAT(of(R"("F128")"),
              Refused("tensor 'a': dtype: byte 14: 'F128' is no dtype of the format"));
  EXPECT_THAT(of(R"("f32")"),
              Refused("tensor 'a': dtype: byte 14: 'f32' is no dtype of the format"));
  EXPECT_THAT(of(R"("float32")"),
              Refused("tensor 'a': dtype: byte 14: 'float32' is no dtype of the format"));
  EXPECT_THAT(of(R"("")"), Refused("tensor 'a': dtype: byte 14: '' is no dtype of the format"));
  EXPECT_THAT(of(R"("F32\u0000")"),
              Refused("tensor 'a': dtype: byte 14: 'F32\\x00' is no dtype of the format"));
  EXPECT_THAT(of("17"),
              Refused("tensor 'a': dtype: byte 14: expected a string, found '17,\"shape\":['"));
  EXPECT_THAT(of("null"),
              Refused("tensor 'a': dtype: byte 14: expected a string, found 'null,\"shape\"'"));
}

TEST(HostileEntryTest, ShapesThatAreNone) {
  const std::string prefix = "tensor 'a': shape: byte ";
  EXPECT_THAT(ErrorOfShape("null"), Refused(prefix + "49: expected a list, found 'null}}'"));
  EXPECT_THAT(ErrorOfShape("1"), Refused(prefix + "49: expected a list, found '1}}'"));
  EXPECT_THAT(ErrorOfShape("{}"), Refused(prefix + "49: expected a list, found '{}}}'"));
  EXPECT_THAT(ErrorOfShape("[,1]"),
              Refused(prefix + "50: expected an integer from 0 up, found ',1]}}'"));
  EXPECT_THAT(ErrorOfShape("[1,]"),
              Refused(prefix + "52: expected an integer from 0 up, found ']}}'"));
  for (const std::string number :
       {"-1", "-0", "1.0", "1.", "1e3", "1E3", "01", "00", "+1", "\"1\"", "null", "true", "[1]"}) {
    EXPECT_THAT(
        ErrorOfShape(Concat("[", number, "]")),
        Refused(Concat(prefix, "50: expected an integer from 0 up, found '", number, "]}}'")));
  }
  EXPECT_THAT(ErrorOfShape("[0x1]"), Refused(prefix + "51: expected ',' or ']', found 'x1]}}'"));
}

TEST(HostileEntryTest, ShapesThatAreTooLarge) {
  EXPECT_THAT(ErrorOfShape("[9223372036854775808]"),
              Refused("tensor 'a': shape: byte 50: a size of 9223372036854775808 does not fit 63 "
                      "bits"));
  EXPECT_THAT(ErrorOfShape("[18446744073709551616]"),
              Refused("tensor 'a': shape: byte 50: the number does not fit 64 bits"));
  EXPECT_THAT(ErrorOfShape(Concat("[1", std::string(100'000, '0'), "]")),
              Refused("tensor 'a': shape: byte 50: the number does not fit 64 bits"));
  std::string ones = "1";
  for (int i = 1; i < kMaxRank; ++i) ones += ",1";
  EXPECT_THAT(ErrorOfShape(Concat("[", ones, "]")), IsOk());
  EXPECT_THAT(ErrorOfShape(Concat("[", ones, ",1]")),
              Refused("tensor 'a': shape: byte 114: more than the 32 dimensions that are "
                      "supported"));
}

TEST(HostileEntryTest, ShapesWhoseProductsDoNotFit) {
  EXPECT_THAT(ErrorOfShape("[1099511627776,1099511627776,0]"),
              Refused("tensor 'a': shape: the bits of float32 of shape "
                      "[1099511627776,1099511627776,0] do not fit 63 bits"));
  EXPECT_THAT(ErrorOfShape("[9223372036854775807]"),
              Refused("tensor 'a': shape: the bits of float32 of shape [9223372036854775807] do "
                      "not fit 63 bits"));
  // Two to the 64th bits would wrap around to none.
  EXPECT_THAT(ErrorOfShape("[4611686018427387904,4]"),
              Refused("tensor 'a': shape: the bits of float32 of shape [4611686018427387904,4] do "
                      "not fit 63 bits"));
}

TEST(HostileEntryTest, OffsetsThatAreNone) {
  const std::string prefix = "tensor 'a': data_offsets: byte ";
  EXPECT_THAT(ErrorOfOffsets("[]"),
              Refused(prefix + "47: expected begin and end, found 0 numbers"));
  EXPECT_THAT(ErrorOfOffsets("[0]"),
              Refused(prefix + "47: expected begin and end, found 1 numbers"));
  EXPECT_THAT(ErrorOfOffsets("[0,4,4]"),
              Refused(prefix + "47: expected begin and end, found 3 numbers"));
  EXPECT_THAT(ErrorOfOffsets("null"), Refused(prefix + "47: expected a list, found 'null}}'"));
  EXPECT_THAT(ErrorOfOffsets("\"04\""), Refused(prefix + "47: expected a list, found '\"04\"}}'"));
  EXPECT_THAT(ErrorOfOffsets("[-0,4]"),
              Refused(prefix + "48: expected an integer from 0 up, found '-0,4]}}'"));
  EXPECT_THAT(ErrorOfOffsets("[0,4.0]"),
              Refused(prefix + "50: expected an integer from 0 up, found '4.0]}}'"));
  EXPECT_THAT(ErrorOfOffsets("[0,18446744073709551620]"),
              Refused(prefix + "50: the number does not fit 64 bits"));
}

TEST(HostileOffsetsTest, BytesWithoutOrWithTwoTensors) {
  ExpectRefused({
      {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
       "tensor 'a': data_offsets: it begins at 1, and bytes before it have no tensor"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "tensor 'b': data_offsets: it begins at 2, but 'a' before it ends at 1: the bytes between "
       "have no tensor"},
      {R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},)"
       R"("a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
       "tensor 'b': data_offsets: it begins at 2, but 'a' before it ends at 3: the tensors "
       "overlap"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
       "tensor 'b': data_offsets: it begins at 0, but 'a' before it ends at 4: the tensors "
       "overlap"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("e":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
       "tensor 'e': data_offsets: it begins at 2, but 'a' before it ends at 4: the tensors "
       "overlap"},
  });
}

TEST(HostileOffsetsTest, EndsBeforeTheBegin) {
  EXPECT_THAT(DecodeHeader(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                           R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})",
                           4),
              Refused("tensor 'b': data_offsets: it ends at 0, before its begin at 4"));
}

TEST(HostileOffsetsTest, BytesThatAreNotThoseOfTheShape) {
  EXPECT_THAT(ErrorOfOffsets("[0,3]"),
              Refused("tensor 'a': data_offsets: [0,3) are 3 bytes; F32 of shape [1] has 4"));
  EXPECT_THAT(ErrorOfOffsets("[0,18446744073709551615]"),
              Refused("tensor 'a': data_offsets: [0,18446744073709551615) are "
                      "18446744073709551615 bytes; F32 of shape [1] has 4"));
  EXPECT_THAT(DecodeHeader(OfOne(R"("dtype":"F4","shape":[5],"data_offsets":[0,3])"), 3),
              Refused("tensor 'a': shape: float4_e2m1fn of shape [5] has 20 bits, which are no "
                      "whole bytes"));
}

TEST(HostileOffsetsTest, ChecksRunInOneOrder) {
  // The offsets come before the product of the shape, the product before the whole bytes.
  EXPECT_THAT(DecodeHeader(OfOne(R"("dtype":"F4","shape":[5],"data_offsets":[1,9])"), 9),
              Refused("tensor 'a': data_offsets: it begins at 1, and bytes before it have no "
                      "tensor"));
  EXPECT_THAT(DecodeHeader(OfOne(R"("dtype":"F4","shape":[5],"data_offsets":[0,9])"), 9),
              Refused("tensor 'a': shape: float4_e2m1fn of shape [5] has 20 bits, which are no "
                      "whole bytes"));
}

TEST(HostileDataTest, DataThatEndsBeforeTheTensorsOrAfter) {
  constexpr std::string_view kFour = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const auto lost = [](std::string_view error) {
    return StatusIs(absl::StatusCode::kDataLoss, Eq(std::string(error)));
  };
  EXPECT_THAT(DecodeHeader(kFour, 4), IsOk());
  EXPECT_THAT(DecodeHeader(kFour, 3),
              lost("the tensors have 4 bytes, but only 3 follow the header: the file is cut "
                   "short"));
  EXPECT_THAT(DecodeHeader(kFour, 9),
              lost("the tensors have 4 bytes, but 9 follow the header: the last 5 have no tensor"));
  EXPECT_THAT(DecodeHeader("{}", 1),
              lost("the tensors have 0 bytes, but 1 follow the header: the last 1 have no tensor"));
}

TEST(HostileMetadataTest, MetadataThatAreNone) {
  ExpectRefused({
      {R"({"__metadata__":1})", "__metadata__: byte 16: expected an object, found '1}'"},
      {R"({"__metadata__":nil})", "__metadata__: byte 16: expected a JSON value, found 'nil}'"},
      {R"({"__metadata__":{"k":1}})", "__metadata__: 'k': byte 21: expected a string, found '1}}'"},
      {R"({"__metadata__":{"k":null}})",
       "__metadata__: 'k': byte 21: expected a string, found 'null}}'"},
      {R"({"__metadata__":{"k":{}}})",
       "__metadata__: 'k': byte 21: expected a string, found '{}}}'"},
      {R"({"__metadata__":{"k":"v","k":"w"}})", "__metadata__: 'k': the name stands there twice"},
      {R"({"__metadata__":{},"__metadata__":{}})",
       "__metadata__: byte 34: the member stands there twice"},
      {R"({"__metadata__":null,"__metadata__":null})",
       "__metadata__: byte 36: the member stands there twice"},
      {R"({"__metadata__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "__metadata__: 'shape': byte 39: expected a string, found '[1],\"data_of'"},
  });
}

}  // namespace
}  // namespace tessera::safetensors
