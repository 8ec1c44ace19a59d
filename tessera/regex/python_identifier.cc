#define PCRE2_CODE_UNIT_WIDTH 8
#include "tessera/regex/python_identifier.h"

#include <memory>

#include <pcre2.h>

namespace tessera::regex {
namespace {

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

// Null where PCRE2 is too old to know these properties; then only ASCII names pass.
const pcre2_code* IdentifierCode() {
  static const std::unique_ptr<pcre2_code, FreeCode> code = [] {
    constexpr char kPattern[] = R"(\A[\p{XIDS}_]\p{XIDC}*\z)";
    int error = 0;
    PCRE2_SIZE offset = 0;
    return std::unique_ptr<pcre2_code, FreeCode>(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF,
                      &error, &offset, nullptr));
  }();
  return code.get();
}

bool IsAsciiIdentifier(std::string_view text) {
  if (text[0] >= '0' && text[0] <= '9') return false;
  for (char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

}  // namespace

bool IsPythonIdentifier(std::string_view text) {
  if (text.empty()) return false;
  if (IsAsciiIdentifier(text)) return true;
  const pcre2_code* code = IdentifierCode();
  if (code == nullptr) return false;
  const std::unique_ptr<pcre2_match_data, FreeMatchData> data(pcre2_match_data_create(1, nullptr));
  return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, data.get(),
                     nullptr) >= 0;
}

}  // namespace tessera::regex
