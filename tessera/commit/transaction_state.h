// What a Transaction holds, and its beginning.
#ifndef TESSERA_COMMIT_TRANSACTION_STATE_H_
#define TESSERA_COMMIT_TRANSACTION_STATE_H_

#include <sys/types.h>

#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/commit/owner.h"
#include "tessera/commit/save_record.h"
#include "tessera/commit/transaction.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

// A save whose record is in the store.
struct BegunSave {
  SaveRecord record;
  store::Generation generation;  // of the record
};

// As Transaction::Begin.  REQUIRES: a LiveId of `id` lives.
absl::StatusOr<BegunSave> BeginSave(store::KvStore& store, const std::string& id,
                                    const BeginRequest& request, const BeginOptions& options,
                                    const std::stop_token& stop);

struct Transaction::State {
  enum class Phase {
    kOpen,
    kCommitted,
    kAbandoned,
    kUnknown,  // whether it is committed; who comes next will see
  };

  store::KvStore& store;
  BeginOptions options;
  pid_t process;  // a copy of this one, made by a fork, must not act for it
  std::optional<LiveId> live;
  std::string id;
  std::string data_prefix;
  BegunSave save;
  FindReplaced replaced;  // of a save of files
  Phase phase = Phase::kOpen;
  bool has_locked = false;  // and may not have got rid of it
};

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_TRANSACTION_STATE_H_
