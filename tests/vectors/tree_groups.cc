#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/checkpoint/sharding_tree.h"
#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"
#include "tessera/tree/flatten.h"
#include "tessera/tree/leaf_key_paths.h"
#include "tessera/tree/structure.h"
#include "tessera/tree/testing/tree_json.h"
#include "tests/vectors/case_values.h"
#include "tests/vectors/groups.h"

namespace tessera::vectors {
namespace {

using TextTree = tree::Tree<std::string>;

// The dotted paths of a tree's leaves, in canonical order.
absl::StatusOr<OrderedJson> PathsOf(const TextTree& tree, std::optional<std::string> prefix,
                                    bool none_is_leaf) {
  std::function<bool(const TextTree&)> is_leaf = nullptr;
  if (none_is_leaf) is_leaf = tree::IsNone<std::string>;
  TESSERA_ASSIGN_OR_RETURN(const TextTree named, tree::LeafKeyPaths(tree, prefix, is_leaf));
  TESSERA_ASSIGN_OR_RETURN(const auto flat, tree::Flatten(named));
  OrderedJson paths = OrderedJson::array();
  for (const TextTree* leaf : flat.leaves) paths.push_back(leaf->leaf());
  return paths;
}

void CheckPaths(const OrderedJson& test_case, const char* field, bool none_is_leaf,
                Report& report) {
  std::optional<std::string> prefix;
  if (!test_case["prefix"].is_null()) prefix = test_case["prefix"].get<std::string>();
  const auto tree = tree::testing::ParseTree(test_case["tree"]);
  const auto ours = tree.ok() ? PathsOf(*tree, prefix, none_is_leaf) : tree.status();
  const OrderedJson& expected = test_case[field];
  report.Check(ours.ok()
                   ? expected.contains("ok") && *ours == expected["ok"]
                   : expected.contains("error") && IsErrorOf(ours.status(), expected["error"]),
               test_case, Concat(field, ": ", ours.ok() ? ours->dump() : ours.status().ToString()));
}

// The recorded result: nested objects, with the spec of each replicated leaf.
OrderedJson ToJson(const checkpoint::ShardingTree& tree) {
  if (tree.is_leaf()) return OrderedJson::array();
  OrderedJson object = OrderedJson::object();
  for (size_t i = 0; i < tree.children().size(); ++i) {
    std::string name;
    tree.def()->Entry(i).AppendText(name);
    object[name] = ToJson(tree.children()[i]);
  }
  return object;
}

// What we do where the original errs: its prefix table counts only in version "2.0", and of
// several prefixes it takes the first.  nullopt: we agree with it.
std::optional<std::string> DifferenceOf(const OrderedJson& index, const OrderedJson& prefix) {
  if (!index.contains("prefixes")) return std::nullopt;
  if (index.value("version", "") != "2.0") return "prefix-table-decides";
  const bool chosen = prefix.is_string() && !prefix.get<std::string>().empty();
  if (!chosen && !index.contains("arrays") && index["prefixes"].size() != 1) {
    return index["prefixes"].empty() ? "no-arrays-at-all" : "several-prefixes-refused";
  }
  return std::nullopt;
}

// Our result where we differ, worked out from the index by hand: an error, or every path of the
// chosen list without its prefix.
bool IsOurDecision(const OrderedJson& index, const OrderedJson& prefix,
                   const absl::StatusOr<checkpoint::ShardingTree>& ours) {
  const std::string wanted = prefix.is_string() ? prefix.get<std::string>() : "";
  const OrderedJson& table = index["prefixes"];
  const OrderedJson* list = nullptr;
  std::string chosen = wanted;
  if (!wanted.empty()) {
    if (table.contains(wanted)) list = &table[wanted];
  } else if (index.contains("arrays")) {
    list = &index["arrays"];
  } else if (table.size() == 1) {
    chosen = table.begin().key();
    list = &table.begin().value();
  } else if (table.empty()) {
    return ours.ok() && ToJson(*ours) == OrderedJson::object();
  }
  if (list == nullptr) return absl::IsInvalidArgument(ours.status());
  OrderedJson expected = OrderedJson::object();
  for (const OrderedJson& record : *list) {
    std::string path = record["path"];
    if (!chosen.empty() && path.starts_with(chosen + "/")) path = path.substr(chosen.size() + 1);
    expected[OrderedJson::json_pointer("/" + path)] = OrderedJson::array();
  }
  return ours.ok() && ToJson(*ours) == expected;
}

}  // namespace

Report RunLeafKeyPaths(const OrderedJson& document) {
  Report report("leaf_key_paths");
  for (const OrderedJson& test_case : document["leaf_key_paths"]) {
    CheckPaths(test_case, "leaf_paths", /*none_is_leaf=*/false, report);
    CheckPaths(test_case, "leaf_paths_none_is_leaf", /*none_is_leaf=*/true, report);
  }
  return report;
}

Report RunValidateShardingTree(const OrderedJson& document) {
  Report report("validate_sharding_tree");
  for (const OrderedJson& test_case : document["validate_sharding_tree"]) {
    const auto a = tree::testing::ParseTree(test_case["a"]);
    const auto b = tree::testing::ParseTree(test_case["b"]);
    if (!a.ok() || !b.ok()) {
      report.Failed(test_case, "the trees do not parse");
      continue;
    }
    const bool expected = test_case["same"]["ok"];
    const auto exact = tree::SameStructure(*a, *b, {.null_is_leaf = false});
    const auto lenient = tree::SameStructure(*a, *b, {.null_is_leaf = true});
    report.Check(exact == expected, test_case, "same structure differs");
    if (lenient != expected) {
      // Only a None that stands against a leaf can make the lenient answer another one.
      const bool has_none = test_case.dump().find("null") != std::string::npos;
      if (lenient && has_none) {
        report.Differs("null-is-leaf");
      } else {
        report.Failed(test_case, "with null as leaf, the structures should agree, too");
      }
    }
  }
  return report;
}

Report RunShardingTreeFromIndex(const OrderedJson& document) {
  Report report("sharding_tree_from_index");
  for (const OrderedJson& test_case : document["sharding_tree_from_index"]) {
    const OrderedJson& prefix = test_case["prefix"];
    auto ours = [&]() -> absl::StatusOr<checkpoint::ShardingTree> {
      TESSERA_ASSIGN_OR_RETURN(const auto index,
                               ledger::DecodeIndexFile(test_case["index"].dump()));
      checkpoint::ShardingTreeOptions options{.mesh = *mesh::Mesh::MakeHost({{"dp", 2}})};
      if (prefix.is_string()) options.prefix = prefix.get<std::string>();
      return checkpoint::CreateShardingTreeFromIndex(index, options);
    }();
    const OrderedJson& expected = test_case["replicated_on_mesh"];
    const bool same =
        ours.ok() ? expected.contains("ok") && ToJson(*ours) == expected["ok"]
                  : expected.contains("error") && IsErrorOf(ours.status(), expected["error"]);
    const auto difference = DifferenceOf(test_case["index"], prefix);
    if (same) {
      report.Passed();
    } else if (difference.has_value() && IsOurDecision(test_case["index"], prefix, ours)) {
      report.Differs(*difference);
    } else {
      report.Failed(test_case, ours.ok() ? ToJson(*ours).dump() : ours.status().ToString());
    }
  }
  return report;
}

}  // namespace tessera::vectors
