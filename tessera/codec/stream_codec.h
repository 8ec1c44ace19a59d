// A codec on a library that works on streams: zlib and bzip2 have the same shape.
#ifndef TESSERA_CODEC_STREAM_CODEC_H_
#define TESSERA_CODEC_STREAM_CODEC_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "tessera/codec/bytes_codec.h"
#include "tessera/core/status.h"

namespace tessera::codec {

enum class StreamStep { kMore, kEnd, kError };

// `Library` has a Stream type with next_in, avail_in, next_out and avail_out, a name(), and
//   size_t MostEncoded(size_t decoded) const;
//   bool StartEncoder(Stream&) const;  StreamStep Encode(Stream&, bool last) const;  EndEncoder
//   bool StartDecoder(Stream&) const;  StreamStep Decode(Stream&) const;             EndDecoder
//   size_t DecoderBytes() const;  // what the library takes to decode
template <typename Library>
class StreamCodec final : public BytesCodec {
 public:
  explicit StreamCodec(Library library) : library_(std::move(library)) {}

  std::string_view name() const override { return library_.name(); }

  size_t MostEncoded(size_t decoded) const override { return library_.MostEncoded(decoded); }

  absl::Status Encode(std::span<const std::byte> data, Buffer& encoded) const override {
    Stream stream = {};
    if (!library_.StartEncoder(stream)) return ResourceExhausted(name(), ": no memory to encode");
    const std::unique_ptr<Stream, void (*)(Stream*)> end(&stream, Library::EndEncoder);
    std::span<std::byte> room = encoded.Resize(MostEncoded(data.size()));
    StreamStep step = StreamStep::kMore;
    while (step == StreamStep::kMore && !room.empty()) {
      const Pass pass(stream, data, room);
      step = library_.Encode(stream, pass.given == data.size());
      data = data.subspan(pass.taken(stream));
      room = room.subspan(pass.written(stream));
    }
    if (step != StreamStep::kEnd) return Internal(name(), ": the encoder failed");
    encoded.Resize(encoded.size() - room.size());
    return absl::OkStatus();
  }

  absl::Status Decode(std::span<const std::byte> encoded,
                      std::span<std::byte> target) const override {
    TESSERA_ASSIGN_OR_RETURN(const size_t written, DecodeInto(encoded, target));
    if (written == target.size()) return absl::OkStatus();
    return DataLoss(name(), ": decoded ", written, " bytes, expected ", target.size());
  }

  // Takes `most` bytes at once: pages that nothing is written to cost nothing.
  absl::StatusOr<std::span<const std::byte>> DecodeUpTo(std::span<const std::byte> encoded,
                                                        size_t most,
                                                        Buffer& decoded) const override {
    TESSERA_ASSIGN_OR_RETURN(const size_t written, DecodeInto(encoded, decoded.Resize(most)));
    return decoded.Resize(written);
  }

  std::unique_ptr<StreamDecoder> StartStream() const override {
    return std::make_unique<Decoder>(library_);
  }
  std::optional<size_t> StreamBytes() const override { return library_.DecoderBytes(); }

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

  class Decoder final : public StreamDecoder {
   public:
    explicit Decoder(const Library& library)
        : library_(library), started_(library_.StartDecoder(stream_)) {}
    ~Decoder() override {
      if (started_) Library::EndDecoder(&stream_);
    }

    absl::Status Decode(std::span<const std::byte>& input, std::span<std::byte>& output) override {
      if (!started_) return ResourceExhausted(library_.name(), ": no memory to decode");
      bool stuck = false;
      while (!ended_ && !output.empty() && !stuck) {
        const Pass pass(stream_, input, output);
        const StreamStep step = library_.Decode(stream_);
        if (step == StreamStep::kError) return DataLoss(library_.name(), ": the data is damaged");
        ended_ = step == StreamStep::kEnd;
        stuck = pass.taken(stream_) == 0 && pass.written(stream_) == 0;
        input = input.subspan(pass.taken(stream_));
        output = output.subspan(pass.written(stream_));
      }
      if (!ended_ || input.empty()) return absl::OkStatus();
      return DataLoss(library_.name(), ": ", input.size(), " bytes follow the stream");
    }

    absl::Status Finish() override {
      if (ended_) return absl::OkStatus();
      return DataLoss(library_.name(), ": the stream is cut short");
    }

   private:
    const Library library_;
    Stream stream_ = {};
    const bool started_;
    bool ended_ = false;
  };

  // Decodes into the start of `target`; returns how much was written.
  absl::StatusOr<size_t> DecodeInto(std::span<const std::byte> encoded,
                                    std::span<std::byte> target) const {
    Stream stream = {};
    if (!library_.StartDecoder(stream)) return ResourceExhausted(name(), ": no memory to decode");
    const std::unique_ptr<Stream, void (*)(Stream*)> end(&stream, Library::EndDecoder);
    // Where the target is full, a byte of room shows whether the stream has ended, too.
    std::byte overflow[1];
    std::span<std::byte> room = target;
    StreamStep step = StreamStep::kMore;
    while (step != StreamStep::kEnd) {
      const bool full = room.empty();
      const Pass pass(stream, encoded, full ? std::span<std::byte>(overflow) : room);
      step = library_.Decode(stream);
      encoded = encoded.subspan(pass.taken(stream));
      const size_t written = pass.written(stream);
      if (step == StreamStep::kError) return DataLoss(name(), ": the data is damaged");
      if (full && written > 0) {
        return DataLoss(name(), ": more than the ", target.size(), " bytes expected");
      }
      room = room.subspan(full ? 0 : written);
      const bool stuck = encoded.empty() && written == 0 && step != StreamStep::kEnd;
      if (stuck) return DataLoss(name(), ": the stream is cut short");
    }
    if (encoded.empty()) return target.size() - room.size();
    return DataLoss(name(), ": ", encoded.size(), " bytes follow the stream");
  }

  const Library library_;
};

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_STREAM_CODEC_H_
