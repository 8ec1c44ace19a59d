#include "tessera/commit/saves.h"

#include <utility>

#include "tessera/commit/roll_forward.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::commit {

absl::StatusOr<std::vector<FoundSave>> ReadSaves(store::KvStore& store,
                                                 const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto entries, store.List(kSavesFolder, stop));
  std::vector<FoundSave> saves;
  for (const store::ListEntry& entry : entries) {
    const std::string_view id = IdOfSaveKey(entry.key);
    if (id.empty()) continue;  // nothing of ours
    TESSERA_ASSIGN_OR_RETURN(const StoredText stored, ReadText(store, entry.key, stop));
    if (!stored.text.has_value()) continue;
    FoundSave save{std::string(id), stored.generation, std::nullopt};
    auto record = DecodeSaveRecord(*stored.text);
    if (record.ok() && record->id != id) {
      return InvalidArgument(store.Describe(entry.key), ": id: found ", Quoted(record->id));
    }
    if (record.ok()) {
      save.record = *std::move(record);
    } else if (!absl::IsDataLoss(record.status())) {
      return Prefixed(record.status(), store.Describe(entry.key));
    }
    saves.push_back(std::move(save));
  }
  return saves;
}

Liveness LivenessOf(const FoundSave& save, std::chrono::seconds lease) {
  if (!save.record.has_value()) return Liveness::kDead;
  return LivenessOf(save.record->owner, save.record->holder, save.record->started, lease);
}

std::string Describe(const SaveRecord& record) {
  return Concat("save ", record.id, " of prefix ", Quoted(record.prefix), " by ",
                Describe(record.owner, record.started));
}

}  // namespace tessera::commit
