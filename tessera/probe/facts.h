// What a file system can do, found by trying it out in a scratch folder.
#ifndef TESSERA_PROBE_FACTS_H_
#define TESSERA_PROBE_FACTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "tessera/probe/report.h"
#include "tessera/probe/scratch.h"

namespace tessera::probe {

// Of the storage that `path`, a folder, lies in: what can be asked.
absl::StatusOr<FileSystem> AskFileSystem(const std::string& path);

// The rest of it.
absl::Status TryFileSystem(const Scratch& scratch, FileSystem& system);

absl::StatusOr<DirectIo> TryDirectIo(const Scratch& scratch);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_FACTS_H_
