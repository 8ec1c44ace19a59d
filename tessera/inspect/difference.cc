#include "tessera/inspect/difference.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "tessera/core/buffer.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/natural_order.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/core/task_group.h"
#include "tessera/core/text.h"
#include "tessera/inspect/blocks.h"
#include "tessera/inspect/look_policy.h"
#include "tessera/regex/python_regex.h"
#include "tessera/regex/python_substitution.h"
#include "tessera/safetensors/runs.h"

namespace tessera::inspect {
namespace {

using checkpoint::ArrayReader;
using checkpoint::Checkpoint;
using checkpoint::CheckpointArray;

// Elements that one thread compares at a time.
constexpr int64_t kPiece = int64_t{1} << 16;

struct NaturalOrder {
  bool operator()(std::string_view x, std::string_view y) const { return NaturalLess(x, y); }
};
// By the key that is compared: that of A after renaming.
using Keyed = std::map<std::string, const CheckpointArray*, NaturalOrder>;

class KeyFilter {
 public:
  static absl::StatusOr<KeyFilter> Make(const DiffOptions& options) {
    KeyFilter filter;
    for (const auto& [pattern, replacement] : options.renames) {
      auto rename = regex::PythonSubstitution::Compile(pattern, replacement);
      if (!rename.ok()) return Prefixed(rename.status(), "rename");
      filter.renames_.push_back(*std::move(rename));
    }
    if (options.match.empty()) return filter;
    auto match = regex::PythonRegex::Compile(options.match);
    if (!match.ok()) return Prefixed(match.status(), "match");
    filter.match_ = *std::move(match);
    return filter;
  }

  absl::StatusOr<Keyed> Take(const Checkpoint& checkpoint, bool renamed) const {
    Keyed keyed;
    for (const CheckpointArray& array : checkpoint.arrays()) {
      std::string key = array.name;
      for (size_t i = 0; renamed && i < renames_.size(); ++i) {
        TESSERA_ASSIGN_OR_RETURN(key, renames_[i].Apply(key));
      }
      bool found = true;
      if (match_.has_value()) {
        TESSERA_ASSIGN_OR_RETURN(found, match_->Search(key));
      }
      if (!found) continue;
      const auto [place, added] = keyed.emplace(key, &array);
      if (added) continue;
      return InvalidArgument("the keys ", Quoted(place->second->name), " and ", Quoted(array.name),
                             " are both renamed to ", Quoted(key));
    }
    return keyed;
  }

 private:
  std::vector<regex::PythonSubstitution> renames_;
  std::optional<regex::PythonRegex> match_;
};

bool SameManifests(const CheckpointArray& a, const CheckpointArray& b) {
  return a.manifest != nullptr && b.manifest != nullptr &&
         a.manifest->metadata_name == b.manifest->metadata_name &&
         a.manifest->metadata == b.manifest->metadata && a.manifest->chunks == b.manifest->chunks;
}

// One array of each side.
struct ArrayPair {
  const CheckpointArray* a;
  const CheckpointArray* b;

  bool one_shape() const { return a->shape() == b->shape(); }
  bool one_dtype() const { return a->dtype() == b->dtype(); }
};

// Whether its elements are to be looked at.
bool IsRead(const ArrayPair& pair, DiffLevel level) {
  if (level == DiffLevel::kStructure || !pair.one_shape()) return false;
  if (!pair.one_dtype()) return level == DiffLevel::kValues;
  return !SameManifests(*pair.a, *pair.b);
}

int64_t BytesOf(const CheckpointArray& array) {
  return NumBytes(array.dtype(), array.shape()).value_or(0);
}

class PairReader {
 public:
  PairReader(const Checkpoint& a, const Checkpoint& b, const DiffOptions& options, IoContext& io,
             std::stop_token stop)
      : a_(a), b_(b), options_(options), io_(io), stop_(std::move(stop)) {}

  // `done` is told of the bytes of either side.
  absl::StatusOr<ChangedArray> Compare(const ArrayPair& pair,
                                       absl::FunctionRef<void(int64_t)> done) {
    TESSERA_ASSIGN_OR_RETURN(const ArrayReader reader_a,
                             ArrayReader::Make(a_, *pair.a, kLookPolicy));
    TESSERA_ASSIGN_OR_RETURN(const ArrayReader reader_b,
                             ArrayReader::Make(b_, *pair.b, kLookPolicy));
    ChangedArray changed;
    changed.comparison.emplace();
    const Dims& shape = pair.a->shape();
    if (Box::Whole(shape).empty()) return changed;
    const int64_t widest = std::max(DTypeBytes(pair.a->dtype()), DTypeBytes(pair.b->dtype()));
    const Dims block = BlockShapeFor(shape, pair.a->chunk_shape(), pair.b->chunk_shape(),
                                     io_.budget().limit() / 8 / widest);
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(Box::Whole(shape), block));
    std::optional<uint64_t> first;
    for (int64_t i = 0; i < cells.size(); ++i) {
      const Box box = CellBox(cells.at(i), block, shape);
      TESSERA_RETURN_IF_ERROR(ReadBoth(reader_a, reader_b, pair, box));
      const Comparison found = CompareBox(pair, box);
      if (found.first_different.has_value()) NoteFirst(*found.first_different, box, shape, first);
      changed.comparison->Append(found);
      done(static_cast<int64_t>(elements_a_.size() + elements_b_.size()));
    }
    if (first.has_value()) changed.first_different = IndexOf(*first, shape);
    return changed;
  }

 private:
  static Dims IndexOf(uint64_t place, const Dims& shape) {
    Dims index(shape.size(), 0);
    for (size_t d = shape.size(); d-- > 0;) {
      const auto size = static_cast<uint64_t>(shape[d]);
      index[d] = static_cast<int64_t>(place % size);
      place /= size;
    }
    return index;
  }

  // Boxes come in the order of the blocks, in which a later one may have an earlier element.
  static void NoteFirst(int64_t place, const Box& box, const Dims& shape,
                        std::optional<uint64_t>& first) {
    Dims index = IndexOf(static_cast<uint64_t>(place), box.shape());
    for (int d = 0; d < box.rank(); ++d) index[d] += box.begin(d);
    const uint64_t here = safetensors::ElementNumber(index, shape);
    if (!first.has_value() || here < *first) first = here;
  }

  absl::Status ReadBoth(const ArrayReader& reader_a, const ArrayReader& reader_b,
                        const ArrayPair& pair, const Box& box) {
    TaskGroup group(io_.pool(), stop_);
    const auto read = [&](const ArrayReader& reader, const CheckpointArray& array,
                          std::string_view side, Buffer& buffer) {
      const int64_t element_bytes = DTypeBytes(array.dtype());
      const auto room = buffer.Resize(static_cast<size_t>(*box.num_elements() * element_bytes));
      const StridedView view = RowMajorView(room.data(), box.shape(), element_bytes);
      group.Run([&reader, &array, &box, side, view, this](std::stop_token stop) -> absl::Status {
        const auto counts = reader.ReadBox(box, view, io_, std::move(stop));
        if (counts.ok()) return absl::OkStatus();
        return Prefixed(counts.status(), Concat(array.name, " of ", side));
      });
    };
    read(reader_a, *pair.a, "A", elements_a_);
    read(reader_b, *pair.b, "B", elements_b_);
    return group.Join();
  }

  // Pieces are put together in their order, whoever was done first.
  Comparison CompareBox(const ArrayPair& pair, const Box& box) const {
    const int64_t count = *box.num_elements();
    const int64_t pieces = (count + kPiece - 1) / kPiece;
    std::vector<Comparison> found(static_cast<size_t>(pieces));
    const int64_t bytes_a = DTypeBytes(pair.a->dtype());
    const int64_t bytes_b = DTypeBytes(pair.b->dtype());
    ParallelFor(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i * kPiece;
        found[static_cast<size_t>(i)] =
            CompareElements(pair.a->dtype(), elements_a_.span().data() + from * bytes_a,
                            pair.b->dtype(), elements_b_.span().data() + from * bytes_b,
                            static_cast<size_t>(std::min(kPiece, count - from)),
                            options_.level == DiffLevel::kValues);
      }
    });
    Comparison all;
    for (const Comparison& piece : found) all.Append(piece);
    return all;
  }

  const Checkpoint& a_;
  const Checkpoint& b_;
  const DiffOptions& options_;
  IoContext& io_;
  const std::stop_token stop_;
  Buffer elements_a_;
  Buffer elements_b_;
};

class Differ {
 public:
  Differ(const Checkpoint& a, const Checkpoint& b, const DiffOptions& options, IoContext& io,
         std::stop_token stop)
      : options_(options), reader_(a, b, options, io, std::move(stop)) {}

  absl::StatusOr<CheckpointDifference> Run(const Keyed& a, const Keyed& b) {
    Match(a, b);
    for (const ArrayPair& pair : pairs_) {
      TESSERA_RETURN_IF_ERROR(Compare(pair));
      ++progress_.arrays_done;
      Tell();
    }
    return std::move(difference_);
  }

 private:
  void Match(const Keyed& a, const Keyed& b) {
    for (const auto& [key, array] : a) {
      const auto other = b.find(key);
      if (other == b.end()) {
        difference_.only_a.push_back(array->name);
        continue;
      }
      pairs_.push_back({array, other->second});
      ++progress_.arrays_total;
      if (IsRead(pairs_.back(), options_.level)) {
        progress_.bytes_total += BytesOf(*array) + BytesOf(*other->second);
      }
    }
    for (const auto& [key, array] : b) {
      if (!a.contains(key)) difference_.only_b.push_back(array->name);
    }
  }

  absl::Status Compare(const ArrayPair& pair) {
    ChangedArray changed;
    if (IsRead(pair, options_.level)) {
      TESSERA_ASSIGN_OR_RETURN(changed, reader_.Compare(pair, [&](int64_t bytes) {
        progress_.bytes_done += bytes;
        Tell();
      }));
    }
    const bool same_elements =
        !changed.comparison.has_value() || changed.comparison->different == 0;
    if (pair.one_shape() && pair.one_dtype() && same_elements) {
      ++difference_.same_arrays;
      return absl::OkStatus();
    }
    changed.key_a = pair.a->name;
    changed.key_b = pair.b->name;
    changed.a = pair.a->shape_dtype();
    changed.b = pair.b->shape_dtype();
    using What = ChangedArray::What;
    changed.what = !pair.one_shape()   ? What::kShape
                   : !pair.one_dtype() ? What::kDtype
                                       : What::kValues;
    difference_.changed.push_back(std::move(changed));
    return absl::OkStatus();
  }

  void Tell() const {
    if (options_.on_progress != nullptr) options_.on_progress(progress_);
  }

  const DiffOptions& options_;
  PairReader reader_;
  std::vector<ArrayPair> pairs_;
  DiffProgress progress_;
  CheckpointDifference difference_;
};

}  // namespace

std::string_view WhatName(ChangedArray::What what) {
  switch (what) {
    case ChangedArray::What::kShape:
      return "shape";
    case ChangedArray::What::kDtype:
      return "dtype";
    case ChangedArray::What::kValues:
      break;
  }
  return "values";
}

absl::StatusOr<CheckpointDifference> DiffCheckpoints(const Checkpoint& a, const Checkpoint& b,
                                                     const DiffOptions& options, IoContext& io,
                                                     std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const KeyFilter filter, KeyFilter::Make(options));
  TESSERA_ASSIGN_OR_RETURN(const Keyed keyed_a, filter.Take(a, true));
  TESSERA_ASSIGN_OR_RETURN(const Keyed keyed_b, filter.Take(b, false));
  return Differ(a, b, options, io, std::move(stop)).Run(keyed_a, keyed_b);
}

}  // namespace tessera::inspect
