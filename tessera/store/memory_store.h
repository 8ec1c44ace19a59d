// A store in this process's memory, for tests and small things.
#ifndef TESSERA_STORE_MEMORY_STORE_H_
#define TESSERA_STORE_MEMORY_STORE_H_

#include <memory>

#include "tessera/store/kv_store.h"

namespace tessera::store {

struct MemoryStoreOptions {
  // As on a file system; else values are copied, as most object stores must.
  bool moves = false;
  // As on a file system; else values are written only as a whole, as to most object stores.
  bool writes_parts = true;
};

// Reads share the memory of a value.  One that was reserved, or written into, is copied as it is
// read, so that what a reader holds never changes; Map gives it as it is at that moment.
std::unique_ptr<KvStore> MakeMemoryStore(const MemoryStoreOptions& options = {});

}  // namespace tessera::store

#endif  // TESSERA_STORE_MEMORY_STORE_H_
