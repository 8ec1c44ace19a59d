#include "tessera/mesh/partition_spec.h"

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"

namespace tessera::mesh {
namespace {

// A name in Python's quotes.
std::string Quoted(const std::string& name) { return "'" + name + "'"; }

Json EntryToJson(const SpecEntry& entry) {
  if (entry.unconstrained()) return Json{{"unconstrained", true}};
  if (entry.replicated()) return nullptr;
  if (entry.axes().size() == 1) return entry.axes()[0];
  return entry.axes();
}

absl::StatusOr<SpecEntry> EntryFromJson(const Json& value, const std::string& path) {
  if (value.is_null()) return SpecEntry();
  if (value.is_string()) return SpecEntry(value.get<std::string>());
  if (value == Json{{"unconstrained", true}}) return SpecEntry::Unconstrained();
  if (!value.is_array()) {
    return InvalidArgument(path, ": expected null, an axis name or a list of axis names, found ",
                           value.type_name());
  }
  std::vector<std::string> axes;
  for (const Json& axis : value) {
    if (!axis.is_string() || axis.get_ref<const std::string&>().empty()) {
      return InvalidArgument(path, ": expected a list of axis names, found ", value.dump());
    }
    axes.push_back(axis.get<std::string>());
  }
  return SpecEntry(std::move(axes));
}

}  // namespace

std::string SpecEntry::Text() const {
  if (unconstrained_) return "UNCONSTRAINED";
  if (axes_.empty()) return "None";
  if (axes_.size() == 1) return Quoted(axes_[0]);
  std::string text = "(";
  for (const std::string& axis : axes_) {
    if (text.size() > 1) text += ", ";
    text += Quoted(axis);
  }
  return text + ")";
}

std::string PartitionSpec::Text() const {
  std::string text = "P(";
  for (int i = 0; i < size(); ++i) {
    if (i > 0) text += ", ";
    text += entries_[i].Text();
  }
  return text + ")";
}

Json ToJson(const PartitionSpec& spec) {
  Json list = Json::array();
  for (const SpecEntry& entry : spec.entries()) list.push_back(EntryToJson(entry));
  return list;
}

absl::StatusOr<PartitionSpec> PartitionSpecFromJson(const Json& value, std::string_view path) {
  if (!value.is_array()) {
    return InvalidArgument(path, ": expected a list of spec entries, found ", value.type_name());
  }
  std::vector<SpecEntry> entries;
  for (size_t i = 0; i < value.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(SpecEntry entry, EntryFromJson(value[i], Concat(path, "[", i, "]")));
    entries.push_back(std::move(entry));
  }
  return PartitionSpec(std::move(entries));
}

}  // namespace tessera::mesh
