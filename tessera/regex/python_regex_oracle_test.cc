// Holds PythonRegex against what Python says: testdata/regex, and the script that wrote it.
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/regex/python_regex.h"

namespace tessera::regex {
namespace {

using ::nlohmann::json;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

json ReadTestdata(const std::string& name) {
  std::ifstream file(std::string(TESSERA_TESTDATA) + "/regex/" + name);
  return json::parse(file, nullptr, /*allow_exceptions=*/false);
}

TEST(PythonRegexOracleTest, AgreesOnThePublishedVectors) {
  const json vectors = ReadTestdata("vectors.json");
  ASSERT_EQ(vectors["cases"].size(), 36u);
  for (const json& item : vectors["cases"]) {
    const std::string pattern = item["pattern"];
    const auto regex = PythonRegex::Compile(pattern);
    if (item.contains("error")) {
      EXPECT_THAT(regex, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr(item["error"].get<std::string>())));
      continue;
    }
    TESSERA_ASSERT_OK_AND_ASSIGN(const PythonRegex compiled, regex);
    for (size_t i = 0; i < vectors["subjects"].size(); ++i) {
      EXPECT_THAT(compiled.Search(vectors["subjects"][i].get<std::string>()),
                  IsOkAndHolds(item["found"][i].get<bool>()))
          << pattern << " in subject " << i;
    }
  }
}

// The random patterns, and how many of them were not answered as Python does but refused.
class RandomCases {
 public:
  RandomCases() : data_(ReadTestdata("cases.json")) {
    for (const json& subject : data_["subjects"]) subjects_.push_back(subject);
  }

  void CheckAll() {
    for (const json& item : data_["cases"]) {
      if (item.contains("error")) {
        CheckError(item);
      } else {
        CheckFound(item["pattern"], std::stoull(item["found"].get<std::string>(), nullptr, 16));
      }
    }
  }

  size_t size() const { return data_["cases"].size(); }
  int refused_patterns() const { return refused_patterns_; }
  int refused_subjects() const { return refused_subjects_; }

 private:
  static void CheckError(const json& item) {
    const std::string error = item["error"];
    std::string place;
    if (item["position"].is_number()) {
      place = " at position " + std::to_string(item["position"].get<int>());
    }
    EXPECT_THAT(
        PythonRegex::Compile(item["pattern"].get<std::string>()),
        StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(error), HasSubstr(place))));
  }

  void CheckFound(const std::string& pattern, uint64_t found) {
    const auto regex = PythonRegex::Compile(pattern);
    if (!regex.ok()) {
      // Each reason for which a pattern may be refused though Python takes it.
      EXPECT_THAT(regex,
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           AnyOf(HasSubstr("stands in a repeat of something that can be empty"),
                                 HasSubstr("stands in a possessive repeat"),
                                 HasSubstr("only set inside a negative lookaround"),
                                 HasSubstr("lookbehind assertion is not fixed length"),
                                 HasSubstr("lookbehind assertion is too long"))));
      ++refused_patterns_;
      return;
    }
    for (size_t i = 0; i < subjects_.size(); ++i) CheckSubject(*regex, i, (found >> i & 1) != 0);
  }

  void CheckSubject(const PythonRegex& regex, size_t i, bool expected) {
    const auto found = regex.Search(subjects_[i]);
    if (found.ok()) {
      EXPECT_EQ(*found, expected) << regex.pattern() << " in subject " << i;
      return;
    }
    EXPECT_THAT(found, StatusIs(absl::StatusCode::kUnimplemented,
                                HasSubstr("a backreference under flag 'i' is not supported")));
    ++refused_subjects_;
  }

  json data_;
  std::vector<std::string> subjects_;
  int refused_patterns_ = 0;
  int refused_subjects_ = 0;
};

TEST(PythonRegexOracleTest, AgreesOnRandomPatterns) {
  RandomCases cases;
  ASSERT_EQ(cases.size(), 4000u);
  cases.CheckAll();
  EXPECT_LE(cases.refused_patterns(), 40) << "of 4000";
  EXPECT_LE(cases.refused_subjects(), 500) << "of 256000";
}

}  // namespace
}  // namespace tessera::regex
