#define PCRE2_CODE_UNIT_WIDTH 8
#include "tessera/regex/python_regex.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <pcre2.h>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"
#include "tessera/regex/python_regex_syntax.h"
#include "tessera/regex/python_regex_translate.h"
#include "tessera/regex/python_regex_trim.h"

namespace tessera::regex {
namespace {

// Patterns such as x.*y look at each pair of places in the subject: with this many bytes, for
// about a second.
constexpr size_t kLongestSubject = 16384;

// PCRE2 counts the steps from each start in the subject anew.  All starts together get
// kMostSteps, but one start enough for a few steps at each byte.
constexpr uint64_t kMostSteps = 50'000'000;
constexpr uint64_t kMostStepsPerStart = 1'000'000;
constexpr uint64_t kLeastStepsPerByte = 4;

constexpr uint32_t kHeapLimitKib = 64 * 1024;
constexpr size_t kFirstJitStack = 32 * 1024;
constexpr size_t kLargestJitStack = 4 * 1024 * 1024;

// Assertions that the translation adds count as groups.
constexpr uint32_t kParenthesesLimit = 1000;

struct FreePcre2 {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};
template <typename T>
using Pcre2Ptr = std::unique_ptr<T, FreePcre2>;

// Never null: the JIT takes a null subject for a mark of its own.
PCRE2_SPTR Units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data() == nullptr ? "" : text.data());
}

std::string Pcre2Message(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

// What one thread needs to match any pattern.
struct MatchSpace {
  Pcre2Ptr<pcre2_match_data> data{pcre2_match_data_create(1, nullptr)};
  Pcre2Ptr<pcre2_match_context> context{pcre2_match_context_create(nullptr)};
  Pcre2Ptr<pcre2_jit_stack> stack{
      pcre2_jit_stack_create(kFirstJitStack, kLargestJitStack, nullptr)};

  MatchSpace() {
    if (!ok()) return;
    pcre2_set_heap_limit(context.get(), kHeapLimitKib);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
  bool ok() const { return data != nullptr && context != nullptr; }
};

MatchSpace& ThreadMatchSpace() {
  thread_local MatchSpace space;
  return space;
}

uint32_t StepsPerStart(size_t subject_size) {
  const uint64_t starts = uint64_t{subject_size} + 1;
  const uint64_t share = std::min(kMostSteps / starts, kMostStepsPerStart);
  return static_cast<uint32_t>(std::max(share, kLeastStepsPerByte * starts));
}

absl::StatusOr<Pcre2Ptr<pcre2_code>> CompileForPcre2(std::string_view pattern,
                                                     const std::string& translated,
                                                     uint32_t options) {
  const Pcre2Ptr<pcre2_compile_context> context(pcre2_compile_context_create(nullptr));
  if (context == nullptr) return ResourceExhausted("no memory to compile ", Quoted(pattern));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), kParenthesesLimit);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Pcre2Ptr<pcre2_code> code(pcre2_compile(Units(translated), translated.size(),
                                          PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | options, &error,
                                          &offset, context.get()));
  if (code != nullptr) return code;
  return InvalidArgument("pattern ", Quoted(pattern),
                         ": valid in Python but not supported: ", Pcre2Message(error),
                         " (PCRE2, at offset ", offset, " of ", Quoted(translated), ")");
}

// PCRE2 10.42 draws false conclusions about where a match can start ((?:a|)a+a does not find aa
// under its JIT) and from what cannot be given back (a?(?>(?:bb)?)aaa does not find aaa).
uint32_t OptimizationsOff(const RegexSyntax& syntax) {
  const bool plain = !syntax.has_atomic && !syntax.has_references && !syntax.has_look;
  return PCRE2_NO_START_OPTIMIZE | PCRE2_NO_DOTSTAR_ANCHOR | (plain ? 0 : PCRE2_NO_AUTO_POSSESS);
}

// The JIT of 10.42 keeps what a possessive group captured when it should be forgotten, and takes
// (?>a*|)a to find aa.
bool IsSafeForJit(const RegexSyntax& syntax) {
  return !syntax.has_atomic && !syntax.has_references;
}

}  // namespace

struct PythonRegex::Program {
  std::string pattern;
  Pcre2Ptr<pcre2_code> code;
  bool compiled_by_jit = false;
  bool has_caseless_reference = false;
};

absl::StatusOr<PythonRegex> PythonRegex::Compile(std::string_view pattern) {
  TESSERA_ASSIGN_OR_RETURN(RegexSyntax syntax, ParsePythonRegex(pattern));
  // Without it, a leading .* is tried anew from every start.
  syntax = TrimForSearch(std::move(syntax));
  auto program = std::make_shared<Program>();
  program->pattern = pattern;
  program->has_caseless_reference = syntax.has_caseless_reference;
  const std::string translated = TranslateToPcre2(syntax);
  TESSERA_ASSIGN_OR_RETURN(program->code,
                           CompileForPcre2(pattern, translated, OptimizationsOff(syntax)));
  program->compiled_by_jit =
      IsSafeForJit(syntax) && pcre2_jit_compile(program->code.get(), PCRE2_JIT_COMPLETE) == 0;
  return PythonRegex(std::move(program));
}

absl::Status PythonRegex::CheckSubject(std::string_view subject) {
  if (subject.size() > kLongestSubject) {
    return ResourceExhausted("subject ", Quoted(subject), ": ", subject.size(),
                             " bytes are more than the ", kLongestSubject, " that are searched");
  }
  if (const auto invalid = FirstInvalidUtf8(subject)) {
    return InvalidArgument("subject ", Quoted(subject), ": byte ", *invalid, " is not UTF-8");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> PythonRegex::Search(std::string_view subject) const {
  TESSERA_RETURN_IF_ERROR(CheckSubject(subject));
  if (program_->has_caseless_reference && !IsAscii(subject)) {
    return Unimplemented("pattern ", Quoted(pattern()), ": a backreference under flag 'i' is not ",
                         "supported on the subject ", Quoted(subject), ", which is not ASCII");
  }
  MatchSpace& space = ThreadMatchSpace();
  if (!space.ok()) return ResourceExhausted("no memory to match ", Quoted(pattern()));
  pcre2_set_match_limit(space.context.get(), StepsPerStart(subject.size()));
  const auto match = program_->compiled_by_jit ? pcre2_jit_match : pcre2_match;
  const int result = match(program_->code.get(), Units(subject), subject.size(), 0,
                           PCRE2_NO_UTF_CHECK, space.data.get(), space.context.get());
  if (result >= 0) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  return ResourceExhausted("pattern ", Quoted(pattern()), ": gave up on the subject ",
                           Quoted(subject), ": ", Pcre2Message(result));
}

const std::string& PythonRegex::pattern() const { return program_->pattern; }

}  // namespace tessera::regex
