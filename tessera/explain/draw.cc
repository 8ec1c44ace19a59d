#include "tessera/explain/draw.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/explain/border_cuts.h"
#include "tessera/explain/spec_words.h"
#include "tessera/mesh/sharding.h"

namespace tessera::explain {
namespace {

using checkpoint::ArrayPlan;

constexpr size_t kMostRows = 12;
constexpr size_t kMostShardLines = 16;

// Of one shard: where it lies and who holds it.
struct Holders {
  Box box;
  std::vector<int64_t> devices;
};
using HoldersByOrigin = std::map<Dims, Holders>;

absl::StatusOr<HoldersByOrigin> FindHolders(const ArrayPlan& plan) {
  TESSERA_ASSIGN_OR_RETURN(const auto shards,
                           mesh::PlaceShards(plan.placement.sharding, plan.stored.shape));
  HoldersByOrigin holders;
  for (const mesh::DeviceShard& shard : shards) {
    Holders& each = holders[shard.box.origin()];
    each.box = shard.box;
    each.devices.push_back(shard.device.id);
  }
  return holders;
}

// "3", "0 +7".
std::string Label(const Holders& holders) {
  const std::string first = Concat(holders.devices[0]);
  return holders.devices.size() == 1 ? first : Concat(first, " +", holders.devices.size() - 1);
}

// Lines of a picture, by the kind of border; and where they meet.
struct Strokes {
  std::string_view across[3];
  std::string_view down[3];
  bool unicode;

  static Strokes Of(bool unicode) {
    if (unicode) return {{"━", "┅", "┄"}, {"┃", "┇", "┊"}, true};
    return {{"=", "~", "."}, {"|", "!", ":"}, false};
  }
};

// Which of the four arms of a crossing are there, and which of them are heavy.
std::string_view Corner(bool up, bool down, bool left, bool right) {
  if (!up) return !left ? "┏" : !right ? "┓" : "┳";
  if (!down) return !left ? "┗" : !right ? "┛" : "┻";
  return !left ? "┣" : !right ? "┫" : "╋";
}

std::string_view LightCorner(bool up, bool down, bool left, bool right, bool heavy_down,
                             bool heavy_across) {
  // A light line that meets the frame.
  if (!up) return "┯";
  if (!down) return "┷";
  if (!left) return "┠";
  if (!right) return "┨";
  return heavy_down ? "╂" : heavy_across ? "┿" : "┼";
}

class Picture {
 public:
  // The dimensions drawn; -1: there is none, and one piece stands for it.
  struct Plane {
    int down = -1;
    int across = -1;
  };

  Picture(const Dims& chunk_shape, const ArrayPlan& plan, const HoldersByOrigin& holders,
          const DrawOptions& options)
      : plan_(plan), holders_(holders), options_(options), strokes_(Strokes::Of(options.unicode)) {
    plane_ = ChoosePlane();
    margin_ = plane_.down < 0 ? 0 : SizeWidth(plane_.down) + 1;
    width_ = CellWidth();
    // Beside the pieces: the last border, past which the index above it may reach.
    const size_t others = margin_ + (plane_.across < 0 ? 1 : SizeWidth(plane_.across));
    const size_t room = std::max(options.columns, static_cast<int>(others)) - others;
    const size_t most = std::max<size_t>(3, room / (width_ + 1));
    rows_ = Cuts(plane_.down, chunk_shape, kMostRows);
    columns_ = Cuts(plane_.across, chunk_shape, most);
  }

  const Plane& plane() const { return plane_; }

  std::string Text() const {
    std::string text = HeadLine();
    for (size_t row = 0; row < rows_.cuts.size(); ++row) {
      text += BorderLine(row);
      if (row + 1 < rows_.cuts.size()) text += CellLine(row);
    }
    return text;
  }

 private:
  // The last two, unless others are split.
  Plane ChoosePlane() const {
    const auto rank = static_cast<int>(plan_.stored.shape.size());
    if (rank == 0) return {};
    if (rank == 1) return {-1, 0};
    std::vector<int> order;
    for (int d = rank; d-- > 0;) order.push_back(d);
    std::stable_sort(order.begin(), order.end(),
                     [this](int a, int b) { return Blocks(a) > Blocks(b); });
    return {std::min(order[0], order[1]), std::max(order[0], order[1])};
  }
  size_t SizeWidth(int d) const { return Concat(plan_.stored.shape[d]).size(); }
  int64_t Blocks(int d) const { return plan_.stored.shape[d] / plan_.shard_shape[d]; }

  size_t CellWidth() const {
    size_t width = 3;
    for (const auto& [origin, holders] : holders_) width = std::max(width, Label(holders).size());
    if (plane_.across >= 0) width = std::max(width, SizeWidth(plane_.across));
    return width + 2;
  }

  DimensionCuts Cuts(int d, const Dims& chunk_shape, size_t most) const {
    if (d < 0) return CutsOf(1, 1, 1, most);
    return CutsOf(plan_.stored.shape[d], plan_.shard_shape[d], chunk_shape[d], most);
  }

  const Holders& HoldersAt(size_t row, size_t column) const {
    Dims origin(plan_.stored.shape.size(), 0);
    const auto set = [&](int d, int64_t index) {
      if (d >= 0) origin[d] = index / plan_.shard_shape[d] * plan_.shard_shape[d];
    };
    set(plane_.down, rows_.cuts[row].index);
    set(plane_.across, columns_.cuts[column].index);
    return holders_.at(origin);
  }

  // The index at each border, above it.
  std::string HeadLine() const {
    if (plane_.across < 0) return "";
    std::string line(margin_, ' ');
    for (size_t i = 0; i < columns_.cuts.size(); ++i) {
      std::string index = Concat(columns_.cuts[i].index);
      if (i + 1 < columns_.cuts.size()) index.resize(width_ + 1, ' ');
      line += index;
    }
    return line + "\n";
  }

  std::string Margin(size_t row, bool is_border) const {
    if (plane_.down < 0) return "";
    std::string text = is_border ? Concat(rows_.cuts[row].index) : "";
    return Concat(std::string(margin_ - 1 - text.size(), ' '), text, " ");
  }

  std::string_view CornerAt(size_t row, size_t column) const {
    if (!strokes_.unicode) return "+";
    const bool up = row > 0;
    const bool down = row + 1 < rows_.cuts.size();
    const bool left = column > 0;
    const bool right = column + 1 < columns_.cuts.size();
    const bool heavy_across = rows_.cuts[row].border != Border::kChunk;
    const bool heavy_down = columns_.cuts[column].border != Border::kChunk;
    if (heavy_across && heavy_down) return Corner(up, down, left, right);
    return LightCorner(up, down, left, right, heavy_down, heavy_across);
  }

  std::string BorderLine(size_t row) const {
    std::string line = Margin(row, true);
    const std::string_view stroke = strokes_.across[static_cast<int>(rows_.cuts[row].border)];
    for (size_t i = 0; i < columns_.cuts.size(); ++i) {
      line += CornerAt(row, i);
      if (i + 1 == columns_.cuts.size()) break;
      for (size_t k = 0; k < width_; ++k) line += stroke;
    }
    return line + "\n";
  }

  std::string CellLine(size_t row) const {
    std::string line = Margin(row, false);
    for (size_t i = 0; i < columns_.cuts.size(); ++i) {
      line += strokes_.down[static_cast<int>(columns_.cuts[i].border)];
      if (i + 1 < columns_.cuts.size()) line += Cell(row, i);
    }
    return line + "\n";
  }

  std::string Cell(size_t row, size_t column) const {
    const bool is_elided = row == rows_.elided || column == columns_.elided;
    const Holders& holders = HoldersAt(row, column);
    const std::string label = is_elided ? "..." : Label(holders);
    const size_t left = (width_ - label.size()) / 2;
    const std::string cell =
        std::string(left, ' ') + label + std::string(width_ - left - label.size(), ' ');
    if (!options_.colour || is_elided) return cell;
    // Black on one of the six colours that every terminal has.
    return Concat("\x1b[30;4", 1 + holders.devices[0] % 6, "m", cell, "\x1b[0m");
  }

  const ArrayPlan& plan_;
  const HoldersByOrigin& holders_;
  const DrawOptions& options_;
  Strokes strokes_;
  Plane plane_;
  size_t margin_ = 0;
  size_t width_ = 0;
  DimensionCuts rows_;
  DimensionCuts columns_;
};

std::string PlaneText(const Picture::Plane& plane, size_t rank) {
  if (rank == 0) return "one element";
  if (rank == 1) return "dimension 0 across";
  std::string text = Concat("dimension ", plane.down, " down, ", plane.across, " across");
  if (rank > 2) text += ", at the first block of the others";
  return text;
}

std::string Legend(const Strokes& strokes) {
  return Concat(strokes.across[0], strokes.down[0], " shard border on a chunk border\n",
                strokes.across[1], strokes.down[1], " shard border that cuts chunks\n",
                strokes.across[2], strokes.down[2], " chunk border inside a shard");
}

std::string DevicesText(const std::vector<int64_t>& devices) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < devices.size() && i < kMost; ++i) {
    text += Concat(i == 0 ? "" : ", ", devices[i]);
  }
  if (devices.size() > kMost) text += Concat(" and ", devices.size() - kMost, " more");
  return Concat(devices.size() == 1 ? "device " : "devices ", text);
}

// The cells as ranges of their coordinates: "[0:2,3:4]".
std::string CellsText(const Box& box, DimsView chunk_shape) {
  std::string text = "[";
  for (int d = 0; d < box.rank(); ++d) {
    text += Concat(d == 0 ? "" : ",", box.begin(d) / chunk_shape[d], ":",
                   (box.end(d) - 1) / chunk_shape[d] + 1);
  }
  return text + "]";
}

// How often a byte of the box is decoded when it alone is loaded.  In doubles, as sizes are
// anybody's.
double AmplificationOf(const Box& box, DimsView shape, DimsView chunk_shape) {
  double factor = 1;
  for (int d = 0; d < box.rank(); ++d) {
    const int64_t first = box.begin(d) / chunk_shape[d] * chunk_shape[d];
    const int64_t last = (box.end(d) - 1) / chunk_shape[d] * chunk_shape[d];
    const int64_t end = chunk_shape[d] >= shape[d] - last ? shape[d] : last + chunk_shape[d];
    factor *= static_cast<double>(end - first) / static_cast<double>(box.shape()[d]);
  }
  return factor;
}

absl::StatusOr<std::string> ShardLines(const HoldersByOrigin& holders, const ArrayPlan& plan,
                                       const Dims& chunk_shape) {
  std::string text;
  size_t count = 0;
  for (const auto& [origin, each] : holders) {
    if (count++ == kMostShardLines) break;
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(each.box, chunk_shape));
    text += Concat(DevicesText(each.devices), ": ", each.box.Text(), " from ",
                   CountText(cells.size()), " of ", CountText(plan.chunks), " chunks ",
                   CellsText(each.box, chunk_shape), ", amplification ",
                   Rounded(AmplificationOf(each.box, plan.stored.shape, chunk_shape)), "\n");
  }
  if (holders.size() > kMostShardLines) {
    text += Concat("... and ", holders.size() - kMostShardLines, " more shards\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> DrawArray(const checkpoint::CheckpointArray& array,
                                      const ArrayPlan& plan, const DrawOptions& options) {
  const Dims& shape = plan.stored.shape;
  const Dims& chunk_shape = array.chunk_shape();
  const auto* named = std::get_if<mesh::NamedSharding>(&plan.placement.sharding);
  const std::string head =
      Concat(DTypeName(plan.stored.dtype), ShapeText(shape), " by ",
             named != nullptr ? named->spec().Text() : "one device", ": shards of ",
             ShapeText(plan.shard_shape), ", chunks of ", ShapeText(chunk_shape), "\n");
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return head + "it has no elements: nothing is read\n";
  }
  TESSERA_ASSIGN_OR_RETURN(const HoldersByOrigin holders, FindHolders(plan));
  const Picture picture(chunk_shape, plan, holders, options);
  TESSERA_ASSIGN_OR_RETURN(const std::string lines, ShardLines(holders, plan, chunk_shape));
  return Concat(head, PlaneText(picture.plane(), shape.size()),
                "; in a cell the first device that holds it, and how many more do\n\n",
                picture.Text(), Legend(Strokes::Of(options.unicode)), "\n\n", lines,
                "A process decodes a chunk once for all of its devices: amplification ",
                Rounded(plan.amplification()), " in all.\n");
}

}  // namespace tessera::explain
