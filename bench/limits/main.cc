// bench_limits: what this machine takes for work that nobody can leave out, as one JSON line;
// bench/ours/program.h tells the form.
//
// All of it runs on all cores, the pieces handed out one by one as threads become free.
#include "bench/limits/verbs.h"
#include "bench/ours/program.h"

namespace tessera::bench {
namespace {

constexpr Verb kVerbs[] = {
    {"memcpy", "bytes [fresh]", LimitMemcpy},
    {"pread", "[dir] [file] [fresh]", LimitPread},
    {"pwrite", "bytes files to", LimitPwrite},
    {"readfiles", "dir", LimitReadFiles},
    {"unzstd", "dir [fresh] [read]", LimitUnzstd},
    {"zstd", "dir [level] [to]", LimitZstd},
    {"sha256", "bytes", LimitSha256},
};

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::RunProgram("bench_limits", tessera::bench::kVerbs, argc, argv);
}
