// The key of a mapping: text, a whole number, a truth value, or a tuple of keys.
//
// Keys compare as they do in Python: text by code point, numbers by value with False as 0 and
// True as 1, tuples element by element.  Text and a number have no order between them.
#ifndef TESSERA_TREE_DICT_KEY_H_
#define TESSERA_TREE_DICT_KEY_H_

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::tree {

// A whole number type whose every value an int64_t can hold.
template <typename I>
concept KeyInteger = std::integral<I> && !std::same_as<I, bool> && !std::same_as<I, char> &&
                     (std::signed_integral<I> || sizeof(I) < sizeof(int64_t));

class DictKey {
 public:
  using TupleElements = std::vector<DictKey>;

  // Implicit, so that a mapping can be written down as a literal.
  DictKey(std::string text) : value_(std::move(text)) {}
  DictKey(std::string_view text) : value_(std::string(text)) {}
  DictKey(const char* text) : value_(std::string(text)) {}
  template <KeyInteger I>
  DictKey(I number) : value_(int64_t{number}) {}
  // A template so that no pointer turns into a truth value.
  template <std::same_as<bool> B>
  DictKey(B truth) : value_(truth) {}

  // InvalidArgument when tuples nest deeper than kMaxTupleDepth.
  static absl::StatusOr<DictKey> Tuple(TupleElements elements);
  // For literals: stops the program where Tuple would fail.
  static DictKey MakeTuple(TupleElements elements);

  static constexpr int kMaxTupleDepth = 32;

  // The value if the key is of that kind, else nullptr.
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const int64_t* number() const { return std::get_if<int64_t>(&value_); }
  const bool* truth() const { return std::get_if<bool>(&value_); }
  const TupleElements* tuple() const { return std::get_if<TupleElements>(&value_); }

  // What a path shows: w, 3, True, ('a', 1).
  std::string ToText() const;
  // As Python writes it in source: 'w', 3, True, ('a', 1).  Bytes that are not UTF-8 and
  // characters that do not print (up to U+00FF) are escaped.
  std::string ToRepr() const;

  // Unordered when the keys have no order between them.  1 and True are equal.
  friend std::partial_ordering operator<=>(const DictKey& a, const DictKey& b);
  friend bool operator==(const DictKey& a, const DictKey& b) { return (a <=> b) == 0; }

 private:
  explicit DictKey(TupleElements elements) : value_(std::move(elements)) {}

  std::variant<std::string, int64_t, bool, TupleElements> value_;
};

// InvalidArgument, with the key and the byte, unless all text in `key` is UTF-8.
absl::Status CheckUtf8(const DictKey& key);

// The positions of `keys` in ascending order of the keys.  InvalidArgument, naming both, for two
// equal keys and for two keys without an order between them.
absl::StatusOr<std::vector<size_t>> SortedOrder(std::span<const DictKey> keys);

// InvalidArgument, naming both, for two equal keys.
absl::Status CheckDistinct(std::span<const DictKey> keys);

}  // namespace tessera::tree

#endif  // TESSERA_TREE_DICT_KEY_H_
