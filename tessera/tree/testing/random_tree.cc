#include "tessera/tree/testing/random_tree.h"

#include <set>
#include <string_view>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::tree::testing {
namespace {

class Generator {
 public:
  explicit Generator(std::mt19937_64& random) : random_(random) {}

  Tree<int> Node(size_t nodes, size_t depth_left) {
    if (nodes == 1 && Below(4) > 0) return Below(5) == 0 ? Tree<int>::None() : Tree<int>(next_++);
    // Without depth to spare, all the children must be single nodes.
    std::vector<Tree<int>> children;
    for (size_t left = nodes - 1; left > 0;) {
      const size_t size = depth_left > 1 ? 1 + Below(left) : 1;
      children.push_back(size == 1 && depth_left <= 1 ? Tree<int>(next_++)
                                                      : Node(size, depth_left - 1));
      left -= size;
    }
    return Container(std::move(children));
  }

 private:
  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }

  static Tree<int> Checked(absl::StatusOr<Tree<int>> tree) {
    TESSERA_CHECK(tree.ok());
    return *std::move(tree);
  }

  std::vector<std::string> Names(size_t count) {
    std::set<std::string> seen;
    std::vector<std::string> names;
    while (names.size() < count) {
      std::string name = RandomKeyText(random_);
      if (seen.size() > 16) name += std::to_string(seen.size());
      if (seen.insert(name).second) names.push_back(std::move(name));
    }
    return names;
  }

  Tree<int>::Fields Fields(std::vector<Tree<int>> children) {
    Tree<int>::Fields fields;
    std::vector<std::string> names = Names(children.size());
    for (size_t i = 0; i < children.size(); ++i) {
      fields.emplace_back(std::move(names[i]), std::move(children[i]));
    }
    return fields;
  }

  Tree<int>::Items Items(std::vector<Tree<int>> children) {
    const size_t key_kind = Below(3);
    Tree<int>::Items items;
    std::vector<std::string> names = Names(children.size());
    for (size_t i = 0; i < children.size(); ++i) {
      const auto number = static_cast<int64_t>((i * 7919) % 100003) - 50000;
      DictKey key = key_kind == 0   ? DictKey(number)
                    : key_kind == 1 ? DictKey(names[i])
                                    : DictKey::MakeTuple({names[i], number});
      items.emplace_back(std::move(key), std::move(children[i]));
    }
    return items;
  }

  Tree<int> Container(std::vector<Tree<int>> children) {
    switch (Below(9)) {
      case 0:
        return Tree<int>::List(std::move(children));
      case 1:
        return Tree<int>::Tuple(std::move(children));
      case 2:
        return Checked(Tree<int>::OrderedDict(Items(std::move(children))));
      case 3:
        return Checked(Tree<int>::DefaultDict("list", Items(std::move(children))));
      case 4:
        return Checked(Tree<int>::NamedTuple("Pair", Fields(std::move(children))));
      case 5:
        return Checked(Tree<int>::Record("Adam", Fields(std::move(children)), {{"lr", "0.1"}}));
      case 6:
        return Checked(Tree<int>::Custom("Bag", "static", std::move(children)));
      case 7:
        return Checked(Tree<int>::CustomWithNames("Box", "", Fields(std::move(children))));
      default:
        return Checked(Tree<int>::Dict(Items(std::move(children))));
    }
  }

  std::mt19937_64& random_;
  int next_ = 0;
};

}  // namespace

Tree<int> RandomTree(std::mt19937_64& random, size_t nodes, size_t max_depth) {
  TESSERA_CHECK(nodes > 0 && max_depth > 0);
  return Generator(random).Node(nodes, max_depth);
}

std::string RandomKeyText(std::mt19937_64& random) {
  using namespace std::string_view_literals;
  static constexpr std::string_view kPieces[] = {
      ""sv,       "a"sv,    "w"sv,   "."sv,       ".."sv,
      "/"sv,      "\\"sv,   "%"sv,   "%2E"sv,     "%-"sv,
      "'"sv,      "\""sv,   "10"sv,  "9"sv,       "\0"sv,
      "\n"sv,     "\x7F"sv, ".z"sv,  ".zarray"sv, "-"sv,
      " "sv,      "B"sv,    "%2f"sv, "é"sv,       "\xF0\x9F\x8C\xB3"sv,
      "kernel"sv, "C:"sv,   "~"sv};
  std::uniform_int_distribution<size_t> piece(0, std::size(kPieces) - 1);
  std::string text;
  for (size_t i = std::uniform_int_distribution<size_t>(0, 4)(random); i > 0; --i) {
    text += kPieces[piece(random)];
  }
  return text;
}

}  // namespace tessera::tree::testing
