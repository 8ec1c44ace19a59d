// Whole checkpoints as plain values, for tests of what is left when a save is stopped.
#ifndef TESSERA_TESTS_CRASH_STATES_H_
#define TESSERA_TESTS_CRASH_STATES_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/core/io_context.h"
#include "tessera/store/kv_store.h"

namespace tessera::crash {

// int32 that count up from `first`.
array::HostArray Numbers(const Dims& shape, int32_t first);

// Every leaf by its path: dtype, shape and hash of an array, type and text of a plain value.
using Leaves = std::map<std::string, std::string>;
absl::StatusOr<Leaves> LeavesOf(const array::ValueTree& tree);

// All that a reader gets: the leaves by prefix, with the side files of the checkpoint under
// "files".  Empty: there is no checkpoint.
using State = std::map<std::string, Leaves>;
absl::StatusOr<State> LoadState(store::KvStore& store, IoContext& io);

// What verify finds wrong, a line each; empty: nothing, or that there is no checkpoint.
std::string ProblemsOf(store::KvStore& store, IoContext& io);

// Every key, with "ID" for the ids of saves.
std::multiset<std::string> KeysOf(store::KvStore& store);
std::string WithoutIds(std::string text);

}  // namespace tessera::crash

#endif  // TESSERA_TESTS_CRASH_STATES_H_
