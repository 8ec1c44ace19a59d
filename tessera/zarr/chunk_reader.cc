#include "tessera/zarr/chunk_reader.h"

#include <algorithm>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/zarr/encode_chunk.h"
#include "tessera/zarr/request.h"
#include "tessera/zarr/stored_hash.h"

namespace tessera::zarr {

absl::Status ChunkReader::Read(const ChunkCodec& codec, const StoredChunk& stored,
                               const Wanted& wanted, Worker& worker, std::stop_token stop) {
  if (codec.shard == nullptr) {
    return ReadElements(*codec.elements, stored, wanted, worker, std::move(stop));
  }
  const Wanted turned = Turned(wanted, codec.shard->order);
  if (stored.expected.has_value()) {
    return ReadVerifiedShard(*codec.shard, stored, turned, worker, std::move(stop));
  }
  return ReadShard(*codec.shard, stored, turned, worker, std::move(stop));
}

absl::Status ChunkReader::ReadElements(const codec::ArrayCodec& codec, const StoredChunk& stored,
                                       const Wanted& wanted, Worker& worker, std::stop_token stop) {
  // A chunk inside of a shard is not verified by itself.
  const ReadTerms terms{.streams = terms_.streams, .verify = stored.expected.has_value()};
  const ReadPlan plan = PlanRead(codec, terms, wanted);
  switch (plan.method) {
    case ReadPlan::Method::kRun:
      return ReadRun(codec, stored, wanted, plan.need == 0, worker, stop);
    case ReadPlan::Method::kDirect:
      return ReadDirect(codec, stored, wanted, worker, std::move(stop));
    case ReadPlan::Method::kSlabs:
      return ReadSlabs(codec, stored, wanted, worker, stop);
    case ReadPlan::Method::kWhole:
      break;
  }
  return ReadWhole(codec, stored, wanted, worker, std::move(stop));
}

// What was decoded goes to its place.  Errors of a destination are its own: nothing is added.
absl::Status ChunkReader::Hand(const Wanted& wanted, const Box& box,
                               const ConstStridedView& elements) {
  if (!wanted.target.has_value()) {
    return destination_->Put(ArrayBox(wanted, box), InArrayOrder(wanted, elements));
  }
  return CopyStrided(elements, SubView(*wanted.target, RelativeTo(box, wanted.part.origin())));
}

absl::Status ChunkReader::FillInUnlessThere(const StoredChunk& stored, const Wanted& wanted,
                                            std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const store::ValueInfo info,
                           store_.ReadInto(stored.key, 0, {}, std::move(stop)));
  if (info.missing()) return FillIn(stored, wanted);
  return DataLoss(store_.Describe(stored.key), ": nothing is known of this value");
}

absl::Status ChunkReader::FillIn(const StoredChunk& stored, const Wanted& wanted) {
  if (stored.expected.has_value()) {
    return DataLoss(store_.Describe(stored.key), ": there is no value, expected ",
                    stored.expected->size, " bytes");
  }
  findings_.Absent(stored.key, wanted);
  if (wanted.target.has_value()) return FillView(array_.fill(), *wanted.target);
  // One element, seen at every index.
  const std::span<const std::byte> fill = array_.fill();
  const Dims& shape = wanted.part.shape();
  return Hand(wanted, wanted.part,
              {fill.data(), shape, Dims(shape.size(), 0), static_cast<int64_t>(fill.size())});
}

// Only the bytes from the first to the last element wanted, into the target itself where both are
// one run.
absl::Status ChunkReader::ReadRun(const codec::ArrayCodec& codec, const StoredChunk& stored,
                                  const Wanted& wanted, bool direct, Worker& worker,
                                  const std::stop_token& stop) {
  const PlainRun run = PlainRunOf(codec, wanted.part);
  const auto hand = [&](const std::byte* data) {
    findings_.Chunk();
    return Hand(wanted, wanted.part,
                {data, wanted.part.shape(), run.strides, DTypeBytes(codec.array().dtype)});
  };
  if (stored.extent.has_value()) {
    TESSERA_RETURN_IF_ERROR(CheckPlainSize(codec, stored, wanted, 0));
    if (stored.held.has_value()) return hand(stored.held->data() + run.offset);
  }
  const std::span<std::byte> bytes =
      direct ? std::span(wanted.target->data, run.length) : worker.stored.Resize(run.length);
  const uint64_t base = stored.extent.has_value() ? stored.extent->offset : 0;
  const auto info = store_.ReadInto(stored.key, base + run.offset, bytes, stop);
  if (!info.ok()) return AsDataLoss(info.status());
  TESSERA_RETURN_IF_ERROR(CheckSame(stored, *info));
  if (info->missing()) return FillIn(stored, wanted);
  TESSERA_RETURN_IF_ERROR(CheckPlainSize(codec, stored, wanted, info->size));
  findings_.Bytes(run.length);
  if (!direct) return hand(bytes.data());
  findings_.Chunk();
  return absl::OkStatus();
}

absl::Status ChunkReader::CheckPlainSize(const codec::ArrayCodec& codec, const StoredChunk& stored,
                                         const Wanted& wanted, uint64_t value_size) {
  const uint64_t expected = codec.decoded_bytes();
  const uint64_t found = stored.extent.has_value() ? stored.extent->size : value_size;
  if (found == expected) return absl::OkStatus();
  return Named(DataLoss("found ", found, " bytes, expected ", expected), stored, wanted);
}

// Decodes while reading, so that what was read is still in the cache.
absl::Status ChunkReader::ReadDirect(const codec::ArrayCodec& codec, const StoredChunk& stored,
                                     const Wanted& wanted, Worker& worker, std::stop_token stop) {
  if (codec.plain()) return ReadVerifiedPlain(codec, stored, wanted, stop);
  const auto decoder = codec.StartDecode(wanted.part, *wanted.target, worker.scratch);
  if (decoder == nullptr) return ReadWhole(codec, stored, wanted, worker, std::move(stop));
  TESSERA_ASSIGN_OR_RETURN(const store::ByteRange range,
                           RangeOf(codec.most_encoded_bytes(), stored, wanted));
  TESSERA_ASSIGN_OR_RETURN(const store::ValueInfo info,
                           Pass(stored, wanted, range, kPieceBytes, true, worker, std::move(stop),
                                [&](Encoded piece) { return decoder->Feed(piece); }));
  if (info.missing()) return FillIn(stored, wanted);
  findings_.Chunk();
  const IoContext::ComputeSlot slot(io_);
  return Named(decoder->Finish(), stored, wanted);
}

// Read into the target by ranges, each of which is hashed while the cache has it: a store's own
// pieces would have to be copied.
absl::Status ChunkReader::ReadVerifiedPlain(const codec::ArrayCodec& codec, StoredChunk stored,
                                            const Wanted& wanted, const std::stop_token& stop) {
  constexpr size_t kRange = size_t{1} << 20;
  const uint64_t size = codec.decoded_bytes();
  TESSERA_RETURN_IF_ERROR(CheckPlainSize(codec, stored, wanted, stored.expected->size));
  const std::span<std::byte> target(wanted.target->data, size);
  StoredHash hash;
  for (size_t done = 0; done < size;) {
    // Where each request waits for an answer, one is enough.
    const auto range =
        target.subspan(done, store_.streams() ? std::min(kRange, size - done) : size);
    const auto info = store_.ReadInto(stored.key, done, range, stop);
    if (!info.ok()) return AsDataLoss(info.status());
    if (info->missing()) return FillIn(stored, wanted);
    TESSERA_RETURN_IF_ERROR(CheckSame(stored, *info));
    TESSERA_RETURN_IF_ERROR(CheckExpectedSize(stored, info->size));
    stored.generation = info->generation;
    hash.Add(range);
    findings_.Bytes(range.size());
    done += range.size();
  }
  findings_.Chunk();
  return CheckExpected(stored, hash.Value());
}

absl::Status ChunkReader::ReadSlabs(const codec::ArrayCodec& codec, const StoredChunk& stored,
                                    const Wanted& wanted, Worker& worker,
                                    const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(store::ByteRange range,
                           RangeOf(codec.most_encoded_bytes(), stored, wanted));
  int64_t offset = 0;
  const bool by_run = codec.plain() && !stored.expected.has_value();
  if (by_run) {
    if (stored.extent.has_value()) {
      TESSERA_RETURN_IF_ERROR(CheckPlainSize(codec, stored, wanted, 0));
    }
    const PlainRun run = PlainRunOf(codec, wanted.part);
    offset = static_cast<int64_t>(run.offset);
    range = {range.offset + run.offset, run.length};
  }
  absl::Status handed;
  const auto hand = [&](const Box& box, const ConstStridedView& elements) {
    return handed = Hand(wanted, box, elements);
  };
  const auto decoder =
      codec.StartSlabs(wanted.part, SlabBytes(codec), offset, worker.scratch, hand);
  const size_t piece_bytes = codec.uncompressed() ? SlabBytes(codec) : kPieceBytes;
  const auto info = Pass(stored, wanted, range, piece_bytes, !codec.uncompressed(), worker, stop,
                         [&](Encoded piece) { return decoder->Feed(piece); });
  TESSERA_RETURN_IF_ERROR(handed);
  if (absl::IsResourceExhausted(info.status())) {
    return WithMoreMemory(info.status(), codec, stored, wanted, worker, stop);
  }
  TESSERA_RETURN_IF_ERROR(info);
  if (info->missing()) return FillIn(stored, wanted);
  if (by_run && !stored.extent.has_value()) {
    TESSERA_RETURN_IF_ERROR(CheckPlainSize(codec, stored, wanted, info->size));
  }
  findings_.Chunk();
  const absl::Status status = decoder->Finish();
  return handed.ok() ? Named(status, stored, wanted) : handed;
}

// A stream wants more memory than its codec's settings tell.  Nothing of it was decoded.
absl::Status ChunkReader::WithMoreMemory(const absl::Status& error, const codec::ArrayCodec& codec,
                                         const StoredChunk& stored, const Wanted& wanted,
                                         Worker& worker, const std::stop_token& stop) {
  const auto memory = io_.budget().TryAcquire(WholeNeed(codec, wanted));
  if (memory.has_value()) {
    Worker more;
    return ReadWhole(codec, stored, wanted, more, stop);
  }
  // Damage can ask for memory, too.
  if (stored.expected.has_value()) {
    TESSERA_RETURN_IF_ERROR(Verify(stored, wanted, worker, stop));
  }
  return error;
}

absl::Status ChunkReader::ReadWhole(const codec::ArrayCodec& codec, const StoredChunk& stored,
                                    const Wanted& wanted, Worker& worker, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto encoded,
                           Fetch(codec, stored, wanted, worker, std::move(stop)));
  if (!encoded.has_value()) return FillIn(stored, wanted);
  findings_.Chunk();
  const IoContext::ComputeSlot slot(io_);
  if (wanted.target.has_value()) {
    return Named(codec.Decode(*encoded, wanted.part, *wanted.target, worker.scratch), stored,
                 wanted);
  }
  const StridedView chunk = codec.StoredView(worker.chunk.Resize(codec.decoded_bytes()).data());
  TESSERA_RETURN_IF_ERROR(Named(
      codec.Decode(*encoded, Box::Whole(chunk.shape), chunk, worker.scratch), stored, wanted));
  return Hand(wanted, wanted.part, AsConst(SubView(chunk, wanted.part)));
}

}  // namespace tessera::zarr
