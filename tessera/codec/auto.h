// Codec "auto": which compression makes saving and loading an array fastest, if any.
//
// Measuring and choosing are apart: the choice is a pure function of plain numbers.  Processes
// measure differently, so one of them chooses for all who write the same array.
#ifndef TESSERA_CODEC_AUTO_H_
#define TESSERA_CODEC_AUTO_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/codec/scratch.h"
#include "tessera/codec/spec.h"

namespace tessera::codec {

// What a store moves with all its parallel requests together.
struct StorageSpeed {
  double write_bytes_per_second = 0;
  double read_bytes_per_second = 0;
};

// How arrays are saved and loaded.
struct Workload {
  StorageSpeed storage = {};
  int threads = 1;             // that encode, or decode, while the store works
  double reads_per_write = 1;  // how much a load counts beside a save
};

// What a codec makes of some data.  Speeds are of decoded bytes, on one thread.
struct CodecMeasurement {
  std::vector<BytesSpec> compression = {};  // empty: none
  double ratio = 1;                         // encoded to decoded bytes
  double encode_bytes_per_second = 0;
  double decode_bytes_per_second = 0;
};

struct CodecCost {
  CodecMeasurement measured = {};
  double write_seconds = 0;  // of a gigabyte of decoded bytes
  double read_seconds = 0;
  double seconds = 0;  // both, weighted by the workload
};

struct AutoChoice {
  std::vector<BytesSpec> compression = {};  // empty: none
  std::vector<CodecCost> candidates = {};   // for reports, as they were measured
};

inline constexpr size_t kSampleBytes = size_t{1} << 20;

// At most kSampleBytes of `data`, in slices spread over all of it: an array may change its nature
// on the way.  Slices start and end between elements.  REQUIRES: element_bytes > 0.
std::vector<std::byte> TakeSample(std::span<const std::byte> data, int element_bytes);

// Encodes and decodes the sample with none, blosc (lz4 on shuffled bits) and zstd at level 1, in
// this order; an empty sample tells of none only.  Takes processor time of this thread, so that
// others at work change little.
// InvalidArgument when `element_bytes` is not 1 to 255.
absl::StatusOr<std::vector<CodecMeasurement>> MeasureCandidates(std::span<const std::byte> sample,
                                                                int element_bytes,
                                                                Scratch& scratch);

// The codec with the least time, where computing and I/O overlap: the slower of the two counts.
// A compressor must save a few percent of the time over none, so ties and data that does not
// compress stay plain; among compressors with equal times the first wins.  InvalidArgument when
// none was not measured, or a number makes no sense.
absl::StatusOr<AutoChoice> ChooseCodec(std::span<const CodecMeasurement> measurements,
                                       const Workload& workload);

// All three for an array whose bytes are `data`.
absl::StatusOr<AutoChoice> ChooseCodecFor(std::span<const std::byte> data, int element_bytes,
                                          const Workload& workload, Scratch& scratch);

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_AUTO_H_
