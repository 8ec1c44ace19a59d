// Small sets of safetensors files made by hand, for the tests of what reads them.
#ifndef TESSERA_CHECKPOINT_TESTING_STORED_SET_H_
#define TESSERA_CHECKPOINT_TESTING_STORED_SET_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/array/testing/arrays.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/safetensors/index_file.h"
#include "tessera/safetensors/testing/small_files.h"
#include "tessera/store/memory_store.h"

namespace tessera::checkpoint::testing {

inline constexpr std::string_view kSetIndex = "model.safetensors.index.json";

class StoredSet {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  store::KvStore& store() { return *store_; }

  // A tensor of int32 that counts from 0.
  StoredSet& Add(const std::string& file, const std::string& name, const Dims& shape) {
    const array::testing::Ints values = array::testing::Iota(*NumElements(shape));
    const std::string data(reinterpret_cast<const char*>(values.data()), values.size() * 4);
    return Add(file, {name, DType::kInt32, shape, data});
  }
  StoredSet& Add(const std::string& file, safetensors::testing::SmallTensor tensor) {
    index_.weight_map.emplace_back(tensor.name, file);
    files_[file].push_back(std::move(tensor));
    return *this;
  }

  std::string TextOf(const std::string& file, const Pairs& metadata = {}) const {
    return safetensors::testing::FileOf(files_.at(file), metadata);
  }
  std::string IndexText() const { return *safetensors::EncodeIndexFile(index_); }

  StoredSet& WriteFiles(const Pairs& metadata = {}) {
    for (const auto& [file, tensors] : files_) WriteText(*store_, file, TextOf(file, metadata));
    return *this;
  }
  StoredSet& WriteIndex(std::string metadata = "{}") {
    index_.metadata = std::move(metadata);
    WriteText(*store_, kSetIndex, IndexText());
    return *this;
  }

 private:
  std::unique_ptr<store::KvStore> store_ = store::MakeMemoryStore();
  std::map<std::string, std::vector<safetensors::testing::SmallTensor>> files_;
  safetensors::IndexFile index_;
};

// Two files and their index, with four tensors.
inline StoredSet TwoFiles() {
  StoredSet set;
  set.Add("model-00001-of-00002.safetensors", "layers.0.w", {4, 6})
      .Add("model-00001-of-00002.safetensors", {"flags", DType::kBool, {3}, {"\0\1\1", 3}})
      .Add("model-00002-of-00002.safetensors", "layers.1.w", {2, 6})
      .Add("model-00002-of-00002.safetensors", "none", {0, 3});
  return set;
}

}  // namespace tessera::checkpoint::testing

#endif  // TESSERA_CHECKPOINT_TESTING_STORED_SET_H_
