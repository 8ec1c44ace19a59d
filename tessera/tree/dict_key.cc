#include "tessera/tree/dict_key.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "tessera/core/status.h"
#include "tessera/core/utf8.h"

namespace tessera::tree {
namespace {

enum class Rank { kNumber, kText, kTuple };

Rank RankOf(const DictKey& key) {
  if (key.text() != nullptr) return Rank::kText;
  return key.tuple() != nullptr ? Rank::kTuple : Rank::kNumber;
}

std::string_view RankName(Rank rank) {
  switch (rank) {
    case Rank::kNumber:
      return "a number";
    case Rank::kText:
      return "text";
    case Rank::kTuple:
      return "a tuple";
  }
  return "unknown";
}

int64_t NumberOf(const DictKey& key) {
  return key.number() != nullptr ? *key.number() : static_cast<int64_t>(*key.truth());
}

// A total order that agrees with Python's wherever Python has one.  `comparable` becomes false
// where it has none and the kinds decided instead.
std::strong_ordering TotalOrder(const DictKey& a, const DictKey& b, bool& comparable) {
  const Rank rank = RankOf(a);
  if (rank != RankOf(b)) {
    comparable = false;
    return rank <=> RankOf(b);
  }
  if (rank == Rank::kText) return a.text()->compare(*b.text()) <=> 0;
  if (rank == Rank::kNumber) return NumberOf(a) <=> NumberOf(b);
  const DictKey::TupleElements& left = *a.tuple();
  const DictKey::TupleElements& right = *b.tuple();
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    const std::strong_ordering order = TotalOrder(left[i], right[i], comparable);
    if (order != 0) return order;
  }
  return left.size() <=> right.size();
}

int TupleDepth(const DictKey& key) {
  if (key.tuple() == nullptr) return 0;
  int deepest = 0;
  for (const DictKey& element : *key.tuple()) deepest = std::max(deepest, TupleDepth(element));
  return deepest + 1;
}

void AppendByteEscape(std::string& out, unsigned byte) {
  fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
}

void AppendAsciiRepr(std::string& out, char c, char quote) {
  if (c == quote || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c < 0x20 || c == 0x7F) {
    AppendByteEscape(out, static_cast<unsigned char>(c));
  } else {
    out += c;
  }
}

// U+0080 to U+00A0 and U+00AD: controls, the hard space and the soft hyphen.
bool IsUnprintableLatin1(std::string_view sequence) {
  if (sequence.size() != 2 || sequence[0] != '\xC2') return false;
  const auto second = static_cast<unsigned char>(sequence[1]);
  return second <= 0xA0 || second == 0xAD;
}

void AppendTextRepr(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out += quote;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    const std::string_view sequence = text.substr(0, std::max<size_t>(length, 1));
    if (length == 1) {
      AppendAsciiRepr(out, sequence[0], quote);
    } else if (length == 0 || IsUnprintableLatin1(sequence)) {
      AppendByteEscape(out, static_cast<unsigned char>(sequence.back()));
    } else {
      out += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  out += quote;
}

void AppendRepr(std::string& out, const DictKey& key) {
  if (const std::string* text = key.text()) return AppendTextRepr(out, *text);
  if (const bool* truth = key.truth()) {
    out += *truth ? "True" : "False";
    return;
  }
  if (const int64_t* number = key.number()) {
    fmt::format_to(std::back_inserter(out), "{}", *number);
    return;
  }
  out += '(';
  const DictKey::TupleElements& elements = *key.tuple();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) out += ", ";
    AppendRepr(out, elements[i]);
  }
  out += elements.size() == 1 ? ",)" : ")";
}

std::vector<size_t> TotallyOrdered(std::span<const DictKey> keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  bool ignored = true;
  const auto less = [&](size_t i, size_t j) { return TotalOrder(keys[i], keys[j], ignored) < 0; };
  if (!std::is_sorted(order.begin(), order.end(), less)) {
    std::sort(order.begin(), order.end(), less);
  }
  return order;
}

absl::Status CheckDiffer(const DictKey& a, const DictKey& b) {
  if (a != b) return absl::OkStatus();
  if (a.ToRepr() == b.ToRepr()) return InvalidArgument("key ", a.ToRepr(), " is given twice");
  return InvalidArgument("keys ", a.ToRepr(), " and ", b.ToRepr(), " are the same key");
}

absl::Status CheckComparable(const DictKey& a, const DictKey& b) {
  if ((a <=> b) != std::partial_ordering::unordered) return absl::OkStatus();
  const std::string keys = Concat("keys ", a.ToRepr(), " and ", b.ToRepr(), " cannot be sorted");
  if (RankOf(a) == RankOf(b)) {
    return InvalidArgument(keys, ": their elements are of kinds without an order");
  }
  return InvalidArgument(keys, ": ", RankName(RankOf(a)), " and ", RankName(RankOf(b)),
                         " have no order");
}

}  // namespace

absl::StatusOr<DictKey> DictKey::Tuple(TupleElements elements) {
  DictKey key(std::move(elements));
  if (const int depth = TupleDepth(key); depth > kMaxTupleDepth) {
    return InvalidArgument("a key has tuples nested ", depth, " deep; at most ", kMaxTupleDepth,
                           " are accepted");
  }
  return key;
}

DictKey DictKey::MakeTuple(TupleElements elements) {
  absl::StatusOr<DictKey> key = Tuple(std::move(elements));
  TESSERA_CHECK(key.ok());
  return *std::move(key);
}

std::string DictKey::ToText() const { return text() != nullptr ? *text() : ToRepr(); }

std::string DictKey::ToRepr() const {
  std::string out;
  AppendRepr(out, *this);
  return out;
}

std::partial_ordering operator<=>(const DictKey& a, const DictKey& b) {
  bool comparable = true;
  const std::strong_ordering order = TotalOrder(a, b, comparable);
  if (!comparable) return std::partial_ordering::unordered;
  return order;
}

absl::Status CheckUtf8(const DictKey& key) {
  if (key.tuple() != nullptr) {
    for (const DictKey& element : *key.tuple()) TESSERA_RETURN_IF_ERROR(CheckUtf8(element));
  }
  if (key.text() == nullptr) return absl::OkStatus();
  if (const std::optional<size_t> bad = FirstInvalidUtf8(*key.text())) {
    return InvalidArgument("key ", key.ToRepr(), " is not UTF-8 from byte ", *bad, " on");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<size_t>> SortedOrder(std::span<const DictKey> keys) {
  std::vector<size_t> order = TotallyOrdered(keys);
  // Two keys without an order first differ at an element of another kind.  Every key sorted
  // between them shares what stands before that element, so some neighbours differ there too.
  for (size_t i = 1; i < order.size(); ++i) {
    TESSERA_RETURN_IF_ERROR(CheckComparable(keys[order[i - 1]], keys[order[i]]));
    TESSERA_RETURN_IF_ERROR(CheckDiffer(keys[order[i - 1]], keys[order[i]]));
  }
  return order;
}

absl::Status CheckDistinct(std::span<const DictKey> keys) {
  const std::vector<size_t> order = TotallyOrdered(keys);
  for (size_t i = 1; i < order.size(); ++i) {
    TESSERA_RETURN_IF_ERROR(CheckDiffer(keys[order[i - 1]], keys[order[i]]));
  }
  return absl::OkStatus();
}

}  // namespace tessera::tree
