// Damage of every kind to small arrays: what is found is named, nothing else happens.
#include <cstring>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"
#include "tessera/zarr/array.h"
#include "tessera/zarr/testing/random_arrays.h"

namespace tessera::zarr {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int64_t kBudget = 4 << 20;

// One array of 2 x 3 chunks per way of storing it.
std::map<std::string, Metadata> Kinds() {
  std::map<std::string, Metadata> kinds;
  Metadata v2 = JaxMetadata({{7, 8}, DType::kBfloat16}, Dims{4, 3});
  const auto add_v2 = [&](const std::string& name, codec::BytesSpec spec) {
    v2.codecs.compression = {std::move(spec)};
    kinds[name] = v2;
  };
  add_v2("zstd", codec::ZstdSpec{});
  add_v2("gzip", codec::DeflateSpec{});
  add_v2("zlib", codec::DeflateSpec{codec::DeflateSpec::Wrapping::kZlib, 1});
  add_v2("bz2", codec::Bz2Spec{});
  codec::BloscSpec blosc;
  blosc.element_bytes = 2;
  add_v2("blosc", blosc);
  v2.codecs.compression.clear();
  kinds["plain"] = v2;
  v2.dtype = DType::kBool;
  kinds["bool"] = v2;
  Metadata v3 = kinds["plain"];
  v3.format = Format::kV3;
  v3.chunk_keys = {ChunkKeys::Style::kPrefix, '/'};
  v3.fill_value = std::vector<std::byte>(2);
  v3.codecs.compression = {codec::Crc32cSpec{}};
  kinds["crc32c"] = v3;
  v3.codecs.compression.insert(v3.codecs.compression.begin(), codec::ZstdSpec{1, true});
  kinds["zstd and crc32c"] = v3;
  ShardSpec shard{{2, 1}, v3.codecs, {.compression = {codec::Crc32cSpec{}}}};
  v3.codecs = {.shard = std::make_shared<ShardSpec>(shard)};
  kinds["shard"] = v3;
  shard.index_location = ShardSpec::IndexLocation::kStart;
  shard.chunk_shape = {4, 1};
  shard.codecs = v3.codecs;
  v3.codecs = {.shard = std::make_shared<ShardSpec>(shard)};
  kinds["nested shard"] = v3;
  v3.codecs = {};
  shard.codecs = {};
  shard.index_codecs = {};
  v3.codecs.shard = std::make_shared<ShardSpec>(shard);
  kinds["shard without checksums"] = v3;
  return kinds;
}

class HostileTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    metadata_ = Kinds().at(GetParam());
    RandomArrays random(1);
    elements_ = random.Elements(metadata_.dtype, metadata_.shape);
    TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store_, "w", metadata_));
    ASSERT_THAT(array.Write(Box::Whole(metadata_.shape),
                            RowMajorView(static_cast<const std::byte*>(elements_.data()),
                                         metadata_.shape, DTypeBytes(metadata_.dtype)),
                            io_),
                IsOk());
  }

  // Opens and reads everything.  What is much larger than the original is not asked for: its
  // destination would be the caller's to refuse.
  absl::Status ReadEverything() {
    TESSERA_ASSIGN_OR_RETURN(const Array array, Array::Open(*store_, "w"));
    const ShapeDtype about = array.shape_dtype();
    const auto bytes = NumBytes(about.dtype, about.shape);
    if (!bytes.ok() || *bytes > 1 << 20) return absl::OkStatus();
    read_.assign(*bytes, std::byte{0xEE});
    const auto report =
        array.Read(Box::Whole(about.shape),
                   RowMajorView(read_.data(), about.shape, DTypeBytes(about.dtype)), io_);
    EXPECT_LE(io_.budget().peak(), kBudget);
    EXPECT_EQ(io_.budget().in_use(), 0);
    return report.status();
  }

  std::vector<std::byte> Stored(const std::string& key) {
    const auto read = store_->Read(key);
    const auto bytes = read->value->span();
    return {bytes.begin(), bytes.end()};
  }
  absl::Status ReadWith(const std::string& key, std::span<const std::byte> value) {
    EXPECT_THAT(store_->Write(key, value), IsOk());
    return ReadEverything();
  }

  std::string FirstChunk() const { return metadata_.format == Format::kV2 ? "w/0.0" : "w/c/0/0"; }
  std::string MetadataKey() const { return Concat("w/", MetadataName(metadata_.format)); }

  std::unique_ptr<store::KvStore> store_ = store::MakeMemoryStore();
  IoContext io_{{.in_flight = 1, .compute = 1, .budget_bytes = kBudget}};
  Metadata metadata_;
  std::vector<std::byte> elements_;
  std::vector<std::byte> read_;
};

TEST_P(HostileTest, ReadsBackUndamaged) {
  ASSERT_THAT(ReadEverything(), IsOk());
  EXPECT_EQ(read_, elements_);
}

TEST_P(HostileTest, EveryTruncationOfAChunkIsDataLoss) {
  const std::vector<std::byte> chunk = Stored(FirstChunk());
  for (size_t length = 0; length < chunk.size(); ++length) {
    EXPECT_THAT(ReadWith(FirstChunk(), std::span(chunk).first(length)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(FirstChunk())))
        << length;
  }
}

TEST_P(HostileTest, TrailingBytesAreDataLoss) {
  std::vector<std::byte> chunk = Stored(FirstChunk());
  const bool shard_at_start =
      metadata_.codecs.shard != nullptr &&
      metadata_.codecs.shard->index_location == ShardSpec::IndexLocation::kStart;
  for (const size_t more : {size_t{1}, chunk.size(), size_t{1} << 20}) {
    chunk.resize(chunk.size() + more);
    if (shard_at_start) {
      // Shards may have unused bytes, and nothing else is left at the end to contradict them.
      EXPECT_THAT(ReadWith(FirstChunk(), chunk), IsOk());
      continue;
    }
    EXPECT_THAT(ReadWith(FirstChunk(), chunk),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(FirstChunk())))
        << more;
  }
}

TEST_P(HostileTest, EveryFlippedByteOfAChunkIsNamedOrHarmless) {
  const std::vector<std::byte> chunk = Stored(FirstChunk());
  const bool checked = GetParam().find("crc32c") != std::string::npos || GetParam() == "shard" ||
                       GetParam() == "nested shard";
  for (size_t i = 0; i < chunk.size(); ++i) {
    for (const int mask : {0x01, 0x10, 0x80, 0xFF}) {
      std::vector<std::byte> damaged = chunk;
      damaged[i] ^= static_cast<std::byte>(mask);
      const absl::Status status = ReadWith(FirstChunk(), damaged);
      if (status.ok() && !checked) continue;
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(FirstChunk())))
          << "byte " << i << " with " << mask;
    }
  }
}

TEST_P(HostileTest, EveryTruncationOfTheMetadataIsRefused) {
  const std::vector<std::byte> text = Stored(MetadataKey());
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_THAT(ReadWith(MetadataKey(), std::span(text).first(length)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(MetadataKey())))
        << length;
  }
}

TEST_P(HostileTest, EveryFlippedByteOfTheMetadataIsRefusedOrReadable) {
  const std::vector<std::byte> text = Stored(MetadataKey());
  for (size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> damaged = text;
      damaged[i] ^= static_cast<std::byte>(1 << bit);
      const absl::Status status = ReadWith(MetadataKey(), damaged);
      if (status.ok()) continue;
      EXPECT_THAT(status.code(),
                  AnyOf(absl::StatusCode::kInvalidArgument, absl::StatusCode::kDataLoss,
                        absl::StatusCode::kUnimplemented, absl::StatusCode::kResourceExhausted))
          << status << " at byte " << i << ", bit " << bit;
      EXPECT_THAT(std::string(status.message()), HasSubstr("w/"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, metadata] : Kinds()) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == ' ') c = '_';
                           }
                           return name;
                         });

// A chunk of one byte that claims to be the largest there is, in a value of one byte.
TEST(HostileMetadataTest, HugeChunksCostNothing) {
  const auto store = store::MakeMemoryStore();
  Metadata metadata = JaxMetadata({{int64_t{1} << 60}, DType::kInt8}, Dims{int64_t{1} << 60});
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store, "w", metadata));
  const std::byte one[1] = {};
  ASSERT_THAT(store->Write("w/0", one), IsOk());
  IoContext io({.budget_bytes = kBudget});
  std::byte target[1];
  TESSERA_ASSERT_OK_AND_ASSIGN(const Box box, Box::Make(Dims{5}, Dims{1}));
  EXPECT_THAT(array.Read(box, RowMajorView(target, Dims{1}, 1), io),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("w")));
}

// A shard index of a billion entries is asked for from a value that has four bytes.
TEST(HostileMetadataTest, HugeShardIndexIsNotAllocated) {
  const auto store = store::MakeMemoryStore();
  Metadata metadata = JaxMetadata({{1 << 30}, DType::kInt8}, Dims{1 << 30});
  metadata.format = Format::kV3;
  metadata.chunk_keys = {ChunkKeys::Style::kPrefix, '/'};
  metadata.fill_value = std::vector<std::byte>(1);
  metadata.codecs = {.shard = std::make_shared<ShardSpec>(ShardSpec{.chunk_shape = {1}})};
  TESSERA_ASSERT_OK_AND_ASSIGN(const Array array, Array::Create(*store, "w", metadata));
  ASSERT_THAT(store->Write("w/c/0", std::vector<std::byte>(4)), IsOk());
  std::byte target[1];
  TESSERA_ASSERT_OK_AND_ASSIGN(const Box box, Box::Make(Dims{5}, Dims{1}));
  IoContext small({.budget_bytes = kBudget});
  EXPECT_THAT(array.Read(box, RowMajorView(target, Dims{1}, 1), small),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("w")));
  IoContext large({.budget_bytes = int64_t{1} << 40});
  EXPECT_THAT(array.Read(box, RowMajorView(target, Dims{1}, 1), large),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("w/c/0")));
}

}  // namespace
}  // namespace tessera::zarr
