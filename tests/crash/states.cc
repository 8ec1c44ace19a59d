#include "tests/crash/states.h"

#include <memory>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/array/to_host.h"
#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/commit/owner.h"
#include "tessera/commit/view.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"
#include "tessera/ledger/index_file.h"
#include "tessera/tree/walk.h"

namespace tessera::crash {
namespace {

absl::StatusOr<std::string> TextOf(const ConstStridedView& view, DType dtype) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t count, NumBytes(dtype, view.shape));
  std::vector<std::byte> dense(static_cast<size_t>(count));
  TESSERA_RETURN_IF_ERROR(
      CopyStrided(view, RowMajorView(dense.data(), view.shape, DTypeBytes(dtype))));
  return Concat(DTypeName(dtype), ShapeText(view.shape), " ", HashOf(dense).Hex());
}

std::string TextOf(const tree::Scalar& scalar) {
  const auto text = [](const auto& value) -> std::string {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::complex<double>>) {
      return Concat(value.real(), "+", value.imag(), "j");
    } else {
      return Concat(value);
    }
  };
  return Concat(tree::ScalarTypeName(scalar), " ", std::visit(text, scalar));
}

absl::StatusOr<std::string> TextOf(const array::Value& value) {
  if (const auto* array = std::get_if<array::HostArray>(&value)) {
    return TextOf(array->view(), array->dtype());
  }
  if (const auto* array = std::get_if<array::ShardedArray>(&value)) {
    if (array->shards().size() != 1) return Internal("the array is not in one piece");
    return TextOf(array->shards()[0].View(array->dtype()), array->dtype());
  }
  const auto& opaque = std::get<array::Opaque>(value);
  return opaque.scalar.has_value() ? TextOf(*opaque.scalar) : "lost " + opaque.type_name;
}

absl::StatusOr<Leaves> LoadPrefix(store::KvStore& store, IoContext& io, const std::string& prefix) {
  TESSERA_ASSIGN_OR_RETURN(const auto platform, device::MakeHostPlatform({.count = 1}));
  TESSERA_ASSIGN_OR_RETURN(const auto opened,
                           checkpoint::Checkpoint::Open(store, io, {.prefix = prefix}));
  TESSERA_ASSIGN_OR_RETURN(const auto loaded,
                           checkpoint::LoadCheckpoint(opened, {}, {io, *platform}));
  return LeavesOf(loaded.tree);
}

// Files beside the arrays, as a reader sees them.
absl::StatusOr<Leaves> SideFiles(const commit::View& view) {
  TESSERA_ASSIGN_OR_RETURN(const auto entries, view.store->List(""));
  Leaves files;
  for (const store::ListEntry& entry : entries) {
    if (entry.key.find('/') != std::string::npos || entry.key == ledger::kIndexName) continue;
    TESSERA_ASSIGN_OR_RETURN(const store::ReadResult read, view.store->Read(entry.key));
    files[entry.key] = read.value.has_value() ? std::string(read.value->text()) : "<missing>";
  }
  return files;
}

}  // namespace

array::HostArray Numbers(const Dims& shape, int32_t first) {
  auto values = std::make_shared<std::vector<int32_t>>(static_cast<size_t>(*NumElements(shape)));
  std::iota(values->begin(), values->end(), first);
  const auto* data = reinterpret_cast<const std::byte*>(values->data());
  return *array::HostArray::Borrow(RowMajorView(data, shape, 4), DType::kInt32, values);
}

absl::StatusOr<Leaves> LeavesOf(const array::ValueTree& tree) {
  Leaves leaves;
  TESSERA_RETURN_IF_ERROR(tree::ForEachLeaf(
      tree, [&](const tree::KeyPathView& path, const array::Value& value) -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(leaves[path.Diagnostic()], TextOf(value));
        return absl::OkStatus();
      }));
  return leaves;
}

absl::StatusOr<State> LoadState(store::KvStore& store, IoContext& io) {
  TESSERA_ASSIGN_OR_RETURN(const commit::View view, commit::OpenView(store));
  if (!view.index_text.has_value()) {
    const auto opened = checkpoint::Checkpoint::Open(store, io, {.all_prefixes = true});
    if (absl::IsNotFound(opened.status())) return State();
    TESSERA_RETURN_IF_ERROR(opened);
    return Internal("there is no index, but ", opened->arrays().size(), " arrays were found");
  }
  TESSERA_ASSIGN_OR_RETURN(const auto index, ledger::DecodeIndexFile(view.index_text->text()));
  State state;
  TESSERA_ASSIGN_OR_RETURN(state["files"], SideFiles(view));
  if (index.arrays.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(state[""], LoadPrefix(store, io, ""));
  }
  if (!index.prefixes.has_value()) return state;
  for (const auto& [prefix, records] : *index.prefixes) {
    TESSERA_ASSIGN_OR_RETURN(state[prefix], LoadPrefix(store, io, prefix));
  }
  return state;
}

std::string ProblemsOf(store::KvStore& store, IoContext& io) {
  const auto report = checkpoint::VerifyCheckpoint(store, io);
  if (absl::IsNotFound(report.status())) return "";
  if (!report.ok()) return report.status().ToString();
  std::string text;
  for (const checkpoint::VerifyProblem& problem : report->problems) {
    text += Concat(problem.key, " ", problem.file, ": ", problem.problem, "\n");
  }
  return text;
}

std::string WithoutIds(std::string text) {
  constexpr size_t kIdLength = 32;
  for (size_t i = 0; i + kIdLength <= text.size(); ++i) {
    if (commit::IsId(std::string_view(text).substr(i, kIdLength))) text.replace(i, kIdLength, "ID");
  }
  return text;
}

std::multiset<std::string> KeysOf(store::KvStore& store) {
  const auto entries = store.List("");
  if (!entries.ok()) return {entries.status().ToString()};
  std::multiset<std::string> keys;
  for (const store::ListEntry& entry : *entries) keys.insert(WithoutIds(entry.key));
  return keys;
}

}  // namespace tessera::crash
