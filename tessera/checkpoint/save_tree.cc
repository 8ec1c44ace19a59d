#include "tessera/checkpoint/save_tree.h"

#include <utility>

#include "tessera/checkpoint/open_location.h"
#include "tessera/core/status.h"
#include "tessera/store/file_store.h"

namespace tessera::checkpoint {
absl::StatusOr<std::shared_ptr<store::KvStore>> OpenForSave(std::string_view directory) {
  TESSERA_ASSIGN_OR_RETURN(const std::string path, FolderOf(directory));
  TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<store::KvStore> store,
                           store::OpenFileStore(path, {.durability = store::Durability::kKernel}));
  return std::shared_ptr<store::KvStore>(std::move(store));
}

absl::StatusOr<Future<SaveReport>> TreeSerializeLeaves(std::string_view directory,
                                                       const array::ValueTree& tree, Saver* saver,
                                                       const SaveOptions& options,
                                                       const SaverResources& resources) {
  absl::StatusOr<std::shared_ptr<store::KvStore>> store = OpenForSave(directory);
  if (saver != nullptr) return saver->Start(std::move(store), tree, options);
  Saver own(resources);
  TESSERA_ASSIGN_OR_RETURN(Future<SaveReport> future, own.Start(std::move(store), tree, options));
  TESSERA_RETURN_IF_ERROR(own.WaitUntilFinished());
  return future;
}

absl::StatusOr<std::shared_ptr<store::KvStore>> Save::Target() const {
  if (const auto* store = std::get_if<std::shared_ptr<store::KvStore>>(&target_)) return *store;
  if (const auto* directory = std::get_if<std::string>(&target_)) return OpenForSave(*directory);
  return InvalidArgument("a save needs To(), a directory or a store");
}

absl::StatusOr<Future<SaveReport>> Save::Start(Saver& saver) const {
  absl::StatusOr<std::shared_ptr<store::KvStore>> store = Target();
  if (!gathering_.has_value()) return saver.Start(std::move(store), tree_, options_);
  const auto& [functions, mover, options] = *gathering_;
  const auto gathered = array::GatherTree(tree_, functions, mover, options);
  // The saver tells the other ranks of what failed here.
  if (!gathered.ok()) return saver.Start(gathered.status(), tree_, options_);
  return saver.Start(std::move(store), gathered->tree, options_);
}

absl::StatusOr<SaveReport> Save::Run(const SaverResources& resources) const {
  Saver saver(resources);
  TESSERA_ASSIGN_OR_RETURN(const Future<SaveReport> future, Start(saver));
  TESSERA_RETURN_IF_ERROR(saver.WaitUntilFinished());
  return future.Wait();
}

}  // namespace tessera::checkpoint
