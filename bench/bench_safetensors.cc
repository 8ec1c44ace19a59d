// Loads, maps, opens and saves a safetensors file, for safetensors_py.py.
//
// usage: bench_safetensors load|map|open FILE ROUNDS
//        bench_safetensors save|save-kernel FILE NEW_FILE ROUNDS
//
// Prints one JSON line: the seconds of each round, the bytes of all tensors, and their sum, by
// which every page of what was loaded is looked at within the time.  `save` writes what FILE holds
// to NEW_FILE and waits for the disk, `save-kernel` does not wait.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/io_context.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/file_set.h"
#include "tessera/safetensors/tensors.h"
#include "tessera/store/file_store.h"
#include "tessera/store/key.h"

namespace tessera::safetensors {
namespace {

template <typename T>
T Value(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One byte of each page, so that all of them are there.
template <typename File>
uint64_t Touch(const File& file, int64_t& bytes) {
  constexpr int64_t kPage = 4096;
  uint64_t sum = 0;
  bytes = 0;
  for (const auto& tensor : file.tensors) {
    const int64_t size = Value(NumBytes(tensor.about.dtype, tensor.about.shape));
    const auto view = tensor.view();
    for (int64_t at = 0; at < size; at += kPage) sum += std::to_integer<uint64_t>(view.data[at]);
    bytes += size;
  }
  return sum;
}

struct Round {
  double seconds = 0;
  int64_t bytes = 0;
  uint64_t sum = 0;
};

Round Load(const std::string& path, IoContext& io) {
  Round round;
  const double start = Now();
  const LoadedFile file = Value(LoadFile(path, io));
  round.sum = Touch(file, round.bytes);
  round.seconds = Now() - start;
  return round;
}

Round Map(const std::string& path, IoContext& io) {
  Round round;
  const double start = Now();
  const MappedFile file = Value(MapTensors(path, io));
  round.sum = Touch(file, round.bytes);
  round.seconds = Now() - start;
  return round;
}

Round Open(const std::string& path, IoContext& io) {
  Round round;
  const auto [folder, name] = store::SplitKey(path);
  const double start = Now();
  const auto store = Value(store::OpenFileStore(folder.empty() ? "." : std::string(folder)));
  const FileSet set = Value(FileSet::Open(*store, name, io));
  round.seconds = Now() - start;
  for (const TensorPlace& place : set.tensors()) {
    const Tensor& tensor = set.TensorOf(place);
    round.bytes += static_cast<int64_t>(tensor.end - tensor.begin);
  }
  return round;
}

Round Save(const LoadedFile& file, const std::string& path, store::Durability durability) {
  Round round;
  std::vector<TensorView> tensors;
  for (const LoadedTensor& tensor : file.tensors) {
    tensors.push_back({tensor.name, tensor.about.dtype, AsConst(tensor.view())});
  }
  const SaveFileOptions options{.metadata = file.metadata, .durability = durability};
  const double start = Now();
  Check(SaveFile(path, tensors, options));
  round.seconds = Now() - start;
  round.sum = Touch(file, round.bytes);
  return round;
}

void Print(const std::vector<Round>& rounds) {
  std::printf("{\"seconds\": [");
  for (size_t i = 0; i < rounds.size(); ++i) {
    std::printf("%s%.6f", i == 0 ? "" : ", ", rounds[i].seconds);
  }
  std::printf("], \"bytes\": %lld, \"sum\": %llu}\n", static_cast<long long>(rounds.back().bytes),
              static_cast<unsigned long long>(rounds.back().sum));
}

int Run(const std::vector<std::string>& words) {
  const std::string& mode = words[0];
  const bool saves = mode.starts_with("save");
  if (words.size() != (saves ? 4u : 3u)) return 2;
  IoContext io;
  LoadedFile source;
  if (saves) source = Value(LoadFile(words[1], io));
  const auto durability = mode == "save" ? store::Durability::kDisk : store::Durability::kKernel;
  std::vector<Round> rounds;
  const int count = std::max(1, std::atoi(words.back().c_str()));
  for (int i = 0; i < count; ++i) {
    if (mode == "load") rounds.push_back(Load(words[1], io));
    if (mode == "map") rounds.push_back(Map(words[1], io));
    if (mode == "open") rounds.push_back(Open(words[1], io));
    if (saves) rounds.push_back(Save(source, words[2], durability));
  }
  if (rounds.empty()) return 2;
  Print(rounds);
  return 0;
}

}  // namespace
}  // namespace tessera::safetensors

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const int status = words.empty() ? 2 : tessera::safetensors::Run(words);
  if (status == 2)
    std::fprintf(stderr, "usage: bench_safetensors load|map|open|save|save-kernel\n");
  return status;
}
