// Pickle: the plain data in a Python pickle, read without Python and without running anything.
//
// A pickle is a program for a small stack machine, and loading one may run any code.  Here only the
// opcodes that plain values and JAX's tree definitions need are known, and those that call
// something are taken for three calls alone: complex(re, im), PyTreeDef.__new__() and that object's
// state.  A global is a pair of names: nothing is looked up or imported.  Everything else is
// Unimplemented, with the opcode or the name and its byte.
#ifndef TESSERA_LEDGER_PICKLE_H_
#define TESSERA_LEDGER_PICKLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera::ledger {

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInteger,
  kFloat,
  kComplex,
  kText,
  kTuple,
  kList,
  kGlobal,
  kTreeDef,
};

// "None", "bool", "int", ...
std::string_view PickleKindName(PickleKind kind);

// A value, or where in its Pickle it lies.  Copies of a list are the same list.
struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  uint32_t size = 0;  // of text and tuples
  uint64_t bits = 0;  // the value itself, or a position
};

// A module and a name inside it.
struct PickleGlobal {
  std::string_view module;
  std::string_view name;
  friend bool operator==(const PickleGlobal&, const PickleGlobal&) = default;
};

// A longer pickle is refused.  Memory is taken in proportion to the pickle's size.
inline constexpr size_t kMaxPickleBytes = size_t{64} << 20;

// What a pickle makes.  Looks at the bytes that it was made from, which must outlive it.
//
// A list may hold itself: who walks down must stop at a depth.  As values are shared, what a walk
// meets may be far more than the pickle has bytes: who copies must count.
class Pickle {
 public:
  // Unimplemented for what is none of the above, DataLoss for a broken program; both with the byte.
  static absl::StatusOr<Pickle> Decode(std::span<const std::byte> bytes);

  const PickleValue& root() const { return root_; }

  // REQUIRES of each: a value of this pickle, of that kind.
  bool Truth(const PickleValue& value) const;
  int64_t Integer(const PickleValue& value) const;
  double Float(const PickleValue& value) const;
  std::string_view Text(const PickleValue& value) const;  // may hold surrogates, which are no UTF-8
  const PickleGlobal& Global(const PickleValue& value) const;
  // Of a tuple, a list, or the two floats of a complex number.
  std::span<const PickleValue> Items(const PickleValue& value) const;
  // Of the tree definition, of which a pickle has at most one; nullptr: it was given none.
  const PickleValue* tree_def_state() const { return state_.has_value() ? &*state_ : nullptr; }

 private:
  friend class PickleMachine;
  explicit Pickle(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
  std::vector<PickleValue> items_;  // of all tuples
  std::vector<std::vector<PickleValue>> lists_;
  std::vector<PickleGlobal> globals_;
  std::optional<PickleValue> state_;
  PickleValue root_;
};

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_PICKLE_H_
