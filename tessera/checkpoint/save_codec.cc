#include "tessera/checkpoint/save_codec.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "tessera/codec/auto.h"
#include "tessera/core/status.h"
#include "tessera/zarr/metadata.h"

namespace tessera::checkpoint {
namespace {

// Parts that a choice looks at.  Weights and moments of one dtype differ, and the largest of each
// repeat, so a few of the largest tell.
constexpr size_t kMostSampled = 4;

int64_t BytesOf(const ConstStridedView& view) {
  return *NumElements(view.shape) * view.element_bytes;
}

// At most a sample's worth of elements in a row.
std::vector<std::byte> SampleOf(const ConstStridedView& view) {
  if (array::IsDense(view)) {
    return codec::TakeSample({view.data, static_cast<size_t>(BytesOf(view))},
                             static_cast<int>(view.element_bytes));
  }
  ConstStridedView front = view;
  for (size_t i = 0; i < front.shape.size(); ++i) {
    const int64_t rest = BytesOf(front) / front.shape[i];
    const auto most = static_cast<int64_t>(codec::kSampleBytes);
    front.shape[i] = std::clamp<int64_t>(most / rest, 1, front.shape[i]);
  }
  std::vector<std::byte> sample(static_cast<size_t>(BytesOf(front)));
  const StridedView dense = RowMajorView(sample.data(), front.shape, front.element_bytes);
  TESSERA_CHECK(CopyStrided(front, dense).ok());
  return sample;
}

absl::StatusOr<CodecList> ChooseFor(std::vector<const HeldPart*> parts, int element_bytes,
                                    const codec::Workload& workload) {
  const size_t count = std::min(parts.size(), kMostSampled);
  std::partial_sort(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(count), parts.end(),
                    [](const HeldPart* a, const HeldPart* b) {
                      return BytesOf(a->elements) > BytesOf(b->elements);
                    });
  std::vector<std::byte> sample;
  for (size_t i = 0; i < count; ++i) {
    const std::vector<std::byte> more = SampleOf(parts[i]->elements);
    sample.insert(sample.end(), more.begin(), more.end());
  }
  codec::Scratch scratch;
  TESSERA_ASSIGN_OR_RETURN(const auto measured,
                           codec::MeasureCandidates(sample, element_bytes, scratch));
  TESSERA_ASSIGN_OR_RETURN(codec::AutoChoice choice, codec::ChooseCodec(measured, workload));
  return std::move(choice.compression);
}

}  // namespace

absl::StatusOr<std::vector<DTypeCodec>> ChooseCodecs(const SavePlan& plan, const Snapshot& snapshot,
                                                     const AutoCodec& options, int threads) {
  std::map<DType, int64_t> bytes;
  std::map<DType, std::vector<const HeldPart*>> parts;
  for (const PlannedArray& array : plan.arrays) {
    bytes[array.metadata.dtype] += *NumBytes(array.metadata.dtype, array.metadata.shape);
  }
  for (const HeldPart& part : snapshot.parts()) {
    parts[plan.arrays[part.array].metadata.dtype].push_back(&part);
  }
  std::vector<DTypeCodec> choices;
  for (auto& [dtype, held] : parts) {
    if (bytes[dtype] < options.least_bytes) continue;
    TESSERA_ASSIGN_OR_RETURN(CodecList codecs, ChooseFor(std::move(held), DTypeBytes(dtype),
                                                         {options.storage, threads}));
    choices.push_back({dtype, std::move(codecs)});
  }
  return choices;
}

std::string EncodeCodecs(std::span<const DTypeCodec> choices) {
  std::string text;
  for (const DTypeCodec& choice : choices) {
    zarr::Metadata metadata = zarr::JaxMetadata({{1}, choice.dtype}, Dims{1});
    metadata.codecs.compression = choice.codecs;
    const std::string document = zarr::MetadataText(metadata);
    text += Concat(document.size(), " ", document);
  }
  return text;
}

absl::StatusOr<std::vector<DTypeCodec>> DecodeCodecs(std::string_view text) {
  std::vector<DTypeCodec> choices;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string digits(text.substr(0, space));
    const size_t length = std::strtoull(digits.c_str(), nullptr, 10);
    if (space == std::string_view::npos || length > text.size() - space - 1) {
      return Internal("a list of codecs ends in the middle");
    }
    const auto metadata = zarr::ParseMetadata(zarr::Format::kV2, text.substr(space + 1, length));
    if (!metadata.ok()) return Internal("a list of codecs: ", metadata.status().ToString());
    choices.push_back({metadata->dtype, metadata->codecs.compression});
    text.remove_prefix(space + 1 + length);
  }
  return choices;
}

}  // namespace tessera::checkpoint
