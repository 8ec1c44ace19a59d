#include "tessera/mesh/mesh.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tessera/core/environment.h"
#include "tessera/core/status.h"
#include "tessera/core/utf8.h"

namespace tessera::mesh {
namespace {

// Enough for any machine, small enough that a wrong size cannot exhaust memory.
constexpr int64_t kMaxDevices = int64_t{1} << 24;

absl::Status ValidateAxes(std::span<const Axis> axes) {
  absl::flat_hash_set<std::string> seen;
  for (const Axis& axis : axes) {
    if (axis.name.empty()) return InvalidArgument("mesh: an axis has no name");
    if (!IsValidUtf8(axis.name)) return InvalidArgument("mesh: an axis name is not valid UTF-8");
    if (axis.size < 1) {
      return InvalidArgument("mesh: axis '", axis.name, "' has size ", axis.size,
                             "; expected 1 or more");
    }
    if (!seen.insert(axis.name).second) {
      return WithKind(InvalidArgument("mesh: the axis name '", axis.name, "' stands twice"),
                      ErrorKind::kDuplicateAxis);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CountDevices(std::span<const Axis> axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) {
    if (__builtin_mul_overflow(count, axis.size, &count) || count > kMaxDevices) {
      return InvalidArgument("mesh: the axes ask for more than ", kMaxDevices, " devices");
    }
  }
  return count;
}

}  // namespace

absl::StatusOr<Mesh> Mesh::Make(std::vector<Axis> axes, std::vector<Device> devices) {
  TESSERA_RETURN_IF_ERROR(ValidateAxes(axes));
  TESSERA_ASSIGN_OR_RETURN(const int64_t expected, CountDevices(axes));
  Mesh mesh(std::make_shared<const Data>(Data{std::move(axes), std::move(devices)}));
  if (mesh.size() != expected) {
    return InvalidArgument("mesh: ", mesh.Text(), " needs ", expected, " devices, found ",
                           mesh.size());
  }
  absl::flat_hash_set<int64_t> ids;
  for (const Device& device : mesh.devices()) {
    if (!ids.insert(device.id).second) {
      return InvalidArgument("mesh: device ", device.id, " stands twice");
    }
  }
  return mesh;
}

absl::StatusOr<Mesh> Mesh::MakeHost(std::vector<Axis> axes) {
  TESSERA_RETURN_IF_ERROR(ValidateAxes(axes));
  TESSERA_ASSIGN_OR_RETURN(const int64_t count, CountDevices(axes));
  std::vector<Device> devices(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) devices[static_cast<size_t>(i)].id = i;
  return Make(std::move(axes), std::move(devices));
}

std::span<const Axis> Mesh::axes() const { return empty() ? std::span<const Axis>() : data_->axes; }

std::span<const Device> Mesh::devices() const {
  return empty() ? std::span<const Device>() : data_->devices;
}

std::optional<int> Mesh::FindAxis(std::string_view name) const {
  for (int i = 0; i < rank(); ++i) {
    if (axes()[i].name == name) return i;
  }
  return std::nullopt;
}

std::optional<int64_t> Mesh::FindDevice(int64_t device_id) const {
  for (int64_t i = 0; i < size(); ++i) {
    if (devices()[i].id == device_id) return i;
  }
  return std::nullopt;
}

Dims Mesh::CoordinateOf(int64_t position) const {
  TESSERA_CHECK(position >= 0 && position < size());
  Dims coordinate(axes().size());
  for (size_t i = coordinate.size(); i-- > 0;) {
    coordinate[i] = position % axes()[i].size;
    position /= axes()[i].size;
  }
  return coordinate;
}

std::string Mesh::Text() const {
  std::string text = "Mesh(";
  for (int i = 0; i < rank(); ++i) {
    if (i > 0) text += ", ";
    text += Concat("'", axes()[i].name, "': ", axes()[i].size);
  }
  return text + ")";
}

bool operator==(const Mesh& a, const Mesh& b) {
  if (a.data_ == b.data_) return true;
  if (a.empty() || b.empty()) return false;
  return a.data_->axes == b.data_->axes && a.data_->devices == b.data_->devices;
}

absl::StatusOr<Mesh> ParseMesh(std::string_view text) {
  std::vector<Axis> axes;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view piece = rest.substr(0, comma);
    const size_t equals = piece.find('=');
    if (equals == std::string_view::npos) {
      return InvalidArgument("mesh '", text, "': '", piece, "' is not of the form name=size");
    }
    const auto size = ParseInteger(piece.substr(equals + 1));
    if (!size.ok()) return Prefixed(size.status(), Concat("mesh '", text, "'"));
    axes.push_back({std::string(piece.substr(0, equals)), *size});
    if (comma == std::string_view::npos) return Mesh::MakeHost(std::move(axes));
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace tessera::mesh
