#include "tessera/safetensors/unfolded_store.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/store/key.h"
#include "tessera/store/read_only_store.h"

namespace tessera::safetensors {
namespace {

using store::ByteRange;
using store::Generation;
using store::KvStore;
using store::ListEntry;
using store::ReadRequest;
using store::ReadResult;
using store::ResolvedRange;
using store::ValueInfo;

// Longer names end in their hash: a name of a key has at most 255 bytes.
constexpr size_t kLongestComponent = 200;

void AppendEscaped(char c, std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  text += '%';
  text += kDigits[byte >> 4];
  text += kDigits[byte & 15];
}

// A name as one component of a key, another one for every name.
std::string Component(std::string_view name) {
  if (name.empty()) return "%";
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    const bool special = c == '/' || c == '%' || name.substr(i).starts_with(store::kTemporaryMark);
    const bool whole = i == 0 && (name == kHeaderName || name == "." || name == "..");
    if (control || special || whole) {
      AppendEscaped(c, text);
    } else {
      text += c;
    }
  }
  if (text.size() <= kLongestComponent) return text;
  return Concat(text.substr(0, kLongestComponent / 2), "%%", HashOf(name).Hex());
}

// The value of a key: bytes of a file, or a text about them.
struct Value {
  const SetFile* file;
  ByteSpan bytes = {};
  std::optional<std::string> text = {};

  uint64_t size() const { return text.has_value() ? text->size() : bytes.size(); }
};

// The blocks of a tensor by their numbers.
class Blocks {
 public:
  explicit Blocks(const Tensor& tensor)
      : tensor_(tensor), block_shape_(BlockShape(tensor.shape, tensor.dtype)) {
    auto cells = CellRange::Of(Box::Whole(tensor.shape), block_shape_);
    // A header that was validated has no tensor of more elements than can be counted.
    TESSERA_CHECK(cells.ok());
    cells_ = *std::move(cells);
  }

  int64_t count() const { return cells_.size(); }
  ByteSpan SpanAt(int64_t number) const {
    return SpanOf(CellBox(cells_.at(number), block_shape_, tensor_.shape), tensor_.shape,
                  tensor_.dtype);
  }

 private:
  const Tensor& tensor_;
  const Dims block_shape_;
  CellRange cells_;
};

class UnfoldedStore final : public store::ReadOnlyStore {
 public:
  UnfoldedStore(KvStore& base, const FileSet& set)
      : ReadOnlyStore(base, "files that are seen as folders are not written to"), set_(set) {
    for (const SetFile& file : set_.files()) {
      files_.emplace(file.name, &file);
      for (const Tensor& tensor : file.header->tensors) {
        tensors_.emplace(UnfoldedPath(file.name, tensor.name), Place{&file, &tensor});
      }
    }
  }

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token stop) override {
    const auto value = Find(key);
    if (!value.has_value()) return base().Read(key, range, std::move(stop));
    TESSERA_ASSIGN_OR_RETURN(const ResolvedRange part, ResolveIn(key, *value, range));
    if (value->text.has_value()) return TextResult(*value, part);
    TESSERA_ASSIGN_OR_RETURN(
        ReadResult result,
        base().Read(value->file->name, {value->bytes.begin + part.offset, part.length},
                    std::move(stop)));
    TESSERA_RETURN_IF_ERROR(CheckSame(*value, result.generation));
    if (result.value.has_value()) result.size = value->size();
    return result;
  }

  absl::StatusOr<ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                     std::span<std::byte> target, std::stop_token stop) override {
    const auto value = Find(key);
    if (!value.has_value()) return base().ReadInto(key, offset, target, std::move(stop));
    if (value->text.has_value()) return KvStore::ReadInto(key, offset, target, std::move(stop));
    TESSERA_RETURN_IF_ERROR(ResolveIn(key, *value, {offset, target.size()}));
    return Info(*value, base().ReadInto(value->file->name, value->bytes.begin + offset, target,
                                        std::move(stop)));
  }

  absl::StatusOr<ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                    std::stop_token stop) override {
    const auto value = Find(key);
    if (!value.has_value()) return base().ReadAll(key, target, std::move(stop));
    if (value->text.has_value()) return KvStore::ReadAll(key, target, std::move(stop));
    TESSERA_RETURN_IF_ERROR(ResolveIn(key, *value, ByteRange::AtMost(target.size())));
    return ReadInto(key, 0, target.first(value->size()), std::move(stop));
  }

  absl::StatusOr<ValueInfo> ReadPieces(std::string_view key, const ByteRange& range,
                                       std::span<std::byte> room, Sink sink,
                                       std::stop_token stop) override {
    const auto value = Find(key);
    if (!value.has_value()) return base().ReadPieces(key, range, room, sink, std::move(stop));
    if (value->text.has_value()) {
      return KvStore::ReadPieces(key, range, room, sink, std::move(stop));
    }
    TESSERA_ASSIGN_OR_RETURN(const ResolvedRange part, ResolveIn(key, *value, range));
    return Info(*value, base().ReadPieces(value->file->name,
                                          {value->bytes.begin + part.offset, part.length}, room,
                                          sink, std::move(stop)));
  }

  // One call for all that is in files, so that the store can have them under way at once.
  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    std::vector<ReadResult> results(requests.size());
    std::vector<ReadRequest> below;
    std::vector<std::pair<size_t, std::optional<Value>>> places;
    for (size_t i = 0; i < requests.size(); ++i) {
      auto value = Find(requests[i].key);
      ReadRequest request = requests[i];
      if (value.has_value()) {
        TESSERA_ASSIGN_OR_RETURN(const ResolvedRange part,
                                 ResolveIn(request.key, *value, request.range));
        if (value->text.has_value()) {
          results[i] = TextResult(*value, part);
          continue;
        }
        request = {value->file->name, {value->bytes.begin + part.offset, part.length}};
      }
      below.push_back(std::move(request));
      places.emplace_back(i, std::move(value));
    }
    TESSERA_ASSIGN_OR_RETURN(auto found, base().ReadMany(below, std::move(stop)));
    for (size_t i = 0; i < found.size(); ++i) {
      const auto& [place, value] = places[i];
      if (value.has_value()) {
        TESSERA_RETURN_IF_ERROR(CheckSame(*value, found[i].generation));
        if (found[i].value.has_value()) found[i].size = value->size();
      }
      results[place] = std::move(found[i]);
    }
    return results;
  }

  absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix,
                                              std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(store::ValidatePrefix(prefix));
    // A prefix inside of a file begins none of the store's keys, but the file's may be gone.
    const auto file = FileOver(prefix);
    TESSERA_ASSIGN_OR_RETURN(
        std::vector<ListEntry> entries,
        base().List(file != nullptr ? file->name : std::string(prefix), std::move(stop)));
    std::vector<ListEntry> listed;
    for (ListEntry& entry : entries) {
      const auto found = files_.find(entry.key);
      if (found != files_.end()) {
        AddValues(*found->second, prefix, listed);
      } else if (entry.key.starts_with(prefix)) {
        listed.push_back(std::move(entry));
      }
    }
    std::sort(listed.begin(), listed.end(),
              [](const ListEntry& a, const ListEntry& b) { return a.key < b.key; });
    return listed;
  }

  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop) override {
    const auto value = Find(key);
    if (!value.has_value()) return base().Map(key, std::move(stop));
    if (value->text.has_value()) return Bytes::CopyOf(*value->text);
    TESSERA_ASSIGN_OR_RETURN(const Bytes file, base().Map(value->file->name, std::move(stop)));
    if (file.size() != value->file->size) return Replaced(*value->file);
    return file.Slice(value->bytes.begin, value->bytes.size());
  }

  std::string Describe(std::string_view key) const override {
    const auto value = Find(key);
    if (!value.has_value()) return base().Describe(key);
    const std::string file = base().Describe(value->file->name);
    if (value->text.has_value()) return Concat(file, ": ", Quoted(key));
    return Concat(file, ": bytes [", value->bytes.begin, ", ", value->bytes.end, ")");
  }

 private:
  struct Place {
    const SetFile* file;
    const Tensor* tensor;
  };
  using Tensors = std::unordered_map<std::string, Place>;

  absl::Status Replaced(const SetFile& file) const {
    return Aborted(base().Describe(file.name), ": was replaced since its header was read");
  }

  // A file that is gone has no values; one that is another has other ones.
  absl::Status CheckSame(const Value& value, const Generation& found) const {
    if (found.missing() || found == value.file->generation) return absl::OkStatus();
    return Replaced(*value.file);
  }

  absl::StatusOr<ValueInfo> Info(const Value& value, absl::StatusOr<ValueInfo> info) const {
    TESSERA_RETURN_IF_ERROR(info);
    TESSERA_RETURN_IF_ERROR(CheckSame(value, info->generation));
    if (!info->missing()) info->size = value.size();
    return info;
  }

  absl::StatusOr<ResolvedRange> ResolveIn(std::string_view key, const Value& value,
                                          const ByteRange& range) const {
    auto part = store::Resolve(range, value.size());
    if (!part.ok()) return Prefixed(part.status(), Describe(key));
    return part;
  }

  static ReadResult TextResult(const Value& value, const ResolvedRange& part) {
    const std::string_view text = *value.text;
    return {Bytes::CopyOf(text.substr(part.offset, part.length)), value.file->generation,
            text.size()};
  }

  // Only what is below a file is a value of it.
  std::optional<Value> Find(std::string_view key) const {
    const auto [folder, name] = store::SplitKey(key);
    if (name == kHeaderName) {
      const auto file = files_.find(std::string(folder));
      if (file != files_.end()) return Value{file->second, {0, file->second->data_begin}};
    }
    const auto tensor = tensors_.find(std::string(folder));
    if (tensor == tensors_.end()) return std::nullopt;
    if (name == kTensorName)
      return Value{tensor->second.file, {}, TensorText(*tensor->second.tensor)};
    return BlockOf(tensor->second, name);
  }

  std::optional<Value> BlockOf(const Place& place, std::string_view name) const {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    // One text for every number: no sign, and no zeros before it.
    if (error != std::errc() || std::to_string(number) != name || number < 0) return std::nullopt;
    const Blocks blocks(*place.tensor);
    if (number >= blocks.count()) return std::nullopt;
    const ByteSpan span = blocks.SpanAt(number);
    const uint64_t begin = place.file->data_begin + place.tensor->begin;
    return Value{place.file, {begin + span.begin, begin + span.end}};
  }

  // The file that a key with this prefix would lie in.
  const SetFile* FileOver(std::string_view prefix) const {
    for (const SetFile& file : set_.files()) {
      if (prefix.starts_with(file.name) && prefix.substr(file.name.size()).starts_with('/')) {
        return &file;
      }
    }
    return nullptr;
  }

  void AddValues(const SetFile& file, std::string_view prefix,
                 std::vector<ListEntry>& entries) const {
    const auto add = [&](std::string key, uint64_t size) {
      if (key.starts_with(prefix)) entries.push_back({std::move(key), size});
    };
    add(Concat(file.name, "/", kHeaderName), file.data_begin);
    for (const Tensor& tensor : file.header->tensors) {
      const std::string path = UnfoldedPath(file.name, tensor.name);
      add(Concat(path, "/", kTensorName), TensorText(tensor).size());
      const Blocks blocks(tensor);
      for (int64_t number = 0; number < blocks.count(); ++number) {
        add(Concat(path, "/", number), blocks.SpanAt(number).size());
      }
    }
  }

  const FileSet set_;  // the maps look into it
  std::unordered_map<std::string, const SetFile*> files_;
  Tensors tensors_;
};

}  // namespace

std::string UnfoldedPath(std::string_view file, std::string_view tensor) {
  return Concat(file, "/", Component(tensor));
}

std::unique_ptr<KvStore> MakeUnfoldedStore(KvStore& base, const FileSet& set) {
  return std::make_unique<UnfoldedStore>(base, set);
}

std::string FileOfKey(const FileSet& set, std::string_view key) {
  for (const SetFile& file : set.files()) {
    if (key.starts_with(file.name) && key.substr(file.name.size()).starts_with('/')) {
      return file.name;
    }
  }
  return std::string(key);
}

}  // namespace tessera::safetensors
