// Converts a zarr checkpoint to safetensors under a budget, and measures what it costs.
//
//   bench_conversion FOLDER [--bytes N] [--budget N] [--codec none|zstd] [--chunk N] [--to FORMAT]
//
// Makes the checkpoint in FOLDER, then runs each step in a process of its own: reading alone,
// writing alone, the conversion without and with its verification.  Prints one JSON line each, with
// the seconds and the most memory that the process had.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "tessera/convert/convert.h"
#include "tessera/convert/plan.h"
#include "tessera/convert/source.h"
#include "tessera/convert/target_writer.h"
#include "tessera/convert/unit_loop.h"
#include "tessera/convert/unit_work.h"
#include "tessera/core/environment.h"
#include "tessera/core/status.h"
#include "tessera/store/file_store.h"
#include "tessera/zarr/array.h"

namespace tessera::convert {
namespace {

struct Settings {
  std::string folder;
  int64_t bytes = int64_t{4} << 30;
  int64_t budget = int64_t{256} << 20;
  int64_t chunk = int64_t{64} << 20;
  std::string codec = "none";
  TargetFormat to = TargetFormat::kSafetensors;

  std::string source() const { return folder + "/source"; }
  std::string made() const { return folder + "/made"; }
};

// The most memory that this process had, in MiB.
double PeakMib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "VmHWM:") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  return 0;
}

void Print(const Settings& settings, std::string_view name, double seconds) {
  std::printf(
      "{\"case\": \"%s\", \"bytes\": %lld, \"budget\": %lld, \"codec\": \"%s\", \"seconds\": %.3f, "
      "\"GB_per_s\": %.3f, \"peak_rss_MiB\": %.0f}\n",
      std::string(name).c_str(), static_cast<long long>(settings.bytes),
      static_cast<long long>(settings.budget), settings.codec.c_str(), seconds,
      static_cast<double>(settings.bytes) / seconds / 1e9, PeakMib());
  std::fflush(stdout);
}

double Timed(const std::function<absl::Status()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = work();
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    std::exit(2);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Weights as they are: bfloat16 numbers around zero.
absl::Status MakeSource(const Settings& settings) {
  TESSERA_ASSIGN_OR_RETURN(
      const auto store,
      store::OpenFileStore(settings.source(), {.durability = store::Durability::kKernel}));
  IoContext io;
  constexpr int64_t kColumns = 8192, kArrayBytes = int64_t{256} << 20;
  const int64_t array_bytes = std::min(kArrayBytes, settings.bytes);
  const int64_t rows = array_bytes / kColumns / 2;
  std::vector<uint16_t> elements(static_cast<size_t>(rows * kColumns));
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.02F);
  for (size_t i = 0; i < elements.size(); ++i) {
    const float value = i < 4'000'000 ? normal(random) : 0;
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    elements[i] = i < 4'000'000 ? static_cast<uint16_t>(bits >> 16) : elements[i - 3'999'999];
  }
  const ShapeDtype about{{rows, kColumns}, DType::kBfloat16};
  const int64_t chunk_rows = std::min(rows, std::max<int64_t>(1, settings.chunk / kColumns / 2));
  zarr::Metadata metadata = zarr::JaxMetadata(about, Dims{chunk_rows, kColumns});
  if (settings.codec == "none") metadata.codecs.compression.clear();
  for (int64_t i = 0; i < settings.bytes / array_bytes; ++i) {
    TESSERA_ASSIGN_OR_RETURN(const zarr::Array array,
                             zarr::Array::Create(*store, Concat("layer", i, "/kernel"), metadata));
    TESSERA_RETURN_IF_ERROR(array.Write(
        Box::Whole(about.shape),
        RowMajorView(reinterpret_cast<const std::byte*>(elements.data()), about.shape, 2), io));
  }
  return store->Flush();
}

ConvertRequest RequestOf(const Settings& settings, bool verify) {
  ConvertRequest request{.target = {.format = settings.to}};
  if (settings.codec == "none") request.target.codec = {};
  request.verify = verify;
  return request;
}

struct Prepared {
  ConvertSource source;
  ConvertPlan plan;
  std::vector<SourceArray> arrays;
  std::vector<Unit> units;
};

absl::StatusOr<Prepared> Prepare(const Settings& settings, IoContext& io) {
  Prepared prepared;
  TESSERA_ASSIGN_OR_RETURN(prepared.source, OpenSource(settings.source(), std::nullopt, io));
  TESSERA_ASSIGN_OR_RETURN(
      prepared.plan, PlanConvert(prepared.source, RequestOf(settings, false),
                                 {.budget_bytes = settings.budget, .workers = io.pool().size()}));
  prepared.arrays = prepared.source.Arrays();
  prepared.units = UnitsOf(prepared.plan, 0, {});
  return prepared;
}

absl::Status ReadAlone(const Settings& settings) {
  IoContext io({.budget_bytes = settings.budget});
  TESSERA_ASSIGN_OR_RETURN(const Prepared prepared, Prepare(settings, io));
  UnitReaders readers(prepared.arrays, prepared.units);
  return ForEachUnit(
      prepared.plan, prepared.units, io, {},
      [&](const Unit& unit, UnitWorker& worker, const std::stop_token& stop) -> absl::Status {
        const ConvertArray& array = prepared.plan.arrays[unit.array];
        TESSERA_ASSIGN_OR_RETURN(const auto reader, readers.Get(unit.array));
        return ReadUnit(array, *reader, array.UnitBox(unit.number), worker, io, stop).status();
      });
}

absl::Status WriteAlone(const Settings& settings) {
  IoContext io({.budget_bytes = settings.budget});
  TESSERA_ASSIGN_OR_RETURN(const Prepared prepared, Prepare(settings, io));
  TESSERA_ASSIGN_OR_RETURN(
      const auto store,
      store::OpenFileStore(settings.made(), {.durability = store::Durability::kKernel}));
  const auto writer = prepared.plan.set.has_value() ? MakeSafetensorsWriter(prepared.plan, *store)
                                                    : MakeZarrWriter(prepared.plan, *store);
  TESSERA_RETURN_IF_ERROR(writer->Prepare(io, {}));
  TESSERA_RETURN_IF_ERROR(ForEachUnit(
      prepared.plan, prepared.units, io, {},
      [&](const Unit& unit, UnitWorker& worker, const std::stop_token& stop) -> absl::Status {
        const ConvertArray& array = prepared.plan.arrays[unit.array];
        const Box box = array.UnitBox(unit.number);
        const auto bytes = static_cast<size_t>(*NumBytes(array.target.dtype, box.shape()));
        const bool fresh = worker.source.size() < bytes;
        const auto memory = worker.source.Resize(bytes);
        if (fresh) std::memset(memory.data(), 1, bytes);
        return writer
            ->Write(unit.array, box,
                    RowMajorView<const std::byte>(memory.data(), box.shape(),
                                                  DTypeBytes(array.target.dtype)),
                    worker.room, io, stop)
            .status();
      }));
  return store->Flush();
}

absl::Status ConvertAll(const Settings& settings, bool verify) {
  IoContext io({.budget_bytes = settings.budget});
  return Convert(settings.source(), settings.made(), RequestOf(settings, verify), {.io = io})
      .status();
}

// In a child, so that its memory is its own.
void RunApart(const Settings& settings, std::string_view name,
              const std::function<absl::Status(const Settings&)>& work) {
  std::filesystem::remove_all(settings.made());
  sync();
  const pid_t child = fork();
  if (child == 0) {
    const double seconds = Timed([&] { return work(settings); });
    if (name != "make") Print(settings, name, seconds);
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(2);
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: bench_conversion FOLDER [--bytes N] [--budget N] [--codec none|zstd] "
                 "[--chunk N] [--to FORMAT]\n";
    return 2;
  }
  Settings settings{.folder = std::string(argv[1]) + "/bench_conversion"};
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--bytes") settings.bytes = ParseInteger(value).value();
    if (name == "--budget") settings.budget = ParseInteger(value).value();
    if (name == "--chunk") settings.chunk = ParseInteger(value).value();
    if (name == "--codec") settings.codec = value;
    if (name == "--to") settings.to = ParseTargetFormat(value).value();
  }
  std::filesystem::remove_all(settings.folder);
  RunApart(settings, "make", MakeSource);
  RunApart(settings, "read alone", ReadAlone);
  RunApart(settings, "write alone", WriteAlone);
  RunApart(settings, "convert", [](const Settings& s) { return ConvertAll(s, false); });
  RunApart(settings, "convert and verify", [](const Settings& s) { return ConvertAll(s, true); });
  std::filesystem::remove_all(settings.folder);
  return 0;
}

}  // namespace
}  // namespace tessera::convert

int main(int argc, char** argv) { return tessera::convert::Main(argc, argv); }
