// Safetensors files made of a few tensors, and places for what is read from them.
#ifndef TESSERA_SAFETENSORS_TESTING_SMALL_FILES_H_
#define TESSERA_SAFETENSORS_TESTING_SMALL_FILES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/destination.h"
#include "tessera/core/status.h"
#include "tessera/core/strided.h"
#include "tessera/safetensors/header.h"

namespace tessera::safetensors::testing {

struct SmallTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  Dims shape = {};
  std::string data = {};  // as it is stored
};

// The text of a file with these tensors, which lie as they are given.
inline std::string FileOf(const std::vector<SmallTensor>& tensors,
                          const std::vector<std::pair<std::string, std::string>>& metadata = {}) {
  Header header{.tensors = {}, .metadata = metadata};
  std::string data;
  for (const SmallTensor& tensor : tensors) {
    header.tensors.push_back(
        {tensor.name, tensor.dtype, tensor.shape, data.size(), data.size() + tensor.data.size()});
    data += tensor.data;
  }
  const auto text = EncodeHeader(header);
  TESSERA_CHECK(text.ok());
  return *text + data;
}

// Where the elements of a whole tensor go: into memory when `direct`, else through Put.
class WholeDestination final : public Destination {
 public:
  WholeDestination(StridedView memory, bool direct) : memory_(std::move(memory)), direct_(direct) {}

  std::optional<StridedView> MemoryFor(const Box& box) override {
    if (!direct_) return std::nullopt;
    return SubView(memory_, box);
  }
  absl::Status Put(const Box& box, const ConstStridedView& elements) override {
    return CopyStrided(elements, SubView(memory_, box));
  }

 private:
  const StridedView memory_;
  const bool direct_;
};

}  // namespace tessera::safetensors::testing

#endif  // TESSERA_SAFETENSORS_TESTING_SMALL_FILES_H_
