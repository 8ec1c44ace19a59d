// A codec on a library that works on streams: zlib and bzip2 have the same shape.
#ifndef TESSERA_CODEC_STREAM_CODEC_H_
#define TESSERA_CODEC_STREAM_CODEC_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/codec/bytes_codec.h"
#include "tessera/codec/growing_buffer.h"
#include "tessera/core/status.h"

namespace tessera::codec {

enum class StreamStep { kMore, kEnd, kError };

// `Library` has a Stream type with next_in, avail_in, next_out and avail_out, a name(), and
//   bool StartEncoder(Stream&) const;  StreamStep Encode(Stream&, bool last) const;  EndEncoder
//   bool StartDecoder(Stream&) const;  StreamStep Decode(Stream&) const;             EndDecoder
template <typename Library>
class StreamCodec final : public BytesCodec {
 public:
  explicit StreamCodec(Library library) : library_(std::move(library)) {}

  std::string_view name() const override { return library_.name(); }

  absl::StatusOr<std::vector<std::byte>> Encode(std::span<const std::byte> data) const override {
    Stream stream = {};
    if (!library_.StartEncoder(stream)) return ResourceExhausted(name(), ": no memory to encode");
    const std::unique_ptr<Stream, void (*)(Stream*)> end(&stream, Library::EndEncoder);
    GrowingBuffer buffer(std::numeric_limits<size_t>::max());
    while (true) {
      const Pass pass(stream, data, buffer.Room());
      const StreamStep step = library_.Encode(stream, pass.given == data.size());
      data = data.subspan(pass.taken(stream));
      buffer.Used(pass.written(stream));
      if (step == StreamStep::kEnd) return std::move(buffer).Take();
      if (step == StreamStep::kError) return Internal(name(), ": the encoder failed");
    }
  }

  absl::Status Decode(std::span<const std::byte> encoded,
                      std::span<std::byte> target) const override {
    size_t written = 0;
    const auto room = [&] { return target.subspan(written); };
    const auto used = [&](size_t count) { written += count; };
    TESSERA_RETURN_IF_ERROR(DecodeInto(encoded, target.size(), room, used));
    if (written == target.size()) return absl::OkStatus();
    return DataLoss(name(), ": decoded ", written, " bytes, expected ", target.size());
  }

  absl::StatusOr<std::vector<std::byte>> DecodeUpTo(std::span<const std::byte> encoded,
                                                    size_t most) const override {
    GrowingBuffer buffer(most);
    const auto room = [&] { return buffer.Room(); };
    const auto used = [&](size_t count) { buffer.Used(count); };
    TESSERA_RETURN_IF_ERROR(DecodeInto(encoded, most, room, used));
    return std::move(buffer).Take();
  }

 private:
  using Stream = typename Library::Stream;

  // One call's share: the libraries count in 32 bits, so large data goes in pieces.
  struct Pass {
    Pass(Stream& stream, std::span<const std::byte> source, std::span<std::byte> target)
        : given(Piece(source.size())), offered(Piece(target.size())) {
      using Pointer = decltype(stream.next_in);
      // Neither interface knows const.
      stream.next_in = reinterpret_cast<Pointer>(const_cast<std::byte*>(source.data()));
      stream.avail_in = given;
      stream.next_out = reinterpret_cast<Pointer>(target.data());
      stream.avail_out = offered;
    }
    static unsigned Piece(size_t size) {
      return static_cast<unsigned>(std::min<size_t>(size, std::numeric_limits<unsigned>::max()));
    }
    size_t taken(const Stream& stream) const { return given - stream.avail_in; }
    size_t written(const Stream& stream) const { return offered - stream.avail_out; }

    const unsigned given;
    const unsigned offered;
  };

  // Decodes into what room() offers until the stream ends; used(n) tells how much was taken.
  template <typename RoomFn, typename UsedFn>
  absl::Status DecodeInto(std::span<const std::byte> encoded, size_t most, RoomFn room,
                          UsedFn used) const {
    Stream stream = {};
    if (!library_.StartDecoder(stream)) return ResourceExhausted(name(), ": no memory to decode");
    const std::unique_ptr<Stream, void (*)(Stream*)> end(&stream, Library::EndDecoder);
    // Where the target is full, a byte of room shows whether the stream has ended, too.
    std::byte overflow[1];
    while (true) {
      const std::span<std::byte> target = room();
      const bool full = target.empty();
      const Pass pass(stream, encoded, full ? std::span<std::byte>(overflow) : target);
      const StreamStep step = library_.Decode(stream);
      encoded = encoded.subspan(pass.taken(stream));
      const size_t written = pass.written(stream);
      if (step == StreamStep::kError) return DataLoss(name(), ": the data is damaged");
      if (full && written > 0) return DataLoss(name(), ": more than the ", most, " bytes expected");
      if (!full) used(written);
      if (step == StreamStep::kEnd) break;
      if (encoded.empty() && written == 0) return DataLoss(name(), ": the stream is cut short");
    }
    if (encoded.empty()) return absl::OkStatus();
    return DataLoss(name(), ": ", encoded.size(), " bytes follow the stream");
  }

  const Library library_;
};

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_STREAM_CODEC_H_
