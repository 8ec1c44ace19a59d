// Finds which of many texts occur in a subject, in one pass over it (Aho-Corasick).
#ifndef TESSERA_REGEX_LITERAL_SCANNER_H_
#define TESSERA_REGEX_LITERAL_SCANNER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::regex {

class LiteralScanner {
 public:
  // REQUIRES: no literal is empty and none stands there twice.
  explicit LiteralScanner(std::span<const std::string> literals);

  // Sets bit i % 64 of found[i / 64] for each literal i that occurs in `subject`.
  // REQUIRES: `found` has a bit for each literal.
  void Scan(std::string_view subject, std::span<uint64_t> found) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Set in a transition to a state at which a literal ends.
  static constexpr uint32_t kEndsLiteral = uint32_t{1} << 31;

  void SetByteClasses(std::span<const std::string> literals);
  void InsertAll(std::span<const std::string> literals);
  uint32_t AddState();
  void LinkStates();
  void MarkEnds();

  // A state is known by the index of its row in `next_`.
  std::array<uint8_t, 256> class_of_byte_{};  // 0: in no literal
  uint32_t class_count_ = 1;
  std::vector<uint32_t> next_;

  // Per state: the literal that ends there, and the next shorter one that ends there too.
  std::vector<uint32_t> literal_at_;
  std::vector<uint32_t> shorter_;
};

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_LITERAL_SCANNER_H_
