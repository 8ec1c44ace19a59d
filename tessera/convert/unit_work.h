// What is done with each unit: copied, and compared afterwards.
#ifndef TESSERA_CONVERT_UNIT_WORK_H_
#define TESSERA_CONVERT_UNIT_WORK_H_

#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include "tessera/convert/journal.h"
#include "tessera/convert/plan.h"
#include "tessera/convert/target_writer.h"
#include "tessera/convert/unit_loop.h"
#include "tessera/core/io_context.h"

namespace tessera::convert {

// Told of the bytes of new arrays that are done, by many threads at once.
using UnitDone = std::function<void(const Unit&, int64_t bytes)>;

struct CopyWork {
  const ConvertPlan& plan;
  UnitReaders& readers;
  TargetWriter& writer;
  Journal& journal;
  StoredChunks& chunks;  // takes what was hashed
  IoContext& io;
};

// Reads the units, changes them as planned and writes them.
absl::Status CopyUnits(const CopyWork& work, const std::vector<Unit>& units, const UnitDone& done,
                       std::stop_token stop);

struct CompareWork {
  const ConvertPlan& plan;
  UnitReaders& readers;   // of the source
  UnitReaders& written;   // of what was made of it
  store::KvStore& store;  // where that is
  IoContext& io;
};

// Reads the units of both sides and compares the SHA-256 of their elements, in C order; of streamed
// ones the elements themselves.  DataLoss names the array and the box that differ.
absl::Status CompareUnits(const CompareWork& work, const std::vector<Unit>& units,
                          const UnitDone& done, std::stop_token stop);

// A unit of the source in memory of the worker: in the new dtype and the order of the new
// dimensions, though not always dense.
absl::StatusOr<ConstStridedView> ReadUnit(const ConvertArray& array,
                                          const checkpoint::ArrayReader& reader, const Box& box,
                                          UnitWorker& worker, IoContext& io,
                                          const std::stop_token& stop);

// Takes a streamed unit in pieces that fit a worker's room, in the new dtype and dimensions.
using PieceSink = std::function<absl::Status(const Box& box, const ConstStridedView& elements)>;
absl::Status StreamUnit(const ConvertArray& array, const checkpoint::ArrayReader& reader,
                        const Box& box, UnitWorker& worker, IoContext& io,
                        const std::stop_token& stop, const PieceSink& sink);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_UNIT_WORK_H_
