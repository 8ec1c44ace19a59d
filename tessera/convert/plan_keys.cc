#include "tessera/convert/plan_keys.h"

#include <map>

#include "tessera/checkpoint/open_entries.h"
#include "tessera/checkpoint/stored_layout.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/paths.h"
#include "tessera/store/key.h"
#include "tessera/tree/stored_path.h"

namespace tessera::convert {
namespace {

std::vector<std::string> SplitDotted(std::string_view key) {
  std::vector<std::string> parts;
  while (true) {
    const size_t dot = key.find('.');
    parts.emplace_back(key.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    key.remove_prefix(dot + 1);
  }
}

std::string Slashed(const std::vector<std::string>& key) {
  std::string text;
  for (size_t i = 0; i < key.size(); ++i) text += Concat(i == 0 ? "" : "/", key[i]);
  return text;
}

// Without an index a path is all that there is to tell the key by, so nothing in it is escaped.
absl::StatusOr<std::string> PlainPath(const std::vector<std::string>& key) {
  std::string path;
  for (const std::string& part : key) {
    if (part.find_first_of("/\\") != std::string::npos || part.size() > tree::kMaxStoredName) {
      return InvalidArgument(Quoted(part), " cannot be the name of a folder");
    }
    path += Concat(path.empty() ? "" : "/", part);
  }
  TESSERA_RETURN_IF_ERROR(ledger::CheckSafeArray(path));
  TESSERA_RETURN_IF_ERROR(store::ValidateKey(path));
  return path;
}

class KeyPlanner {
 public:
  KeyPlanner(const ConvertSource& source, const KeyRules& rules, const ConvertRequest& request)
      : source_(source), rules_(rules), request_(request) {}

  absl::StatusOr<std::vector<ConvertArray>> Plan() {
    const std::vector<SourceArray> all = source_.Arrays();
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string shown = ShownKey(all[i]);
      TESSERA_ASSIGN_OR_RETURN(const bool selected, rules_.Selects(shown));
      if (!selected) continue;
      ConvertArray array{.number = i, .source_key = shown};
      TESSERA_RETURN_IF_ERROR(NameArray(all[i], array));
      arrays_.push_back(std::move(array));
    }
    if (!wrong_.empty()) return InvalidArgument("new keys that cannot be: ", wrong_);
    TESSERA_RETURN_IF_ERROR(CheckUnique());
    if (request_.target.format != TargetFormat::kSafetensors) TESSERA_RETURN_IF_ERROR(CheckPaths());
    return std::move(arrays_);
  }

 private:
  bool ShowsPrefix(const SourceArray& source) const {
    return source_.shows_prefixes && !source.list->prefix.empty();
  }
  bool KeepsPrefixes() const {
    return request_.target.format == TargetFormat::kTensorstore &&
           !request_.target.prefix.has_value();
  }

  std::string ShownKey(const SourceArray& source) const {
    if (!ShowsPrefix(source)) return source.array->name;
    return Concat(source.list->prefix, ".", source.array->name);
  }

  void Refuse(const ConvertArray& array, std::string_view why) {
    wrong_ += Concat(wrong_.empty() ? "" : "; ", array.source_key, ": ", why);
  }

  absl::Status NameArray(const SourceArray& source, ConvertArray& array) {
    TESSERA_ASSIGN_OR_RETURN(std::string renamed, rules_.Renamed(array.source_key));
    std::vector<std::string> key = source.array->key;
    const bool changed = renamed != array.source_key;
    if (request_.target.format == TargetFormat::kTensorstore) {
      array.prefix = request_.target.prefix.value_or(source.list->prefix);
    }
    if (ShowsPrefix(source)) {
      const std::string& prefix = source.list->prefix;
      if (!KeepsPrefixes()) {
        key.insert(key.begin(), prefix);
      } else if (!renamed.starts_with(prefix + ".")) {
        Refuse(array, Concat(Quoted(renamed), " does not begin with the prefix ", Quoted(prefix),
                             ", which is kept unless another one is given"));
        return absl::OkStatus();
      } else {
        renamed.erase(0, prefix.size() + 1);
      }
    }
    if (changed) key = SplitDotted(renamed);
    array.new_key = renamed;
    array.rule_key = Slashed(key);
    if (ShowsPrefix(source) && KeepsPrefixes()) {
      array.rule_key = Concat(source.list->prefix, "/", array.rule_key);
    }
    if (changed && IsBroken(key)) {
      Refuse(array, Concat(Quoted(renamed), " has an empty part"));
      return absl::OkStatus();
    }
    if (array.new_key.empty()) {
      Refuse(array, "the array at the root has no key; a rename gives it one");
      return absl::OkStatus();
    }
    return request_.target.format == TargetFormat::kSafetensors ? absl::OkStatus()
                                                                : PlaceAt(key, array);
  }

  static bool IsBroken(const std::vector<std::string>& key) {
    for (const std::string& part : key) {
      if (part.empty()) return true;
    }
    return false;
  }

  absl::Status PlaceAt(const std::vector<std::string>& key, ConvertArray& array) {
    if (request_.target.format != TargetFormat::kTensorstore) {
      auto path = PlainPath(key);
      if (!path.ok()) Refuse(array, std::string(path.status().message()));
      if (path.ok()) array.place.record.path = *std::move(path);
      return absl::OkStatus();
    }
    TESSERA_ASSIGN_OR_RETURN(std::vector<std::string> whole,
                             checkpoint::PrefixFolders(array.prefix));
    whole.insert(whole.end(), key.begin(), key.end());
    auto path = tree::EncodeStoredPath(whole);
    if (!path.ok()) {
      Refuse(array, std::string(path.status().message()));
      return absl::OkStatus();
    }
    array.place.record.path = *std::move(path);
    // Other writers' keys are told from their paths.
    if (tree::SplitLegacyPath(array.place.record.path) != whole) {
      array.place.record.key = std::move(whole);
    }
    return absl::OkStatus();
  }

  absl::Status CheckUnique() const {
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_key;
    for (const ConvertArray& array : arrays_) {
      by_key[{array.prefix, array.new_key}].push_back(array.source_key);
    }
    std::string twice;
    for (const auto& [key, sources] : by_key) {
      if (sources.size() == 1) continue;
      twice += Concat(twice.empty() ? "" : "; ", key.second, " (from");
      for (size_t i = 0; i < sources.size(); ++i) {
        twice += Concat(i == 0 ? " " : " and ", sources[i]);
      }
      twice += ")";
    }
    if (twice.empty()) return absl::OkStatus();
    return InvalidArgument("several arrays would get one key: ", twice);
  }

  absl::Status CheckPaths() const {
    std::vector<std::string> paths, names;
    for (const ConvertArray& array : arrays_) {
      paths.push_back(array.place.record.path);
      names.push_back(array.new_key);
    }
    return tree::CheckUniquePaths(paths, names);
  }

  const ConvertSource& source_;
  const KeyRules& rules_;
  const ConvertRequest& request_;
  std::vector<ConvertArray> arrays_;
  std::string wrong_;
};

}  // namespace

absl::StatusOr<std::vector<ConvertArray>> PlanKeys(const ConvertSource& source,
                                                   const KeyRules& rules,
                                                   const ConvertRequest& request) {
  return KeyPlanner(source, rules, request).Plan();
}

std::vector<std::pair<std::string, std::string>> HeaderMetadata(const ConvertSource& source,
                                                                const Target& target) {
  std::map<std::string, std::string> all;
  for (const SourceList& list : source.lists) {
    for (const auto& [name, value] : list.checkpoint.header_metadata()) all.emplace(name, value);
  }
  for (const auto& [name, value] : target.metadata) all[name] = value;
  return {all.begin(), all.end()};
}

}  // namespace tessera::convert
