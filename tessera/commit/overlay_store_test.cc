#include "tessera/commit/overlay_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/commit/save_record.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/memory_store.h"

namespace tessera::commit {
namespace {

using store::KvStore;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kId[] = "0123456789abcdef0123456789abcdef";

CommittedSave SaveOf(const std::string& path) {
  CommittedSave save;
  save.id = kId;
  save.paths = {path};
  save.obsolete_keys = {"old"};
  return save;
}

void Put(KvStore& store, const std::string& key, std::string_view text) {
  ASSERT_THAT(store.Write(key, std::as_bytes(std::span(text))), IsOk());
}

TEST(OverlayStoreTest, MapsWhatTheSaveBringsFirst) {
  const auto base = store::MakeMemoryStore();
  Put(*base, Concat(DataFolder(kId), "a/0"), "staged");
  Put(*base, "a/0", "plain");
  Put(*base, "a/1", "moved");
  Put(*base, "b", "other");
  Put(*base, "old", "gone");
  const auto view = MakeOverlayStore(*base, SaveOf("a"));
  const auto mapped = [&](std::string_view key) {
    const auto bytes = view->Map(key);
    return bytes.ok() ? std::string(bytes->text()) : bytes.status().ToString();
  };
  EXPECT_EQ(mapped("a/0"), "staged");
  EXPECT_EQ(mapped("a/1"), "moved");
  EXPECT_EQ(mapped("b"), "other");
  const auto missing = StatusIs(absl::StatusCode::kNotFound, HasSubstr("no value to look at"));
  EXPECT_THAT(view->Map("old"), missing);
  EXPECT_THAT(view->Map("a/2"), missing);
  EXPECT_THAT(view->Map("none"), missing);
}

TEST(OverlayStoreTest, PartsAreNotWritten) {
  const auto base = store::MakeMemoryStore();
  Put(*base, "a", "value");
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a view of a checkpoint"));
  for (const auto& save : {std::optional<CommittedSave>(), std::optional(SaveOf("x"))}) {
    const auto view = MakeOverlayStore(*base, save);
    EXPECT_FALSE(view->writes_parts());
    EXPECT_THAT(view->Reserve("a", 1), refused);
    EXPECT_THAT(view->WriteAt("a", 0, {}), refused);
  }
  EXPECT_EQ(base->Read("a")->value->text(), "value");
}

}  // namespace
}  // namespace tessera::commit
