// Metadata documents of the arrays of one plan.
#ifndef TESSERA_CHECKPOINT_SAVE_DOCUMENTS_H_
#define TESSERA_CHECKPOINT_SAVE_DOCUMENTS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/core/shape.h"
#include "tessera/zarr/metadata.h"

namespace tessera::checkpoint {

// Makes each text once: arrays of one shape repeat in a model, and in one plan the codecs follow
// from the dtype.
class SaveDocuments {
 public:
  // Lives as long as this does.
  const std::string& Of(const zarr::Metadata& metadata) {
    auto& text = texts_[{metadata.shape, {metadata.chunk_shape, metadata.dtype}}];
    if (text == nullptr) text = std::make_unique<std::string>(zarr::MetadataText(metadata));
    return *text;
  }

 private:
  using Key = std::pair<Dims, std::pair<Dims, DType>>;
  absl::flat_hash_map<Key, std::unique_ptr<const std::string>> texts_;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_DOCUMENTS_H_
