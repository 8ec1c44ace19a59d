#include "tessera/device/stream_copy.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera::device {
namespace {

// Under this a run's ends, which are written the plain way, weigh too much.
constexpr int64_t kLeastRun = 512;
constexpr size_t kLine = 64;
constexpr size_t kPage = 4096;
constexpr size_t kPages = 4;

#if defined(__SSE2__)
// Target at the beginning of a line.
void StreamLine(std::byte* target, const std::byte* source) {
  const auto* from = reinterpret_cast<const __m128i*>(source);
  auto* to = reinterpret_cast<__m128i*>(target);
  const __m128i a = _mm_loadu_si128(from);
  const __m128i b = _mm_loadu_si128(from + 1);
  const __m128i c = _mm_loadu_si128(from + 2);
  const __m128i d = _mm_loadu_si128(from + 3);
  _mm_stream_si128(to, a);
  _mm_stream_si128(to + 1, b);
  _mm_stream_si128(to + 2, c);
  _mm_stream_si128(to + 3, d);
}

// Line by line from several pages in turn, so that several of the memory's rows are open at once.
void StreamPages(std::byte* target, const std::byte* source) {
  for (size_t line = 0; line < kPage; line += kLine) {
    for (size_t page = 0; page < kPages; ++page) {
      const size_t at = page * kPage + line;
      _mm_prefetch(reinterpret_cast<const char*>(source + at + 2 * kLine), _MM_HINT_T0);
      StreamLine(target + at, source + at);
    }
  }
}

// Only whole lines go past the caches: a part of one would be read again.
void StreamBytes(std::byte* target, const std::byte* source, size_t bytes) {
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(target) % kLine) % kLine;
  std::memcpy(target, source, head);
  size_t done = head;
  for (; bytes - done >= kPages * kPage; done += kPages * kPage) {
    StreamPages(target + done, source + done);
  }
  for (; bytes - done >= kLine; done += kLine) StreamLine(target + done, source + done);
  std::memcpy(target + done, source + done, bytes - done);
}
// Before anybody else may look at what was written.
void EndStream() { _mm_sfence(); }
#else
void StreamBytes(std::byte* target, const std::byte* source, size_t bytes) {
  std::memcpy(target, source, bytes);
}
void EndStream() {}
#endif

// The trailing dimensions that are one run of bytes on both sides.
struct Run {
  size_t outer = 0;  // how many dimensions stand before them
  int64_t bytes = 1;
};

Run CommonRun(const ConstStridedView& source, const StridedView& target) {
  Run run = {source.shape.size(), source.element_bytes};
  while (run.outer > 0) {
    const size_t d = run.outer - 1;
    const bool joins = source.strides[d] == run.bytes && target.strides[d] == run.bytes;
    if (source.shape[d] != 1 && !joins) break;
    run.bytes *= source.shape[d];
    --run.outer;
  }
  return run;
}

void StreamRuns(const ConstStridedView& source, const StridedView& target, const Run& run) {
  Dims index(run.outer, 0);
  const std::byte* from = source.data;
  std::byte* to = target.data;
  while (true) {
    StreamBytes(to, from, static_cast<size_t>(run.bytes));
    size_t d = run.outer;
    for (; d > 0; --d) {
      const size_t i = d - 1;
      from += source.strides[i];
      to += target.strides[i];
      if (++index[i] < source.shape[i]) break;
      from -= source.strides[i] * source.shape[i];
      to -= target.strides[i] * target.shape[i];
      index[i] = 0;
    }
    if (d == 0) return EndStream();
  }
}

}  // namespace

absl::Status StreamStrided(const ConstStridedView& source, const StridedView& target) {
  const bool alike = source.shape == target.shape && source.element_bytes == target.element_bytes;
  const bool empty = std::find(source.shape.begin(), source.shape.end(), 0) != source.shape.end();
  if (!alike || empty) return CopyStrided(source, target);
  const Run run = CommonRun(source, target);
  if (run.bytes < kLeastRun) return CopyStrided(source, target);
  StreamRuns(source, target, run);
  return absl::OkStatus();
}

}  // namespace tessera::device
