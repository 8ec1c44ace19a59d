#include "bench/ours/worker.h"

#include <malloc.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <xxhash.h>

#include "tessera/core/host_memory.h"
#include "tessera/core/status.h"

namespace tessera::bench {
namespace {

// A line of /proc/self/status in bytes.
absl::StatusOr<int64_t> StatusBytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != field) continue;
    int64_t kibibytes = 0;
    if (status >> kibibytes) return kibibytes << 10;
  }
  return Internal("/proc/self/status has no ", field);
}

// From now on VmHWM is the most that was resident since now.
absl::Status ResetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  if (file << "5" << std::flush) return absl::OkStatus();
  return FailedPrecondition("cannot write to /proc/self/clear_refs, so peak memory is not known");
}

absl::StatusOr<Measured> MeasureOnce(absl::FunctionRef<absl::Status()> work) {
  TESSERA_RETURN_IF_ERROR(ResetPeak());
  TESSERA_ASSIGN_OR_RETURN(const int64_t before, StatusBytes("VmRSS:"));
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = work();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  TESSERA_RETURN_IF_ERROR(status);
  TESSERA_ASSIGN_OR_RETURN(const int64_t peak, StatusBytes("VmHWM:"));
  return Measured{taken.count(), peak - before};
}

std::string ValueText(const std::variant<int64_t, double>& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  return fmt::format("{:.6f}", std::get<double>(value));
}

}  // namespace

std::string JsonLine(const Result& result) {
  std::string line = fmt::format(
      R"({{"seconds": {:.6f}, "peak_mib": {:.3f}, "bytes": {})", result.measured.seconds,
      static_cast<double>(result.measured.peak_bytes) / (1 << 20), result.bytes);
  if (result.digest.has_value()) line += fmt::format(R"(, "digest": "{}")", *result.digest);
  for (const Field& field : result.more) {
    line += fmt::format(R"(, "{}": {})", field.name, ValueText(field.value));
  }
  return line + "}";
}

absl::StatusOr<Measured> Measure(int64_t warm, absl::FunctionRef<absl::Status()> prepare,
                                 absl::FunctionRef<absl::Status()> work) {
  for (int64_t i = 0; i < warm; ++i) {
    TESSERA_RETURN_IF_ERROR(prepare());
    TESSERA_RETURN_IF_ERROR(work());
  }
  TESSERA_RETURN_IF_ERROR(prepare());
  // What earlier rounds have freed goes back to the system, so that results lie in fresh memory
  // and are seen in the peak.  What the library itself keeps for the next round stays.
  malloc_trim(0);
  return MeasureOnce(work);
}

absl::Status Remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? FailedPrecondition("cannot delete ", path, ": ", error.message())
               : absl::OkStatus();
}

absl::Status CheckThere(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return absl::OkStatus();
  return NotFound(path, ": no such file or folder");
}

struct Digest::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state{XXH3_createState()};
};

Digest::Digest() : state_(std::make_unique<State>()) {
  TESSERA_CHECK(state_->state != nullptr);
  XXH3_64bits_reset(state_->state.get());
}
Digest::~Digest() = default;

void Digest::Add(std::span<const std::byte> data) {
  XXH3_64bits_update(state_->state.get(), data.data(), data.size());
}

void Digest::Add(std::string_view text) { Add(std::as_bytes(std::span(text))); }

absl::Status Digest::Add(const ConstStridedView& elements) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t count, NumElements(elements.shape));
  if (count == 0) return absl::OkStatus();
  const auto bytes = static_cast<size_t>(count * elements.element_bytes);
  if (IsDense(elements)) {
    Add(std::span(elements.data, bytes));
    return absl::OkStatus();
  }
  const auto dense = AllocateHostMemory(static_cast<int64_t>(bytes));
  if (dense == nullptr) return ResourceExhausted("no memory for ", bytes, " bytes");
  TESSERA_RETURN_IF_ERROR(
      CopyStrided(elements, RowMajorView(dense.get(), elements.shape, elements.element_bytes)));
  Add(std::span<const std::byte>(dense.get(), bytes));
  return absl::OkStatus();
}

std::string Digest::Hex() const {
  return fmt::format("{:016x}", XXH3_64bits_digest(state_->state.get()));
}

}  // namespace tessera::bench
