// Any bytes as YAML: refused, or a value that is the same when read again as the JSON it makes.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/core/yaml.h"

namespace {

// Neither infinities nor NaN can be written as JSON.
bool HasUnwritable(const tessera::Json& value) {
  if (value.is_number_float()) return !(value.get<double>() - value.get<double>() == 0);
  if (!value.is_structured()) return false;
  for (const tessera::Json& item : value) {
    if (HasUnwritable(item)) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<int64_t> lines;
  const auto value = tessera::ParseYaml(text, &lines);
  if (!value.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(value.status()));
    return 0;
  }
  TESSERA_CHECK(lines.size() == (value->is_array() ? value->size() : 0));
  if (HasUnwritable(*value)) return 0;
  const auto again = tessera::ParseJson(value->dump());
  TESSERA_CHECK(again.ok() && *again == *value);
  return 0;
}
