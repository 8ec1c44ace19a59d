#include "tessera/mesh/mesh_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/testing/meshes.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::M18;
using testing::M24;

TEST(MeshScopeTest, WithoutAMeshTheErrorTellsHowToGiveOne) {
  const auto none = GetIncontextMesh();
  EXPECT_THAT(none, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("MeshScope")));
  EXPECT_THAT(none, HasKind(ErrorKind::kNoMesh));
  EXPECT_THAT(GetIncontextMesh(/*raise_error=*/false), IsOkAndHolds(Mesh()));
}

TEST(MeshScopeTest, TheInnerMeshHidesTheOuterOne) {
  const MeshScope outer(M24());
  {
    const MeshScope inner(M18());
    EXPECT_THAT(GetIncontextMesh(), IsOkAndHolds(M18()));
    const MeshScope empty{Mesh()};
    EXPECT_THAT(GetIncontextMesh(), HasKind(ErrorKind::kNoMesh));
  }
  EXPECT_THAT(GetIncontextMesh(), IsOkAndHolds(M24()));
}

TEST(MeshScopeTest, OtherThreadsSeeOnlyTheProcessMesh) {
  const MeshScope scope(M24());
  std::thread([] { EXPECT_THAT(GetIncontextMesh(), HasKind(ErrorKind::kNoMesh)); }).join();
  SetProcessMesh(M18());
  std::thread([] { EXPECT_THAT(GetIncontextMesh(), IsOkAndHolds(M18())); }).join();
  EXPECT_THAT(GetIncontextMesh(), IsOkAndHolds(M24()));
  SetProcessMesh(Mesh());
}

TEST(MeshOrContextTest, AnExplicitMeshWins) {
  const MeshScope scope(M24());
  EXPECT_THAT(MeshOrContext(M18(), "f"), IsOkAndHolds(M18()));
  EXPECT_THAT(MeshOrContext(std::nullopt, "f"), IsOkAndHolds(M24()));
}

TEST(ForEachDeviceTest, EachBodyRunsInItsRegion) {
  const Mesh mesh = *Mesh::Make({{"dp", 3}}, {{.id = 5}, {.id = 1}, {.id = 9}});
  std::vector<int64_t> seen;
  EXPECT_THAT(ForEachDevice(mesh,
                            [&](const Device& device) {
                              seen.push_back(device.id);
                              EXPECT_EQ(CurrentDeviceRegion()->position,
                                        static_cast<int64_t>(seen.size()) - 1);
                              EXPECT_THAT(GetIncontextMesh(), IsOkAndHolds(mesh));
                              return absl::OkStatus();
                            }),
              IsOk());
  EXPECT_THAT(seen, ElementsAre(5, 1, 9));
  EXPECT_FALSE(CurrentDeviceRegion().has_value());
}

TEST(ForEachDeviceTest, StopsAtTheFirstErrorAndNeedsAMesh) {
  int calls = 0;
  EXPECT_THAT(ForEachDevice(M24(),
                            [&](const Device&) {
                              ++calls;
                              return DataLoss("torn");
                            }),
              StatusIs(absl::StatusCode::kDataLoss, "torn"));
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(ForEachDevice(Mesh(), [](const Device&) { return absl::OkStatus(); }),
              HasKind(ErrorKind::kNoMesh));
}

TEST(RegionOfTest, FindsTheDeviceByItsId) {
  EXPECT_EQ(RegionOf(M24(), 6)->position, 6);
  EXPECT_THAT(RegionOf(M24(), 8),
              StatusIs(absl::StatusCode::kNotFound, "device 8 is not on Mesh('dp': 2, 'tp': 4)"));
}

}  // namespace
}  // namespace tessera::mesh
