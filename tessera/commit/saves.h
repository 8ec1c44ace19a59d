// The saves that have begun on a checkpoint, as their records tell.
#ifndef TESSERA_COMMIT_SAVES_H_
#define TESSERA_COMMIT_SAVES_H_

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/commit/owner.h"
#include "tessera/commit/save_record.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

// A save's record as it is in the store.
struct FoundSave {
  std::string id;
  store::Generation generation;
  std::optional<SaveRecord> record;  // nullopt: it was never written as a whole
};

absl::StatusOr<std::vector<FoundSave>> ReadSaves(store::KvStore& store,
                                                 const std::stop_token& stop);

Liveness LivenessOf(const FoundSave& save, std::chrono::seconds lease);

// "save <id> of prefix 'model' by process 12 on 'host' since 2026-01-31T12:00:00Z".
std::string Describe(const SaveRecord& record);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_SAVES_H_
