// View: what a reader sees of a checkpoint, whatever a save is doing to it.
#ifndef TESSERA_COMMIT_VIEW_H_
#define TESSERA_COMMIT_VIEW_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/bytes.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

struct View {
  // The index of the last commit; nullopt: there is none.
  std::optional<Bytes> index_text;
  // Reads here see the data of the last commit, also where it is not in its place yet.  Never
  // written to.  The store that was opened outlives it.
  std::unique_ptr<store::KvStore> store;
  // Names the state; another one after the next commit, or when another program changes the index.
  std::string state_id;
  // Data of unfinished saves lies at paths of its own: without an index, arrays below these
  // prefixes are not to be taken for whole.
  std::vector<std::string> unfinished_paths;
};

absl::StatusOr<View> OpenView(store::KvStore& store, std::stop_token stop = {});

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_VIEW_H_
