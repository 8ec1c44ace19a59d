// Content hashes: SHA-256 over the elements of an array in C order.
//
// They do not depend on chunks, codecs or shardings, so that what was in memory when a state was
// saved can be held against what a store gives back.
#ifndef TESSERA_STEPS_CONTENT_HASH_H_
#define TESSERA_STEPS_CONTENT_HASH_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/open.h"
#include "tessera/comm/comm.h"
#include "tessera/core/io_context.h"
#include "tessera/device/device.h"
#include "tessera/ledger/metadata_file.h"

namespace tessera::steps {

// 64 digits, whatever the strides.
absl::StatusOr<std::string> ContentHash(const array::HostArray& array);

// Of the arrays of a tree, by dotted key, as they will be stored.
struct TreeHashes {
  std::map<std::string, std::string> checksums = {};
  std::map<std::string, ledger::SavedArrayType> types = {};
};

struct HashTreeOptions {
  std::optional<DType> float_dtype = {};  // that they are stored as
  comm::Limit limit = {};
};

// Each array is brought together in host memory, one at a time, and hashed by one of the ranks; so
// every rank needs room for the largest array.  Collective; rank 0's result counts.  `platform` may
// be nullptr where the host can look at all shards.  InvalidArgument for two arrays of one dotted
// key.
absl::StatusOr<TreeHashes> HashTree(const array::ValueTree& tree, const device::Platform* platform,
                                    comm::Comm& comm, const HashTreeOptions& options = {});

// Host devices that stand for those of this process that hold arrays of the tree.
absl::StatusOr<std::unique_ptr<device::Platform>> HostPlatformOf(const array::ValueTree& tree);

// Holds arrays of a checkpoint against `checksums`.  With several ranks each takes its share and
// all get the same answer; nullptr: alone.  DataLoss, naming each, for arrays whose elements are
// others; FailedPrecondition, naming them, for arrays without a checksum.
absl::Status CheckContent(const checkpoint::Checkpoint& checkpoint, std::span<const size_t> arrays,
                          const std::map<std::string, std::string>& checksums, IoContext& io,
                          comm::Comm* comm, const comm::Limit& limit = {});

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_CONTENT_HASH_H_
