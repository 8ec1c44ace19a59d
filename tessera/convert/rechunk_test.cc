// The same arrays in other chunks: by size, and by the shards of a mesh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/checkpoint/plan_load.h"
#include "tessera/convert/convert.h"
#include "tessera/convert/testing/folders.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::convert {
namespace {

using ::tessera::convert::testing::ContentOf;
using ::tessera::convert::testing::SomeElements;
using ::tessera::convert::testing::ZarrFolder;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

mesh::Mesh MeshOf(std::string_view text) { return mesh::ParseMesh(text).value(); }

std::vector<mesh::PartitionRule> RulesOf(std::string_view text) {
  return mesh::PartitionRulesFromJson(ParseJson(text).value()).value();
}

class RechunkTest : public ::testing::Test {
 protected:
  std::string Path(std::string_view name) const { return (folder_.path() / name).string(); }

  std::string Source(zarr::Format format = zarr::Format::kV3) {
    ZarrFolder source(Path("source"), format);
    source.Add({"a/kernel", {{64, 48}, DType::kFloat32}, {10, 48}})
        .Add({"b/kernel", {{30, 16}, DType::kBfloat16}, {30, 7}})
        .Add({"scale", {{5}, DType::kFloat32}, {5}})
        .Add({"step", {{}, DType::kInt32}, {}});
    return source.path();
  }

  ConvertRequest Sharded(TargetFormat format) {
    ConvertRequest request;
    request.target.format = format;
    request.target.shards = {MeshOf("dp=4,tp=4"), RulesOf(kRules)};
    return request;
  }

  absl::StatusOr<ConvertReport> Run(const std::string& source, std::string_view made,
                                    const ConvertRequest& request) {
    return Convert(source, Path(made), request, {.io = io_});
  }

  std::map<std::string, Dims> ChunksOf(std::string_view made) {
    std::map<std::string, Dims> chunks;
    const auto opened = checkpoint::Checkpoint::OpenAt(Path(made), io_, {.all_prefixes = true});
    EXPECT_THAT(opened, IsOk());
    for (const auto& array : opened->arrays()) chunks[array.name] = array.chunk_shape();
    return chunks;
  }

  static constexpr std::string_view kRules = R"([["kernel", ["dp", "tp"]], ["scale", ["tp"]]])";

  store::testing::TemporaryFolder folder_;
  IoContext io_{{.in_flight = 2, .budget_bytes = int64_t{64} << 20}};
};

TEST_F(RechunkTest, ChunksAreTheShardsOfTheMesh) {
  const std::string source = Source();
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report,
                               Run(source, "made", Sharded(TargetFormat::kTensorstore)));
  EXPECT_EQ(ContentOf(Path("made"), io_), ContentOf(source, io_));
  const std::map<std::string, Dims> expected = {
      {"a.kernel", {16, 12}}, {"b.kernel", {30, 4}}, {"scale", {5}}, {"step", {}}};
  EXPECT_EQ(ChunksOf("made"), expected);
  EXPECT_THAT(report.unmatched, ElementsAre("step"));
  EXPECT_THAT(report.corrections,
              ElementsAre("b.kernel: dimension 0: 'dp' -> None (does not divide)",
                          "scale: dimension 0: 'tp' -> None (does not divide)"));
  EXPECT_THAT(report.plan, AllOf(HasSubstr("cells [16,12] in shards [16,12] by rule 0"),
                                 HasSubstr("step int32[] at step cells [] in shards [] by no rule"),
                                 HasSubstr("corrected in dimension 0")));
}

TEST_F(RechunkTest, ALoadOnThatMeshReadsNothingTwice) {
  const std::string source = Source();
  for (const TargetFormat format :
       {TargetFormat::kTensorstore, TargetFormat::kZarr2, TargetFormat::kZarr3}) {
    ConvertRequest request = Sharded(format);
    // Shards that are larger than a chunk are cut, and never over their border.
    for (const int64_t chunk_bytes : {int64_t{64} << 20, int64_t{300}}) {
      request.target.chunk_bytes = chunk_bytes;
      request.overwrite = true;
      ASSERT_THAT(Run(source, "made", request), IsOk());
      TESSERA_ASSERT_OK_AND_ASSIGN(const auto opened,
                                   checkpoint::Checkpoint::OpenAt(Path("made"), io_));
      std::vector<mesh::PartitionRule> rules = request.target.shards->rules;
      rules.push_back({".*", mesh::PartitionSpec()});
      checkpoint::LoadRequest load;
      load.mesh = request.target.shards->mesh;
      load.rules = rules;
      load.auto_correct = true;
      TESSERA_ASSERT_OK_AND_ASSIGN(const checkpoint::LoadPlan plan,
                                   checkpoint::PlanLoad(opened, load));
      ASSERT_EQ(plan.arrays.size(), 4u);
      for (const checkpoint::ArrayPlan& array : plan.arrays) {
        EXPECT_EQ(array.amplification(), 1) << array.name;
      }
    }
    const std::map<std::string, Dims> cut = {
        {"a.kernel", {4, 12}}, {"b.kernel", {30, 4}}, {"scale", {5}}, {"step", {}}};
    EXPECT_EQ(ChunksOf("made"), cut);
  }
}

TEST_F(RechunkTest, ChunksOfASizeFollowNoShards) {
  ConvertRequest request;
  request.target.format = TargetFormat::kZarr3;
  request.target.chunk_bytes = 1024;
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report, Run(Source(), "made", request));
  EXPECT_THAT(report.unmatched, IsEmpty());
  EXPECT_EQ(ChunksOf("made")["a.kernel"], (Dims{4, 48}));
}

TEST_F(RechunkTest, ASpecThatCannotBeBoundIsRefusedByKey) {
  ConvertRequest request = Sharded(TargetFormat::kZarr2);
  request.target.shards->rules = RulesOf(R"([["kernel", ["xp"]], [".*", []]])");
  EXPECT_THAT(Run(Source(), "made", request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("arrays that cannot be cut into shards: a.kernel: "),
                             HasSubstr("xp"), HasSubstr("; b.kernel: "))));
  request.target.shards->mesh = {};
  EXPECT_THAT(Run(Source(), "made", request),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("empty mesh")));
  request = Sharded(TargetFormat::kSafetensors);
  EXPECT_THAT(Run(Source(), "made", request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("have no chunks")));
}

TEST_F(RechunkTest, KeptCodecsAreTheSourcesWhereTheFormatHasThem) {
  ZarrFolder source(Path("source"));
  const ShapeDtype about{{100}, DType::kFloat32};
  const auto add = [&](std::string_view name, const checkpoint::CodecList& codecs) {
    source.AddBytes({std::string(name), about, {50}}, SomeElements(about, 1), codecs);
  };
  add("blosc", {codec::BloscSpec{.compressor = "zstd", .element_bytes = 4}});
  add("crc", {codec::Crc32cSpec{}});
  add("gzip", {codec::DeflateSpec{.level = 7}});
  add("plain", {});
  ConvertRequest request;
  request.target.keep_codec = true;
  const auto codecs = [&](TargetFormat format) {
    request.target.format = format;
    request.overwrite = true;
    EXPECT_THAT(Run(source.path(), "made", request), IsOk());
    const auto opened = checkpoint::Checkpoint::OpenAt(Path("made"), io_);
    std::vector<std::string> texts;
    for (const auto& array : opened->arrays()) {
      texts.push_back(Concat(array.name, "=", array.CodecText()));
    }
    return texts;
  };
  EXPECT_THAT(codecs(TargetFormat::kZarr3),
              ElementsAre("blosc=blosc", "crc=crc32c", "gzip=gzip", "plain=none"));
  EXPECT_THAT(codecs(TargetFormat::kTensorstore),
              ElementsAre("blosc=blosc", "crc=zstd", "gzip=gzip", "plain=none"));
}

TEST_F(RechunkTest, WhatWasBegunWithOtherChunksOrCodecsIsNotGoneOnWith) {
  const std::string source = Source();
  const auto digest = [&](const ConvertRequest& request) {
    return PlanConversion(source, Path("made"), request, {.io = io_})->Digest();
  };
  ConvertRequest request = Sharded(TargetFormat::kZarr3);
  const Hash128 first = digest(request);
  EXPECT_EQ(digest(request), first);
  ConvertRequest other = request;
  other.target.shards->mesh = MeshOf("dp=2,tp=4");
  EXPECT_FALSE(digest(other) == first);
  other = request;
  other.target.codec = {};
  const Hash128 plain = digest(other);
  EXPECT_FALSE(plain == first);
  // The source's own, which is zstd at level 1 as well.
  other.target.keep_codec = true;
  EXPECT_EQ(digest(other), first);
}

TEST_F(RechunkTest, TheFormatOfTheSourceIsTold) {
  const auto format = [&](const std::string& path) -> absl::StatusOr<TargetFormat> {
    TESSERA_ASSIGN_OR_RETURN(const ConvertSource source, OpenSource(path, std::nullopt, io_));
    return FormatOf(source);
  };
  EXPECT_THAT(format(Source()), IsOkAndHolds(TargetFormat::kZarr3));
  EXPECT_THAT(format(Source(zarr::Format::kV2)), IsOkAndHolds(TargetFormat::kZarr2));
  for (const TargetFormat made : {TargetFormat::kTensorstore, TargetFormat::kSafetensors}) {
    ConvertRequest request;
    request.target.format = made;
    request.overwrite = true;
    ASSERT_THAT(Run(Path("source"), "made", request), IsOk());
    EXPECT_THAT(format(Path("made")), IsOkAndHolds(made));
  }
  ZarrFolder both(Path("both"), zarr::Format::kV2);
  both.Add({"old", {{4}, DType::kInt32}, {4}});
  zarr::Metadata metadata = zarr::JaxMetadata({{4}, DType::kInt32}, Dims{4});
  metadata.format = zarr::Format::kV3;
  metadata.chunk_keys = {zarr::ChunkKeys::Style::kPrefix, '/'};
  metadata.fill_value = std::vector<std::byte>(4);
  ASSERT_THAT(zarr::Array::Create(both.store(), "new", metadata), IsOk());
  EXPECT_THAT(format(Path("both")), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("'old' is zarr2, 'new' is zarr3")));
}

}  // namespace
}  // namespace tessera::convert
