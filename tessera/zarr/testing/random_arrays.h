// Random arrays for tests: any metadata the room supports, elements that fit it, memory of any
// strides.
#ifndef TESSERA_ZARR_TESTING_RANDOM_ARRAYS_H_
#define TESSERA_ZARR_TESTING_RANDOM_ARRAYS_H_

#include <cstdint>
#include <random>
#include <vector>

#include "tessera/core/box.h"
#include "tessera/core/strided.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

// One seed, one case.
class RandomArrays {
 public:
  explicit RandomArrays(uint64_t seed) : engine_(seed) {}

  int64_t Number(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine_);
  }
  bool Chance(double probability) { return std::bernoulli_distribution(probability)(engine_); }

  // Valid, with at most a few thousand elements.
  Metadata AnyMetadata();

  // Dense elements in C order that a reader gives back bit for bit.
  std::vector<std::byte> Elements(DType dtype, DimsView shape);

  // Not empty unless the shape is.
  Box AnyBox(DimsView shape);

  Dims AnyOrder(int rank);

 private:
  codec::BytesSpec AnyCompression(Format format, DType dtype);
  ChunkCodecs AnyCodecs(DType dtype, DimsView chunk_shape, int depth);

  std::mt19937_64 engine_;
};

// Memory for an array whose dimensions lie in any order, some of them backwards, with gaps.
class AnyMemory {
 public:
  AnyMemory(RandomArrays& random, DimsView shape, int64_t element_bytes);

  const StridedView& view() const { return view_; }

  // Its elements one after the other.
  std::vector<std::byte> Dense() const;
  void Assign(std::span<const std::byte> dense);

  // Whether no byte between the elements was touched.
  bool GapsAreClean() const;

 private:
  std::vector<std::byte> bytes_;
  StridedView view_;
};

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_TESTING_RANDOM_ARRAYS_H_
