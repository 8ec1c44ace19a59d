// Units: the boxes of an array that are copied as one.
//
// A unit is read into memory and written from there, so what it is made of decides what a
// conversion costs: a chunk that several units meet is read several times, and a box that is not
// contiguous in a file is written in runs.  Pure.
#ifndef TESSERA_CONVERT_UNITS_H_
#define TESSERA_CONVERT_UNITS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"

namespace tessera::convert {

enum class UnitKind {
  kWhole,   // whole cells of both sides
  kSource,  // whole cells of the source, written in runs
  kTarget,  // whole cells of the target; cells of the source are read more than once
  kStream,  // one cell of the source, written while it is decoded
};
// "whole", "source", "target", "stream".
std::string_view UnitKindName(UnitKind kind);

// All in the dimensions of the new array.
struct UnitQuestion {
  Dims shape;
  Dims source_cell;  // chunks or blocks of the source
  Dims target_cell;
  bool target_divides = false;  // parts of a target cell can be written
  bool source_streams = false;  // parts of a source cell come while it is decoded
  int64_t element_bytes = 1;    // of memory for one element of a unit, on all its way
  int64_t good_bytes = 0;       // small units are joined up to this
  int64_t share_bytes = 0;      // what one of the workers has
  int64_t most_bytes = 0;       // what there is for all of them
};

struct UnitChoice {
  Dims shape = {};  // of the units, which form a grid
  UnitKind kind = UnitKind::kWhole;
  int64_t count = 0;
  int64_t bytes = 0;         // of memory for one; 0 when streamed
  double amplification = 1;  // bytes of source cells read, by those there are
  friend bool operator==(const UnitChoice&, const UnitChoice&) = default;
};

// The smallest box of whole cells of both sides, if it fits; made larger up to good_bytes.  Else
// whole cells of the source for a target that takes parts, as many as one worker has memory for;
// one of them, streamed, where not even that fits.  Else whole cells of the target, as many as half
// of the memory holds, in the way that reads least.  ResourceExhausted, with the bytes, when one
// does not fit.
absl::StatusOr<UnitChoice> ChooseUnits(const UnitQuestion& question);

// How often the elements of a source are read when boxes of `unit` are, one after the other.
double ReadAmplification(DimsView shape, DimsView source_cell, DimsView unit);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_UNITS_H_
