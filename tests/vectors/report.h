// The outcome of running recorded cases: what agreed, what we decided to do otherwise, what failed.
#ifndef TESSERA_TESTS_VECTORS_REPORT_H_
#define TESSERA_TESTS_VECTORS_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "tessera/core/json.h"

namespace tessera::vectors {

// Collects the outcomes of one group of cases.
class Report {
 public:
  explicit Report(std::string group) : group_(std::move(group)) {}

  void Passed() { ++passed_; }
  // The original does one thing, we another, and ours is what docs/differences.md says under `id`.
  void Differs(const std::string& id) { ++differs_[id]; }
  void Failed(const OrderedJson& test_case, const std::string& why);

  // Passed when `agrees`, else failed with `why`.
  void Check(bool agrees, const OrderedJson& test_case, const std::string& why);

  // "mesh_queries: 80 passed, 0 failed, 3 differ (repeated-axis 3)".
  std::string Summary() const;

  int failed() const { return failed_; }
  // The first failures, for the test's message.
  const std::vector<std::string>& failures() const { return failures_; }
  const std::map<std::string, int>& differences() const { return differs_; }

 private:
  std::string group_;
  int passed_ = 0;
  int failed_ = 0;
  std::map<std::string, int> differs_;
  std::vector<std::string> failures_;
};

// Is `status` the error that the original's exception of this name stands for?
bool IsErrorOf(const absl::Status& status, const std::string& python_exception);

}  // namespace tessera::vectors

#endif  // TESSERA_TESTS_VECTORS_REPORT_H_
