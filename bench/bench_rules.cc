// Matching the keys of large models against 40 partition rules: RuleMatcher, and the plain loop
// over PythonRegex that it replaces.
//
//   bench_rules [FOLDER]
//
// Prints one JSON line a case: names, bytes in them, seconds, and the seconds that copying those
// bytes takes here.  With FOLDER it first writes names.txt and rules.txt there, on which
// rules_python.py does the same work with Python's `re`.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tessera/regex/python_regex.h"
#include "tessera/regex/rule_matcher.h"

namespace tessera::regex {
namespace {

constexpr size_t kSizes[] = {10'000, 20'000, 50'000, 100'000};
constexpr int kRuns = 5;

// Rules of published model families, then those made from layer hooks, then the catch-alls.
const std::vector<std::string> kRules = {
    "embed_tokens/embedding",
    "self_attn/(q_proj|k_proj|v_proj)/kernel",
    "self_attn/o_proj/kernel",
    "self_attn/.*proj/bias",
    "mlp/(gate_proj|up_proj)/kernel",
    "mlp/down_proj/kernel",
    "lm_head/kernel",
    "score/kernel",
    "mlp/experts/.*bias",
    "mlp/gate/e_score_correction_bias",
    "self_attn/(q_a_layernorm|kv_a_layernorm)/kernel",
    "block_sparse_moe/experts/(w1|w3)/kernel",
    "model/visual/blocks/.*/attn/qkv/kernel",
    "model/language_model/layers/.*/mlp/down_proj/kernel",
    R"(transformer/layers/\d+/feed_forward/(gate_proj|up_proj)/kernel)",
    R"(blocks/\d+/(norm0|norm1)/scale)",
    R"(self_attn/(q_layernorm|k_layernorm)/norms/\d+/bias)",
    R"((text|vision)_model/encoder/layers/\d+/mlp/fc2/kernel)",
    "model/encoder/conv[12]/kernel",
    "norm(1|2)/scale",
    "experts/mlp/(w1|v1)",
    "mamba/(dt_bias|A_log|D)",
    "mixer/conv1d/(kernel|bias)",
    "mixer/in_proj/bias",
    ".*/(ln_1|ln_2|ln_cross_attn|ln_f)/scale",
    "layers.*/self_attn/(q_proj|k_proj|v_proj)/bias",
    ".*attn/.*(q_proj|k_proj|v_proj)/kernel",
    "head/probe",
    "logit_scale",
    "experts/.*/gate_proj/kernel",
    "experts/.*/down_proj/kernel",
    R"(^(?:.*/)?model/layers/\d+/self_attn/q_norm/kernel(?:/.*)?$)",
    R"(^(?:.*/)?model/layers/\d+/mlp/router/kernel(?:/.*)?$)",
    R"(^(?:.*/)?decoder/layers/\d+/cross_attn/o_proj/kernel(?:/.*)?$)",
    "^(?:.*/)?lm_head/kernel(?:/.*)?$",
    "^(?!.*(?:embedding|norm|kernel|scale|weight)).*adapter.*$",
    ".*(input_layernorm|post_attention_layernorm|norm)/kernel",
    ".*(norm|layernorm).*",
    ".*bias",
    ".*",
};

// What stands behind the layer number.  The second half meets no rule but the last.
constexpr std::string_view kLeaves[] = {
    "self_attn/q_proj/kernel",
    "self_attn/k_proj/kernel",
    "self_attn/v_proj/bias",
    "self_attn/o_proj/kernel",
    "self_attn/q_norm/kernel",
    "mlp/gate_proj/kernel",
    "mlp/down_proj/kernel",
    "mlp/experts/gate_proj/kernel",
    "input_layernorm/kernel",
    "post_attention_layernorm/kernel",
    "mamba/A_log",
    "mixer/conv1d/kernel",
    "attention/wq/weight",
    "attention/wk/weight",
    "attention/wv/weight",
    "attention/wo/weight",
    "attention/query_key_value/weight",
    "feed_forward/w1/weight",
    "feed_forward/w2/weight",
    "feed_forward/w3/weight",
    "moe/router/gate/weight",
    "self_attn/rotary_emb/inv_freq",
    "self_attn/relative_position/table",
    "mlp/dense_h_to_4h/weight",
};
constexpr std::string_view kRoots[] = {"model", "opt_state/0/mu/model", "opt_state/0/nu/model",
                                       "ema/params/model", "model/language_model"};

std::vector<std::string> MakeNames(size_t count) {
  std::vector<std::string> names;
  names.reserve(count);
  for (size_t layer = 0; names.size() < count; ++layer) {
    for (std::string_view root : kRoots) {
      for (std::string_view leaf : kLeaves) {
        if (names.size() == count) return names;
        names.push_back(fmt::format("{}/layers/{}/{}", root, layer, leaf));
      }
    }
  }
  return names;
}

double SecondsOf(const std::function<void()>& work) {
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (run == 0 || taken.count() < best) best = taken.count();
  }
  return best;
}

// The sum over all names of the winning rule's index, by which both languages can be compared.
using Work = std::function<size_t(std::span<const std::string_view>)>;

void Report(std::string_view name, std::span<const std::string_view> names, const Work& work) {
  std::string joined;
  for (std::string_view text : names) joined += text;
  std::string copy(joined.size(), '\0');
  const double copying = SecondsOf([&] { std::memcpy(copy.data(), joined.data(), copy.size()); });
  size_t sum = 0;
  const double seconds = SecondsOf([&] { sum = work(names); });
  fmt::print(R"({{"case": "{}", "names": {}, "rules": {}, "bytes": {}, "seconds": {:.6f}, )"
             R"("copy_seconds": {:.6f}, "index_sum": {}}})"
             "\n",
             name, names.size(), kRules.size(), joined.size(), seconds, copying, sum);
}

size_t LoopOverRegexes(const std::vector<PythonRegex>& regexes,
                       std::span<const std::string_view> names) {
  size_t sum = 0;
  for (std::string_view name : names) {
    for (size_t i = 0; i < regexes.size(); ++i) {
      if (!regexes[i].Search(name).value()) continue;
      sum += i;
      break;
    }
  }
  return sum;
}

void WriteLines(const std::string& path, std::span<const std::string> lines) {
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << '\n';
}

void Run(std::span<const std::string> all_names) {
  const RuleMatcher matcher = RuleMatcher::Make(kRules).value();
  std::vector<PythonRegex> regexes;
  for (const std::string& rule : kRules) regexes.push_back(PythonRegex::Compile(rule).value());
  std::vector<std::string_view> views(all_names.begin(), all_names.end());
  for (size_t size : kSizes) {
    const auto names = std::span<const std::string_view>(views).first(size);
    Report("loop_over_regexes", names, [&](auto some) { return LoopOverRegexes(regexes, some); });
    Report("first_match", names, [&](auto some) {
      size_t sum = 0;
      for (std::string_view name : some) sum += matcher.FirstMatch(name).value().value();
      return sum;
    });
    Report("first_matches", names, [&](auto some) {
      const auto matches = matcher.FirstMatches(some).value();
      size_t sum = 0;
      for (const auto& match : matches) sum += match.value();
      return sum;
    });
  }
}

}  // namespace
}  // namespace tessera::regex

int main(int argc, char** argv) {
  using namespace tessera::regex;
  const std::vector<std::string> names = MakeNames(kSizes[std::size(kSizes) - 1]);
  if (argc > 1) {
    WriteLines(std::string(argv[1]) + "/names.txt", names);
    WriteLines(std::string(argv[1]) + "/rules.txt", kRules);
  }
  Run(names);
}
