#include "tessera/regex/literal_scanner.h"

namespace tessera::regex {
namespace {

uint8_t AsByte(char c) { return static_cast<uint8_t>(c); }

}  // namespace

LiteralScanner::LiteralScanner(std::span<const std::string> literals) {
  SetByteClasses(literals);
  AddState();
  InsertAll(literals);
  LinkStates();
  MarkEnds();
}

void LiteralScanner::SetByteClasses(std::span<const std::string> literals) {
  std::array<bool, 256> used{};
  for (const std::string& literal : literals) {
    for (char c : literal) used[AsByte(c)] = true;
  }
  // UTF-8 never holds all 256 bytes, so that class 0 is left over.
  for (size_t byte = 0; byte < used.size(); ++byte) {
    if (used[byte] && class_count_ < 256) {
      class_of_byte_[byte] = static_cast<uint8_t>(class_count_++);
    }
  }
}

uint32_t LiteralScanner::AddState() {
  const auto state = static_cast<uint32_t>(literal_at_.size());
  next_.insert(next_.end(), class_count_, kNone);
  literal_at_.push_back(kNone);
  shorter_.push_back(kNone);
  return state;
}

// Builds the tree of all literals; transitions hold state numbers, kNone where there is none.
void LiteralScanner::InsertAll(std::span<const std::string> literals) {
  for (size_t i = 0; i < literals.size(); ++i) {
    uint32_t state = 0;
    for (char c : literals[i]) {
      const size_t slot = size_t{state} * class_count_ + class_of_byte_[AsByte(c)];
      if (next_[slot] == kNone) {
        const uint32_t added = AddState();  // moves `next_`
        next_[slot] = added;
      }
      state = next_[slot];
    }
    literal_at_[state] = static_cast<uint32_t>(i);
  }
}

// Walks the tree level by level and fills in where to go on when it ends: to the state of the
// longest suffix that some literal starts with.
void LiteralScanner::LinkStates() {
  std::vector<uint32_t> suffix(literal_at_.size(), 0);
  std::vector<uint32_t> queue = {0};
  for (size_t head = 0; head < queue.size(); ++head) {
    const uint32_t state = queue[head];
    const uint32_t longest = suffix[state];
    if (state != 0) shorter_[state] = literal_at_[longest] != kNone ? longest : shorter_[longest];
    for (uint32_t c = 0; c < class_count_; ++c) {
      uint32_t& target = next_[size_t{state} * class_count_ + c];
      const uint32_t fallback = state == 0 ? 0 : next_[size_t{longest} * class_count_ + c];
      if (target == kNone) {
        target = fallback;
      } else {
        suffix[target] = fallback;
        queue.push_back(target);
      }
    }
  }
}

// Turns state numbers into row indices, with a mark where a literal ends.
void LiteralScanner::MarkEnds() {
  for (uint32_t& target : next_) {
    const bool ends = literal_at_[target] != kNone || shorter_[target] != kNone;
    target = target * class_count_ | (ends ? kEndsLiteral : 0);
  }
}

void LiteralScanner::Scan(std::string_view subject, std::span<uint64_t> found) const {
  uint32_t row = 0;
  for (char c : subject) {
    const uint32_t target = next_[row + class_of_byte_[AsByte(c)]];
    row = target & ~kEndsLiteral;
    if (row == target) continue;
    for (uint32_t state = row / class_count_; state != kNone; state = shorter_[state]) {
      const uint32_t literal = literal_at_[state];
      if (literal != kNone) found[literal / 64] |= uint64_t{1} << (literal % 64);
    }
  }
}

}  // namespace tessera::regex
