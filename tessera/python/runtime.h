// Runtime: what a Python process lends to its saves and loads: threads, memory and devices.
#ifndef TESSERA_PYTHON_RUNTIME_H_
#define TESSERA_PYTHON_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/io_context.h"
#include "tessera/device/device.h"

namespace tessera::python {

// False in a process that was forked since: threads do not follow there, so that what waits for
// them is left alone.
class OfThisProcess {
 public:
  OfThisProcess();
  explicit operator bool() const;

 private:
  int process_id_;
};

// Shared by all that was made with it.
class Runtime {
 public:
  // `devices` are the ids of this process's devices, as meshes call them; their memory is the
  // host's.  0 threads, 0 bytes: as TESSERA_THREADS and TESSERA_MEMORY say, or as many as there are
  // cores and 1 GiB.  InvalidArgument for a variable with other text.
  static absl::StatusOr<std::shared_ptr<Runtime>> Make(int process, std::vector<int64_t> devices,
                                                       int threads, int64_t budget_bytes);

  IoContext& io() { return *io_; }
  device::Platform& platform() { return *platform_; }

 private:
  Runtime(std::unique_ptr<IoContext> io, std::unique_ptr<device::Platform> platform)
      : io_(std::move(io)), platform_(std::move(platform)) {}

  std::unique_ptr<IoContext> io_;
  std::unique_ptr<device::Platform> platform_;
};

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_RUNTIME_H_
