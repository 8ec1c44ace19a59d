#include "tessera/steps/step_mark.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/commit/transaction.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/steps/catalogue.h"
#include "tessera/store/file_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/store/wrappers.h"

namespace tessera::steps {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void Put(store::KvStore& store, std::string_view key, std::string_view text) {
  ASSERT_THAT(store.Write(key, std::as_bytes(std::span(text))), IsOk());
}

constexpr std::string_view kIndexText = R"({"format": "tensorstore", "version": "0.1.0"})";

void PutStep(store::KvStore& store, int64_t step) {
  const std::string folder = RunFolderName(step);
  Put(store, folder + "/metadata.json",
      Concat("{\"step\": ", step, ", \"timestamp\": \"2026-01-01T00:00:00+00:00\"}"));
  Put(store, folder + "/tensorstore_index.json", kIndexText);
  Put(store, folder + "/model_structure.json", "{}");
  Put(store, folder + "/model/w/.zarray", "{}");
  Put(store, folder + "/model/w/0", "12");
  Put(store, folder + "/.tessera/manifests/1.json", "{}");
}

TEST(DeleteStepTest, LeavesNothingOfTheStepAndAllOfTheOthers) {
  const store::testing::TemporaryFolder folder;
  const auto store = *store::OpenFileStore(folder.path().string());
  PutStep(*store, 1);
  PutStep(*store, 10);
  const size_t others = store->List("run-10/")->size();
  ASSERT_THAT(DeleteStep(*store, "run-1"), IsOk());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run-1"));
  EXPECT_EQ(store->List("run-10/")->size(), others);
  EXPECT_THAT(DeleteStep(*store, "run-1"), IsOk());
  EXPECT_THAT(*store->List("run-1/"), IsEmpty());
}

TEST(DeleteStepTest, StoppedAnywhereItIsWholeOrNoCheckpointAndCanBeEnded) {
  for (const auto fault : {store::testing::Fault::kFail, store::testing::Fault::kTear}) {
    bool ended = false;
    for (int64_t at = 0; !ended; ++at) {
      const auto store = store::MakeMemoryStore();
      PutStep(*store, 1);
      PutStep(*store, 2);
      store::testing::FaultStore faulty(*store, {.fault = fault, .at_call = at, .calls = 1 << 20});
      ended = DeleteStep(faulty, "run-1").ok();
      const auto left = ReadCatalogue(*store, "");
      ASSERT_THAT(left, IsOk());
      EXPECT_EQ(left->steps.back().step, 2);
      EXPECT_TRUE(left->steps.back().committed);
      if (left->steps.size() == 2 && left->steps[0].committed) {
        EXPECT_EQ(store->List("run-1/model")->size(), 3u) << at;
      } else if (left->steps.size() == 2) {
        EXPECT_FALSE(store->Read("run-1/.tessera/step.json")->generation.missing()) << at;
      }
      EXPECT_THAT(DeleteStep(*store, "run-1"), IsOk());
      EXPECT_THAT(*store->List("run-1/"), IsEmpty());
    }
  }
}

TEST(DeleteStepTest, WhatASaveWorksOnIsNotTouched) {
  const auto store = store::MakeMemoryStore();
  PutStep(*store, 1);
  const auto step = *store::MakePrefixStore(*store, "run-1");
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto save, commit::Transaction::Begin(*step, {.prefix = "tx", .paths = {"tx/m"}}));
  const size_t before = store->List("run-1/")->size();
  EXPECT_THAT(DeleteStep(*store, "run-1"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(Concat("run-1 is not deleted: save ", save->id()))));
  EXPECT_EQ(store->List("run-1/")->size(), before);
}

TEST(StepMarkTest, AStepUnderWayDoesNotCountByItsIndex) {
  const auto store = store::MakeMemoryStore();
  Put(*store, "run-1/tensorstore_index.json", kIndexText);
  ASSERT_THAT(WriteStepMark(*store, "run-1", StepMark::kSaving), IsOk());
  EXPECT_EQ(ReadCatalogue(*store, "")->latest, std::nullopt);
  EXPECT_FALSE(ReadCatalogue(*store, "")->steps[0].deleting);
  ASSERT_THAT(RemoveStepMark(*store, "run-1"), IsOk());
  EXPECT_EQ(ReadCatalogue(*store, "")->latest, 0u);
}

TEST(StepMarkTest, AMarkThatCannotBeReadMeansThatNothingIsDeleted) {
  const auto store = store::MakeMemoryStore();
  EXPECT_EQ(*ReadStepMark(*store, "run-1"), std::nullopt);
  for (const std::string& text : {std::string("{"), std::string(), std::string(1000, 'x')}) {
    Put(*store, "run-1/.tessera/step.json", text);
    EXPECT_EQ(*ReadStepMark(*store, "run-1"), StepMark::kSaving);
  }
}

}  // namespace
}  // namespace tessera::steps
