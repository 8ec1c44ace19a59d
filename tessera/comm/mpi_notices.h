// MpiNotices: what a rank tells all others beside the calls, namely that it takes part no more.
//
// For sources of this room only.
#ifndef TESSERA_COMM_MPI_NOTICES_H_
#define TESSERA_COMM_MPI_NOTICES_H_

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"

namespace tessera::comm {

struct Notice {
  int64_t index = 0;        // the first call that its sender does not complete
  int32_t origin = 0;       // the rank that `why` is about, perhaps not the sender
  bool unfinished = false;  // the sender has begun what it will not complete
  absl::Status why;
};

// Every rank sends one notice to each other rank in its life, and hears one from each.
class MpiNotices {
 public:
  // `comm` carries nothing else.
  MpiNotices(MPI_Comm comm, int rank, int size);
  ~MpiNotices();
  MpiNotices(const MpiNotices&) = delete;
  MpiNotices& operator=(const MpiNotices&) = delete;

  // Sends `notice`; a second time it does nothing.  Does not wait.
  void Tell(const Notice& notice);
  bool told() const { return letter_ != nullptr; }

  // Takes in what has come.
  absl::Status Poll();

  // By rank; nullopt for those not heard of.
  const std::vector<std::optional<Notice>>& heard() const { return heard_; }
  bool heard_all() const;

  // Whether what Tell sent has left this rank.
  bool delivered();

  // The notice that makes call `index` fail.  One that gives a cause goes before one that only
  // tells of a passed deadline.
  const Notice* For(int64_t index) const;

 private:
  struct Letter;

  absl::Status TakeIn(const MPI_Status& probed);

  const MPI_Comm comm_;
  const int rank_;
  std::vector<std::optional<Notice>> heard_;
  std::unique_ptr<Letter> letter_;
};

}  // namespace tessera::comm

#endif  // TESSERA_COMM_MPI_NOTICES_H_
