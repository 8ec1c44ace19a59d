#include "tessera/atlas/atlas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <nlohmann/json.hpp>

#include "tessera/atlas/atlas_data.h"
#include "tessera/atlas/page.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera::atlas {
namespace {

using ::tessera::checkpoint::testing::StoredCheckpoint;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A matcher would print the whole page.
bool Has(std::string_view html, std::string_view text) {
  return html.find(text) != std::string_view::npos;
}

class AtlasTest : public ::testing::Test {
 protected:
  checkpoint::Checkpoint Open() { return *checkpoint::Checkpoint::Open(stored_.store(), io_); }

  explain::LoadExplanation Explain(std::string_view mesh, int64_t hosts,
                                   std::vector<mesh::PartitionRule> rules,
                                   std::optional<int64_t> budget = {}) {
    const explain::ExplainRequest request{
        .mesh = *explain::DealToHosts(*mesh::ParseMesh(mesh), hosts),
        .rules = std::move(rules),
        .device_budget = budget,
        .memory_budget = 1000};
    auto explanation = explain::ExplainLoad(Open(), request);
    TESSERA_CHECK(explanation.ok());
    // Their words are tested where they are made.
    explanation->warnings = {{"kind", "a.w", "detail", 2}};
    return *std::move(explanation);
  }

  OrderedJson Data(const explain::LoadExplanation& explanation) {
    return AtlasData(Open(), explanation, {"a title"});
  }

  StoredCheckpoint stored_;
  IoContext io_;
};

TEST_F(AtlasTest, TellsATinyPlanExactly) {
  stored_.Add("a/w", {8, 16}, {4, 16}).Add("b", {6}, {6}).Index();
  const auto explanation =
      Explain("dp=2,tp=2", 2, {{"w$", {nullptr, "tp"}}, {"b$", {{"dp", "tp"}}}}, 300);
  const OrderedJson expected = OrderedJson::parse(R"json({
    "title": "a title", "format": "tensorstore", "mesh": "Mesh('dp': 2, 'tp': 2)", "hosts": 2,
    "devices": {"id": [0, 1, 2, 3], "process": [0, 0, 1, 1], "bytes": [280, 280, 280, 280]},
    "processes": {"process": [0, 1], "peak": [1560, 1560]},
    "budget": 300, "over": [],
    "totals": {"bytes": 536, "read": 1072, "requests": 6, "decoded": 1072, "wanted": 1072,
               "balance": 1.0},
    "rules": {"pattern": ["w$", "b$"], "spec": ["P(None, 'tp')", "P(('dp', 'tp'))"],
              "arrays": [1, 1], "bytes": [512, 24], "shadowed_by": [-1, -1]},
    "warnings": {"kind": ["kind"], "key": ["a.w"], "detail": ["detail"], "arrays": [2]},
    "dtypes": ["int32"], "codecs": ["zstd"],
    "placements": [{"spec": "P(None, 'tp')", "split": [1, 2], "block": [0, 1, 0, 1]},
                   {"spec": "P()", "split": [1], "block": [0, 0, 0, 0]}],
    "forms": {"shape": [[8, 16], [6]], "chunk": [[4, 16], [6]], "shard": [[8, 8], [6]],
              "dtype": [0, 0], "result": [0, 0], "codec": [0, 0], "placement": [0, 1],
              "rule": [0, 1],
              "corrections": [[], ["dimension 0: ('dp', 'tp') -> None (does not divide)"]],
              "bytes": [512, 24], "device_bytes": [256, 24], "chunks": [2, 1],
              "least_parts": [2, 1], "most_parts": [2, 1], "requests": [4, 2],
              "decoded": [1024, 48], "wanted": [1024, 48]},
    "keys": ["a.w", "b"], "form": [0, 1], "read": [1024, 48], "stored": [-1, -1]
  })json");
  EXPECT_EQ(Data(explanation).dump(1), expected.dump(1));
}

TEST_F(AtlasTest, ABlockIsNumberedInCOrderForEachDevice) {
  stored_.Add("w", {8, 16}, {8, 16}).Index();
  const OrderedJson data = Data(Explain("x=2,y=3", 1, {{"w", {"y", "x"}}}));
  // 3 does not divide 8, so that only x is left.
  EXPECT_EQ(data["placements"][0]["block"], (std::vector{0, 0, 0, 1, 1, 1}));
  stored_.Add("v", {6, 16}, {6, 16}).Index();
  const OrderedJson both = Data(Explain("x=2,y=3", 1, {{"", {"y", "x"}}}));
  EXPECT_EQ(both["placements"][1]["split"], (std::vector{3, 2}));
  EXPECT_EQ(both["placements"][1]["block"], (std::vector{0, 2, 4, 1, 3, 5}));
}

TEST_F(AtlasTest, ArraysThatAreAlikeShareFormAndPlacement) {
  for (int i = 0; i < 20; ++i) {
    stored_.Add(Concat("layers/", i, "/w"), {8, 16}, {4, 16});
    stored_.Add(Concat("layers/", i, "/v"), {4, 16}, {4, 16});
  }
  stored_.Index();
  const OrderedJson data = Data(Explain("dp=2", 1, {{"", {"dp"}}}));
  EXPECT_EQ(data["keys"].size(), 40);
  EXPECT_EQ(data["forms"]["shape"].size(), 2);
  EXPECT_EQ(data["placements"].size(), 1);
  std::set<int> forms;
  for (const auto& form : data["form"]) forms.insert(form.get<int>());
  EXPECT_EQ(forms, (std::set{0, 1}));
}

TEST_F(AtlasTest, StoredBytesComeFromTheManifest) {
  stored_.Add("w", {8, 16}, {4, 16}).Sealed();
  const OrderedJson data = Data(Explain("dp=2", 1, {{"", {"dp"}}}));
  EXPECT_EQ(data["stored"][0], *Open().arrays()[0].stored_bytes());
}

TEST_F(AtlasTest, ACheckpointWithoutArraysHasAnAtlas) {
  stored_.Index();
  const OrderedJson data = Data(Explain("dp=2", 1, {}));
  EXPECT_EQ(data["keys"], OrderedJson::array());
  EXPECT_EQ(data["forms"]["shape"], OrderedJson::array());
  EXPECT_EQ(data["placements"], OrderedJson::array());
}

TEST_F(AtlasTest, KeysCannotEndTheirElement) {
  stored_.Add("<img src=x onerror=alert(1)>", {4}, {4}).Index();
  const auto explanation = Explain("dp=2", 1, {{"</script><!--<script>", {"dp"}}});
  const std::string html = AtlasHtml(Open(), explanation, {"</title><b>'\"&"});
  EXPECT_TRUE(html.starts_with("<!doctype html>\n"));
  EXPECT_TRUE(Has(html, "<title>&lt;/title&gt;&lt;b&gt;&#39;&quot;&amp;</title>"));
  EXPECT_TRUE(Has(html, "\"\\u003cimg src=x onerror=alert(1)\\u003e\""));
  EXPECT_TRUE(Has(html, "\"\\u003c/script\\u003e\\u003c!--\\u003cscript\\u003e\""));
  EXPECT_FALSE(Has(html, "<img"));
  EXPECT_FALSE(Has(html, "<!--"));
  EXPECT_FALSE(Has(html, "<b>"));
}

TEST_F(AtlasTest, TextThatLooksLikeAPlaceOfTheTemplateStaysText) {
  stored_.Add("@SCRIPT@", {4}, {4}).Index();
  const std::string html = AtlasHtml(Open(), Explain("dp=2", 1, {{"", {}}}), {"@DATA@"});
  EXPECT_TRUE(Has(html, "<title>@DATA@</title>"));
  EXPECT_TRUE(Has(html, R"("keys":["@SCRIPT@"])"));
}

TEST_F(AtlasTest, ThePolicyLetsInNothingButTheOwnScriptAndStyle) {
  stored_.Add("w", {4}, {4}).Index();
  const std::string html = AtlasHtml(Open(), Explain("dp=2", 1, {{"", {}}}), {"title"});
  EXPECT_TRUE(Has(html,
                  "default-src 'none'; img-src data:; base-uri 'none'; form-action "
                  "'none'; script-src 'sha256-"));
  EXPECT_FALSE(Has(html, "unsafe-inline"));
  EXPECT_FALSE(Has(html, "http:"));
  EXPECT_FALSE(Has(html, "https:"));
}

TEST(ScriptTextTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(ScriptText(OrderedJson{"a\xff"
                                   "b"}),
            "[\"a\xef\xbf\xbd"
            "b\"]");
}

TEST(ScriptTextTest, MeansTheSame) {
  const OrderedJson json = {{"<&>", "</script>\u2028 \\u003c"}};
  EXPECT_EQ(OrderedJson::parse(ScriptText(json)), json);
}

// What is filled in stands between the tags of the template, so a tag in a script would end it.
TEST(PageTest, ScriptAndStyleHoldNoTagsAndNoOtherPlaces) {
  EXPECT_THAT(std::string(PageScript()), Not(HasSubstr("</")));
  EXPECT_THAT(std::string(PageScript()), Not(HasSubstr("<!--")));
  EXPECT_THAT(std::string(PageStyle()), Not(HasSubstr("</")));
  EXPECT_THAT(std::string(PageScript()), StartsWith("\n(() => {\n'use strict';\n"));
}

}  // namespace
}  // namespace tessera::atlas
