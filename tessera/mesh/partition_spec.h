// PartitionSpec: which mesh axes split which dimension of an array.
#ifndef TESSERA_MESH_PARTITION_SPEC_H_
#define TESSERA_MESH_PARTITION_SPEC_H_

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/json.h"

namespace tessera::mesh {

// One dimension: not split, split over axes (major to minor), or left to the runtime.
// In normal form: no empty name, and no axes means not split.  Implicit, so that a spec reads as
// the list that it is: {"dp", nullptr, {"fsdp", "tp"}}.
class SpecEntry {
 public:
  SpecEntry() = default;
  SpecEntry(std::nullptr_t) {}
  SpecEntry(const char* axis) : SpecEntry(std::string(axis)) {}
  SpecEntry(std::string axis) {
    if (!axis.empty()) axes_.push_back(std::move(axis));
  }
  SpecEntry(std::vector<std::string> axes) : axes_(std::move(axes)) {}
  SpecEntry(std::initializer_list<const char*> axes) : axes_(axes.begin(), axes.end()) {}
  static SpecEntry Unconstrained() {
    SpecEntry entry;
    entry.unconstrained_ = true;
    return entry;
  }

  bool replicated() const { return axes_.empty() && !unconstrained_; }
  bool unconstrained() const { return unconstrained_; }
  const std::vector<std::string>& axes() const { return axes_; }

  // As Python writes it: None, 'dp', ('fsdp', 'tp'), UNCONSTRAINED.
  std::string Text() const;

  friend bool operator==(const SpecEntry&, const SpecEntry&) = default;

 private:
  std::vector<std::string> axes_;
  bool unconstrained_ = false;
};

// One entry per leading dimension; dimensions past the end are not split.  The length is part of
// the value: P() and P(None) differ.  Repeated axes are found when a spec is bound to a mesh.
class PartitionSpec {
 public:
  PartitionSpec() = default;
  PartitionSpec(std::initializer_list<SpecEntry> entries) : entries_(entries) {}
  explicit PartitionSpec(std::vector<SpecEntry> entries) : entries_(std::move(entries)) {}

  bool empty() const { return entries_.empty(); }
  int size() const { return static_cast<int>(entries_.size()); }
  const SpecEntry& operator[](int dimension) const { return entries_[dimension]; }
  const std::vector<SpecEntry>& entries() const { return entries_; }

  // "P('dp', None, ('fsdp', 'tp'))", "P()".
  std::string Text() const;

  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;

 private:
  std::vector<SpecEntry> entries_;
};

// A list with null, "tp" or ["dp", "tp"] for each dimension; an entry that is left to the runtime
// is {"unconstrained": true}.
Json ToJson(const PartitionSpec& spec);

// InvalidArgument starting with `path` when the value is no spec.
absl::StatusOr<PartitionSpec> PartitionSpecFromJson(const Json& value, std::string_view path);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_PARTITION_SPEC_H_
