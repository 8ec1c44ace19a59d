// What the kernel tells of a mounted file system.
#ifndef TESSERA_PROBE_MOUNTS_H_
#define TESSERA_PROBE_MOUNTS_H_

#include <optional>
#include <string>
#include <string_view>

namespace tessera::probe {

struct Mount {
  std::string folder;
  std::string type;
  std::string source;
  std::string options;  // of the mount, then those of the file system that it does not name
  friend bool operator==(const Mount&, const Mount&) = default;
};

// Of the file system that `path` lies in, an absolute path without links, from the text of
// /proc/self/mountinfo (proc(5)).  Lines that cannot be read are passed over.
std::optional<Mount> FindMount(std::string_view mountinfo, std::string_view path);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_MOUNTS_H_
