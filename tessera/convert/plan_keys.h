// Which arrays of a source are converted, what they are called then, and where zarr arrays lie.
#ifndef TESSERA_CONVERT_PLAN_KEYS_H_
#define TESSERA_CONVERT_PLAN_KEYS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/convert/key_rules.h"
#include "tessera/convert/plan.h"

namespace tessera::convert {

// Arrays with keys, prefix and, for zarr, path; the rest is still to be filled in.  Errors of
// PlanConvert for keys.
absl::StatusOr<std::vector<ConvertArray>> PlanKeys(const ConvertSource& source,
                                                   const KeyRules& rules,
                                                   const ConvertRequest& request);

// What headers of a safetensors target say beside their tensors.
std::vector<std::pair<std::string, std::string>> HeaderMetadata(const ConvertSource& source,
                                                                const Target& target);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_PLAN_KEYS_H_
