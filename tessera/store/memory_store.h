// A store in this process's memory, for tests and small things.
#ifndef TESSERA_STORE_MEMORY_STORE_H_
#define TESSERA_STORE_MEMORY_STORE_H_

#include <memory>

#include "tessera/store/kv_store.h"

namespace tessera::store {

struct MemoryStoreOptions {
  // As on a file system; else values are copied, as most object stores must.
  bool moves = false;
};

std::unique_ptr<KvStore> MakeMemoryStore(const MemoryStoreOptions& options = {});

}  // namespace tessera::store

#endif  // TESSERA_STORE_MEMORY_STORE_H_
