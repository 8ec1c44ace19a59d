// Room for vectors that may become very large.
#ifndef TESSERA_CORE_RESERVE_LARGE_H_
#define TESSERA_CORE_RESERVE_LARGE_H_

#include <cstddef>
#include <vector>

namespace tessera {

// Asks for huge pages where some fit into these bytes.  Advice only: what is there stays, and where
// the system has none to give small ones serve.
void AdviseHugePages(void* data, size_t bytes);

// As values.reserve(count), and new room that is large lies in huge pages: a page of 4 KiB costs
// its first writer more time than what is written to it.
template <typename T>
void ReserveLarge(std::vector<T>& values, size_t count) {
  if (count <= values.capacity()) return;
  values.reserve(count);
  AdviseHugePages(values.data(), values.capacity() * sizeof(T));
}

}  // namespace tessera

#endif  // TESSERA_CORE_RESERVE_LARGE_H_
