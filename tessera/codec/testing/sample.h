// Data for tests of codecs.
#ifndef TESSERA_CODEC_TESTING_SAMPLE_H_
#define TESSERA_CODEC_TESTING_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace tessera::codec::testing {

// Looks like weights: the high byte of each pair repeats, the low one does not.
inline std::vector<std::byte> Sample(size_t size) {
  std::vector<std::byte> data(size);
  uint32_t state = 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525 + 1013904223;
    data[i] = static_cast<std::byte>(i % 2 == 0 ? state >> 24 : 0x3c + (state >> 30));
  }
  return data;
}

// Nothing in it repeats.
inline std::vector<std::byte> Noise(size_t size) {
  std::vector<std::byte> data(size);
  std::mt19937_64 random(7);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  return data;
}

// Of its own size, so that a read past the end shows under the sanitizer.
inline std::vector<std::byte> Copy(std::span<const std::byte> data) {
  return {data.begin(), data.end()};
}

}  // namespace tessera::codec::testing

#endif  // TESSERA_CODEC_TESTING_SAMPLE_H_
