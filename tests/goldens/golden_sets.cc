#include "tests/goldens/golden_sets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tessera/core/json.h"

namespace tessera::goldens {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Fail(const fs::path& path, const std::string& reason) {
  std::fprintf(stderr, "golden sets: %s: %s\n", path.c_str(), reason.c_str());
  std::exit(1);
}

fs::path Folder() {
  const char* folder = std::getenv("TESSERA_GOLDENS");
  return folder != nullptr ? fs::path(folder) : fs::path(TESSERA_UNPACKED_GOLDENS);
}

GoldenSet ReadSet(const fs::path& folder) {
  const fs::path path = folder / "expected.json";
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto document = ParseJson(text);
  if (!document.ok()) Fail(path, document.status().ToString());
  GoldenSet set{folder.filename(), folder / "ckpt", {}};
  if (!document->contains("arrays")) return set;
  for (const auto& [key, entry] : document->at("arrays").items()) {
    const auto dtype = ParseDType(entry.at("dtype").get<std::string>());
    if (!dtype.ok()) Fail(path, dtype.status().ToString());
    const auto shape = entry.at("shape").get<std::vector<int64_t>>();
    set.arrays[key] = {{Dims(shape.begin(), shape.end()), *dtype}, entry.at("sha256")};
  }
  return set;
}

bool StartsWithAny(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::vector<GoldenSet> FindSets(const std::vector<std::string>& prefixes) {
  std::vector<GoldenSet> sets;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(Folder(), error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (!entry->is_directory() || !fs::exists(entry->path() / "expected.json")) continue;
    entry.disable_recursion_pending();
    if (StartsWithAny(entry->path().filename(), prefixes)) sets.push_back(ReadSet(entry->path()));
  }
  if (error) Fail(Folder(), error.message());
  if (sets.empty()) Fail(Folder(), "holds no such set");
  std::sort(sets.begin(), sets.end(),
            [](const GoldenSet& a, const GoldenSet& b) { return a.checkpoint < b.checkpoint; });
  return sets;
}

}  // namespace tessera::goldens
