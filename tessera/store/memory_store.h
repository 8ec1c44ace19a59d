// A store in this process's memory, for tests and small things.
#ifndef TESSERA_STORE_MEMORY_STORE_H_
#define TESSERA_STORE_MEMORY_STORE_H_

#include <memory>

#include "tessera/store/kv_store.h"

namespace tessera::store {

std::unique_ptr<KvStore> MakeMemoryStore();

}  // namespace tessera::store

#endif  // TESSERA_STORE_MEMORY_STORE_H_
