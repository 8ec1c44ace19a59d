// Agreement: the one error that all ranks report when some of them have failed.  Pure.
#ifndef TESSERA_COMM_AGREEMENT_H_
#define TESSERA_COMM_AGREEMENT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tessera/core/bytes.h"

namespace tessera::comm {

// A status as bytes: its code, its kind and at most `max_message` bytes of its message.
Bytes EncodeStatus(const absl::Status& status, size_t max_message = 4096);

// What EncodeStatus wrote.  Internal when `encoded` is nothing of the kind.
absl::Status DecodeStatus(std::span<const std::byte> encoded);

// The same error for all from everyone's status, by rank.  OK when all are.  Code and kind are the
// lowest failing rank's.  One rank's message stays as it is behind its number; what all ranks say
// is said once, without any number; else the first few are told.
absl::Status MergeStatuses(std::span<const absl::Status> by_rank);

}  // namespace tessera::comm

#endif  // TESSERA_COMM_AGREEMENT_H_
