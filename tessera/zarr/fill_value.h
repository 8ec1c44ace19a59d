// The fill value: what an element is that was never written.
//
// FORMAT.md, "Fill value".
#ifndef TESSERA_ZARR_FILL_VALUE_H_
#define TESSERA_ZARR_FILL_VALUE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/codec/spec.h"
#include "tessera/core/dtype.h"
#include "tessera/core/json.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

// The bytes of one element, little-endian; nullopt is null.
using FillValue = std::optional<std::vector<std::byte>>;

// Member `fill_value`.  InvalidArgument when it has another form than the format gives `dtype`, or
// no element comes near it.  `endian` is of the elements: v2's Base64 holds one as it is stored.
absl::StatusOr<FillValue> FillValueFromJson(Format format, DType dtype, codec::Endian endian,
                                            const Json& value);

// REQUIRES: `fill` is null or has the size of an element.
Json FillValueToJson(Format format, DType dtype, const FillValue& fill);

// InvalidArgument unless `fill` is what FillValueFromJson gives for what FillValueToJson makes of
// it: the size of an element, no unused bits set, in v2 no NaN but the canonical one.
absl::Status CheckFillValue(Format format, DType dtype, const FillValue& fill);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_FILL_VALUE_H_
