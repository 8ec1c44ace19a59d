#include "tessera/explain/warnings.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "tessera/core/natural_order.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/explain/key_list.h"
#include "tessera/explain/spec_words.h"

namespace tessera::explain {
namespace {

using checkpoint::ArrayPlan;
using checkpoint::Checkpoint;
using checkpoint::ProcessPlan;

// As many of one kind as a person reads.
constexpr size_t kMostOfAKind = 8;
// How often a wanted byte may be decoded before it is worth a word.
constexpr double kAmplified = 1.25;
// The share of all bytes below which nothing is worth a word, in hundredths.
constexpr int64_t kShare = 1;
// Requests that are small cost more than the bytes they bring.
constexpr int64_t kManyRequests = 10000;
constexpr int64_t kSmallRead = 64 << 10;
// Mean to most.
constexpr double kEven = 0.8;

int64_t Added(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// Arrays that share a trouble.
struct Group {
  KeyList keys;
  int64_t bytes = 0;  // that the trouble costs
  std::string detail;
};

// The ones that cost most, in words; the rest as one.
template <typename Key>
void AddGroups(std::string_view kind, std::map<Key, Group>& by_key,
               std::vector<Warning>& warnings) {
  std::vector<Group> groups;
  for (auto& [key, group] : by_key) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
  int64_t others = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    if (i >= kMostOfAKind) {
      others += group.keys.count();
      continue;
    }
    warnings.push_back({std::string(kind), group.keys.first(),
                        Concat(group.keys.Text(), ": ", group.detail), group.keys.count()});
  }
  if (others == 0) return;
  warnings.push_back(
      {std::string(kind), groups[kMostOfAKind].keys.first(),
       Concat(CountText(others), " more arrays, ", groups[kMostOfAKind].keys.Text(), " among them"),
       others});
}

class Finder {
 public:
  Finder(const Checkpoint& checkpoint, const LoadExplanation& explanation)
      : checkpoint_(checkpoint), explanation_(explanation) {
    arrays_.reserve(explanation.plan.arrays.size());
    for (const ArrayPlan& array : explanation.plan.arrays) arrays_.push_back(&array);
    std::stable_sort(arrays_.begin(), arrays_.end(), [](const ArrayPlan* a, const ArrayPlan* b) {
      return NaturalLess(a->name, b->name);
    });
  }

  std::vector<Warning> Find(bool all_arrays) && {
    OverBudget();
    Unmatched();
    Corrected();
    Amplified();
    UnevenDevices();
    UnevenReads();
    Replicated();
    SmallReads();
    if (all_arrays) IdleRules();
    return std::move(warnings_);
  }

 private:
  std::string RuleText(size_t rule) const {
    return Concat("rule ", rule, " ", Quoted(explanation_.rules[rule].pattern));
  }

  void Add(std::string kind, std::string detail) {
    warnings_.push_back({std::move(kind), "", std::move(detail)});
  }

  // A part of a whole that is worth a word.
  static bool Counts(int64_t bytes, int64_t all) {
    return bytes > 0 && bytes >= all / 100 * kShare;
  }

  std::string LargestOnADevice() const {
    std::vector<const ArrayPlan*> largest = arrays_;
    const auto end = largest.begin() + static_cast<long>(std::min<size_t>(3, largest.size()));
    std::partial_sort(
        largest.begin(), end, largest.end(), [](const ArrayPlan* a, const ArrayPlan* b) {
          return a->device_bytes != b->device_bytes ? a->device_bytes > b->device_bytes
                                                    : NaturalLess(a->name, b->name);
        });
    std::string text;
    for (auto array = largest.begin(); array != end; ++array) {
      text += Concat(text.empty() ? "" : ", ", Quoted((*array)->name), " ",
                     SizeText((*array)->device_bytes));
    }
    return text;
  }

  void OverBudget() {
    if (explanation_.over_budget.empty()) return;
    int64_t most = 0;
    for (const auto& device : explanation_.plan.devices) most = std::max(most, device.bytes);
    const int64_t budget = *explanation_.device_budget;
    Add("over_budget",
        Concat(explanation_.over_budget.size(), " of ", explanation_.plan.devices.size(),
               " devices get more than the budget of ", SizeText(budget), ": up to ",
               SizeText(most), ", ", SizeText(most - budget),
               " too much; the largest on a device: ", LargestOnADevice()));
  }

  void Unmatched() {
    KeyList keys;
    int64_t bytes = 0;
    for (const ArrayPlan* each : arrays_) {
      const ArrayPlan& array = *each;
      if (array.placement.rule.has_value()) continue;
      keys.Add(array.name);
      bytes = Added(bytes, array.device_bytes);
    }
    if (keys.count() == 0) return;
    warnings_.push_back({"unmatched", keys.first(),
                         Concat(keys.Text(), ": no rule takes ", keys.count() == 1 ? "it" : "them",
                                ", so that every device holds ", keys.count() == 1 ? "it" : "them",
                                " whole (", SizeText(bytes),
                                " each); a load refuses this: add a rule, such as [\".*\", []] at "
                                "the end"),
                         keys.count()});
  }

  void Corrected() {
    std::map<std::pair<size_t, std::string>, Group> groups;
    for (const ArrayPlan* each : arrays_) {
      const ArrayPlan& array = *each;
      if (array.placement.corrections.empty() || !array.placement.rule.has_value()) continue;
      std::string why;
      for (const mesh::Correction& correction : array.placement.corrections) {
        why += Concat(why.empty() ? "" : "; ",
                      CorrectionText(correction, array.stored.shape, explanation_.mesh));
      }
      const size_t rule = *array.placement.rule;
      Group& group = groups[{rule, why}];
      group.keys.Add(array.name);
      group.bytes = Added(group.bytes, array.device_bytes);
      group.detail =
          Concat(RuleText(rule), " asks for ", explanation_.rules[rule].spec.Text(), ", but ", why);
    }
    AddGroups("corrected", groups, warnings_);
  }

  void Amplified() {
    std::map<std::tuple<Dims, Dims, Dims>, Group> groups;
    for (const ArrayPlan* each : arrays_) {
      const ArrayPlan& array = *each;
      const int64_t extra = array.decoded_bytes - array.wanted_bytes;
      if (array.amplification() < kAmplified) continue;
      const Dims& chunk = checkpoint_.arrays()[array.array].chunk_shape();
      Group& group = groups[{array.stored.shape, chunk, array.shard_shape}];
      group.keys.Add(array.name);
      group.bytes = Added(group.bytes, extra);
      group.detail = AmplifiedText(array, chunk);
    }
    std::erase_if(groups, [&](const auto& group) {
      return !Counts(group.second.bytes, explanation_.wanted_bytes);
    });
    for (auto& [key, group] : groups) {
      group.detail +=
          Concat(", ", SizeText(group.bytes), " for nothing; 'tessera rechunk SRC DST --mesh ",
                 MeshWord(explanation_.mesh), " --rules FILE' writes chunks that fit");
    }
    AddGroups("amplification", groups, warnings_);
  }

  static std::string AmplifiedText(const ArrayPlan& array, const Dims& chunk) {
    return Concat("a wanted byte is decoded ", Rounded(array.amplification()),
                  " times, as shards of ", ShapeText(array.shard_shape), " cut through chunks of ",
                  ShapeText(chunk), ": a process reads up to ", CountText(array.most_parts), " of ",
                  CountText(array.chunks), array.chunks == 1 ? " chunk" : " chunks");
  }

  void UnevenDevices() {
    const double balance = explanation_.plan.balance();
    if (balance >= kEven) return;
    const auto& devices = explanation_.plan.devices;
    const auto most =
        std::max_element(devices.begin(), devices.end(),
                         [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    Add("imbalance", Concat("device ", most->device.id, " gets ", SizeText(most->bytes), ", ",
                            Rounded(1 / balance), " times as much as an average one"));
  }

  void UnevenReads() {
    const auto& processes = explanation_.plan.processes;
    if (processes.empty()) return;
    const auto most = std::max_element(
        processes.begin(), processes.end(),
        [](const ProcessPlan& a, const ProcessPlan& b) { return a.read_bytes < b.read_bytes; });
    const double mean =
        static_cast<double>(explanation_.read_bytes) / static_cast<double>(processes.size());
    if (most->read_bytes == 0 || mean / static_cast<double>(most->read_bytes) >= kEven) return;
    Add("imbalance", Concat("process ", most->process, " reads ", SizeText(most->read_bytes), ", ",
                            Rounded(static_cast<double>(most->read_bytes) / mean),
                            " times as much as an average one"));
  }

  void Replicated() {
    if (explanation_.mesh.size() < 2) return;
    std::map<size_t, Group> groups;
    for (const ArrayPlan* each : arrays_) {
      const ArrayPlan& array = *each;
      if (!array.placement.rule.has_value() || array.stored.shape.empty()) continue;
      if (array.shard_shape != array.stored.shape) continue;
      Group& group = groups[*array.placement.rule];
      group.keys.Add(array.name);
      group.bytes = Added(group.bytes, array.device_bytes);
    }
    const int64_t all = explanation_.plan.devices.empty() ? 0 : explanation_.plan.devices[0].bytes;
    // A tenth of a device, as small arrays are whole on purpose.
    std::erase_if(groups,
                  [&](const auto& each) { return !Counts(each.second.bytes, all / 10 * 100); });
    for (auto& [rule, group] : groups) {
      group.detail = Concat("whole on every device by ", RuleText(rule), ": ",
                            SizeText(group.bytes), " of the ", SizeText(all), " that each holds");
    }
    AddGroups("replicated", groups, warnings_);
  }

  void SmallReads() {
    for (const ProcessPlan& process : explanation_.plan.processes) {
      if (process.requests < kManyRequests) continue;
      if (process.read_bytes / process.requests >= kSmallRead) continue;
      Add("small_reads",
          Concat("process ", process.process, " reads ", CountText(process.requests), " values of ",
                 SizeText(process.read_bytes / process.requests),
                 " on average; 'tessera rechunk SRC DST --chunk-bytes 16MiB' makes fewer of them"));
      return;
    }
  }

  void IdleRules() {
    for (size_t rule = 0; rule < explanation_.rules.size(); ++rule) {
      const RuleUse& use = explanation_.rule_uses[rule];
      if (use.arrays > 0) continue;
      if (use.shadowed_by.has_value()) {
        Add("shadowed_rule",
            Concat(RuleText(rule), " decides nothing: ", RuleText(*use.shadowed_by),
                   " stands before it and takes what it would match"));
      } else {
        Add("unused_rule", Concat(RuleText(rule), " matches no key"));
      }
    }
  }

  const Checkpoint& checkpoint_;
  const LoadExplanation& explanation_;
  std::vector<const ArrayPlan*> arrays_;  // in natural order
  std::vector<Warning> warnings_;
};

}  // namespace

std::vector<Warning> FindWarnings(const Checkpoint& checkpoint, const LoadExplanation& explanation,
                                  bool all_arrays) {
  return Finder(checkpoint, explanation).Find(all_arrays);
}

}  // namespace tessera::explain
