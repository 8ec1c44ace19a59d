// FileSet: the tensors of one safetensors file, or of many files and their index.
#ifndef TESSERA_SAFETENSORS_FILE_SET_H_
#define TESSERA_SAFETENSORS_FILE_SET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/io_context.h"
#include "tessera/safetensors/header.h"
#include "tessera/safetensors/index_file.h"
#include "tessera/store/kv_store.h"

namespace tessera::safetensors {

struct SetFile {
  std::string name;  // its key in the store
  uint64_t size = 0;
  uint64_t data_begin = 0;
  store::Generation generation = {};  // when the header was read
  std::shared_ptr<const Header> header;
};

// A tensor and where it is.
struct TensorPlace {
  size_t file = 0;    // among files()
  size_t tensor = 0;  // in its header
  friend bool operator==(const TensorPlace&, const TensorPlace&) = default;
};

// A value; copies share the headers.
class FileSet {
 public:
  // Reads the header, or the index and the headers of all its files on the pool of `io`.  `name` is
  // the key of a safetensors file or of an index: its content tells which.  The errors of
  // DecodeHeader and DecodeIndexFile behind the file's place; NotFound when there is no such value;
  // Aborted when a file is replaced meanwhile;
  // FailedPrecondition, naming tensor and file, when a file of the index is missing or does not
  // hold a tensor that the index says is there.  Tensors that the index does not mention are left
  // out.
  static absl::StatusOr<FileSet> Open(store::KvStore& store, std::string_view name, IoContext& io,
                                      std::stop_token stop = {});

  // Several files without an index as one set, whose name is that of the first.  NotFound when one
  // is missing; InvalidArgument, naming tensor and files, when two of them hold a tensor of one
  // name, and without any file.
  static absl::StatusOr<FileSet> OpenFiles(store::KvStore& store,
                                           std::span<const std::string> names, IoContext& io,
                                           std::stop_token stop = {});

  const std::string& name() const { return name_; }
  const std::vector<SetFile>& files() const { return files_; }
  // In the order of the index, or of the files.
  const std::vector<TensorPlace>& tensors() const { return tensors_; }
  const std::optional<IndexFile>& index() const { return index_; }

  const SetFile& FileOf(const TensorPlace& place) const { return files_[place.file]; }
  const Tensor& TensorOf(const TensorPlace& place) const {
    return files_[place.file].header->tensors[place.tensor];
  }

 private:
  static absl::StatusOr<FileSet> OpenIndex(store::KvStore& store, std::string_view name,
                                           IndexFile index, IoContext& io, std::stop_token stop);

  std::string name_;
  std::vector<SetFile> files_;
  std::vector<TensorPlace> tensors_;
  std::optional<IndexFile> index_;
};

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_FILE_SET_H_
