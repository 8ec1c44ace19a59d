#include "tessera/convert/team.h"

#include <utility>

#include "tessera/comm/agreement.h"
#include "tessera/core/status.h"

namespace tessera::convert {

absl::Status Team::Agree(const absl::Status& mine) {
  return comm_ == nullptr ? mine : comm_->Agree(mine, limit_);
}

absl::StatusOr<std::string> Team::FromFirst(absl::FunctionRef<absl::StatusOr<std::string>()> make) {
  if (comm_ == nullptr) return make();
  Bytes message;
  if (rank() == 0) {
    const absl::StatusOr<std::string> mine = make();
    message = mine.ok() ? Bytes::CopyOf(Concat("+", *mine))
                        : Bytes::CopyOf(Concat("-", comm::EncodeStatus(mine.status()).text()));
  }
  TESSERA_ASSIGN_OR_RETURN(const Bytes told, comm_->Broadcast(std::move(message), 0, limit_));
  if (told.empty()) return Internal("rank 0 has sent nothing");
  if (told.text().front() == '+') return std::string(told.text().substr(1));
  return comm::DecodeStatus(told.span().subspan(1));
}

absl::Status Team::OnFirst(absl::FunctionRef<absl::Status()> act) {
  return FromFirst([&]() -> absl::StatusOr<std::string> {
           TESSERA_RETURN_IF_ERROR(act());
           return std::string();
         })
      .status();
}

absl::StatusOr<std::vector<Bytes>> Team::AllGather(Bytes mine) {
  if (comm_ == nullptr) return std::vector<Bytes>{std::move(mine)};
  return comm_->AllGather(std::move(mine), limit_);
}

absl::StatusOr<int64_t> Team::Least(int64_t mine) {
  if (comm_ == nullptr) return mine;
  return comm_->AllReduce(mine, comm::ReduceOp::kMin, limit_);
}

}  // namespace tessera::convert
