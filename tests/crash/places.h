// Stores of several forms, empty at first, for tests that stop what writes to them.
#ifndef TESSERA_TESTS_CRASH_PLACES_H_
#define TESSERA_TESTS_CRASH_PLACES_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/store/file_store.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tests/crash/states.h"

namespace tessera::crash {

struct Place {
  std::unique_ptr<store::testing::TemporaryFolder> folder;
  std::unique_ptr<store::KvStore> store;
};

struct Form {
  std::string name;
  std::function<Place()> make;
};

// A process that dies takes nothing with it that the kernel has, so nothing is synced here.
class UnsyncedStore final : public store::ForwardingStore {
 public:
  explicit UnsyncedStore(std::unique_ptr<store::KvStore> store)
      : ForwardingStore(*store), store_(std::move(store)) {}
  absl::Status Flush(std::stop_token) override { return absl::OkStatus(); }

 private:
  std::unique_ptr<store::KvStore> store_;
};

inline Place FilePlace() {
  Place place;
  place.folder = std::make_unique<store::testing::TemporaryFolder>();
  auto store = store::OpenFileStore(place.folder->path().string(),
                                    {.durability = store::Durability::kKernel});
  TESSERA_CHECK(store.ok());
  place.store = std::make_unique<UnsyncedStore>(*std::move(store));
  return place;
}

inline Place MemoryPlace(const store::MemoryStoreOptions& options) {
  return {nullptr, store::MakeMemoryStore(options)};
}

inline std::vector<Form> Forms() {
  return {{"File", FilePlace},
          {"Objects", [] { return MemoryPlace({.moves = false, .writes_parts = false}); }},
          {"Moving", [] { return MemoryPlace({.moves = true}); }}};
}

// Every folder on disk, with "ID" for the ids of saves.
inline std::multiset<std::string> FoldersOf(const Place& place) {
  std::multiset<std::string> folders;
  if (place.folder == nullptr) return folders;
  const std::filesystem::path& root = place.folder->path();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_directory()) {
      folders.insert(WithoutIds(entry.path().lexically_relative(root).string()));
    }
  }
  return folders;
}

}  // namespace tessera::crash

#endif  // TESSERA_TESTS_CRASH_PLACES_H_
