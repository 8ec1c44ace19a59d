#include "tessera/steps/load_like.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "tessera/array/convert_strided.h"
#include "tessera/array/to_host.h"
#include "tessera/checkpoint/shardings.h"
#include "tessera/core/convert.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"
#include "tessera/steps/pytree_file.h"
#include "tessera/tree/map.h"
#include "tessera/tree/walk.h"

namespace tessera::steps {
namespace {

using checkpoint::CheckpointArray;
using checkpoint::LoadSettings;
using Values = std::map<std::string, array::Value>;

// An array of the template that is stored in another shape.
struct Misfit {
  size_t array;  // of the checkpoint
  ShapeDtype wanted;
  std::optional<mesh::Sharding> sharding;
  Fit fit;
};

std::string Described(const ShapeDtype& array) {
  return Concat(DTypeName(array.dtype), ShapeText(array.shape));
}

std::optional<Fit> FitOf(const Dims& stored, const Dims& wanted) {
  const bool longer = stored.size() == wanted.size() + 1;
  if (longer && stored[0] > 0 && std::equal(wanted.begin(), wanted.end(), stored.begin() + 1)) {
    return Fit::kFirstOfLeading;
  }
  const auto elements = NumElements(wanted);
  if (elements.ok() && *NumElements(stored) == *elements) return Fit::kReshaped;
  return std::nullopt;
}

// Which arrays fit, which are made to, and what was changed.
struct FitPlan {
  checkpoint::TargetTree::Items fitting;
  std::vector<Misfit> misfits;
  std::vector<FitChange> changes;
};

class FitPlanner {
 public:
  explicit FitPlanner(const checkpoint::Checkpoint& checkpoint) : checkpoint_(checkpoint) {
    for (size_t i = 0; i < checkpoint.arrays().size(); ++i) {
      places_[checkpoint.arrays()[i].name] = i;
    }
  }

  void Add(const std::string& name, const array::Value& value) {
    const auto* sharded = std::get_if<array::ShardedArray>(&value);
    const ShapeDtype wanted = *array::DescribeLeaf(value).array;
    std::optional<mesh::Sharding> sharding;
    if (sharded != nullptr) sharding = sharded->sharding();
    const auto place = places_.find(name);
    if (place == places_.end()) {
      plan_.changes.push_back({name, Fit::kTemplateValue, "not stored"});
      return;
    }
    const ShapeDtype stored = checkpoint_.arrays()[place->second].shape_dtype();
    const std::string detail =
        Concat("stored as ", Described(stored), ", wanted ", Described(wanted));
    if (stored.dtype != wanted.dtype && !CanConvert(stored.dtype, wanted.dtype)) {
      plan_.changes.push_back({name, Fit::kTemplateValue, detail});
    } else if (stored.shape == wanted.shape) {
      if (stored.dtype != wanted.dtype) plan_.changes.push_back({name, Fit::kCast, detail});
      plan_.fitting.emplace_back(name, checkpoint::TargetLeaf{wanted, sharding, {}});
    } else if (const auto fit = FitOf(stored.shape, wanted.shape)) {
      plan_.changes.push_back({name, *fit, detail});
      plan_.misfits.push_back({place->second, wanted, sharding, *fit});
    } else {
      plan_.changes.push_back({name, Fit::kTemplateValue, detail});
    }
  }

  FitPlan Finish() && { return std::move(plan_); }

 private:
  const checkpoint::Checkpoint& checkpoint_;
  std::map<std::string, size_t> places_;
  FitPlan plan_;
};

absl::StatusOr<FitPlan> PlanFits(const checkpoint::Checkpoint& checkpoint,
                                 const array::ValueTree& like) {
  FitPlanner planner(checkpoint);
  TESSERA_RETURN_IF_ERROR(
      tree::ForEachLeaf(like, [&](const tree::KeyPathView& path, const array::Value& value) {
        if (!std::holds_alternative<array::Opaque>(value)) planner.Add(path.Dotted(), value);
      }));
  return std::move(planner).Finish();
}

// Keeps what the callback, or no callback, makes of each array.
checkpoint::LoadCallback Keeping(const checkpoint::LoadCallback& callback, Values& values) {
  return [&values, callback](array::ShardedArray array,
                             std::string_view name) -> absl::StatusOr<array::Value> {
    array::Value value = array;
    if (callback != nullptr) {
      TESSERA_ASSIGN_OR_RETURN(value, callback(std::move(array), name));
    }
    values.insert_or_assign(std::string(name), value);
    return value;
  };
}

// Where a misfit goes, by the same rules as all others, in the shape that it gets.
absl::StatusOr<mesh::Sharding> ShardingOf(const CheckpointArray& array, const Misfit& misfit,
                                          const LoadSettings& settings,
                                          const mesh::Device& default_device) {
  CheckpointArray shaped = array;
  shaped.source =
      std::make_shared<const zarr::Metadata>(zarr::JaxMetadata(misfit.wanted, misfit.wanted.shape));
  checkpoint::PlacementRequest request{.mesh = settings.request.mesh,
                                       .rules = settings.request.rules,
                                       .shardings = settings.request.shardings,
                                       .auto_correct = settings.request.auto_correct,
                                       .default_device = default_device};
  if (misfit.sharding.has_value()) request.targets.emplace(array.name, *misfit.sharding);
  const CheckpointArray* const one[] = {&shaped};
  TESSERA_ASSIGN_OR_RETURN(const auto placements, checkpoint::PlaceArrays(one, request));
  return placements.front().sharding;
}

// Loads arrays whole, fits them and places them.
class MisfitLoader {
 public:
  MisfitLoader(const checkpoint::Checkpoint& checkpoint, const LoadSettings& settings,
               device::Platform& platform)
      : checkpoint_(checkpoint), settings_(settings), platform_(platform) {}

  absl::StatusOr<array::ShardedArray> Load(const Misfit& misfit, const std::stop_token& stop) {
    const CheckpointArray& array = checkpoint_.arrays()[misfit.array];
    TESSERA_ASSIGN_OR_RETURN(const mesh::Sharding sharding,
                             ShardingOf(array, misfit, settings_, DefaultDevice()));
    TESSERA_ASSIGN_OR_RETURN(const array::ShardedArray whole, Whole(array.name, stop));
    TESSERA_ASSIGN_OR_RETURN(const array::HostArray host, array::ToHost(whole, platform_));
    // Dense memory, in which both fits are what lies in front.
    const ConstStridedView view =
        RowMajorView(host.view().data, misfit.wanted.shape, host.view().element_bytes);
    return Placed(view, host, misfit, sharding);
  }

 private:
  mesh::Device DefaultDevice() const {
    mesh::Device device;
    device.process = platform_.process();
    if (!platform_.devices().empty()) device.id = platform_.devices().front()->id();
    return device;
  }

  absl::StatusOr<array::ShardedArray> Whole(const std::string& name, const std::stop_token& stop) {
    LoadSettings settings = settings_;
    settings.request = {};
    settings.request.names = {name};
    settings.lent.platform = &platform_;
    Values values;
    settings.options.callback = Keeping(nullptr, values);
    TESSERA_RETURN_IF_ERROR(checkpoint::LoadOpened(checkpoint_, settings, stop));
    const auto found = values.find(name);
    if (found == values.end()) return Internal(name, " was not loaded");
    return std::get<array::ShardedArray>(found->second);
  }

  absl::StatusOr<array::ShardedArray> Placed(const ConstStridedView& view,
                                             const array::HostArray& host, const Misfit& misfit,
                                             const mesh::Sharding& sharding) {
    const DType dtype = misfit.wanted.dtype;
    if (host.dtype() == dtype) {
      return array::ShardedArray::FromHost(view, dtype, sharding, platform_,
                                           {.owner = host.owner()});
    }
    return array::ShardedArray::FromCallback(
        misfit.wanted, sharding, platform_, [&](const Box& box, const StridedView& target) {
          return array::ConvertStrided(host.dtype(), SubView(view, box), dtype, target);
        });
  }

  const checkpoint::Checkpoint& checkpoint_;
  const LoadSettings& settings_;
  device::Platform& platform_;
};

// Host devices that stand for all that the template and the mesh name.
absl::StatusOr<std::unique_ptr<device::Platform>> PlatformFor(const LoadSettings& settings,
                                                              const FitPlan& plan) {
  device::HostPlatformOptions options;
  const auto add = [&](const mesh::Device& device) {
    options.process = device.process;
    options.ids.push_back(device.id);
  };
  if (settings.request.mesh.has_value()) {
    for (const mesh::Device& device : settings.request.mesh->devices()) add(device);
  }
  for (const Misfit& misfit : plan.misfits) {
    if (!misfit.sharding.has_value()) continue;
    for (const mesh::Device& device : mesh::DevicesOf(*misfit.sharding)) add(device);
  }
  std::sort(options.ids.begin(), options.ids.end());
  options.ids.erase(std::unique(options.ids.begin(), options.ids.end()), options.ids.end());
  return device::MakeHostPlatform(options);
}

absl::Status LoadMisfits(const checkpoint::Checkpoint& checkpoint, const LoadSettings& settings,
                         const FitPlan& plan, Values& values, const std::stop_token& stop) {
  if (plan.misfits.empty()) return absl::OkStatus();
  std::unique_ptr<device::Platform> own;
  if (settings.lent.platform == nullptr) {
    TESSERA_ASSIGN_OR_RETURN(own, PlatformFor(settings, plan));
  }
  MisfitLoader loader(checkpoint, settings, own != nullptr ? *own : *settings.lent.platform);
  const auto keep = Keeping(settings.options.callback, values);
  for (const Misfit& misfit : plan.misfits) {
    const std::string& name = checkpoint.arrays()[misfit.array].name;
    auto array = loader.Load(misfit, stop);
    if (!array.ok()) return Prefixed(array.status(), name);
    TESSERA_RETURN_IF_ERROR(keep(*std::move(array), name));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, array::Opaque>> ValuesOf(const ledger::SavedTree& saved) {
  std::map<std::string, array::Opaque> values;
  TESSERA_RETURN_IF_ERROR(
      tree::ForEachLeaf(saved, [&](const tree::KeyPathView& path, const ledger::SavedLeaf& leaf) {
        if (std::holds_alternative<tree::Scalar>(leaf)) {
          values.emplace(path.Dotted(), SavedValue(leaf));
        }
      }));
  return values;
}

// What was loaded, in the template's places.
absl::StatusOr<array::ValueTree> Filled(const array::ValueTree& like, const Values& values,
                                        const ledger::SavedTree& saved) {
  TESSERA_ASSIGN_OR_RETURN(const auto plain, ValuesOf(saved));
  return tree::MapWithPath(
      like, [&](const tree::KeyPathView& path, const array::Value& value) -> array::Value {
        const std::string name = path.Dotted();
        if (std::holds_alternative<array::Opaque>(value)) {
          const auto found = plain.find(name);
          return found == plain.end() ? value : array::Value(found->second);
        }
        const auto found = values.find(name);
        return found == values.end() ? value : found->second;
      });
}

// The arrays that the target names, by name.
absl::Status LoadTarget(const checkpoint::Checkpoint& checkpoint, LoadSettings settings,
                        checkpoint::TargetTree target, const std::stop_token& stop, Values& values,
                        checkpoint::LoadReport& report) {
  settings.request.target = std::move(target);
  settings.options.callback = Keeping(settings.options.callback, values);
  TESSERA_ASSIGN_OR_RETURN(checkpoint::LoadResult result,
                           checkpoint::LoadOpened(checkpoint, settings, stop));
  report = std::move(result.report);
  return absl::OkStatus();
}

}  // namespace

std::string_view FitName(Fit fit) {
  static constexpr std::string_view kNames[] = {"first of leading", "reshaped", "cast",
                                                "template value"};
  return kNames[static_cast<size_t>(fit)];
}

absl::StatusOr<LoadedLike> LoadLike(const checkpoint::Checkpoint& checkpoint,
                                    const LoadSettings& settings, const array::ValueTree& like,
                                    const ledger::SavedTree& saved, bool strict,
                                    std::stop_token stop) {
  LoadedLike loaded;
  Values values;
  if (strict) {
    TESSERA_ASSIGN_OR_RETURN(checkpoint::TargetTree target, checkpoint::TargetOf(like));
    TESSERA_RETURN_IF_ERROR(
        LoadTarget(checkpoint, settings, std::move(target), stop, values, loaded.report));
  } else {
    TESSERA_ASSIGN_OR_RETURN(FitPlan plan, PlanFits(checkpoint, like));
    LoadSettings casting = settings;
    casting.request.cast_to_target = true;
    TESSERA_ASSIGN_OR_RETURN(checkpoint::TargetTree target,
                             checkpoint::TargetTree::Dict(std::move(plan.fitting)));
    TESSERA_RETURN_IF_ERROR(
        LoadTarget(checkpoint, casting, std::move(target), stop, values, loaded.report));
    TESSERA_RETURN_IF_ERROR(LoadMisfits(checkpoint, settings, plan, values, stop));
    loaded.changes = std::move(plan.changes);
  }
  TESSERA_ASSIGN_OR_RETURN(loaded.tree, Filled(like, values, saved));
  return loaded;
}

}  // namespace tessera::steps
