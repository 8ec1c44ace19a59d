// Loads a checkpoint from a store that is as slow as it is told to be, on ranks that are threads.
//
//   bench_throttled_load make dir=DIR [mib=256] [chunk_kib=2048] [arrays=8] [codec=none|zstd]
//   bench_throttled_load load dir=DIR [latency_ms=0] [jitter=0] [total_mb_s=0] [host_mb_s=0]
//       [in_flight=16] [ranks=1] [place=whole|rows|columns] [share=0|1] [net_mb_s=0] [net_us=0]
//       [budget_mib=1024]
//
// A bandwidth of 0 has no limit.  `load` opens and loads with what programs use: LoadCheckpoint on
// a KvStore.  `place` is what each rank gets: everything, or its share of the rows or columns; with
// share=1 the ranks read for each other.  One JSON line: "seconds" is from when all ranks have
// opened the checkpoint to when the last one has it, "open_s" what came before; the rest is counted
// over all ranks.  bench/scale/calibrate.py holds these times against the model's.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/scale/throttle.h"
#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/comm/threads.h"
#include "tessera/device/host_platform.h"
#include "tessera/store/file_store.h"

namespace tessera::bench {
namespace {

// The words after the verb.
class Arguments {
 public:
  static absl::StatusOr<Arguments> Parse(std::span<const std::string> words) {
    Arguments result;
    for (const std::string& word : words) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) {
        return InvalidArgument("found ", word, ", expected name=value");
      }
      result.values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return result;
  }

  std::string Take(const std::string& name, const std::string& otherwise) {
    const auto found = values_.extract(name);
    return found.empty() ? otherwise : found.mapped();
  }
  double Number(const std::string& name, double otherwise) {
    const auto found = values_.extract(name);
    if (found.empty()) return otherwise;
    char* end = nullptr;
    const double number = std::strtod(found.mapped().c_str(), &end);
    if (*end != '\0' || found.mapped().empty() || number < 0) wrong_ = name;
    return number;
  }
  // Call it when everything was taken.
  absl::Status Check() const {
    if (!wrong_.empty()) return InvalidArgument(wrong_, ": expected a number of 0 or more");
    if (values_.empty()) return absl::OkStatus();
    return InvalidArgument(values_.begin()->first, ": there is no such argument");
  }

 private:
  std::map<std::string, std::string> values_;
  std::string wrong_;
};

constexpr int64_t kColumns = 1024;

// 25 of 32 bits are random, which zstd makes 0.88 of.
absl::StatusOr<array::HostArray> RandomArray(int64_t rows, uint64_t seed) {
  auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(rows * kColumns));
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (float& value : *values) {
    const uint32_t bits = 0x3C000000u | (random() & 0x01FFFFFFu);
    std::memcpy(&value, &bits, sizeof(value));
  }
  const auto* data = reinterpret_cast<const std::byte*>(values->data());
  return array::HostArray::Borrow(RowMajorView(data, Dims{rows, kColumns}, 4), DType::kFloat32,
                                  values);
}

absl::Status Make(Arguments& arguments) {
  const std::string dir = arguments.Take("dir", "");
  const auto mib = static_cast<int64_t>(arguments.Number("mib", 256));
  const auto chunk_kib = static_cast<int64_t>(arguments.Number("chunk_kib", 2048));
  const auto arrays = static_cast<int64_t>(arguments.Number("arrays", 8));
  const std::string codec = arguments.Take("codec", "none");
  TESSERA_RETURN_IF_ERROR(arguments.Check());
  if (dir.empty() || mib < 1 || chunk_kib < 4 || arrays < 1) {
    return InvalidArgument("make wants dir, and mib, chunk_kib and arrays that are not too small");
  }
  const int64_t rows = (mib << 20) / arrays / (kColumns * 4);
  std::vector<std::pair<tree::DictKey, array::ValueTree>> items;
  for (int64_t i = 0; i < arrays; ++i) {
    TESSERA_ASSIGN_OR_RETURN(auto array, RandomArray(rows, static_cast<uint64_t>(i)));
    items.emplace_back(fmt::format("layer{:03}", i), array::Value(std::move(array)));
  }
  std::filesystem::remove_all(dir);
  TESSERA_ASSIGN_OR_RETURN(
      const auto report,
      checkpoint::Save(array::ValueTree::MakeDict(std::move(items)))
          .To(dir)
          .ChunkBytes(chunk_kib << 10)
          .Codec(codec == "zstd" ? checkpoint::JaxCodec() : checkpoint::CodecList{})
          .Run());
  fmt::print("{{\"bytes\": {}, \"stored_bytes\": {}}}\n", report.nbytes, report.stored_bytes);
  return absl::OkStatus();
}

struct LoadSettings {
  std::string dir;
  StoreSpeed store;
  double total = 0;
  double host = 0;
  int in_flight = 0;
  int ranks = 0;
  std::string place;
  bool share = false;
  NetSpeed net;
  int64_t budget = 0;
};

absl::StatusOr<LoadSettings> ParseLoad(Arguments& arguments) {
  LoadSettings s;
  s.dir = arguments.Take("dir", "");
  s.store = {arguments.Number("latency_ms", 0) / 1e3, arguments.Number("jitter", 0)};
  s.total = arguments.Number("total_mb_s", 0) * 1e6;
  s.host = arguments.Number("host_mb_s", 0) * 1e6;
  s.in_flight = static_cast<int>(arguments.Number("in_flight", 16));
  s.ranks = static_cast<int>(arguments.Number("ranks", 1));
  s.place = arguments.Take("place", "whole");
  s.share = arguments.Number("share", 0) != 0;
  s.net = {arguments.Number("net_mb_s", 0) * 1e6, arguments.Number("net_us", 0) / 1e6};
  s.budget = static_cast<int64_t>(arguments.Number("budget_mib", 1024)) << 20;
  TESSERA_RETURN_IF_ERROR(arguments.Check());
  if (s.dir.empty() || s.ranks < 1 || s.in_flight < 1 || s.store.jitter > 1) {
    return InvalidArgument("load wants dir, ranks and in_flight of 1 or more, jitter of at most 1");
  }
  return s;
}

// What is counted over all ranks.
struct Totals {
  Mutex mutex;
  double open_seconds ABSL_GUARDED_BY(mutex) = 0;
  double seconds ABSL_GUARDED_BY(mutex) = 0;
  int64_t bytes ABSL_GUARDED_BY(mutex) = 0;
  int64_t read_bytes ABSL_GUARDED_BY(mutex) = 0;
  int64_t received_bytes ABSL_GUARDED_BY(mutex) = 0;
  int64_t requests ABSL_GUARDED_BY(mutex) = 0;
};

absl::StatusOr<checkpoint::LoadRequest> RequestFor(const LoadSettings& s) {
  std::vector<mesh::Device> devices;
  for (int rank = 0; rank < s.ranks; ++rank) devices.push_back({rank, rank});
  mesh::PartitionSpec spec;
  if (s.place == "rows") spec = {"x"};
  if (s.place == "columns") spec = {nullptr, "x"};
  if (s.place != "whole" && spec == mesh::PartitionSpec{}) {
    return InvalidArgument("found place=", s.place, ", expected whole, rows or columns");
  }
  checkpoint::LoadRequest request;
  TESSERA_ASSIGN_OR_RETURN(request.mesh, mesh::Mesh::Make({{"x", s.ranks}}, devices));
  request.rules = {{{".*", spec}}};
  return request;
}

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status LoadOnRank(const LoadSettings& s, store::KvStore& files, Link& total, comm::Comm& near,
                        Totals& totals) {
  comm::Comm comm(std::make_unique<ThrottledEngine>(near, s.net));
  Link link(s.host);
  ThrottledStore store(files, s.store, link, total);
  IoContext io({.in_flight = s.in_flight, .budget_bytes = s.budget});
  TESSERA_ASSIGN_OR_RETURN(const auto platform, device::MakeHostPlatform({.process = near.rank(),
                                                                          .ids = {near.rank()}}));
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::LoadRequest request, RequestFor(s));
  TESSERA_RETURN_IF_ERROR(comm.Barrier());
  const auto begin = Clock::now();
  TESSERA_ASSIGN_OR_RETURN(const auto opened, checkpoint::Checkpoint::Open(store, io));
  TESSERA_RETURN_IF_ERROR(comm.Barrier());
  const double open_seconds = Since(begin);
  const int64_t before = store.requests();
  const auto start = Clock::now();
  TESSERA_ASSIGN_OR_RETURN(const auto loaded,
                           checkpoint::LoadCheckpoint(opened, request, {io, *platform, &comm},
                                                      {.share_reads = s.share}));
  const double seconds = Since(start);
  MutexLock lock(totals.mutex);
  totals.open_seconds = std::max(totals.open_seconds, open_seconds);
  totals.seconds = std::max(totals.seconds, seconds);
  totals.bytes += loaded.report.result_bytes;
  totals.read_bytes += loaded.report.counts.bytes_read;
  totals.received_bytes += loaded.report.received_bytes;
  totals.requests += store.requests() - before;
  return absl::OkStatus();
}

absl::Status Load(Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const LoadSettings settings, ParseLoad(arguments));
  TESSERA_ASSIGN_OR_RETURN(const auto files,
                           store::OpenFileStore(settings.dir, {.create_root = false}));
  Link total(settings.total);
  Totals totals;
  TESSERA_RETURN_IF_ERROR(comm::RunRanks(settings.ranks, [&](comm::Comm& near) {
    return LoadOnRank(settings, *files, total, near, totals);
  }));
  MutexLock lock(totals.mutex);
  fmt::print(
      "{{\"seconds\": {:.4f}, \"open_s\": {:.4f}, \"bytes\": {}, \"read_bytes\": {}, "
      "\"received_bytes\": {}, \"requests\": {}}}\n",
      totals.seconds, totals.open_seconds, totals.bytes, totals.read_bytes, totals.received_bytes,
      totals.requests);
  return absl::OkStatus();
}

int Main(const std::vector<std::string>& words) {
  const std::string verb = words.empty() ? "" : words[0];
  if (verb != "make" && verb != "load") {
    fmt::print(stderr, "usage: bench_throttled_load make|load name=value ...\n");
    return 3;
  }
  auto arguments = Arguments::Parse(std::span(words).subspan(1));
  absl::Status status = arguments.status();
  if (status.ok()) status = verb == "make" ? Make(*arguments) : Load(*arguments);
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_throttled_load: {}\n", status.ToString());
  return 1;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::Main(std::vector<std::string>(argv + 1, argv + argc));
}
