#include "tessera/mesh/correction.h"

#include <utility>

#include "tessera/core/log.h"
#include "tessera/core/status.h"
#include "tessera/mesh/mesh_scope.h"
#include "tessera/mesh/settings.h"

namespace tessera::mesh {
namespace {

// Why these axes cannot split a dimension of this size; nullopt when they can.
std::optional<CorrectionReason> WhyNot(const Mesh& mesh, std::span<const std::string> axes,
                                       int64_t size) {
  int64_t product = 1;
  for (const std::string& name : axes) {
    const auto axis = mesh.FindAxis(name);
    if (!axis.has_value()) return CorrectionReason::kUnknownAxis;
    // A product past 63 bits divides nothing but zero.
    if (__builtin_mul_overflow(product, mesh.axes()[*axis].size, &product)) {
      return size == 0 ? std::nullopt : std::optional(CorrectionReason::kIndivisible);
    }
  }
  if (size % product != 0) return CorrectionReason::kIndivisible;
  return std::nullopt;
}

// The entry that fits, and why it is not the one asked for.
std::pair<SpecEntry, std::optional<CorrectionReason>> FitEntry(const Mesh& mesh,
                                                               const SpecEntry& entry, int64_t size,
                                                               bool keep_partial) {
  if (entry.unconstrained()) return {SpecEntry(), CorrectionReason::kUnconstrained};
  const auto reason = WhyNot(mesh, entry.axes(), size);
  if (!reason.has_value()) return {entry, std::nullopt};
  if (keep_partial) {
    const std::span<const std::string> axes = entry.axes();
    for (size_t length = axes.size() - 1; length > 0; --length) {
      if (WhyNot(mesh, axes.first(length), size).has_value()) continue;
      return {SpecEntry(std::vector(axes.begin(), axes.begin() + length)), reason};
    }
  }
  return {SpecEntry(), reason};
}

void LogCorrections(DimsView shape, const PartitionSpec& spec,
                    const std::vector<Correction>& corrections) {
  if (corrections.empty() || !LogShardingMove()) return;
  std::string changes;
  for (const Correction& correction : corrections) {
    changes += Concat(changes.empty() ? "" : "; ", correction.Text());
  }
  LogWarning("spec ", spec.Text(), " does not fit shape ", ShapeText(shape), ": ", changes);
}

absl::StatusOr<CorrectedSharding> Bind(const Mesh& mesh, DimsView shape, const PartitionSpec& spec,
                                       bool keep_partial) {
  CorrectedSpec corrected = CorrectSpec(mesh, shape, spec, {.keep_partial = keep_partial});
  LogCorrections(shape, spec, corrected.corrections);
  TESSERA_ASSIGN_OR_RETURN(NamedSharding sharding,
                           NamedSharding::Make(mesh, std::move(corrected.spec)));
  return CorrectedSharding{std::move(sharding), std::move(corrected.corrections)};
}

}  // namespace

std::string_view CorrectionReasonText(CorrectionReason reason) {
  switch (reason) {
    case CorrectionReason::kUnknownAxis:
      return "unknown axis";
    case CorrectionReason::kIndivisible:
      return "does not divide";
    case CorrectionReason::kUnconstrained:
      return "unconstrained";
    case CorrectionReason::kPastTheRank:
      return "past the rank";
  }
  return "";
}

std::string Correction::Text() const {
  return Concat("dimension ", dimension, ": ", before.Text(), " -> ", after.Text(), " (",
                CorrectionReasonText(reason), ")");
}

CorrectedSpec CorrectSpec(const Mesh& mesh, DimsView shape, const PartitionSpec& spec,
                          const CorrectionOptions& options) {
  CorrectedSpec result;
  std::vector<SpecEntry> entries(shape.size());
  bool any = false;
  for (int d = 0; d < spec.size(); ++d) {
    if (static_cast<size_t>(d) >= shape.size()) {
      if (spec[d].replicated()) continue;
      result.corrections.push_back({d, spec[d], SpecEntry(), CorrectionReason::kPastTheRank});
      continue;
    }
    auto [fitted, reason] = FitEntry(mesh, spec[d], shape[d], options.keep_partial);
    if (reason.has_value()) result.corrections.push_back({d, spec[d], fitted, *reason});
    any |= !fitted.replicated();
    entries[d] = std::move(fitted);
  }
  if (any) result.spec = PartitionSpec(std::move(entries));
  return result;
}

absl::StatusOr<CorrectedSharding> GetCorrectedNamedSharding(
    DimsView shape, const PartitionSpec& spec, const GetCorrectedNamedShardingOptions& options) {
  TESSERA_RETURN_IF_ERROR(ValidateShape(shape));
  const auto mesh = MeshOrContext(options.mesh, "get_corrected_named_sharding");
  const bool no_mesh = !mesh.ok() || mesh->empty();
  if (no_mesh && !options.raise_mesh_error) {
    LogWarning("get_corrected_named_sharding: no mesh; ", spec.Text(),
               " becomes P() on the empty mesh");
    return CorrectedSharding{NamedSharding::Replicated(Mesh()), {}};
  }
  if (!mesh.ok()) return mesh.status();
  if (no_mesh) {
    return WithKind(FailedPrecondition("get_corrected_named_sharding: the mesh given is empty"),
                    ErrorKind::kNoMesh);
  }
  return Bind(*mesh, shape, spec, options.keep_partial);
}

absl::StatusOr<std::optional<CorrectedSharding>> ResolveShardingConstraint(
    DimsView shape, const std::variant<PartitionSpec, NamedSharding>& constraint,
    const ConstraintOptions& options) {
  TESSERA_RETURN_IF_ERROR(ValidateShape(shape));
  const auto* named = std::get_if<NamedSharding>(&constraint);
  const PartitionSpec& spec =
      named != nullptr ? named->spec() : std::get<PartitionSpec>(constraint);
  const Mesh mesh = named != nullptr           ? named->mesh()
                    : options.mesh.has_value() ? *options.mesh
                                               : *GetIncontextMesh(/*raise_error=*/false);
  if (mesh.empty()) {
    if (LogShardingMove()) LogWarning("with_sharding_constraint: no mesh for ", spec.Text());
    return std::nullopt;
  }
  if (spec.empty() && options.empty_spec == ConstraintOptions::EmptySpec::kLeave) {
    return std::nullopt;
  }
  TESSERA_ASSIGN_OR_RETURN(CorrectedSharding corrected,
                           Bind(mesh, shape, spec, options.keep_partial));
  return corrected;
}

}  // namespace tessera::mesh
