#include "tessera/ledger/metadata_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(CheckpointMetadataTest, WritesOneLineAsPythonDoes) {
  const CheckpointMetadata metadata{.version = "0.1.0",
                                    .timestamp = "2026-06-21T08:08:40.123456",
                                    .custom_metadata = R"({"step":1000,"x":[1,NaN],"y":{}})"};
  EXPECT_THAT(EncodeCheckpointMetadata(metadata),
              IsOkAndHolds(R"({"version": "0.1.0", "timestamp": "2026-06-21T08:08:40.123456", )"
                           R"("checksum": {}, "array_metadata": {}, "framework_version": null, )"
                           R"("custom_metadata": {"step": 1000, "x": [1, NaN], "y": {}}})"));
}

TEST(CheckpointMetadataTest, ComesBack) {
  const CheckpointMetadata metadata{.version = std::string(WriterVersion()),
                                    .timestamp = "2026-06-21T08:08:40+00:00",
                                    .checksum = {{"a.w", std::string(64, 'e')}},
                                    .array_metadata = {{"a.w", {"bfloat16", {4, 0}}}},
                                    .framework_version = "é",
                                    .custom_metadata = R"({"step": 1.50, "y": -Infinity})"};
  TESSERA_ASSERT_OK_AND_ASSIGN(const std::string text, EncodeCheckpointMetadata(metadata));
  EXPECT_THAT(DecodeCheckpointMetadata(text), IsOkAndHolds(metadata));
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(DecodeCheckpointMetadata(text.substr(0, size)),
                StatusIs(kInvalid, HasSubstr("bad JSON at byte")));
  }
}

TEST(CheckpointMetadataTest, FieldsMayBeMissingOrMore) {
  EXPECT_THAT(DecodeCheckpointMetadata(R"({"other": [NaN], "framework_version": null})"),
              IsOkAndHolds(CheckpointMetadata{}));
}

TEST(CheckpointMetadataTest, ErrorsNameTheField) {
  const auto decode = [](std::string_view text) { return DecodeCheckpointMetadata(text).status(); };
  EXPECT_THAT(decode("[]"), StatusIs(kInvalid, "document: expected an object, found array"));
  EXPECT_THAT(decode(R"({"version": 1})"),
              StatusIs(kInvalid, "version: expected a string, found 1"));
  EXPECT_THAT(decode(R"({"checksum": []})"),
              StatusIs(kInvalid, "checksum: expected an object, found array"));
  EXPECT_THAT(decode(R"({"checksum": {"a.w": "00"}})"),
              StatusIs(kInvalid, "checksum['a.w']: expected 64 hexadecimal digits, found '00'"));
  EXPECT_THAT(
      decode(R"({"array_metadata": {"w": {"dtype": "x", "shape": [-1]}}})"),
      StatusIs(kInvalid, "array_metadata['w'].shape[0]: expected a size from 0 up, found -1"));
  EXPECT_THAT(decode(R"({"framework_version": 7})"),
              StatusIs(kInvalid, "framework_version: expected a string, found 7"));
  EXPECT_THAT(EncodeCheckpointMetadata({"", "", {}, {}, {}, "{,}"}),
              StatusIs(kInvalid, "custom_metadata: bad JSON at byte 1"));
}

TEST(RunMetadataTest, WritesOneLineAndReadsItBack) {
  RunMetadata metadata{
      .step = 1000, .timestamp = "2026-06-21T08:08:41.000123", .is_temporary = true};
  TESSERA_ASSERT_OK_AND_ASSIGN(const std::string text, EncodeRunMetadata(metadata));
  EXPECT_EQ(text,
            R"({"step": 1000, "timestamp": "2026-06-21T08:08:41.000123", "is_temporary": true})");
  metadata.time = {1782029321000123};
  EXPECT_THAT(DecodeRunMetadata(text), IsOkAndHolds(metadata));
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(DecodeRunMetadata(text.substr(0, size)),
                StatusIs(kInvalid, HasSubstr("bad JSON at byte")));
  }
}

TEST(RunMetadataTest, ErrorsNameTheField) {
  const auto decode = [](std::string_view text) { return DecodeRunMetadata(text).status(); };
  EXPECT_THAT(decode("null"), StatusIs(kInvalid, "document: expected an object, found null"));
  EXPECT_THAT(decode("{}"), StatusIs(kInvalid, "step: the field is missing"));
  EXPECT_THAT(decode(R"({"step": 1.5})"),
              StatusIs(kInvalid, "step: expected an integer, found 1.5"));
  EXPECT_THAT(decode(R"({"step": 99999999999999999999})"),
              StatusIs(kInvalid, "step: 99999999999999999999 does not fit 63 bits"));
  EXPECT_THAT(
      decode(R"({"step": 1, "timestamp": "now"})"),
      StatusIs(kInvalid, "timestamp: expected a time like 2026-06-21T08:08:41, found 'now'"));
  EXPECT_THAT(decode(R"({"step": 1, "timestamp": "2026-06-21T08:08:41", "is_temporary": 0})"),
              StatusIs(kInvalid, "is_temporary: expected true or false, found 0"));
  EXPECT_THAT(DecodeRunMetadata(R"({"step": -1, "timestamp": "2026-06-21T08:08:41"})"), IsOk());
}

}  // namespace
}  // namespace tessera::ledger
