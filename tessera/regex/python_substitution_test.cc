// Holds PythonSubstitution against what Python says: testdata/regex, and the script that wrote it.
#include "tessera/regex/python_substitution.h"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::regex {
namespace {

using ::nlohmann::json;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class Substitutions {
 public:
  Substitutions() {
    std::ifstream file(std::string(TESSERA_TESTDATA) + "/regex/substitutions.json");
    data_ = json::parse(file, nullptr, /*allow_exceptions=*/false);
  }

  void CheckAll() {
    for (const json& item : data_["cases"]) {
      const auto compiled = PythonSubstitution::Compile(item["pattern"].get<std::string>(),
                                                        item["replacement"].get<std::string>());
      if (item.contains("error")) {
        CheckError(item, compiled);
      } else if (!compiled.ok()) {
        CheckRefused(compiled.status());
      } else {
        CheckResults(item, *compiled);
      }
    }
  }

  size_t size() const { return data_["cases"].size(); }
  int refused() const { return refused_; }

 private:
  // A pattern may be refused before its replacement is looked at.
  void CheckError(const json& item, const absl::StatusOr<PythonSubstitution>& compiled) {
    const std::string error = item["error"];
    if (!compiled.ok() && compiled.status().message().find(error) == std::string::npos) {
      return CheckRefused(compiled.status());
    }
    EXPECT_THAT(compiled, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)))
        << item.dump();
  }

  void CheckRefused(const absl::Status& status) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AnyOf(HasSubstr("stands in a repeat of something that can be empty"),
                               HasSubstr("stands in a possessive repeat"),
                               HasSubstr("only set inside a negative lookaround"),
                               HasSubstr("lookbehind assertion is not fixed length"))));
    ++refused_;
  }

  void CheckResults(const json& item, const PythonSubstitution& compiled) {
    const json& subjects = data_[item.contains("renames") ? "renamed" : "subjects"];
    for (size_t i = 0; i < subjects.size(); ++i) {
      const auto result = compiled.Apply(subjects[i].get<std::string>());
      if (!result.ok()) {
        EXPECT_THAT(result, StatusIs(absl::StatusCode::kUnimplemented,
                                     HasSubstr("a backreference under flag 'i'")));
        continue;
      }
      EXPECT_EQ(*result, item["results"][i].get<std::string>())
          << item["pattern"] << " by " << item["replacement"] << " in " << subjects[i];
    }
  }

  json data_;
  int refused_ = 0;
};

TEST(PythonSubstitutionTest, DoesWhatPythonDoes) {
  Substitutions cases;
  ASSERT_EQ(cases.size(), 1500u);
  cases.CheckAll();
  EXPECT_LE(cases.refused(), 75) << "of 1500";
}

TEST(PythonSubstitutionTest, RefusesGroupsWhoseTextTheEnginesDoNotAgreeOn) {
  EXPECT_THAT(PythonSubstitution::Compile("(a?)*", "\\1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("group 1 of '(a?)*' stands in a repeat of something")));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto whole, PythonSubstitution::Compile("(a?)*", "<\\g<0>>"));
  EXPECT_THAT(whole.Apply("aab"), IsOkAndHolds("<aa><>b<>"));
}

TEST(PythonSubstitutionTest, RefusesAnEndlessResult) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto doubled, PythonSubstitution::Compile("^(.*)$", std::string(100, 'x') + "\\1"));
  EXPECT_THAT(doubled.Apply("a"), IsOkAndHolds(std::string(100, 'x') + "a"));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto large,
                               PythonSubstitution::Compile("a", std::string(200, 'x')));
  EXPECT_THAT(large.Apply(std::string(16000, 'a')),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than 1048576 bytes")));
  EXPECT_THAT(large.Apply(std::string(16385, 'a')),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("16385 bytes are more")));
}

}  // namespace
}  // namespace tessera::regex
