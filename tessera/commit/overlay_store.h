// A checkpoint as its last commit says it is, while values are still on their way.
#ifndef TESSERA_COMMIT_OVERLAY_STORE_H_
#define TESSERA_COMMIT_OVERLAY_STORE_H_

#include <memory>
#include <optional>

#include "tessera/commit/commit_record.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

// Reads of keys that the save brings see its folder first, then the place itself, then the folder
// once more; what it makes obsolete is missing.  Without a save it is `base`.  Writes, deletes and
// moves are FailedPrecondition.  `base` must outlive it.
std::unique_ptr<store::KvStore> MakeOverlayStore(store::KvStore& base,
                                                 std::optional<CommittedSave> save);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_OVERLAY_STORE_H_
