// bench_ours: what tessera takes for one piece of work, as one JSON line; program.h tells the form.
//
// The verbs are those of the peers in bench/peers, so that both sides of a comparison are started
// in the same way; seal and make_index make data for them.
#include "bench/ours/program.h"
#include "bench/ours/verbs.h"

namespace tessera::bench {
namespace {

constexpr Verb kVerbs[] = {
    {"zarr_read", "dir", ZarrRead},
    {"zarr_write", "from to [codec] [sync]", ZarrWrite},
    {"ckpt_load", "dir [mesh] [devices] [verify]", CheckpointLoad},
    {"ckpt_save", "from to [codec] [devices]", CheckpointSave},
    {"reshard", "bytes [dtype] [devices]", ReshardRowsToColumns},
    {"st_load", "file", SafetensorsLoad},
    {"st_open", "file", SafetensorsOpen},
    {"st_save", "from to [sync]", SafetensorsSave},
    {"convert", "from to", ConvertToSafetensors},
    {"index_open", "dir", IndexOpen},
    {"rules", "names rules", MatchRules},
    {"verify", "dir", Verify},
    {"hash", "dir", Hash},
    {"seal", "dir", Seal},
    {"make_index", "dir arrays", MakeIndex},
};

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::RunProgram("bench_ours", tessera::bench::kVerbs, argc, argv);
}
