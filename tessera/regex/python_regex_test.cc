#include "tessera/regex/python_regex.h"

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::regex {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<bool> Found(std::string_view pattern, std::string_view subject) {
  auto regex = PythonRegex::Compile(pattern);
  if (!regex.ok()) return regex.status();
  return regex->Search(subject);
}

struct RealRule {
  std::string_view pattern;
  std::string_view finds;
  std::string_view does_not_find;
};

constexpr RealRule kRealRules[] = {
    {"embed_tokens/embedding", "model/embed_tokens/embedding", "model/embed_tokens/bias"},
    {"self_attn/(q_proj|k_proj|v_proj)/kernel", "model/layers/3/self_attn/k_proj/kernel",
     "model/layers/3/self_attn/o_proj/kernel"},
    {"self_attn/o_proj/kernel", "layers/0/self_attn/o_proj/kernel",
     "layers/0/cross_attn/o_proj/kernel"},
    {"self_attn/.*proj/bias", "layers/0/self_attn/q_proj/bias", "layers/0/self_attn/bias"},
    {"mlp/(gate_proj|up_proj)/kernel", "layers/11/mlp/up_proj/kernel",
     "layers/11/mlp/gate_up_proj/kernel"},
    {"mlp/down_proj/kernel", "layers/11/mlp/down_proj/kernel",
     "layers/11/mlp/shared_expert/down_proj/kernel"},
    {".*(input_layernorm|post_attention_layernorm|norm)/kernel", "model/norm/kernel",
     "model/norm/scale"},
    {"lm_head/kernel", "lm_head/kernel", "lm_head/bias"},
    {"score/kernel", "score/kernel", "score/bias"},
    {".*bias", "a/b/bias", "a/b/kernel"},
    {"mlp/experts/.*bias", "layers/1/mlp/experts/gate_proj/bias", "layers/1/mlp/gate/bias"},
    {"mlp/gate/e_score_correction_bias", "layers/4/mlp/gate/e_score_correction_bias",
     "layers/4/mlp/gate/bias"},
    {"self_attn/(q_a_layernorm|kv_a_layernorm)/kernel", "layers/4/self_attn/kv_a_layernorm/kernel",
     "layers/4/self_attn/q_norm/kernel"},
    {"block_sparse_moe/experts/(w1|w3)/kernel", "layers/0/block_sparse_moe/experts/w3/kernel",
     "layers/0/block_sparse_moe/experts/w2/kernel"},
    {"model/visual/blocks/.*/attn/qkv/kernel", "model/visual/blocks/7/attn/qkv/kernel",
     "model/visual/blocks/attn/qkv/kernel"},
    {"model/language_model/layers/.*/mlp/down_proj/kernel",
     "model/language_model/layers/3/mlp/down_proj/kernel",
     "language_model/layers/3/mlp/down_proj/kernel"},
    {R"(transformer/layers/\d+/feed_forward/(gate_proj|up_proj)/kernel)",
     "transformer/layers/12/feed_forward/up_proj/kernel",
     "transformer/layers/x/feed_forward/up_proj/kernel"},
    {R"(blocks/\d+/(norm0|norm1)/scale)", "vision/blocks/3/norm1/scale",
     "vision/blocks/3/norm2/scale"},
    {R"(self_attn/(q_layernorm|k_layernorm)/norms/\d+/bias)", "self_attn/q_layernorm/norms/31/bias",
     "self_attn/q_layernorm/norms/bias"},
    {R"((text|vision)_model/encoder/layers/\d+/mlp/fc2/kernel)",
     "vision_model/encoder/layers/0/mlp/fc2/kernel", "audio_model/encoder/layers/0/mlp/fc2/kernel"},
    {"model/encoder/conv[12]/kernel", "model/encoder/conv2/kernel", "model/encoder/conv3/kernel"},
    {"norm(1|2)/scale", "blocks/0/norm2/scale", "blocks/0/norm/scale"},
    {"experts/mlp/(w1|v1)", "layers/0/experts/mlp/v1", "layers/0/experts/mlp/w2"},
    {"mamba/(dt_bias|A_log|D)", "layers/0/mamba/A_log", "layers/0/mamba/conv1d"},
    {"mixer/conv1d/(kernel|bias)", "layers/0/mixer/conv1d/bias", "layers/0/mixer/conv1d"},
    {".*/(ln_1|ln_2|ln_cross_attn|ln_f)/scale", "h/0/ln_2/scale", "ln_f/scale"},
    {"layers.*/self_attn/(q_proj|k_proj|v_proj)/bias", "layers/3/self_attn/q_proj/bias",
     "layer/3/self_attn/q_proj/bias"},
    {".*attn/.*(q_proj|k_proj|v_proj)/kernel", "m/attn/x/q_proj/kernel", "m/attn/o_proj/kernel"},
    {".*(norm|layernorm).*", "x/post_norm/kernel", "x/mlp/kernel"},
    {"head/probe", "vision/head/probe", "vision/probe"},
    {"logit_scale", "logit_scale", "logit_bias"},
    {R"(^(?:.*/)?model/layers/\d+/self_attn/q_proj/kernel(?:/.*)?$)",
     "0/mu/model/layers/31/self_attn/q_proj/kernel/value",
     "xmodel/layers/31/self_attn/q_proj/kernel"},
    {"^(?:.*/)?lm_head/kernel(?:/.*)?$", "lm_head/kernel", "lm_head/kernel_scale"},
    {"^(?!.*(?:embedding|norm|lm_head)).*$", "model/mlp/kernel", "model/norm/kernel"},
};

TEST(PythonRegexTest, FindsWhatRealRulesFind) {
  for (const RealRule& rule : kRealRules) {
    EXPECT_THAT(Found(rule.pattern, rule.finds), IsOkAndHolds(true)) << rule.pattern;
    EXPECT_THAT(Found(rule.pattern, rule.does_not_find), IsOkAndHolds(false)) << rule.pattern;
  }
}

TEST(PythonRegexTest, SearchesAnywhere) {
  EXPECT_THAT(Found("head/kernel", "lm_head/kernel"), IsOkAndHolds(true));
  EXPECT_THAT(Found("gate/kernel", "mlp/shared_expert_gate/kernel"), IsOkAndHolds(true));
  EXPECT_THAT(Found("norm/scale", "self_attn/norm/scale"), IsOkAndHolds(true));
  EXPECT_THAT(Found("fc1/kernel", "x/mlp/fc1/kernel"), IsOkAndHolds(true));
  EXPECT_THAT(Found(".*", ""), IsOkAndHolds(true));
  EXPECT_THAT(Found("", "a"), IsOkAndHolds(true));
}

TEST(PythonRegexTest, TakesAViewOfNothing) {
  EXPECT_THAT(Found("^(?:.*/)?a", std::string_view()), IsOkAndHolds(false));
  EXPECT_THAT(Found("^(?:.*/)?$", std::string_view()), IsOkAndHolds(true));
  EXPECT_THAT(Found(std::string_view(), std::string_view()), IsOkAndHolds(true));
}

TEST(PythonRegexTest, OnlyLineFeedIsANewline) {
  EXPECT_THAT(Found("a.b", "a\rb"), IsOkAndHolds(true));
  EXPECT_THAT(Found("a.b", "a\nb"), IsOkAndHolds(false));
  EXPECT_THAT(Found("(?s)a.b", "a\nb"), IsOkAndHolds(true));
  EXPECT_THAT(Found("a$", "a\n"), IsOkAndHolds(true));
  EXPECT_THAT(Found("a$", "a\n\n"), IsOkAndHolds(false));
  EXPECT_THAT(Found("a$", "a\r\n"), IsOkAndHolds(false));
  EXPECT_THAT(Found(R"(a\Z)", "a\n"), IsOkAndHolds(false));
  EXPECT_THAT(Found(R"(a\Z)", "a"), IsOkAndHolds(true));
  EXPECT_THAT(Found(R"((?m)^\Z)", "a\n"), IsOkAndHolds(true));
  EXPECT_THAT(Found("(?m)a$", "a\nb"), IsOkAndHolds(true));
  EXPECT_THAT(Found("(?m)a$", "a\rb"), IsOkAndHolds(false));
}

TEST(PythonRegexTest, WordBoundariesAreThoseOfPython) {
  EXPECT_THAT(Found(R"(\Bb)", "ab"), IsOkAndHolds(true));
  EXPECT_THAT(Found(R"(\B)", ""), IsOkAndHolds(false));
  EXPECT_THAT(Found(R"(\b)", ""), IsOkAndHolds(false));
  EXPECT_THAT(Found(R"(a\b)", "a\xC3\xA9"), IsOkAndHolds(false));
  EXPECT_THAT(Found(R"((?a)a\b)", "a\xC3\xA9"), IsOkAndHolds(true));
}

TEST(PythonRegexTest, GivesBackNothingFromAtomicGroupsAndPossessiveRepeats) {
  EXPECT_THAT(Found("a++a", "aaa"), IsOkAndHolds(false));
  EXPECT_THAT(Found("(?>a|ab)c", "abc"), IsOkAndHolds(false));
  EXPECT_THAT(Found("(a+){2}+", "aa"), IsOkAndHolds(false));
  EXPECT_THAT(Found("(?>a*|)a", "aa"), IsOkAndHolds(false));
  EXPECT_THAT(Found("a?(?>(?:bb)?)aaa", "aaa"), IsOkAndHolds(true));
}

TEST(PythonRegexTest, FindsWhatPcre2sStartOptimizationsMiss) {
  EXPECT_THAT(Found("(?:a|)a+a", "aa"), IsOkAndHolds(true));
  EXPECT_THAT(Found("((|ab|)b)a*b$", "abb"), IsOkAndHolds(true));
  EXPECT_THAT(Found(R"(((?=a))\1*a)", "a"), IsOkAndHolds(true));
}

TEST(PythonRegexTest, AnUnsetGroupDoesNotMatch) {
  EXPECT_THAT(Found(R"((a)?b\1)", "b"), IsOkAndHolds(false));
  EXPECT_THAT(Found(R"((?P<q>["'])x(?P=q))", "'x'"), IsOkAndHolds(true));
  EXPECT_THAT(Found(R"((?P<q>["'])x(?P=q))", "'x\""), IsOkAndHolds(false));
  EXPECT_THAT(Found("(a)?(?(1)b|c)", "ac"), IsOkAndHolds(true));
  EXPECT_THAT(Found("^(a)?(?(1)b|c)", "ac"), IsOkAndHolds(false));
}

TEST(PythonRegexTest, ALoneSurrogateIsFoundNowhere) {
  EXPECT_THAT(Found(R"(\ud83d)", "\xF0\x9F\x98\x80"), IsOkAndHolds(false));
  EXPECT_THAT(Found(R"([^\ud83d])", "\xF0\x9F\x98\x80"), IsOkAndHolds(true));
}

TEST(PythonRegexTest, ComparesReferencesWithoutCaseInAscii) {
  EXPECT_THAT(Found(R"((?i)(a)-\1)", "a-A"), IsOkAndHolds(true));
  EXPECT_THAT(Found(R"((?i)(k)-\1)", "k-\xE2\x84\xAA"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr(R"(pattern '(?i)(k)-\1')"), HasSubstr("is not ASCII"))));
}

TEST(PythonRegexTest, RefusesSubjectsThatAreNotUtf8) {
  EXPECT_THAT(Found("a", "ab\xFFz"), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr(R"('ab\xffz': byte 2 is not UTF-8)")));
}

TEST(PythonRegexTest, StopsAPatternThatBacktracksWithoutEnd) {
  const std::string subject = std::string(40, 'a') + "b";
  for (std::string_view pattern : {"(a+)+$", "(a|aa)+$", "^(a|a)*c", R"((x*)(a+)+\1$)",
                                   "(?>(a+)+$)", "(?=(a+)+$)", "^(.*)*c"}) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(Found(pattern, subject),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         AllOf(HasSubstr("pattern '" + std::string(pattern) + "'"),
                               HasSubstr("match limit exceeded"))));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1)) << pattern;
  }
}

TEST(PythonRegexTest, BoundsTheTimeOverAllStartsOfALongSubject) {
  const std::string subject(16384, 'a');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(Found("a.*b", subject), IsOkAndHolds(false));
  EXPECT_THAT(Found("a(?:a?){12}b", subject), IsOkAndHolds(false));
  EXPECT_THAT(Found("aa*a*a*b", subject),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'aa*a*a*b'")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(PythonRegexTest, SearchesALongSubjectStepByStep) {
  std::string subject;
  while (subject.size() < 16000) subject += "ab";
  EXPECT_THAT(Found("^(?:ab)*d$", subject), IsOkAndHolds(false));
  EXPECT_THAT(Found("^(?:ab)*$", subject), IsOkAndHolds(true));
  EXPECT_THAT(Found("a", std::string(16385, 'a')),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("16385 bytes are more than the 16384 that are searched")));
}

TEST(PythonRegexTest, RefusesWhatPcre2CannotHold) {
  EXPECT_THAT(PythonRegex::Compile("(?:(?:a{1000}b){1000}c){1000}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("valid in Python but not supported"),
                             HasSubstr("regular expression is too large"))));
}

TEST(PythonRegexTest, CanBeUsedByManyThreadsAtOnce) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const PythonRegex regex,
                               PythonRegex::Compile(R"(layers/(\d+)/.*(?<!x)/kernel$)"));
  std::vector<std::thread> threads;
  std::vector<int> counts(4, 0);
  for (size_t t = 0; t < counts.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        const std::string name =
            "layers/" + std::to_string(i) + (i % 2 ? "/x/kernel" : "/y/kernel");
        counts[t] += regex.Search(name).value() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts, std::vector<int>(4, 500));
}

TEST(PythonRegexTest, KeepsItsPattern) {
  TESSERA_ASSERT_OK_AND_ASSIGN(PythonRegex regex, PythonRegex::Compile(".*bias"));
  const PythonRegex copy = regex;
  const PythonRegex moved = std::move(regex);
  EXPECT_EQ(copy.pattern(), ".*bias");
  EXPECT_EQ(moved.pattern(), ".*bias");
  EXPECT_THAT(moved.Search("a/bias"), IsOkAndHolds(true));
}

}  // namespace
}  // namespace tessera::regex
