// Memory of the host for whole arrays: aligned, and in huge pages where that pays.
#ifndef TESSERA_CORE_HOST_MEMORY_H_
#define TESSERA_CORE_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera {

inline constexpr int64_t kHostAlignment = 64;
// From this size on memory starts at a huge page and asks for such pages, which fault in 512 times
// less often than small ones.
inline constexpr int64_t kHugePageBytes = int64_t{2} << 20;

// What was there means nothing.  nullptr when the system has no such memory and when `bytes` is 0.
std::shared_ptr<std::byte> AllocateHostMemory(int64_t bytes);

}  // namespace tessera

#endif  // TESSERA_CORE_HOST_MEMORY_H_
