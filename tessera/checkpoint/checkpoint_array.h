// CheckpointArray: one array of a checkpoint, whatever format it is stored in.
#ifndef TESSERA_CHECKPOINT_CHECKPOINT_ARRAY_H_
#define TESSERA_CHECKPOINT_CHECKPOINT_ARRAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/core/shape.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/manifest.h"
#include "tessera/safetensors/file_set.h"
#include "tessera/zarr/metadata.h"

namespace tessera::checkpoint {

// An array in a folder of its own.
using ZarrSource = std::shared_ptr<const zarr::Metadata>;

// A tensor in a file with others.
struct TensorSource {
  std::shared_ptr<const safetensors::FileSet> set;
  safetensors::TensorPlace place;
  Dims block_shape = {};  // what is read as one

  const safetensors::SetFile& file() const { return set->FileOf(place); }
  const safetensors::Tensor& tensor() const { return set->TensorOf(place); }
};

struct CheckpointArray {
  std::vector<std::string> key;  // components, without the prefix
  std::string name;              // the key with dots, as messages, callbacks and shardings call it
  // Below which its values lie: in the store, where "" is the root; those of a tensor in the
  // unfolded one.
  std::string path;
  std::variant<ZarrSource, TensorSource> source;
  // What every stored value must be; nullptr: nobody wrote it down.
  std::shared_ptr<const ledger::ArrayManifest> manifest = nullptr;

  // nullptr: it is stored in the other way.
  const zarr::Metadata* zarr() const;
  const TensorSource* tensor() const { return std::get_if<TensorSource>(&source); }

  const Dims& shape() const;
  DType dtype() const;
  ShapeDtype shape_dtype() const { return {shape(), dtype()}; }
  // Of what is stored and read as one: chunks, or the blocks of a tensor.
  const Dims& chunk_shape() const;

  // The key with slashes, as partition rules see it.
  std::string RuleName() const;
  // What chunks are encoded with, as "zstd"; "none" when their bytes are the elements.
  std::string CodecText() const;
  // Of all its chunks; nullopt: nobody wrote their sizes down.
  std::optional<int64_t> stored_bytes() const;
  // As the index would list it.
  ledger::ArrayRecord Record() const;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_CHECKPOINT_ARRAY_H_
