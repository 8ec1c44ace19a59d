#include "tessera/cli/mpi_ranks.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <optional>
#include <vector>

#include "tessera/core/environment.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// What launchers tell the processes that they start: Open MPI, MPICH and its relatives, MVAPICH.
struct Launcher {
  const char* size;
  const char* rank;
};
constexpr std::array<Launcher, 3> kLaunchers = {{{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                                 {"PMI_SIZE", "PMI_RANK"},
                                                 {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"}}};
// Of launchers that speak PMIx and tell no size.
constexpr const char* kPmixRank = "PMIX_RANK";

std::optional<int> NumberOf(const char* name) {
  const std::optional<std::string> text = GetEnvironment(name);
  if (!text.has_value()) return std::nullopt;
  const absl::StatusOr<int64_t> number = ParseInteger(*text);
  if (!number.ok() || *number < 0 || *number > 1 << 30) return std::nullopt;
  return static_cast<int>(*number);
}

// Beside the program, as a build has it; and where it is installed.
std::vector<std::string> PlacesOfModule() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path folder = program.parent_path();
  return {(folder / TESSERA_MPI_MODULE).string(),
          (folder / TESSERA_MODULE_FOLDER / TESSERA_MPI_MODULE).lexically_normal().string()};
}

absl::Status NoModule(const Launch& launch, std::string_view why) {
  return FailedPrecondition(
      "mpirun has started ", launch.size == 0 ? "this" : Concat(launch.size, " processes"),
      ", but what speaks MPI cannot be loaded (", why,
      "); build with -DTESSERA_WITH_MPI=ON, or run the command once, without mpirun");
}

absl::StatusOr<void*> LoadModule(const Launch& launch) {
  std::string tried;
  for (const std::string& place : PlacesOfModule()) {
    std::error_code error;
    if (!fs::exists(place, error)) {
      tried += Concat(tried.empty() ? "there is neither " : " nor ", place);
      continue;
    }
    // MPI looks up its own plugins among global symbols; ours stay hidden by how it is linked.
    void* const module = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (module == nullptr) return NoModule(launch, dlerror());
    return module;
  }
  return NoModule(launch, tried);
}

}  // namespace

Launch LaunchOfEnvironment() {
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<int> size = NumberOf(launcher.size);
    if (!size.has_value()) continue;
    return {.size = std::max(1, *size), .rank = NumberOf(launcher.rank).value_or(0)};
  }
  const std::optional<int> rank = NumberOf(kPmixRank);
  if (!rank.has_value()) return {};
  return {.size = 0, .rank = *rank};
}

absl::StatusOr<Ranks> OpenRanks(const Launch& launch) {
  if (launch.size == 1) return Ranks{};
  // Never closed: what MPI has registered with the process stays in use until its end.
  TESSERA_ASSIGN_OR_RETURN(void* const module, LoadModule(launch));
  const auto version = reinterpret_cast<MpiVersionFunction*>(dlsym(module, kMpiVersionSymbol));
  const auto open = reinterpret_cast<MpiOpenFunction*>(dlsym(module, kMpiOpenSymbol));
  if (version == nullptr || open == nullptr) {
    return NoModule(launch, Concat(TESSERA_MPI_MODULE, " is another library"));
  }
  if (std::string_view(version()) != TESSERA_VERSION) {
    return NoModule(launch, Concat(TESSERA_MPI_MODULE, " is of version ", version(), ", expected ",
                                   TESSERA_VERSION));
  }
  absl::StatusOr<Ranks> ranks = Internal("the module has not answered");
  open(&ranks);
  return ranks;
}

}  // namespace tessera::cli
