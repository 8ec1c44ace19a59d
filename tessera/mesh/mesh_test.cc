#include "tessera/mesh/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::mesh {
namespace {

using ::tessera::testing::HasKind;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MeshTest, LaysDevicesOutInRowMajorOrder) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Mesh mesh, Mesh::MakeHost({{"dp", 2}, {"tp", 4}}));
  EXPECT_EQ(mesh.size(), 8);
  EXPECT_EQ(mesh.rank(), 2);
  EXPECT_THAT(mesh.CoordinateOf(6), ElementsAre(1, 2));
  EXPECT_EQ(mesh.FindAxis("tp"), 1);
  EXPECT_EQ(mesh.FindAxis("xx"), std::nullopt);
  EXPECT_EQ(mesh.FindDevice(6), 6);
  EXPECT_EQ(mesh.FindDevice(8), std::nullopt);
  EXPECT_EQ(mesh.Text(), "Mesh('dp': 2, 'tp': 4)");
}

TEST(MeshTest, TheEmptyMeshHasNoDevices) {
  const Mesh mesh;
  EXPECT_TRUE(mesh.empty());
  EXPECT_EQ(mesh.size(), 0);
  EXPECT_EQ(mesh.Text(), "Mesh()");
  EXPECT_EQ(mesh, Mesh());
}

TEST(MeshTest, NoAxesAndOneDeviceIsAMeshOfOne) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const Mesh mesh, Mesh::Make({}, {{.id = 7}}));
  EXPECT_FALSE(mesh.empty());
  EXPECT_EQ(mesh.size(), 1);
  EXPECT_FALSE(mesh == Mesh());
}

TEST(MeshTest, EqualityLooksAtNamesTypesAndPlaces) {
  const Mesh mesh = *Mesh::MakeHost({{"dp", 2}});
  EXPECT_EQ(mesh, *Mesh::MakeHost({{"dp", 2}}));
  EXPECT_FALSE(mesh == *Mesh::MakeHost({{"tp", 2}}));
  EXPECT_FALSE(mesh == *Mesh::MakeHost({{"dp", 2, AxisType::kManual}}));
  EXPECT_FALSE(mesh == *Mesh::Make({{"dp", 2}}, {{.id = 1}, {.id = 0}}));
}

TEST(MeshTest, RefusesZeroAndTooFewDevices) {
  EXPECT_THAT(Mesh::MakeHost({{"dp", 0}}),
              StatusIs(kInvalid, "mesh: axis 'dp' has size 0; expected 1 or more"));
  EXPECT_THAT(Mesh::MakeHost({{"dp", -2}}), StatusIs(kInvalid, HasSubstr("has size -2")));
  EXPECT_THAT(Mesh::Make({{"dp", 2}, {"tp", 4}}, {{.id = 0}, {.id = 1}}),
              StatusIs(kInvalid, "mesh: Mesh('dp': 2, 'tp': 4) needs 8 devices, found 2"));
  EXPECT_THAT(Mesh::Make({}, {}), StatusIs(kInvalid, "mesh: Mesh() needs 1 devices, found 0"));
}

TEST(MeshTest, RefusesRepeatedNamesAndDevices) {
  const auto repeated = Mesh::MakeHost({{"dp", 2}, {"dp", 2}});
  EXPECT_THAT(repeated, StatusIs(kInvalid, "mesh: the axis name 'dp' stands twice"));
  EXPECT_THAT(repeated, HasKind(ErrorKind::kDuplicateAxis));
  EXPECT_THAT(Mesh::Make({{"dp", 2}}, {{.id = 3}, {.id = 3}}),
              StatusIs(kInvalid, "mesh: device 3 stands twice"));
}

TEST(MeshTest, RefusesBadNamesAndAbsurdSizes) {
  EXPECT_THAT(Mesh::MakeHost({{"", 2}}), StatusIs(kInvalid, "mesh: an axis has no name"));
  EXPECT_THAT(Mesh::MakeHost({{"\xff", 2}}), StatusIs(kInvalid, HasSubstr("not valid UTF-8")));
  EXPECT_THAT(Mesh::MakeHost({{"a", int64_t{1} << 40}, {"b", int64_t{1} << 40}}),
              StatusIs(kInvalid, HasSubstr("more than 16777216 devices")));
}

TEST(ParseMeshTest, ReadsTheCommandLineForm) {
  EXPECT_THAT(ParseMesh("dp=2,tp=4"), IsOkAndHolds(*Mesh::MakeHost({{"dp", 2}, {"tp", 4}})));
}

TEST(ParseMeshTest, RefusesOtherText) {
  EXPECT_THAT(ParseMesh(""), StatusIs(kInvalid, "mesh '': '' is not of the form name=size"));
  EXPECT_THAT(ParseMesh("dp=2,"), StatusIs(kInvalid, HasSubstr("'' is not of the form")));
  EXPECT_THAT(ParseMesh("dp=x"), StatusIs(kInvalid, "mesh 'dp=x': 'x' is not an integer"));
  EXPECT_THAT(ParseMesh("dp=0"), StatusIs(kInvalid, HasSubstr("has size 0")));
}

}  // namespace
}  // namespace tessera::mesh
