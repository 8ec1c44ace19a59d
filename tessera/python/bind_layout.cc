// How checkpoints are laid out: names of files, which keys share one, sizes, and the index.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/array/row_chunks.h"
#include "tessera/core/dtype.h"
#include "tessera/core/status.h"
#include "tessera/device/available_memory.h"
#include "tessera/ledger/index_file.h"
#include "tessera/python/bind.h"
#include "tessera/python/errors.h"
#include "tessera/python/py_mesh.h"
#include "tessera/safetensors/shard_layout.h"
#include "tessera/safetensors/shard_names.h"
#include "tessera/store/gcs_path.h"
#include "tessera/tree/flat_map.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

using SizedKeys = std::vector<std::pair<std::string, int64_t>>;

std::vector<safetensors::SizedKey> SizedKeysOf(const SizedKeys& sizes) {
  std::vector<safetensors::SizedKey> keys;
  for (const auto& [key, bytes] : sizes) keys.push_back({key, bytes});
  return keys;
}

safetensors::ParentOrder ParentOrderOf(const std::string& name) {
  if (name == "natural") return safetensors::ParentOrder::kNatural;
  if (name == "codepoint") return safetensors::ParentOrder::kCodePoint;
  Raise(InvalidArgument("order '", name, "'; expected 'natural' or 'codepoint'"));
}

array::ElementStorage StorageOf(const std::string& name) {
  if (name == "packed") return array::ElementStorage::kPacked;
  if (name == "padded") return array::ElementStorage::kPadded;
  Raise(InvalidArgument("storage '", name, "'; expected 'packed' or 'padded'"));
}

ShapeDtype ShapeDtypeOf(nb::handle shape, const std::string& dtype) {
  return {DimsOf(shape), Unwrap(ParseDType(dtype))};
}

// Rows of each chunk as (begin, rows, over the limit?).
nb::list RowChunks(nb::handle shape, const std::string& dtype, int64_t max_bytes) {
  nb::list chunks;
  for (const array::RowChunk& chunk :
       Unwrap(array::ChunkTensorByMemory(ShapeDtypeOf(shape, dtype), max_bytes))) {
    chunks.append(nb::make_tuple(chunk.begin, chunk.rows, chunk.over_limit));
  }
  return chunks;
}

nb::dict RecordOf(const ledger::ArrayRecord& record) {
  nb::dict result;
  nb::list shape;
  for (const int64_t size : record.shape) shape.append(size);
  result["path"] = record.path;
  result["shape"] = shape;
  result["dtype"] = record.dtype;
  return result;
}

// The arrays that an index lists for a prefix: [(components of the key, record), ...]; a later
// record of one key replaces the earlier.  ValueError when one key lies inside another.
nb::list IndexRecords(const std::string& text, const std::string& prefix) {
  const ledger::TensorstoreIndex index = Unwrap(ledger::DecodeIndexFile(text));
  const ledger::SelectedArrays selected = Unwrap(ledger::SelectArrays(index, prefix));
  std::vector<tree::ComponentLeaf<const ledger::ArrayRecord*>> leaves;
  std::map<std::vector<std::string>, size_t> position;
  for (const ledger::ArrayRecord& record : selected.arrays) {
    std::vector<std::string> key = ledger::KeyWithoutPrefix(record, selected.prefix);
    const auto [known, is_new] = position.try_emplace(key, leaves.size());
    if (is_new) {
      leaves.push_back({std::move(key), &record});
    } else {
      leaves[known->second].value = &record;
    }
  }
  nb::list records;
  for (const auto& leaf : leaves) {
    records.append(nb::make_tuple(leaf.components, RecordOf(*leaf.value)));
  }
  Check(tree::UnflattenComponents(std::move(leaves)).status());
  return records;
}

void BindNames(nb::module_& module) {
  module.def("derive_base_prefix_from_path", &safetensors::DeriveBasePrefixFromPath,
             nb::arg("path"));
  module.def(
      "shard_filename",
      [](const std::string& base_prefix, int64_t index, int64_t total) {
        return Unwrap(safetensors::ShardFilename(base_prefix, index, total));
      },
      nb::arg("base_prefix"), nb::arg("index"), nb::arg("total"));
  module.def("index_filename", &safetensors::IndexFilename, nb::arg("base_prefix"));
  module.def("is_gcs_path", &store::IsGcsPath, nb::arg("path"));
  module.def(
      "parse_gcs_path",
      [](const std::string& path) {
        store::GcsPath parsed = Unwrap(store::ParseGcsPath(path));
        return std::pair(std::move(parsed.bucket), std::move(parsed.object));
      },
      nb::arg("path"));
}

void BindSizes(nb::module_& module) {
  module.def(
      "group_keys_by_shard_size",
      [](const SizedKeys& sizes, int64_t max_bytes) {
        return Unwrap(safetensors::GroupKeysByShardSize(SizedKeysOf(sizes), max_bytes)).shards;
      },
      nb::arg("sizes"), nb::arg("max_bytes"));
  module.def(
      "optimize_shard_layout",
      [](const SizedKeys& sizes, int64_t max_bytes, const std::string& order) {
        return Unwrap(safetensors::OptimizeShardLayout(SizedKeysOf(sizes), max_bytes,
                                                       ParentOrderOf(order)))
            .shards;
      },
      nb::arg("sizes"), nb::arg("max_bytes"), nb::arg("order") = "natural");
  module.def(
      "estimate_nbytes",
      [](nb::handle shape, const std::string& dtype, const std::string& storage) {
        return Unwrap(array::EstimateArrayNbytes(ShapeDtypeOf(shape, dtype), StorageOf(storage)));
      },
      nb::arg("shape"), nb::arg("dtype"), nb::arg("storage") = "packed");
  module.def("row_chunks", &RowChunks, nb::arg("shape"), nb::arg("dtype"), nb::arg("max_bytes"));
  module.def(
      "available_host_memory",
      [] { return Unwrap(device::AvailableHostMemory(), NotFoundIs::kFile); },
      "Bytes that this process may still take.");
}

}  // namespace

void BindLayout(nb::module_& module) {
  BindNames(module);
  BindSizes(module);
  module.def(
      "dtype_of_alias",
      [](const std::string& name) {
        const std::string_view full = DTypeName(Unwrap(ParseDTypeAlias(name)));
        return std::string(full);
      },
      nb::arg("name"), "The full name of a dtype that may be given by a short one.");
  module.def("index_records", &IndexRecords, nb::arg("text"), nb::arg("prefix") = "");
}

}  // namespace tessera::python
