// A set of Unicode code points, kept as ranges.
#ifndef TESSERA_REGEX_CODE_POINT_SET_H_
#define TESSERA_REGEX_CODE_POINT_SET_H_

#include <cstddef>
#include <vector>

namespace tessera::regex {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// Code points [low, high], both included.
struct CodePointRange {
  char32_t low = 0;
  char32_t high = 0;
  friend bool operator==(const CodePointRange&, const CodePointRange&) = default;
};

class CodePointSet {
 public:
  CodePointSet() = default;

  void Add(char32_t low, char32_t high) { ranges_.push_back({low, high}); }
  void Add(const CodePointSet& other);

  // Every code point that is not in this set.
  CodePointSet Complement() const;

  // Ascending, apart from one another, and without surrogates, which no UTF-8 text can hold.
  std::vector<CodePointRange> Ranges() const;

  // How many code points Ranges() covers.
  size_t size() const;

 private:
  std::vector<CodePointRange> ranges_;  // in any order; may overlap
};

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_CODE_POINT_SET_H_
