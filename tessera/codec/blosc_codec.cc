#include <blosc.h>

#include <algorithm>
#include <string>

#include "tessera/codec/makers.h"
#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

constexpr const char* kCompressors[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};

int ShuffleOf(const BloscSpec& spec) {
  switch (spec.shuffle) {
    case BloscSpec::Shuffle::kNone:
      return BLOSC_NOSHUFFLE;
    case BloscSpec::Shuffle::kBytes:
      return BLOSC_SHUFFLE;
    case BloscSpec::Shuffle::kBits:
      return BLOSC_BITSHUFFLE;
    case BloscSpec::Shuffle::kAuto:
      return spec.element_bytes == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE;
  }
  return BLOSC_NOSHUFFLE;
}

class BloscCodec final : public BytesCodec {
 public:
  explicit BloscCodec(const BloscSpec& spec) : spec_(spec) {}

  std::string_view name() const override { return "blosc"; }

  size_t MostEncoded(size_t decoded) const override { return decoded + BLOSC_MAX_OVERHEAD; }

  absl::Status Encode(std::span<const std::byte> data, Buffer& encoded) const override {
    if (data.size() > BLOSC_MAX_BUFFERSIZE) {
      return InvalidArgument("blosc: ", data.size(), " bytes are more than the ",
                             BLOSC_MAX_BUFFERSIZE, " that the format holds");
    }
    const std::span<std::byte> target = encoded.Resize(MostEncoded(data.size()));
    // One thread: parallelism is over chunks, and this form shares nothing between callers.
    const int size =
        blosc_compress_ctx(spec_.level, ShuffleOf(spec_), static_cast<size_t>(spec_.element_bytes),
                           data.size(), data.data(), target.data(), target.size(),
                           spec_.compressor.c_str(), static_cast<size_t>(spec_.block_bytes), 1);
    if (size <= 0) return Internal("blosc: the compressor failed with ", size);
    encoded.Resize(static_cast<size_t>(size));
    return absl::OkStatus();
  }

  absl::Status Decode(std::span<const std::byte> encoded,
                      std::span<std::byte> target) const override {
    TESSERA_ASSIGN_OR_RETURN(const size_t declared, DeclaredSize(encoded));
    if (declared != target.size()) {
      return DataLoss("blosc: the buffer holds ", declared, " bytes, expected ", target.size());
    }
    if (declared == 0) return absl::OkStatus();
    const int size = blosc_decompress_ctx(encoded.data(), target.data(), target.size(), 1);
    if (size < 0 || static_cast<size_t>(size) != target.size()) {
      return DataLoss("blosc: the data is damaged (error ", size, ")");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::span<const std::byte>> DecodeUpTo(std::span<const std::byte> encoded,
                                                        size_t most,
                                                        Buffer& decoded) const override {
    TESSERA_ASSIGN_OR_RETURN(const size_t declared, DeclaredSize(encoded));
    if (declared > most) {
      return DataLoss("blosc: the buffer holds ", declared, " bytes, at most ", most, " expected");
    }
    TESSERA_RETURN_IF_ERROR(Decode(encoded, decoded.Resize(declared)));
    return decoded.span();
  }

 private:
  // The size that the header gives, once the header is known to fit the data.  The library reads
  // as far as the header says, so nothing may be decoded before this check.
  static absl::StatusOr<size_t> DeclaredSize(std::span<const std::byte> encoded) {
    size_t size = 0;
    if (blosc_cbuffer_validate(encoded.data(), encoded.size(), &size) < 0) {
      return DataLoss("blosc: the header does not fit the ", encoded.size(), " bytes of data");
    }
    size_t decoded = 0;
    size_t stored = 0;
    size_t block = 0;
    blosc_cbuffer_sizes(encoded.data(), &decoded, &stored, &block);
    if (stored != encoded.size()) {
      return DataLoss("blosc: the header tells of ", stored, " bytes, found ", encoded.size());
    }
    return size;
  }

  const BloscSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BytesCodec>> MakeBlosc(const BloscSpec& spec) {
  const auto known = std::find(std::begin(kCompressors), std::end(kCompressors), spec.compressor);
  if (known == std::end(kCompressors)) {
    return InvalidArgument("blosc: compressor '", spec.compressor,
                           "'; expected blosclz, lz4, lz4hc, snappy, zlib or zstd");
  }
  if (blosc_compname_to_compcode(spec.compressor.c_str()) < 0) {
    return Unimplemented("blosc: this build of the library lacks '", spec.compressor, "'");
  }
  if (spec.level < 0 || spec.level > 9) {
    return InvalidArgument("blosc: level ", spec.level, "; expected 0 to 9");
  }
  if (spec.element_bytes < 1 || spec.element_bytes > BLOSC_MAX_TYPESIZE) {
    return InvalidArgument("blosc: element size ", spec.element_bytes, "; expected 1 to 255");
  }
  if (spec.block_bytes < 0) {
    return InvalidArgument("blosc: block size ", spec.block_bytes, "; expected 0 or more");
  }
  return std::make_unique<BloscCodec>(spec);
}

}  // namespace tessera::codec
