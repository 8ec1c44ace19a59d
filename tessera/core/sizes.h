// Numbers of bytes as people write them.
#ifndef TESSERA_CORE_SIZES_H_
#define TESSERA_CORE_SIZES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tessera {

// "512KiB", "4 GiB", "1.5GB", "100", "100B": powers of 1024 with an i, of 1000 without; letters of
// either case.  InvalidArgument for other text and for sizes past 63 bits.
absl::StatusOr<int64_t> ParseSize(std::string_view text);

// "0 B", "1023 B", "1.50 KiB", "12.3 GiB": three digits that count, in powers of 1024.
std::string SizeText(int64_t bytes);

// "1,234,567".
std::string CountText(int64_t count);

}  // namespace tessera

#endif  // TESSERA_CORE_SIZES_H_
