// Saves and loads one checkpoint with as many ranks as mpirun gives.
//
//   checkpoint_ranks save FOLDER GENERATION [LOST]  rank LOST kills itself while it writes
//   checkpoint_ranks load FOLDER                    rank 0 prints dtype, shape and hash of each
//   array
//
// Every rank prints "rank R: STATUS" at the end.
#include <csignal>
#include <cstdio>
#include <string>

#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/comm/mpi.h"
#include "tessera/core/environment.h"
#include "tessera/core/status.h"
#include "tests/mpi/checkpoint_tree.h"

namespace tessera::mpi {
namespace {

// A square where there is one, else a row.
mesh::Mesh MeshFor(int ranks) { return ranks == 4 ? MeshOver(2, 2) : MeshOver(ranks, 1); }

void Print(const Hashes& hashes) {
  for (const auto& [name, text] : hashes) std::printf("%s %s\n", name.c_str(), text.c_str());
}

absl::Status SaveOne(comm::Comm& comm, const std::string& folder, int generation, int lost) {
  const auto platform = PlatformOf(comm.rank());
  TESSERA_ASSIGN_OR_RETURN(const auto tree, TreeOn(MeshFor(comm.size()), *platform, generation));
  TESSERA_ASSIGN_OR_RETURN(const Hashes hashes, HashesOf(tree, *platform, comm));
  if (comm.rank() == 0) Print(hashes);
  checkpoint::Save save(tree);
  save.To(folder).Prefix("model").ChunkBytes(256).Timeout(std::chrono::seconds(3));
  if (comm.rank() == lost) {
    save.OnProgress([](const checkpoint::SaveProgress& progress) {
      if (progress.chunks_done > progress.chunks_total / 2) std::raise(SIGKILL);
    });
  }
  return save.Run({.platform = platform.get(), .comm = &comm}).status();
}

absl::Status LoadOne(comm::Comm& comm, const std::string& folder) {
  IoContext io;
  const auto platform = PlatformOf(comm.rank());
  TESSERA_ASSIGN_OR_RETURN(const auto opened,
                           checkpoint::Checkpoint::OpenAt(folder, io, {.prefix = "model"}));
  const checkpoint::LoadRequest request{
      .mesh = MeshFor(comm.size()), .rules = {{{".*", {"x"}}}}, .auto_correct = true};
  TESSERA_ASSIGN_OR_RETURN(const auto loaded,
                           checkpoint::LoadCheckpoint(opened, request, {io, *platform, &comm},
                                                      {.share_reads = comm.size() > 1}));
  TESSERA_ASSIGN_OR_RETURN(const Hashes hashes, HashesOf(loaded.tree, *platform, comm));
  if (comm.rank() == 0) Print(hashes);
  return absl::OkStatus();
}

absl::Status Run(comm::Comm& comm, int argc, char** argv) {
  if (argc < 3) return InvalidArgument("usage: ", argv[0], " save|load FOLDER ...");
  if (std::string(argv[1]) == "load") return LoadOne(comm, argv[2]);
  if (argc < 4) return InvalidArgument("usage: ", argv[0], " save FOLDER GENERATION [LOST]");
  TESSERA_ASSIGN_OR_RETURN(const int64_t generation, ParseInteger(argv[3]));
  TESSERA_ASSIGN_OR_RETURN(const int64_t lost, ParseInteger(argc > 4 ? argv[4] : "-1"));
  return SaveOne(comm, argv[2], static_cast<int>(generation), static_cast<int>(lost));
}

}  // namespace
}  // namespace tessera::mpi

int main(int argc, char** argv) {
  const auto session = tessera::comm::MpiSession::Open().value();
  const auto comm = tessera::comm::OpenMpi(*session).value();
  const absl::Status status = tessera::mpi::Run(*comm, argc, argv);
  std::printf("rank %d: %s\n", comm->rank(), status.ToString().c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}
