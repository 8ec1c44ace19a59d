// Saver: writes trees to checkpoints in the background, one at a time.
#ifndef TESSERA_CHECKPOINT_SAVER_H_
#define TESSERA_CHECKPOINT_SAVER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/checkpoint/save_report.h"
#include "tessera/comm/comm.h"
#include "tessera/core/future.h"
#include "tessera/core/io_context.h"
#include "tessera/core/mutex.h"
#include "tessera/device/device.h"
#include "tessera/device/spare_memory.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

// What a saver works with.  All of it is lent and outlives the saver.
struct SaverResources {
  // nullptr: one of the saver's own.
  IoContext* io = nullptr;
  // nullptr: no array lies where the host cannot look.
  const device::Platform* platform = nullptr;
  // The ranks that save together; nullptr: this process alone.  While a save runs nobody else may
  // use it.
  comm::Comm* comm = nullptr;
  // How much memory is kept from one save to the next, so that the copy of the state need not wait
  // for the system to clear pages.  It is offered to the system meanwhile.
  int64_t spare_bytes = device::kNoLimit;
};

struct SaveJob;

// A tree that is saved together with others.
struct SavePart {
  const array::ValueTree* tree = nullptr;  // lives as long as the call
  SaveOptions options = {};
};

// Used by one thread at a time; busy() by any.  With several ranks every call is collective: all
// make the same calls in the same order, with the same tree structure and plan options.
//
// A save becomes visible as a whole when it is committed, and not before; until then, and after any
// error, the checkpoint is what it was.  docs/commit.md.
class Saver {
 public:
  explicit Saver(const SaverResources& resources = {});
  // Waits for the save that runs; its error is logged if nobody has heard of it.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Plans, begins the commit and takes a snapshot of what this rank writes; the rest happens in the
  // background, and the future gets its result.  What the last save failed with is returned here
  // instead, once, and nothing is started.  Errors of PlanSave, Transaction::Begin and
  // Snapshot::Take; FailedPrecondition when the ranks' plans differ.  All ranks get the same error.
  //
  // Leaves that cannot be kept are logged as a warning and listed in the report.  A tree without
  // arrays writes nothing, unless it has plain values to keep under a prefix.
  //
  // A store that one rank could not open is passed as the error, of which all ranks then hear.
  absl::StatusOr<Future<SaveReport>> Start(absl::StatusOr<std::shared_ptr<store::KvStore>> store,
                                           const array::ValueTree& tree,
                                           const SaveOptions& options = {});

  // Trees of different prefixes, one after the other: returns when all are snapshotted.  Each is
  // committed by itself, and its callback is called before the next one is written.  After the
  // first that fails no other is written, and their futures have its error.  if_busy is that of the
  // first part.
  absl::StatusOr<std::vector<Future<SaveReport>>> StartAll(
      const absl::StatusOr<std::shared_ptr<store::KvStore>>& store,
      std::span<const SavePart> parts);

  // Saves with these ranks from the next call on.  Waits for the save that runs.
  void UseComm(comm::Comm& comm);

  // Returns when no save runs: with the error of the last one, unless it was returned before.
  absl::Status WaitUntilFinished();

  bool busy() const;

 private:
  absl::Status MakeRoom(const SaveOptions& options);
  absl::StatusOr<std::unique_ptr<SaveJob>> Prepare(
      absl::StatusOr<std::shared_ptr<store::KvStore>> store, const array::ValueTree& tree,
      const SaveOptions& options);
  void RunJobs(std::vector<std::unique_ptr<SaveJob>> jobs);

  std::unique_ptr<IoContext> own_io_;
  std::unique_ptr<comm::Comm> own_comm_;
  IoContext* io_;
  comm::Comm* comm_;
  const device::Platform* platform_;
  std::shared_ptr<device::SpareMemory> memory_;
  std::thread background_;
  mutable Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status untold_ ABSL_GUARDED_BY(mutex_);  // error of the last save
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVER_H_
