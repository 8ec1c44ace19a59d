#include "tessera/safetensors/file_set.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "tessera/core/bytes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/store/concurrent.h"
#include "tessera/store/key.h"

namespace tessera::safetensors {
namespace {

using store::ByteRange;
using store::KvStore;
using store::ReadResult;

// Holds most headers whole, so that they cost one request; a file of weights is longer.
constexpr uint64_t kFrontBytes = uint64_t{64} << 10;

absl::Status Replaced(KvStore& store, std::string_view key) {
  return Aborted(store.Describe(key), ": was replaced while it was read");
}

// The first bytes of a value, or all of a short one.
absl::StatusOr<ReadResult> ReadFront(KvStore& store, std::string_view key,
                                     const std::stop_token& stop) {
  auto front = store.Read(key, {0, kFrontBytes}, stop);
  if (!absl::IsOutOfRange(front.status())) return front;
  front = store.Read(key, ByteRange::AtMost(kFrontBytes), stop);
  return absl::IsOutOfRange(front.status()) ? Replaced(store, key) : front;
}

// All of what `front` begins.
absl::StatusOr<std::string> ReadRest(KvStore& store, std::string_view key, const ReadResult& front,
                                     uint64_t end, const std::stop_token& stop) {
  std::string text(front.value->text().substr(0, end));
  if (text.size() == end) return text;
  const ByteRange range{text.size(), end - text.size()};
  TESSERA_ASSIGN_OR_RETURN(const ReadResult rest, store.Read(key, range, stop));
  if (rest.generation != front.generation) return Replaced(store, key);
  text.append(rest.value->text());
  return text;
}

absl::StatusOr<SetFile> DecodeFile(KvStore& store, const std::string& key, const ReadResult& front,
                                   const std::stop_token& stop) {
  const auto length = DecodeHeaderLength(front.value->span(), front.size);
  if (!length.ok()) {
    return Prefixed(length.status(), Concat(store.Describe(key), ": no safetensors file"));
  }
  SetFile file{.name = key,
               .size = front.size,
               .data_begin = kLengthBytes + *length,
               .generation = front.generation,
               .header = nullptr};
  TESSERA_ASSIGN_OR_RETURN(const std::string text,
                           ReadRest(store, key, front, file.data_begin, stop));
  auto header =
      DecodeHeader(std::string_view(text).substr(kLengthBytes), file.size - file.data_begin);
  if (!header.ok()) return Prefixed(header.status(), store.Describe(key));
  file.header = std::make_shared<const Header>(*std::move(header));
  return file;
}

// The file of a key; nullopt when there is none.
absl::StatusOr<std::optional<SetFile>> ReadFile(KvStore& store, const std::string& key,
                                                const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const ReadResult front, ReadFront(store, key, stop));
  if (!front.value.has_value()) return std::nullopt;
  TESSERA_ASSIGN_OR_RETURN(SetFile file, DecodeFile(store, key, front, stop));
  return file;
}

absl::StatusOr<std::vector<std::optional<SetFile>>> ReadFiles(KvStore& store,
                                                              std::span<const std::string> keys,
                                                              IoContext& io, std::stop_token stop) {
  std::vector<std::optional<SetFile>> files(keys.size());
  if (keys.empty()) return files;
  TESSERA_RETURN_IF_ERROR(store::ForEachIndex(
      io.pool(), io.pool().size(), keys.size(), "reading headers", std::move(stop),
      [&](size_t i, const std::stop_token& token) -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(files[i], ReadFile(store, keys[i], token));
        return absl::OkStatus();
      }));
  return files;
}

// A length that fits a header has zeros among its eight bytes, and text has none.
bool IsText(const ReadResult& front) {
  const std::string_view text = front.value->text();
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.substr(0, kLengthBytes).find('\0') == std::string_view::npos;
}

absl::StatusOr<IndexFile> ReadIndex(KvStore& store, std::string_view key, const ReadResult& front,
                                    const std::stop_token& stop) {
  if (front.size > kMaxIndexBytes) {
    return InvalidArgument(store.Describe(key), ": an index of ", front.size, " bytes, at most ",
                           kMaxIndexBytes, " are read");
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string text, ReadRest(store, key, front, front.size, stop));
  auto index = DecodeIndexFile(text);
  if (!index.ok()) return Prefixed(index.status(), store.Describe(key));
  return index;
}

std::unordered_map<std::string_view, size_t> TensorNumbers(const Header& header) {
  std::unordered_map<std::string_view, size_t> numbers;
  numbers.reserve(header.tensors.size());
  for (size_t i = 0; i < header.tensors.size(); ++i) numbers.emplace(header.tensors[i].name, i);
  return numbers;
}

// The files that an index names, each once.
struct NamedFiles {
  std::vector<std::string> names;
  std::vector<size_t> places;  // of each entry of the weight map
};

NamedFiles FilesOf(const IndexFile& index) {
  NamedFiles files;
  std::unordered_map<std::string_view, size_t> numbers;
  for (const auto& [tensor, file] : index.weight_map) {
    const auto [found, added] = numbers.emplace(file, files.names.size());
    if (added) files.names.push_back(file);
    files.places.push_back(found->second);
  }
  return files;
}

}  // namespace

absl::StatusOr<FileSet> FileSet::Open(KvStore& store, std::string_view name, IoContext& io,
                                      std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const ReadResult front, ReadFront(store, name, stop));
  if (!front.value.has_value()) return NotFound(store.Describe(name), ": no such file");
  if (IsText(front)) {
    TESSERA_ASSIGN_OR_RETURN(IndexFile index, ReadIndex(store, name, front, stop));
    return OpenIndex(store, name, std::move(index), io, std::move(stop));
  }
  FileSet set;
  set.name_ = name;
  TESSERA_ASSIGN_OR_RETURN(SetFile file, DecodeFile(store, set.name_, front, stop));
  for (size_t i = 0; i < file.header->tensors.size(); ++i) set.tensors_.push_back({0, i});
  set.files_.push_back(std::move(file));
  return set;
}

absl::StatusOr<FileSet> FileSet::OpenIndex(KvStore& store, std::string_view name, IndexFile index,
                                           IoContext& io, std::stop_token stop) {
  const auto fails = [&](const auto& entry, std::string_view why) {
    return FailedPrecondition(store.Describe(name), ": tensor ", Quoted(entry.first),
                              " should be in ", Quoted(entry.second), ", which ", why);
  };
  const NamedFiles named = FilesOf(index);
  std::vector<std::string> keys;
  const std::string_view folder = store::SplitKey(name).first;
  for (const std::string& file : named.names) {
    keys.push_back(folder.empty() ? file : Concat(folder, "/", file));
  }
  TESSERA_ASSIGN_OR_RETURN(auto files, ReadFiles(store, keys, io, std::move(stop)));
  FileSet set;
  set.name_ = name;
  std::vector<std::unordered_map<std::string_view, size_t>> numbers(files.size());
  for (size_t i = 0; i < named.places.size(); ++i) {
    const auto& entry = index.weight_map[i];
    const size_t place = named.places[i];
    if (!files[place].has_value()) return fails(entry, "is missing");
    if (numbers[place].empty()) numbers[place] = TensorNumbers(*files[place]->header);
    const auto found = numbers[place].find(entry.first);
    if (found == numbers[place].end()) return fails(entry, "does not hold it");
    set.tensors_.push_back({place, found->second});
  }
  for (auto& file : files) set.files_.push_back(*std::move(file));
  set.index_ = std::move(index);
  return set;
}

absl::StatusOr<FileSet> FileSet::OpenFiles(KvStore& store, std::span<const std::string> names,
                                           IoContext& io, std::stop_token stop) {
  if (names.empty()) return InvalidArgument("a set of safetensors files needs a file");
  TESSERA_ASSIGN_OR_RETURN(auto files, ReadFiles(store, names, io, std::move(stop)));
  FileSet set;
  set.name_ = names.front();
  std::unordered_map<std::string_view, size_t> holders;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].has_value()) return NotFound(store.Describe(names[i]), ": no such file");
    set.files_.push_back(*std::move(files[i]));
    const Header& header = *set.files_.back().header;
    for (size_t tensor = 0; tensor < header.tensors.size(); ++tensor) {
      const auto [found, added] = holders.emplace(header.tensors[tensor].name, i);
      if (!added) {
        return InvalidArgument(store.Describe(names[i]), ": holds tensor ",
                               Quoted(header.tensors[tensor].name), ", and ",
                               store.Describe(names[found->second]), " does, too");
      }
      set.tensors_.push_back({i, tensor});
    }
  }
  return set;
}

}  // namespace tessera::safetensors
