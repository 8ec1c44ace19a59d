// Takes weights through the formats: a state saved as safetensors shards, as people publish them,
// becomes a checkpoint that eformer and JAX load, with its kernels transposed and renamed.
//
//   weights [FOLDER]
//
// Without a folder everything goes to a temporary one and is deleted in the end.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/convert/convert.h"
#include "tessera/safetensors/tensors.h"

namespace {

using tessera::DType;
using tessera::array::HostArray;
using tessera::array::ValueTree;
namespace checkpoint = tessera::checkpoint;
namespace convert = tessera::convert;

// Two layers as PyTorch has them: a weight has a row for each output.
absl::StatusOr<ValueTree> MakeWeights() {
  std::vector<ValueTree> layers;
  for (int i = 0; i < 2; ++i) {
    const std::vector<float> numbers(512 * 128, 0.5F);
    TESSERA_ASSIGN_OR_RETURN(
        HostArray weight,
        HostArray::CopyOf({{512, 128}, DType::kFloat32}, std::as_bytes(std::span(numbers))));
    layers.push_back(ValueTree::MakeDict({{"weight", std::move(weight)}}));
  }
  return ValueTree::MakeDict(
      {{"model", ValueTree::MakeDict({{"layers", ValueTree::List(layers)}})}});
}

absl::Status Run(const std::string& folder) {
  const std::string published = folder + "/published";
  TESSERA_ASSIGN_OR_RETURN(const ValueTree weights, MakeWeights());
  // Files of at most 256 KiB of tensors, so that there are two, and the index that names them.
  TESSERA_RETURN_IF_ERROR(
      checkpoint::Save(weights)
          .To(published)
          .AsSafetensors({.shard_bytes = 256 << 10, .metadata = {{"format", "pt"}}})
          .Run());

  tessera::IoContext io({.budget_bytes = 64 << 20});
  TESSERA_ASSIGN_OR_RETURN(
      const auto first,
      tessera::safetensors::LoadFile(published + "/model-00001-of-00002.safetensors", io));
  std::printf("the first file holds %s\n", first.tensors.front().name.c_str());

  convert::ConvertRequest request;
  request.target.format = convert::TargetFormat::kTensorstore;
  request.target.prefix = "params";
  request.float_dtype = DType::kBfloat16;
  request.renames = {{R"(\.weight$)", ".kernel"}};
  request.transposes = {{.pattern = R"(layers\.\d+\.weight$)"}};
  TESSERA_ASSIGN_OR_RETURN(const auto report,
                           convert::Convert(published, folder + "/for-jax", request, {.io = io}));
  std::printf("converted %d arrays, %d bytes, at most %d in memory\n", int(report.arrays),
              int(report.nbytes), int(report.peak_bytes));

  TESSERA_ASSIGN_OR_RETURN(const auto opened, checkpoint::Checkpoint::OpenAt(
                                                  folder + "/for-jax", io, {.prefix = "params"}));
  for (const checkpoint::CheckpointArray& array : opened.arrays()) {
    std::printf("%s %s\n", array.name.c_str(), tessera::ShapeText(array.shape()).c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path own =
      std::filesystem::temp_directory_path() / ("tessera-weights-" + std::to_string(getpid()));
  const std::filesystem::path folder = argc > 1 ? argv[1] : own;
  std::filesystem::create_directories(folder);
  const absl::Status status = Run(folder.string());
  if (argc == 1) std::filesystem::remove_all(own);
  if (status.ok()) return 0;
  std::fprintf(stderr, "weights: %s\n", std::string(status.message()).c_str());
  return 1;
}
