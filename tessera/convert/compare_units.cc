#include <cstring>
#include <utility>

#include "tessera/convert/unit_work.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/sha256.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/zarr/chunk_codec.h"

namespace tessera::convert {
namespace {

class Comparer {
 public:
  explicit Comparer(const CompareWork& work) : work_(work) {}

  absl::StatusOr<int64_t> Compare(const Unit& unit, UnitWorker& worker,
                                  const std::stop_token& stop) {
    const ConvertArray& array = work_.plan.arrays[unit.array];
    const Box box = array.UnitBox(unit.number);
    TESSERA_ASSIGN_OR_RETURN(const UnitReaders::Reader reader, work_.readers.Get(unit.array));
    const absl::Status status = array.unit.kind == UnitKind::kStream
                                    ? CompareStream(unit, *reader, box, worker, stop)
                                    : CompareWhole(unit, *reader, box, worker, stop);
    if (absl::IsCancelled(status)) return status;
    if (!status.ok()) return Prefixed(status, array.new_key);
    work_.readers.Release(unit.array);
    work_.written.Release(unit.array);
    return NumBytes(array.target.dtype, box.shape());
  }

 private:
  static absl::Status Differs(const Box& box) {
    return DataLoss("what was written at ", box.Text(), " is not what was read from the source");
  }

  // Both sides use the same memory, one after the other: hashed as it lies, in the order of the
  // source's dimensions where only they were changed.
  absl::Status CompareWhole(const Unit& unit, const checkpoint::ArrayReader& reader, const Box& box,
                            UnitWorker& worker, const std::stop_token& stop) {
    const ConvertArray& array = work_.plan.arrays[unit.array];
    TESSERA_RETURN_IF_ERROR(ReadUnit(array, reader, box, worker, work_.io, stop));
    Buffer& buffer = array.casts() ? worker.converted : worker.source;
    const std::span<std::byte> memory = buffer.span();
    const std::string expected = Sha256Text(memory);
    const Dims shape = array.casts() ? box.shape() : array.SourceBox(box).shape();
    StridedView target = RowMajorView(memory.data(), shape, DTypeBytes(array.target.dtype));
    if (!array.casts() && !array.permutation.empty()) {
      target = zarr::Permuted(target, array.permutation);
    }
    TESSERA_ASSIGN_OR_RETURN(const UnitReaders::Reader written, work_.written.Get(unit.array));
    // What a reader leaves out must not pass for what was there before.
    std::memset(memory.data(), 0, memory.size());
    TESSERA_RETURN_IF_ERROR(written->ReadBox(box, target, work_.io, stop));
    return Sha256Text(memory) == expected ? absl::OkStatus() : Differs(box);
  }

  // Run by run of the file, as no reader may be asked while another one hands on what it decodes.
  absl::Status CompareStream(const Unit& unit, const checkpoint::ArrayReader& reader,
                             const Box& box, UnitWorker& worker, const std::stop_token& stop) {
    const ConvertArray& array = work_.plan.arrays[unit.array];
    return StreamUnit(array, reader, box, worker, work_.io, stop,
                      [&](const Box& piece, const ConstStridedView& elements) {
                        return ComparePiece(array, piece, elements, worker.room, stop);
                      });
  }

  absl::Status ComparePiece(const ConvertArray& array, const Box& piece,
                            const ConstStridedView& elements, Buffer& room,
                            const std::stop_token& stop) {
    const safetensors::PlannedFile& file = work_.plan.set->files[array.place.file];
    const safetensors::Tensor& tensor = file.header.tensors[array.place.tensor];
    Dims row = piece.shape();
    for (size_t i = 0; i + 1 < row.size(); ++i) row[i] = 1;
    const auto bytes = static_cast<size_t>(*NumBytes(tensor.dtype, row));
    const std::span<std::byte> both = room.Resize(2 * bytes);
    TESSERA_ASSIGN_OR_RETURN(const CellRange rows, CellRange::Of(Box::Whole(piece.shape()), row));
    for (int64_t i = 0; i < rows.size(); ++i) {
      const Box part = CellBox(rows.at(i), row, piece.shape());
      TESSERA_ASSIGN_OR_RETURN(const Box where, Translate(part, piece.origin()));
      TESSERA_RETURN_IF_ERROR(CopyStrided(SubView(elements, part),
                                          RowMajorView(both.data(), row, elements.element_bytes)));
      const safetensors::ByteSpan span = safetensors::SpanOf(where, tensor.shape, tensor.dtype);
      TESSERA_RETURN_IF_ERROR(work_.store.ReadInto(
          file.name, file.data_begin() + tensor.begin + span.begin, both.subspan(bytes), stop));
      if (std::memcmp(both.data(), both.data() + bytes, bytes) != 0) return Differs(where);
    }
    return absl::OkStatus();
  }

  const CompareWork& work_;
};

}  // namespace

absl::Status CompareUnits(const CompareWork& work, const std::vector<Unit>& units,
                          const UnitDone& done, std::stop_token stop) {
  Comparer comparer(work);
  return ForEachUnit(
      work.plan, units, work.io, std::move(stop),
      [&](const Unit& unit, UnitWorker& worker, const std::stop_token& stopped) -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, comparer.Compare(unit, worker, stopped));
        done(unit, bytes);
        return absl::OkStatus();
      });
}

}  // namespace tessera::convert
