// Correction: fitting a spec to a shape on a mesh, with a record of every change.
#ifndef TESSERA_MESH_CORRECTION_H_
#define TESSERA_MESH_CORRECTION_H_

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/mesh/sharding.h"

namespace tessera::mesh {

// Why an entry of a spec was changed.
enum class CorrectionReason {
  kUnknownAxis,    // the mesh lacks an axis of the entry
  kIndivisible,    // the dimension's size is not a multiple of the axes' product
  kUnconstrained,  // the entry leaves the choice to the runtime
  kPastTheRank,    // the array has no such dimension
};

// "unknown axis", "does not divide", ...
std::string_view CorrectionReasonText(CorrectionReason reason);

struct Correction {
  int dimension = 0;
  SpecEntry before;
  SpecEntry after;
  CorrectionReason reason = CorrectionReason::kUnknownAxis;

  // "dimension 0: 'tp' -> None (does not divide)".
  std::string Text() const;
  friend bool operator==(const Correction&, const Correction&) = default;
};

struct CorrectionOptions {
  // Keep the longest leading run of an entry's axes that the mesh knows and that divides, instead
  // of dropping the entry whole.
  bool keep_partial = false;
};

struct CorrectedSpec {
  PartitionSpec spec;
  std::vector<Correction> corrections;
  friend bool operator==(const CorrectedSpec&, const CorrectedSpec&) = default;
};

// The spec cut or padded to the rank, with the entries dropped that do not fit; P() when none is
// left.  Axes of size 1 and dimensions of size 0 always fit.  Does not look for repeated axes.
CorrectedSpec CorrectSpec(const Mesh& mesh, DimsView shape, const PartitionSpec& spec,
                          const CorrectionOptions& options = {});

struct CorrectedSharding {
  NamedSharding sharding;
  std::vector<Correction> corrections;
};

struct GetCorrectedNamedShardingOptions {
  std::optional<Mesh> mesh = {};  // else the one in scope
  bool raise_mesh_error = true;   // false: no mesh gives P() on the empty mesh, with a warning
  bool keep_partial = false;
};

// The corrected spec bound to the mesh.  Kind duplicate_axis when an axis survives in two
// dimensions; kind no_mesh.
absl::StatusOr<CorrectedSharding> GetCorrectedNamedSharding(
    DimsView shape, const PartitionSpec& spec,
    const GetCorrectedNamedShardingOptions& options = {});

struct ConstraintOptions {
  std::optional<Mesh> mesh = {};  // for a spec; else the one in scope
  // What an empty spec asks for: the whole array on every device, or nothing.
  enum class EmptySpec { kReplicate, kLeave } empty_spec = EmptySpec::kReplicate;
  bool keep_partial = false;
};

// What with_sharding_constraint would make of an array of this shape; nullopt: it stays as it is
// (a spec without a mesh, or an empty one by option).  A named sharding brings its own mesh.
absl::StatusOr<std::optional<CorrectedSharding>> ResolveShardingConstraint(
    DimsView shape, const std::variant<PartitionSpec, NamedSharding>& constraint,
    const ConstraintOptions& options = {});

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_CORRECTION_H_
