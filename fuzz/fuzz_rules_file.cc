// Any bytes as a rules file: refused, or rules that come back when they are written as JSON.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/mesh/rules_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view name : {"rules", "rules.json", "rules.yaml"}) {
    const auto rules = tessera::mesh::ParseRulesFile(text, name);
    if (!rules.ok()) {
      TESSERA_CHECK(absl::IsInvalidArgument(rules.status()));
      continue;
    }
    const auto again = tessera::mesh::ParseRulesFile(tessera::mesh::ToJson(*rules).dump(), name);
    TESSERA_CHECK(again.ok() && *again == *rules);
  }
  return 0;
}
