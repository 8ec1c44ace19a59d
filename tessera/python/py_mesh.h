// Meshes, specs and shardings from Python's objects: the module's own, and JAX's by their looks.
//
// JAX is never imported here.  Its objects are told by their attributes and read through them.
#ifndef TESSERA_PYTHON_PY_MESH_H_
#define TESSERA_PYTHON_PY_MESH_H_

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/shape.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/mesh/sharding.h"

namespace tessera::python {

// PartitionSpec.UNCONSTRAINED: the entry that leaves a dimension to the runtime.
struct Unconstrained {};

// The one object of it, which Python may compare by identity.  Set once, when the module is made.
void SetUnconstrained(nanobind::object object);
nanobind::object UnconstrainedObject();

// Each takes the module's object or JAX's, and raises TypeError for any other; and ValueError for
// one that could not be.  A mesh of JAX's that has no devices is a TypeError, too.
mesh::Mesh MeshOf(nanobind::handle object);
mesh::PartitionSpec SpecOf(nanobind::handle object);
mesh::Sharding ShardingOf(nanobind::handle object);

// None is nullopt.
std::optional<mesh::Mesh> OptionalMeshOf(nanobind::handle object);

// One entry of a spec: None, a name, a list or tuple of names, or the marker.
mesh::SpecEntry SpecEntryOf(nanobind::handle object);
nanobind::object ObjectOf(const mesh::SpecEntry& entry);

// "PartitionSpec('dp', None)".
std::string SpecText(const mesh::PartitionSpec& spec);

// The module's object.
nanobind::object ObjectOf(const mesh::Sharding& sharding);

// Any sequence of integers.
Dims DimsOf(nanobind::handle object);
nanobind::tuple TupleOf(DimsView dims);

// Text, or a list or tuple of text.
std::vector<std::string> AxisNamesOf(nanobind::handle object);

// TypeError naming `what` unless it is text.
std::string TextOf(nanobind::handle object, std::string_view what);

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_PY_MESH_H_
