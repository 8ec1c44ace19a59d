// Mesh: devices laid out on an n-dimensional grid whose axes have names.
#ifndef TESSERA_MESH_MESH_H_
#define TESSERA_MESH_MESH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"

namespace tessera::mesh {

// A device as the mesh knows it: which one, and which process can reach its memory.
struct Device {
  int64_t id = 0;
  int process = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

// How the runtime treats an axis.  tessera carries it, because it takes part in mesh equality.
enum class AxisType { kAuto, kExplicit, kManual };

struct Axis {
  std::string name;
  int64_t size = 1;
  AxisType type = AxisType::kAuto;
  friend bool operator==(const Axis&, const Axis&) = default;
};

// An immutable value; copies share their data.  The row-major order of the grid is the order of
// devices everywhere.
class Mesh {
 public:
  // The empty mesh: no axes, no devices.
  Mesh() = default;

  // InvalidArgument when an axis has no name, a name that is not UTF-8 or a size below 1, when the
  // device count is not the product of the sizes or a device stands twice; of kind duplicate_axis
  // when a name repeats.  No axes and one device is a mesh of size 1.
  static absl::StatusOr<Mesh> Make(std::vector<Axis> axes, std::vector<Device> devices);

  // Devices 0, 1, 2, ... of process 0.
  static absl::StatusOr<Mesh> MakeHost(std::vector<Axis> axes);

  bool empty() const { return data_ == nullptr; }
  // The number of devices; 0 when empty.
  int64_t size() const { return static_cast<int64_t>(devices().size()); }
  int rank() const { return static_cast<int>(axes().size()); }

  std::span<const Axis> axes() const;
  std::span<const Device> devices() const;

  // Position of the axis in axes().
  std::optional<int> FindAxis(std::string_view name) const;
  // Position of the device in devices().
  std::optional<int64_t> FindDevice(int64_t device_id) const;

  // The grid coordinate of a device's position, one per axis.  REQUIRES: 0 <= position < size().
  Dims CoordinateOf(int64_t position) const;

  // "Mesh('dp': 2, 'tp': 4)", "Mesh()".
  std::string Text() const;

  // Same axes in the same order, same devices in the same places.
  friend bool operator==(const Mesh& a, const Mesh& b);

 private:
  struct Data {
    std::vector<Axis> axes;
    std::vector<Device> devices;
  };
  explicit Mesh(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

// A mesh as the command line writes it, major to minor: "dp=2,tp=4".  Devices as MakeHost gives.
absl::StatusOr<Mesh> ParseMesh(std::string_view text);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_MESH_H_
