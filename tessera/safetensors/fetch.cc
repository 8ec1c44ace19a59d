#include "tessera/safetensors/fetch.h"

#include <algorithm>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::safetensors {

absl::Status FetchData(store::KvStore& store, const SetFile& file, uint64_t begin,
                       std::span<std::byte> target, const std::stop_token& stop) {
  auto info = store.ReadInto(file.name, file.data_begin + begin, target, stop);
  const absl::Status error = info.status();
  // A file that was replaced by a shorter one is out of range, too.
  if (absl::IsOutOfRange(error)) info = store.ReadInto(file.name, 0, {}, stop);
  TESSERA_RETURN_IF_ERROR(info);
  if (info->generation != file.generation) {
    return Aborted(store.Describe(file.name), ": was replaced while it was read");
  }
  return error;
}

absl::Status CheckBools(const store::KvStore& store, const SetFile& file, const Tensor& tensor,
                        uint64_t begin, std::span<const std::byte> bytes) {
  if (tensor.dtype != DType::kBool) return absl::OkStatus();
  // Without a way out in between, so that it is done many at a time.
  std::byte all{0};
  for (const std::byte byte : bytes) all |= byte;
  if (all <= std::byte{1}) return absl::OkStatus();
  const auto wrong =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) { return byte > std::byte{1}; });
  const uint64_t place = begin + static_cast<uint64_t>(wrong - bytes.begin());
  return DataLoss(BytesText(store, file, tensor, {place, place + 1}), ": found ",
                  std::to_integer<int>(*wrong), " as a bool, expected 0 or 1");
}

std::string BytesText(const store::KvStore& store, const SetFile& file, const Tensor& tensor,
                      const ByteSpan& bytes) {
  const uint64_t begin = file.data_begin + tensor.begin;
  return Concat(store.Describe(file.name), ": tensor ", Quoted(tensor.name), ": bytes [",
                begin + bytes.begin, ", ", begin + bytes.end, ")");
}

}  // namespace tessera::safetensors
