#include "tessera/array/testing/reshard_cases.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::array::testing {
namespace {

using mesh::Axis;
using mesh::Device;
using mesh::Mesh;
using mesh::NamedSharding;
using mesh::PartitionSpec;
using mesh::Sharding;
using mesh::SpecEntry;

// Not std::uniform_int_distribution, whose results differ between standard libraries: a seed names
// the same case everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}

  // From `least` to `most`.
  int64_t Roll(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }
  bool OneIn(int64_t count) { return Roll(1, count) == 1; }

  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<size_t>(Roll(0, static_cast<int64_t>(i) - 1))]);
    }
  }

 private:
  std::mt19937_64 random_;
};

// Blocks of devices per process, as machines have them, or any mixture.
std::vector<int> MakeProcesses(Dice& dice, int ranks) {
  std::vector<int> processes;
  for (int64_t i = 0; i < kCaseDevices; ++i) {
    processes.push_back(static_cast<int>(i * ranks / kCaseDevices));
  }
  if (dice.OneIn(2)) dice.Shuffle(processes);
  return processes;
}

Mesh MakeMesh(Dice& dice, const std::vector<int>& process_of) {
  std::vector<Axis> axes;
  int64_t size = 1;
  for (const char* name : {"x", "y", "z"}) {
    const int64_t most = std::min<int64_t>(4, kCaseDevices / size);
    axes.push_back({name, dice.Roll(1, most)});
    size *= axes.back().size;
  }
  axes.resize(static_cast<size_t>(dice.Roll(1, 3)));
  size = 1;
  for (const Axis& axis : axes) size *= axis.size;
  std::vector<Device> devices;
  for (int64_t id = 0; id < kCaseDevices; ++id) {
    devices.push_back({id, process_of[static_cast<size_t>(id)]});
  }
  if (dice.OneIn(2)) dice.Shuffle(devices);
  const int64_t first = dice.OneIn(2) ? 0 : dice.Roll(0, kCaseDevices - size);
  return *Mesh::Make(std::move(axes), {devices.begin() + first, devices.begin() + first + size});
}

PartitionSpec MakeSpec(Dice& dice, const Mesh& mesh, int rank) {
  std::vector<std::vector<std::string>> entries(static_cast<size_t>(dice.Roll(0, rank)));
  std::vector<Axis> axes(mesh.axes().begin(), mesh.axes().end());
  dice.Shuffle(axes);
  for (const Axis& axis : axes) {
    // A place past the last entry: the axis replicates.
    const auto where = static_cast<size_t>(dice.Roll(0, static_cast<int64_t>(entries.size())));
    if (where < entries.size()) entries[where].push_back(axis.name);
  }
  std::vector<SpecEntry> result;
  for (auto& names : entries) result.emplace_back(std::move(names));
  return PartitionSpec(std::move(result));
}

Sharding MakeSharding(Dice& dice, const std::vector<int>& process_of, int rank) {
  if (dice.OneIn(10)) {
    const int64_t id = dice.Roll(0, kCaseDevices - 1);
    return mesh::SingleDeviceSharding{{id, process_of[static_cast<size_t>(id)]}};
  }
  const Mesh mesh = MakeMesh(dice, process_of);
  return *NamedSharding::Make(mesh, MakeSpec(dice, mesh, rank));
}

Dims MakeShape(Dice& dice, const Sharding& from, const Sharding& to, int rank) {
  const Dims a = *mesh::SplitFactors(from, rank);
  const Dims b = *mesh::SplitFactors(to, rank);
  Dims shape(static_cast<size_t>(rank));
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t most = std::max<int64_t>(1, std::min<int64_t>(9, 4000 / elements));
    shape[d] = std::lcm(a[d], b[d]) * (dice.OneIn(40) ? 0 : dice.Roll(1, most));
    elements *= std::max<int64_t>(1, shape[d]);
  }
  return shape;
}

}  // namespace

std::string ReshardCase::Text() const {
  return Concat("seed ", seed, ": ", DTypeName(array.dtype), ShapeText(array.shape), " from ",
                mesh::ShardingText(from), " to ", mesh::ShardingText(to), ", budget ",
                budget_bytes);
}

ReshardCase MakeReshardCase(uint64_t seed, int ranks) {
  Dice dice(seed);
  std::vector<int> process_of = MakeProcesses(dice, ranks);
  const int rank = static_cast<int>(dice.Roll(0, 4));
  Sharding from = MakeSharding(dice, process_of, rank);
  // The same mesh with another spec is what reshardings mostly are.
  const auto* named = std::get_if<NamedSharding>(&from);
  Sharding to = named != nullptr && dice.OneIn(3)
                    ? *NamedSharding::Make(named->mesh(), MakeSpec(dice, named->mesh(), rank))
                    : MakeSharding(dice, process_of, rank);
  const auto dtype = static_cast<DType>(dice.Roll(0, kDTypeCount - 1));
  Dims shape = MakeShape(dice, from, to, rank);
  const int64_t least = 2 * int64_t{DTypeBytes(dtype)};
  const int64_t budget =
      dice.OneIn(3) ? int64_t{1} << 30 : dice.Roll(std::max<int64_t>(least, 100), 4096);
  return {seed,   {std::move(shape), dtype}, std::move(from), std::move(to),
          budget, std::move(process_of)};
}

}  // namespace tessera::array::testing
