// Team: the ranks of a conversion, or one process alone.
#ifndef TESSERA_CONVERT_TEAM_H_
#define TESSERA_CONVERT_TEAM_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/comm/comm.h"
#include "tessera/core/bytes.h"

namespace tessera::convert {

class Team {
 public:
  Team(comm::Comm* comm, comm::Limit limit) : comm_(comm), limit_(std::move(limit)) {}

  int rank() const { return comm_ == nullptr ? 0 : comm_->rank(); }
  int size() const { return comm_ == nullptr ? 1 : comm_->size(); }

  // One error for all.
  absl::Status Agree(const absl::Status& mine);

  // What rank 0 makes, or its error, on every rank.  The others do not call `make`.
  absl::StatusOr<std::string> FromFirst(absl::FunctionRef<absl::StatusOr<std::string>()> make);
  absl::Status OnFirst(absl::FunctionRef<absl::Status()> act);

  // By rank, on every rank.
  absl::StatusOr<std::vector<Bytes>> AllGather(Bytes mine);
  absl::StatusOr<int64_t> Least(int64_t mine);

 private:
  comm::Comm* const comm_;
  const comm::Limit limit_;
};

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_TEAM_H_
