#include "tessera/convert/request.h"

#include <array>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::convert {
namespace {

struct FormatRow {
  TargetFormat format;
  std::string_view name;
};
constexpr std::array<FormatRow, 4> kFormats = {{{TargetFormat::kTensorstore, "tensorstore"},
                                                {TargetFormat::kSafetensors, "safetensors"},
                                                {TargetFormat::kZarr2, "zarr2"},
                                                {TargetFormat::kZarr3, "zarr3"}}};

}  // namespace

std::string_view TargetFormatName(TargetFormat format) {
  return kFormats[static_cast<size_t>(format)].name;
}

absl::StatusOr<TargetFormat> ParseTargetFormat(std::string_view name) {
  for (const FormatRow& row : kFormats) {
    if (row.name == name) return row.format;
  }
  return InvalidArgument("unknown format ", Quoted(name),
                         "; known are tensorstore, safetensors, zarr2 and zarr3");
}

}  // namespace tessera::convert
