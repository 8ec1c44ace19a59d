#include "tessera/mesh/axis_queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/mesh/testing/arbitrary.h"
#include "tessera/mesh/testing/meshes.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::M24;

using Names = std::vector<std::string>;

TEST(GetMeshAxisNamesTest, AreInMeshOrder) {
  EXPECT_THAT(GetMeshAxisNames(M24()), IsOkAndHolds(ElementsAre("dp", "tp")));
  EXPECT_THAT(GetMeshAxisNames(Mesh()), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(GetMeshAxisNames(), HasKind(ErrorKind::kNoMesh));
}

TEST(GetAxesSizeInMeshTest, MultipliesTheSizes) {
  EXPECT_THAT(GetAxesSizeInMesh("tp", M24()), IsOkAndHolds(4));
  EXPECT_THAT(GetAxesSizeInMesh({"dp", "tp"}, M24()), IsOkAndHolds(8));
  EXPECT_THAT(GetAxesSizeInMesh(Names{}, M24()), IsOkAndHolds(1));
  EXPECT_THAT(GetAxesSizeInMesh(Names{}, Mesh()), IsOkAndHolds(1));
  EXPECT_THAT(GetAxesSizeInMesh({"dp", "dp"}, M24()), IsOkAndHolds(4));
}

TEST(GetAxesSizeInMeshTest, AnUnknownAxisIsNotFound) {
  EXPECT_THAT(
      GetAxesSizeInMesh("x", M24()),
      StatusIs(absl::StatusCode::kNotFound, "the mesh has no axis 'x'; its axes are dp, tp"));
  EXPECT_THAT(GetAxesSizeInMesh("x", Mesh()),
              StatusIs(absl::StatusCode::kNotFound, "the mesh has no axis 'x'; its axes are none"));
  EXPECT_THAT(GetAxesSizeInMesh("x"), HasKind(ErrorKind::kNoMesh));
}

TEST(GetMeshAxisSizeTest, WorksInAScopeAndInARegion) {
  EXPECT_THAT(GetMeshAxisSize("dp"), HasKind(ErrorKind::kNoMesh));
  const MeshScope scope(M24());
  EXPECT_THAT(GetMeshAxisSize({"dp", "tp"}), IsOkAndHolds(8));
  const DeviceScope region({*Mesh::MakeHost({{"dp", 3}}), 1});
  EXPECT_THAT(GetMeshAxisSize("dp"), IsOkAndHolds(3));
  EXPECT_THAT(GetMeshAxisSize("dp", M24()), IsOkAndHolds(2));
}

TEST(NamesInCurrentMeshTest, NoNamesAreAlwaysThere) {
  EXPECT_TRUE(NamesInCurrentMesh(Names{}));
  EXPECT_FALSE(NamesInCurrentMesh(Names{"dp"}));
  const MeshScope scope(M24());
  EXPECT_TRUE(NamesInCurrentMesh(Names{"dp", "tp", "dp"}));
  EXPECT_FALSE(NamesInCurrentMesh(Names{"dp", "x"}));
}

TEST(GetSubmeshDeviceIndexTest, TheFirstNameIsMostSignificant) {
  const DeviceRegion six = *RegionOf(M24(), 6);
  EXPECT_THAT(GetSubmeshDeviceIndex("tp", six), IsOkAndHolds(2));
  EXPECT_THAT(GetSubmeshDeviceIndex("dp", six), IsOkAndHolds(1));
  EXPECT_THAT(GetSubmeshDeviceIndex({"dp", "tp"}, six), IsOkAndHolds(6));
  EXPECT_THAT(GetSubmeshDeviceIndex({"tp", "dp"}, six), IsOkAndHolds(5));
  EXPECT_THAT(GetSubmeshDeviceIndex(Names{}, six), IsOkAndHolds(0));
}

TEST(GetSubmeshDeviceIndexTest, TakesTheDeviceOfTheRegion) {
  EXPECT_THAT(GetSubmeshDeviceIndex("tp"), HasKind(ErrorKind::kNoMesh));
  const DeviceScope scope(*RegionOf(M24(), 7));
  EXPECT_THAT(GetSubmeshDeviceIndex("tp"), IsOkAndHolds(3));
}

TEST(GetSubmeshDeviceIndexTest, RefusesUnknownAndRepeatedAxes) {
  const DeviceRegion six = *RegionOf(M24(), 6);
  EXPECT_THAT(
      GetSubmeshDeviceIndex("x", six),
      StatusIs(absl::StatusCode::kNotFound, "the mesh has no axis 'x'; its axes are dp, tp"));
  EXPECT_THAT(GetSubmeshDeviceIndex({"tp", "tp"}, six), HasKind(ErrorKind::kDuplicateAxis));
}

RC_GTEST_PROP(SubmeshIndexProperty, AnyOrderOfAllAxesIsABijection, ()) {
  const Mesh mesh = testing::ArbitraryMesh();
  Names names = *GetMeshAxisNames(mesh);
  for (int64_t i = 0; i < mesh.size(); ++i) {
    RC_ASSERT(*GetSubmeshDeviceIndex(names, DeviceRegion{mesh, i}) == i);
  }
  testing::Shuffle(names);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < mesh.size(); ++i) {
    seen.insert(*GetSubmeshDeviceIndex(names, DeviceRegion{mesh, i}));
  }
  RC_ASSERT(static_cast<int64_t>(seen.size()) == mesh.size());
  RC_ASSERT(*seen.begin() == 0 && *seen.rbegin() == mesh.size() - 1);
}

}  // namespace
}  // namespace tessera::mesh
