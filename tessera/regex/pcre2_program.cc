#define PCRE2_CODE_UNIT_WIDTH 8
#include "tessera/regex/pcre2_program.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <pcre2.h>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"
#include "tessera/regex/python_regex_translate.h"

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

struct Pcre2Program::Code {
  Pcre2Ptr<pcre2_code> code;
};

Pcre2Program::Pcre2Program() = default;
Pcre2Program::~Pcre2Program() = default;

absl::StatusOr<std::shared_ptr<const Pcre2Program>> Pcre2Program::Compile(
    std::string_view pattern, const RegexSyntax& syntax) {
  std::shared_ptr<Pcre2Program> program(new Pcre2Program);
  program->pattern_ = pattern;
  program->has_caseless_reference_ = syntax.has_caseless_reference;
  program->code_ = std::make_unique<Code>();
  TESSERA_ASSIGN_OR_RETURN(program->code_->code, CompileForPcre2(pattern, TranslateToPcre2(syntax),
                                                                 OptimizationsOff(syntax)));
  program->compiled_by_jit_ = IsSafeForJit(syntax) && pcre2_jit_compile(program->code_->code.get(),
                                                                        PCRE2_JIT_COMPLETE) == 0;
  return program;
}

absl::Status CheckRegexSubject(std::string_view subject) {
  if (subject.size() > kLongestSubject) {
    return ResourceExhausted("subject ", Quoted(subject), ": ", subject.size(),
                             " bytes are more than the ", kLongestSubject, " that are searched");
  }
  if (const auto invalid = FirstInvalidUtf8(subject)) {
    return InvalidArgument("subject ", Quoted(subject), ": byte ", *invalid, " is not UTF-8");
  }
  return absl::OkStatus();
}

absl::Status Pcre2Program::CheckReferences(std::string_view subject) const {
  if (!has_caseless_reference_ || IsAscii(subject)) return absl::OkStatus();
  return Unimplemented("pattern ", Quoted(pattern_), ": a backreference under flag 'i' is not ",
                       "supported on the subject ", Quoted(subject), ", which is not ASCII");
}

absl::Status Pcre2Program::GaveUp(std::string_view subject, int error) const {
  return ResourceExhausted("pattern ", Quoted(pattern_), ": gave up on the subject ",
                           Quoted(subject), ": ", Pcre2Message(error));
}

absl::StatusOr<bool> Pcre2Program::Search(std::string_view subject) const {
  TESSERA_RETURN_IF_ERROR(CheckRegexSubject(subject));
  TESSERA_RETURN_IF_ERROR(CheckReferences(subject));
  MatchSpace& space = ThreadMatchSpace();
  if (!space.ok()) return ResourceExhausted("no memory to match ", Quoted(pattern_));
  pcre2_set_match_limit(space.context.get(), StepsPerStart(subject.size()));
  const auto match = compiled_by_jit_ ? pcre2_jit_match : pcre2_match;
  const int result = match(code_->code.get(), Units(subject), subject.size(), 0, PCRE2_NO_UTF_CHECK,
                           space.data.get(), space.context.get());
  if (result >= 0) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  return GaveUp(subject, result);
}

absl::StatusOr<std::vector<std::optional<TextSpan>>> Pcre2Program::Match(std::string_view subject,
                                                                         size_t start,
                                                                         bool must_advance) const {
  TESSERA_RETURN_IF_ERROR(CheckReferences(subject));
  MatchSpace& space = ThreadMatchSpace();
  const Pcre2Ptr<pcre2_match_data> data(
      pcre2_match_data_create_from_pattern(code_->code.get(), nullptr));
  if (!space.ok() || data == nullptr) {
    return ResourceExhausted("no memory to match ", Quoted(pattern_));
  }
  pcre2_set_match_limit(space.context.get(), StepsPerStart(subject.size()));
  // Without the JIT: it is the one that keeps what groups captured in a turn that was taken back.
  const uint32_t options =
      PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT | (must_advance ? PCRE2_NOTEMPTY_ATSTART : 0);
  const int result = pcre2_match(code_->code.get(), Units(subject), subject.size(), start, options,
                                 data.get(), space.context.get());
  std::vector<std::optional<TextSpan>> spans;
  if (result == PCRE2_ERROR_NOMATCH) return spans;
  if (result < 0) return GaveUp(subject, result);
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data.get());
  for (uint32_t i = 0; i < pcre2_get_ovector_count(data.get()); ++i) {
    const TextSpan span{offsets[2 * i], offsets[2 * i + 1]};
    const bool took_part = span.begin != PCRE2_UNSET;
    spans.push_back(took_part ? std::optional(span) : std::nullopt);
  }
  return spans;
}

}  // namespace tessera::regex
