#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tessera/array/row_chunks.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/shard_layout.h"
#include "tessera/safetensors/shard_names.h"
#include "tessera/store/gcs_path.h"
#include "tests/vectors/case_values.h"
#include "tests/vectors/groups.h"

namespace tessera::vectors {
namespace {

using safetensors::SizedKey;

// Every key once, and no shard over the limit but for a lone key with bytes.
bool IsAPacking(const safetensors::ShardLayout& layout, const std::vector<SizedKey>& keys,
                int64_t max_bytes) {
  std::vector<std::string> seen;
  for (const auto& shard : layout.shards) {
    int64_t bytes = 0;
    int with_bytes = 0;
    for (const std::string& name : shard) {
      const auto key = std::find_if(keys.begin(), keys.end(),
                                    [&](const SizedKey& known) { return known.key == name; });
      if (key == keys.end()) return false;
      bytes += key->bytes;
      with_bytes += key->bytes > 0 ? 1 : 0;
      seen.push_back(name);
    }
    if (bytes > max_bytes && with_bytes > 1) return false;
  }
  std::sort(seen.begin(), seen.end());
  return seen.size() == keys.size() && std::adjacent_find(seen.begin(), seen.end()) == seen.end();
}

// Our rule for chunks, worked out anew: the fewest balanced runs of rows that fit.
std::vector<int64_t> BalancedRows(int64_t rows, int64_t row_bytes, int64_t limit) {
  if (rows * row_bytes <= limit) return {rows};
  int64_t count = 1;
  while (count < rows && (rows + count - 1) / count * row_bytes > limit) ++count;
  std::vector<int64_t> result(static_cast<size_t>(count), rows / count);
  for (int64_t i = 0; i < rows % count; ++i) ++result[static_cast<size_t>(i)];
  return result;
}

bool HasWideNumbering(const std::string& path) {
  return std::regex_search(path, std::regex(R"(-\d{5,}-of-\d{5,}(\.safetensors)?$)"));
}

void CheckPath(const OrderedJson& test_case, Report& report) {
  const auto path = test_case["path"].get<std::string>();
  const std::string stem = safetensors::DeriveBasePrefixFromPath(path);
  if (stem == test_case["base_prefix"]["ok"]) {
    report.Passed();
  } else if (HasWideNumbering(path) && path.starts_with(stem + "-")) {
    report.Differs("wide-numbering-cut");
  } else {
    report.Failed(test_case, "base_prefix: " + stem);
  }
  report.Check(store::IsGcsPath(path) == test_case["is_gcs"]["ok"], test_case, "is_gcs");
  report.Check(safetensors::IndexFilename(path) == test_case["index_filename"]["ok"], test_case,
               "index_filename");
  report.Check(*safetensors::ShardFilename(path, 3, 12345) == test_case["shard_filename"]["ok"],
               test_case, "shard_filename");
  const auto gcs = store::ParseGcsPath(path);
  const OrderedJson& expected = test_case["parse_gcs"];
  if (gcs.ok()) {
    report.Check(
        expected.contains("ok") && expected["ok"] == OrderedJson({gcs->bucket, gcs->object}),
        test_case, "parse_gcs");
  } else if (expected.contains("ok") && expected["ok"][0] == "") {
    report.Differs("empty-bucket-refused");
  } else {
    report.Check(expected.contains("error") && IsErrorOf(gcs.status(), expected["error"]),
                 test_case, "parse_gcs: " + gcs.status().ToString());
  }
}

void CheckShardFilename(const OrderedJson& test_case, Report& report) {
  const int64_t index = test_case["idx"];
  const int64_t total = test_case["total"];
  const auto name = safetensors::ShardFilename("m", index, total);
  if (index < 1 || index > total) {
    if (absl::IsInvalidArgument(name.status())) return report.Differs("shard-number-checked");
  }
  report.Check(name.ok() && *name == test_case["shard_filename"], test_case, "shard_filename");
}

}  // namespace

Report RunShardLayout(const OrderedJson& document) {
  Report report("shard_layout");
  for (const OrderedJson& test_case : document["shard_layout"]) {
    std::vector<SizedKey> keys;
    for (const OrderedJson& row : test_case["sizes"]) keys.push_back({row[0], row[1]});
    const int64_t max_bytes = test_case["max"];
    const auto grouped = safetensors::GroupKeysByShardSize(keys, max_bytes);
    const auto parity =
        safetensors::OptimizeShardLayout(keys, max_bytes, safetensors::ParentOrder::kCodePoint);
    const auto ours = safetensors::OptimizeShardLayout(keys, max_bytes);
    if (max_bytes <= 0 && absl::IsInvalidArgument(grouped.status()) &&
        absl::IsInvalidArgument(parity.status())) {
      report.Differs("shard-size-checked");
      continue;
    }
    report.Check(grouped.ok() && OrderedJson(grouped->shards) == test_case["group"]["ok"],
                 test_case, "group");
    report.Check(parity.ok() && OrderedJson(parity->shards) == test_case["optimize"]["ok"],
                 test_case, "optimize, in the original's order");
    if (!ours.ok() || !IsAPacking(*ours, keys, max_bytes)) {
      report.Failed(test_case, "optimize, in our order");
    } else if (OrderedJson(ours->shards) != test_case["optimize"]["ok"]) {
      report.Differs("natural-order");
    }
  }
  return report;
}

Report RunChunkTensorByMemory(const OrderedJson& document) {
  Report report("chunk_tensor_by_memory");
  for (const OrderedJson& test_case : document["chunk_tensor_by_memory"]) {
    const ShapeDtype array{ShapeOf(test_case["shape"]),
                           *ParseDType(test_case["dtype"].get<std::string>())};
    const int64_t limit = test_case["limit"];
    const auto chunks = array::ChunkTensorByMemory(array, limit);
    if (limit <= 0) {
      report.Check(absl::IsInvalidArgument(chunks.status()), test_case, "the limit is not refused");
      continue;
    }
    OrderedJson shapes = OrderedJson::array();
    std::vector<int64_t> rows;
    for (const array::RowChunk& chunk : *chunks) {
      Dims shape = array.shape;
      if (!shape.empty()) shape[0] = chunk.rows;
      shapes.push_back(std::vector<int64_t>(shape.begin(), shape.end()));
      rows.push_back(chunk.rows);
    }
    const int64_t total = array.shape.empty() ? 1 : array.shape[0];
    const int64_t bytes = *NumBytes(array.dtype, array.shape);
    const auto expected = BalancedRows(total, total == 0 ? 0 : bytes / total, limit);
    if (rows != expected) {
      report.Failed(test_case, "chunks are " + shapes.dump());
    } else if (shapes == test_case["chunks"]["ok"]) {
      report.Passed();
    } else {
      report.Differs("chunks-bounded-and-balanced");
    }
  }
  return report;
}

Report RunPaths(const OrderedJson& document) {
  Report report("paths");
  for (const OrderedJson& test_case : document["paths"]) {
    if (test_case.contains("path")) {
      CheckPath(test_case, report);
    } else {
      CheckShardFilename(test_case, report);
    }
  }
  return report;
}

Report RunNbytes(const OrderedJson& document) {
  Report report("nbytes");
  for (const OrderedJson& test_case : document["nbytes"]) {
    const auto dtype = ParseDType(test_case["dtype"].get<std::string>());
    if (!dtype.ok()) {
      report.Failed(test_case, dtype.status().ToString());
      continue;
    }
    const ShapeDtype array{ShapeOf(test_case["shape"]), *dtype};
    const int64_t padded = *array::EstimateArrayNbytes(array, array::ElementStorage::kPadded);
    const int64_t packed = *array::EstimateArrayNbytes(array);
    report.Check(test_case["nbytes"]["ok"] == padded, test_case, Concat("padded: ", padded));
    if (packed != padded) {
      const int bits = InfoOf(*dtype).bits;
      if (packed == (padded * bits + 7) / 8) {
        report.Differs("sub-byte-packed");
      } else {
        report.Failed(test_case, Concat("packed: ", packed));
      }
    }
  }
  return report;
}

}  // namespace tessera::vectors
