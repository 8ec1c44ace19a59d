#include <utility>

#include "tessera/convert/unit_work.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"

namespace tessera::convert {
namespace {

class Copier {
 public:
  explicit Copier(const CopyWork& work) : work_(work) {}

  absl::StatusOr<int64_t> Copy(const Unit& unit, UnitWorker& worker, const std::stop_token& stop) {
    const ConvertArray& array = work_.plan.arrays[unit.array];
    const Box box = array.UnitBox(unit.number);
    auto chunks = CopyBox(unit, array, box, worker, stop);
    if (!chunks.ok()) {
      return absl::IsCancelled(chunks.status()) ? chunks.status()
                                                : Prefixed(chunks.status(), array.source_key);
    }
    JournalEntry entry{static_cast<int64_t>(unit.array), unit.number, *std::move(chunks)};
    TESSERA_RETURN_IF_ERROR(work_.journal.Append(entry));
    work_.readers.Release(unit.array);
    MutexLock lock(mutex_);
    work_.chunks.insert(work_.chunks.end(), entry.chunks.begin(), entry.chunks.end());
    return NumBytes(array.target.dtype, box.shape());
  }

 private:
  absl::StatusOr<StoredChunks> CopyBox(const Unit& unit, const ConvertArray& array, const Box& box,
                                       UnitWorker& worker, const std::stop_token& stop) {
    TESSERA_ASSIGN_OR_RETURN(const UnitReaders::Reader reader, work_.readers.Get(unit.array));
    if (array.unit.kind == UnitKind::kStream) {
      TESSERA_RETURN_IF_ERROR(StreamUnit(
          array, *reader, box, worker, work_.io, stop,
          [&](const Box& piece, const ConstStridedView& elements) {
            return work_.writer.Write(unit.array, piece, elements, worker.room, work_.io, stop)
                .status();
          }));
      return StoredChunks();
    }
    TESSERA_ASSIGN_OR_RETURN(const ConstStridedView elements,
                             ReadUnit(array, *reader, box, worker, work_.io, stop));
    return work_.writer.Write(unit.array, box, elements, worker.room, work_.io, stop);
  }

  const CopyWork& work_;
  Mutex mutex_;
};

}  // namespace

absl::Status CopyUnits(const CopyWork& work, const std::vector<Unit>& units, const UnitDone& done,
                       std::stop_token stop) {
  Copier copier(work);
  return ForEachUnit(
      work.plan, units, work.io, std::move(stop),
      [&](const Unit& unit, UnitWorker& worker, const std::stop_token& stopped) -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, copier.Copy(unit, worker, stopped));
        done(unit, bytes);
        return absl::OkStatus();
      });
}

}  // namespace tessera::convert
