// Small checkpoints made by hand, for the tests of what reads them.
#ifndef TESSERA_CHECKPOINT_TESTING_STORED_CHECKPOINT_H_
#define TESSERA_CHECKPOINT_TESTING_STORED_CHECKPOINT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/array/testing/arrays.h"
#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/manifest.h"
#include "tessera/store/memory_store.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint::testing {

inline void WriteText(store::KvStore& store, std::string_view key, std::string_view text) {
  TESSERA_CHECK(store.Write(key, std::as_bytes(std::span(text))).ok());
}

// Arrays of int32 that count from 0, and what is said about them.
class StoredCheckpoint {
 public:
  explicit StoredCheckpoint(std::string prefix = "") : prefix_(std::move(prefix)) {}

  store::KvStore& store() { return *store_; }
  const std::string& prefix() const { return prefix_; }

  // An array at `path`, below the prefix, and its record.
  StoredCheckpoint& Add(const std::string& path, const Dims& shape, const Dims& chunks) {
    const array::testing::Ints values = array::testing::Iota(*NumElements(shape));
    return AddBytes(path, {shape, DType::kInt32}, chunks, std::as_bytes(std::span(values)));
  }

  StoredCheckpoint& AddBytes(const std::string& path, const ShapeDtype& about, const Dims& chunks,
                             std::span<const std::byte> elements) {
    const std::string full = prefix_.empty() ? path : prefix_ + "/" + path;
    const zarr::Metadata metadata = zarr::JaxMetadata(about, chunks);
    const auto array = zarr::Array::Create(*store_, full, metadata);
    TESSERA_CHECK(array.ok());
    ledger::ArrayManifest manifest{full, ".zarray", zarr::MetadataText(metadata), {}};
    TESSERA_CHECK(array
                      ->Write(Box::Whole(about.shape),
                              RowMajorView(elements.data(), about.shape, DTypeBytes(about.dtype)),
                              io_)
                      .ok());
    const auto entries = store_->List(full + "/");
    for (const store::ListEntry& entry : *entries) {
      if (entry.key.ends_with(".zarray")) continue;
      const auto value = store_->Read(entry.key);
      manifest.chunks.push_back(
          {entry.key.substr(full.size() + 1), entry.size, HashOf(value->value->span())});
    }
    manifest_.arrays.push_back(std::move(manifest));
    change_.arrays.push_back({full, about.shape, std::string(DTypeName(about.dtype))});
    return *this;
  }

  StoredCheckpoint& Structure(ledger::SavedTree tree) {
    change_.note.structure = std::move(tree);
    return *this;
  }

  // The index as eformer writes it.
  StoredCheckpoint& Index() {
    change_.prefix = prefix_;
    const auto before = store_->Read(ledger::kIndexName);
    std::optional<std::string> old;
    if (before->value.has_value()) old = std::string(before->value->text());
    const auto text = ledger::ApplyIndexChange(old, change_);
    TESSERA_CHECK(text.ok());
    WriteText(*store_, ledger::kIndexName, *text);
    index_ = *text;
    return *this;
  }

  // And with a manifest.
  StoredCheckpoint& Sealed() {
    change_.note.manifest = ".tessera/manifests/1.json";
    Index();
    manifest_.id = "1";
    manifest_.prefix = prefix_;
    manifest_.index_digest = ledger::IndexDigest(*ledger::DecodeIndexFile(index_), prefix_);
    WriteText(*store_, change_.note.manifest, *ledger::EncodeManifest(manifest_));
    return *this;
  }

 private:
  std::string prefix_;
  std::unique_ptr<store::KvStore> store_ = store::MakeMemoryStore();
  IoContext io_{{.in_flight = 2}};
  ledger::IndexChange change_;
  ledger::Manifest manifest_;
  std::string index_;
};

}  // namespace tessera::checkpoint::testing

#endif  // TESSERA_CHECKPOINT_TESTING_STORED_CHECKPOINT_H_
