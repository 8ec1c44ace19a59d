#include "tests/vectors/report.h"

#include "tessera/core/status.h"

namespace tessera::vectors {

void Report::Failed(const OrderedJson& test_case, const std::string& why) {
  constexpr size_t kMaxShown = 10;
  ++failed_;
  if (failures_.size() < kMaxShown) failures_.push_back(Concat(why, "\n  in ", test_case.dump()));
}

void Report::Check(bool agrees, const OrderedJson& test_case, const std::string& why) {
  if (agrees) {
    Passed();
  } else {
    Failed(test_case, why);
  }
}

std::string Report::Summary() const {
  int differ = 0;
  std::string ids;
  for (const auto& [id, count] : differs_) {
    differ += count;
    ids += Concat(ids.empty() ? "" : ", ", id, " ", count);
  }
  return Concat(group_, ": ", passed_, " passed, ", failed_, " failed, ", differ, " differ",
                ids.empty() ? "" : " (" + ids + ")");
}

bool IsErrorOf(const absl::Status& status, const std::string& python_exception) {
  if (python_exception == "IndivisibleError") return KindOf(status) == ErrorKind::kIndivisible;
  if (python_exception == "DuplicateSpecError") return KindOf(status) == ErrorKind::kDuplicateAxis;
  if (python_exception == "AssertionError") return KindOf(status) == ErrorKind::kNoMesh;
  if (python_exception == "KeyError" || python_exception == "NameError" ||
      python_exception == "FileNotFoundError") {
    return absl::IsNotFound(status);
  }
  return absl::IsInvalidArgument(status);
}

}  // namespace tessera::vectors
