#include "tessera/commit/testing/scenario.h"

#include <set>
#include <span>
#include <utility>

#include "tessera/commit/owner.h"
#include "tessera/commit/paths.h"
#include "tessera/commit/save_record.h"
#include "tessera/commit/view.h"
#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"

namespace tessera::commit::testing {
namespace {

using store::KvStore;

constexpr std::string_view kForeignIndex = R"({
  "format": "tensorstore",
  "version": "1.1",
  "prefixes": {
    "model": [
      {
        "path": "model/a",
        "shape": [2],
        "dtype": "float32"
      },
      {
        "path": "model/gone",
        "shape": [2],
        "dtype": "float32"
      }
    ],
    "other": [
      {
        "path": "other/x",
        "shape": [2],
        "dtype": "float32"
      }
    ]
  },
  "of another program": {"kept": true}
})";

// Files of others, which nothing may touch.
const std::map<std::string, std::string>& Foreign() {
  static const auto& values = *new std::map<std::string, std::string>{
      {"notes.txt", "mine"},
      {"run/log.txt", "log"},
      {"model/README", "beside the arrays"},
      {".tessera/seal.json", "a seal"},
      {".tessera/manifests/by_hand.json", "no id"},
  };
  return values;
}

std::string WithoutIds(std::string text) {
  constexpr size_t kIdLength = 32;
  for (size_t i = 0; i + kIdLength <= text.size(); ++i) {
    if (IsId(std::string_view(text).substr(i, kIdLength))) text.replace(i, kIdLength, "ID");
  }
  return text;
}

absl::Status Put(KvStore& store, const std::string& key, const std::string& value) {
  return store.Write(key, std::as_bytes(std::span(value))).status();
}

SmallSave Model(int version) {
  const std::string v = std::to_string(version);
  return {.prefix = "model",
          .paths = {"model/a", "model/b"},
          .data = {{"model/a/.zarray", "a meta " + v},
                   {"model/a/0", "a0 " + v},
                   {"model/a/1", "a1 " + v},
                   {"model/b/.zarray", "b meta " + v},
                   {"model/b/0/0", "b00 " + v}},
          .nbytes = version};
}

// Other keys below the same paths, an array less and another more; a file where a folder was.
SmallSave OtherGrid(int version) {
  const std::string v = std::to_string(version);
  return {.prefix = "model",
          .paths = {"model/b", "model/c", "model/a/inner"},
          .data = {{"model/b/.zarray", "b meta " + v},
                   {"model/b/0", "b0 " + v},
                   {"model/c/.zarray", "c meta " + v},
                   {"model/c/0.0", "c00 " + v},
                   {"model/a/inner/0", "inner " + v}},
          .nbytes = version};
}

SmallSave Optimizer(int version) {
  const std::string v = std::to_string(version);
  return {.prefix = "optimizer",
          .paths = {"optimizer/m"},
          .data = {{"optimizer/m/.zarray", "m meta " + v}, {"optimizer/m/0", "m0 " + v}},
          .nbytes = version};
}

SmallSave WithSideFiles(SmallSave save) {
  const std::string v = std::to_string(save.nbytes);
  save.side_files = {{"checkpoint_metadata.json", "metadata " + v},
                     {save.prefix + "_structure.json", "structure " + v}};
  return save;
}

SmallSave WithoutIndex(SmallSave save) {
  save.index = false;
  return save;
}

// As many files, and a last one that names them; or a single file.
SmallSave Files(int version, int count) {
  const std::string v = std::to_string(version);
  SmallSave save;
  save.prefix = "set.";
  save.nbytes = version;
  save.index = false;
  save.files = true;
  for (int i = 1; i <= count; ++i) {
    const std::string name = count == 1 ? "set.data" : Concat("set.", i, "-of-", count);
    save.paths.push_back(name);
    save.data[name] = Concat("file ", i, " of ", count, " version ", v);
    save.side_files[Concat(kSealsFolder, count == 1 ? "set.data" : "set.index", ".json")] = v;
  }
  if (count == 1) return save;
  save.paths.push_back("set.index");
  save.last_files["set.index"] = Concat(count, " files of version ", v);
  return save;
}

absl::StatusOr<std::vector<std::string>> FilesOf(const std::string& prefix, KvStore& store,
                                                 const std::stop_token& stop) {
  std::vector<std::string> keys;
  for (const std::string& start : {prefix, Concat(kSealsFolder, prefix)}) {
    TESSERA_ASSIGN_OR_RETURN(const auto entries, store.List(start, stop));
    for (const store::ListEntry& entry : entries) keys.push_back(entry.key);
  }
  return keys;
}

std::string TextAt(KvStore& store, const std::string& key) {
  const auto result = store.Read(key);
  if (!result.ok()) return result.status().ToString();
  return result->value.has_value() ? std::string(result->value->text()) : "<missing>";
}

// Which keys a reader takes for the checkpoint's.
bool Belongs(const std::string& key, const View& view, const PathSet& listed) {
  if (key.starts_with(kSealsFolder) || key.starts_with("set.")) return true;
  if (key == ledger::kIndexName || key.starts_with(kOwnFolder)) return false;
  if (Foreign().contains(key) || listed.Over(key).has_value()) return true;
  if (key.ends_with(".json")) return true;
  return !view.index_text.has_value() && !PathSet(view.unfinished_paths).Over(key).has_value();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transaction>> BeginSmall(KvStore& store, const SmallSave& save,
                                                        const BeginOptions& options) {
  BeginRequest request{save.prefix, save.paths};
  if (save.files) {
    request.replaced = [prefix = save.prefix](KvStore& view, const std::stop_token& stop) {
      return FilesOf(prefix, view, stop);
    };
  }
  TESSERA_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(store, request, options));
  for (const auto& [key, value] : save.data) {
    TESSERA_RETURN_IF_ERROR(Put(store, transaction->data_prefix() + key, value));
  }
  TESSERA_RETURN_IF_ERROR(store.Flush());
  return transaction;
}

CommitRequest RequestFor(const Transaction& transaction, const SmallSave& save) {
  CommitRequest request;
  for (const auto& [name, text] : save.side_files) {
    request.side_files.push_back({name, Bytes::CopyOf(text)});
  }
  for (const auto& [name, text] : save.last_files) {
    request.last_files.push_back({name, Bytes::CopyOf(text)});
  }
  for (const auto& [key, value] : save.data) request.data_keys.push_back(key);
  if (!save.index) return request;
  const std::string manifest = OwnFileStart(transaction.id()) + "json";
  request.own_files.push_back(
      {manifest, Bytes::CopyOf(Concat(save.prefix, " version ", save.nbytes))});
  request.index.emplace();
  request.index->prefix = save.prefix;
  for (const std::string& path : save.paths) {
    request.index->arrays.push_back({path, {2}, "float32"});
  }
  request.index->note.manifest = manifest;
  request.index->note.nbytes = save.nbytes;
  return request;
}

absl::Status RunSmall(KvStore& store, const SmallSave& save, const BeginOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const auto transaction, BeginSmall(store, save, options));
  return transaction->Commit(RequestFor(*transaction, save));
}

Checkpoint ReadCheckpoint(KvStore& store) {
  const auto view = OpenView(store);
  if (!view.ok()) return {{"error", view.status().ToString()}};
  Checkpoint checkpoint;
  PathSet listed;
  if (view->index_text.has_value()) {
    checkpoint["index"] = WithoutIds(std::string(view->index_text->text()));
    const auto index = ledger::DecodeIndexFile(view->index_text->text());
    if (!index.ok()) return {{"error", index.status().ToString()}};
    for (const auto& [prefix, list] : *index->prefixes) {
      for (const ledger::ArrayRecord& record : list) listed.Add(record.path);
    }
    for (const auto& [prefix, note] : index->notes) {
      checkpoint["manifest of " + prefix] = TextAt(*view->store, note.manifest);
    }
  }
  const auto keys = view->store->List("");
  if (!keys.ok()) return {{"error", keys.status().ToString()}};
  for (const store::ListEntry& entry : *keys) {
    if (Belongs(entry.key, *view, listed)) checkpoint[entry.key] = TextAt(*view->store, entry.key);
  }
  return checkpoint;
}

std::map<std::string, std::string> AllValues(KvStore& store) {
  const auto keys = store.List("");
  if (!keys.ok()) return {{"error", keys.status().ToString()}};
  std::map<std::string, std::string> values;
  for (const store::ListEntry& entry : *keys) values[entry.key] = TextAt(store, entry.key);
  return values;
}

std::vector<Scenario> Scenarios() {
  return {
      {"NewCheckpoint", {}, {}, Model(1)},
      {"FurtherPrefix", {Model(1)}, {}, Optimizer(2)},
      {"SameKeys", {Model(1), Optimizer(1)}, {}, Model(2)},
      {"OtherGrid", {Model(1), Optimizer(1)}, {}, OtherGrid(2)},
      {"Foreign",
       {},
       {{"tensorstore_index.json", std::string(kForeignIndex)},
        {"model/a/.zarray", "foreign meta"},
        {"model/a/0", "foreign 0"},
        {"model/a/7", "foreign 7"},
        {"model/gone/.zarray", "foreign gone"},
        {"other/x/.zarray", "foreign x"},
        {"other/x/0", "foreign x0"}},
       Model(2)},
      {"SideFiles", {WithSideFiles(Model(1))}, {}, WithSideFiles(Optimizer(2))},
      {"SideFilesOfTheSamePrefix", {WithSideFiles(Model(1))}, {}, WithSideFiles(OtherGrid(2))},
      {"WithoutIndex", {}, {}, WithSideFiles(WithoutIndex(Model(1)))},
      {"NewFiles", {}, {}, Files(1, 3)},
      {"SameFiles", {Files(1, 2)}, {}, Files(2, 2)},
      {"FewerFiles", {Files(1, 3)}, {}, Files(2, 2)},
      {"OneFileForMany", {Files(1, 3)}, {}, Files(2, 1)},
      {"ManyFilesForOne", {Model(1), Files(1, 1)}, {}, Files(2, 3)},
  };
}

absl::Status Prepare(KvStore& store, const Scenario& scenario) {
  for (const auto& [key, value] : Foreign()) TESSERA_RETURN_IF_ERROR(Put(store, key, value));
  for (const auto& [key, value] : scenario.values) {
    TESSERA_RETURN_IF_ERROR(Put(store, key, value));
  }
  for (const SmallSave& save : scenario.before) TESSERA_RETURN_IF_ERROR(RunSmall(store, save));
  return store.Flush();
}

std::string Leftovers(KvStore& store, const Scenario& scenario) {
  std::set<std::string> expected;
  for (const auto& [key, value] : Foreign()) {
    expected.insert(key);
    if (TextAt(store, key) != value) return key + " was touched";
  }
  const auto view = OpenView(store);
  if (!view.ok()) return view.status().ToString();
  for (const auto& [key, value] : ReadCheckpoint(store)) {
    if (key.find(' ') == std::string::npos && key != "index") expected.insert(key);
  }
  if (view->index_text.has_value()) {
    expected.insert(std::string(ledger::kIndexName));
    const auto index = ledger::DecodeIndexFile(view->index_text->text());
    for (const auto& [prefix, note] : index->notes) {
      expected.insert(note.manifest);
    }
  }
  for (const auto& [key, value] : scenario.save.data) {
    if (TextAt(store, key) != value) return key + " is " + TextAt(store, key);
  }
  for (const auto& [key, value] : AllValues(store)) {
    if (!expected.erase(key)) return key + " is left over: " + value;
  }
  return expected.empty() ? "" : *expected.begin() + " is missing";
}

}  // namespace tessera::commit::testing
