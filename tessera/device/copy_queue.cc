#include "tessera/device/copy_queue.h"

namespace tessera::device {

absl::Status WaitForAll(std::span<const Event> events) {
  absl::Status first;
  // Past an error, too: the memory of every copy must be free when this returns.
  for (const Event& event : events) first.Update(event.Wait());
  return first;
}

}  // namespace tessera::device
