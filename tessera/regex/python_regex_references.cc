#include "tessera/regex/python_regex_references.h"

#include <algorithm>
#include <variant>
#include <vector>

namespace tessera::regex {
namespace {

constexpr std::string_view kInEmptyTurns = "stands in a repeat of something that can be empty";
constexpr std::string_view kInPossessive = "stands in a possessive repeat";
constexpr std::string_view kInNegativeLook = "is only set inside a negative lookaround";
constexpr std::string_view kStillOpen = "is still open there";

// Walks the tree once; groups are numbered in the order in which they open.
class Walker {
 public:
  void Walk(const std::vector<RegexSequence>& alternatives) {
    for (const RegexSequence& alternative : alternatives) Walk(alternative);
  }

  void Walk(const RegexSequence& sequence) {
    for (const RegexNode& node : sequence) {
      std::visit([this](const auto& value) { Visit(value); }, node.value);
    }
  }

  // As if it stood behind everything that was walked.
  void Refer(uint32_t group) { AddReference(group, 0); }

  std::optional<UnsafeReference> FirstUnsafe() const {
    for (const Reference& reference : references_) {
      const std::string_view reason = ReasonAgainst(reference);
      if (!reason.empty()) return UnsafeReference{reference.position, reference.group, reason};
    }
    return std::nullopt;
  }

 private:
  struct Group {
    std::string_view unsafe_repeat;  // the reason; empty: none
    int negative_look = 0;           // the innermost around it; 0: none
  };
  struct Reference {
    uint32_t group = 0;
    size_t position = 0;
    std::vector<int> negative_looks;  // those around it
    bool group_is_open = false;
  };

  template <typename T>
  void Visit(const T&) {}

  void Visit(const RegexGroup& group) {
    if (group.kind != RegexGroup::Kind::kCapture) return Walk(group.alternatives);
    groups_.push_back({unsafe_repeat_, negative_looks_.empty() ? 0 : negative_looks_.back()});
    open_.push_back(static_cast<uint32_t>(groups_.size() - 1));
    Walk(group.alternatives);
    open_.pop_back();
  }

  void Visit(const RegexLook& look) {
    if (!look.negated) return Walk(look.alternatives);
    negative_looks_.push_back(++look_count_);
    Walk(look.alternatives);
    negative_looks_.pop_back();
  }

  void Visit(const RegexRepeat& repeat) {
    const std::string_view outer = unsafe_repeat_;
    if (repeat.mode == RegexRepeat::Mode::kPossessive) {
      unsafe_repeat_ = kInPossessive;
    } else if (repeat.body.front().width.min == 0) {
      unsafe_repeat_ = kInEmptyTurns;
    }
    Walk(repeat.body);
    unsafe_repeat_ = outer;
  }

  void Visit(const RegexBackreference& reference) {
    AddReference(reference.group, reference.position);
  }

  void Visit(const RegexConditional& conditional) {
    AddReference(conditional.group, conditional.position);
    Walk(conditional.yes);
    if (conditional.no.has_value()) Walk(*conditional.no);
  }

  void AddReference(uint32_t group, size_t position) {
    const bool open = std::find(open_.begin(), open_.end(), group) != open_.end();
    references_.push_back({group, position, negative_looks_, open});
  }

  std::string_view ReasonAgainst(const Reference& reference) const {
    if (reference.group_is_open) return kStillOpen;
    const Group& group = groups_[reference.group];
    if (!group.unsafe_repeat.empty()) return group.unsafe_repeat;
    const auto& looks = reference.negative_looks;
    const bool shared = group.negative_look == 0 ||
                        std::find(looks.begin(), looks.end(), group.negative_look) != looks.end();
    return shared ? std::string_view() : kInNegativeLook;
  }

  std::vector<Group> groups_{1};  // by number; 0 is the whole pattern
  std::vector<uint32_t> open_;
  std::vector<int> negative_looks_;
  int look_count_ = 0;
  std::string_view unsafe_repeat_;
  std::vector<Reference> references_;
};

}  // namespace

std::optional<UnsafeReference> FindUnsafeReference(const RegexSyntax& syntax) {
  if (!syntax.has_references) return std::nullopt;
  Walker walker;
  walker.Walk(syntax.alternatives);
  return walker.FirstUnsafe();
}

std::optional<UnsafeReference> FindUnsafeGroup(const RegexSyntax& syntax,
                                               std::span<const uint32_t> groups) {
  Walker walker;
  walker.Walk(syntax.alternatives);
  for (const uint32_t group : groups) walker.Refer(group);
  return walker.FirstUnsafe();
}

}  // namespace tessera::regex
