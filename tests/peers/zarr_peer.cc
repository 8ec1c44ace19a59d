// Writes and reads zarr arrays as a list of jobs says, for tests that hold us against others.
//
// usage: zarr_peer JOBS.json
//
// A job: {"do": "write" | "read", "root": folder, "path": array, "data": file of dense elements}
// with "metadata" (the document's text) to write, and "box": [origin, shape] for less than all.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/store/file_store.h"
#include "tessera/zarr/array.h"

namespace tessera {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::StatusOr<zarr::Array> ArrayOf(const Json& job, store::KvStore& store) {
  const std::string path = job.at("path");
  if (job.at("do") == "read") return zarr::Array::Open(store, path);
  const std::string text = job.at("metadata");
  const bool v3 = Json::parse(text).at("zarr_format") == 3;
  TESSERA_ASSIGN_OR_RETURN(const zarr::Metadata metadata,
                           zarr::ParseMetadata(v3 ? zarr::Format::kV3 : zarr::Format::kV2, text));
  return zarr::Array::Create(store, path, metadata, zarr::Array::IfThere::kOpenIfSame);
}

absl::StatusOr<Box> BoxOf(const Json& job, DimsView shape) {
  if (!job.contains("box")) return Box::Whole(shape);
  const auto origin = job.at("box").at(0).get<std::vector<int64_t>>();
  const auto size = job.at("box").at(1).get<std::vector<int64_t>>();
  return Box::Make(origin, size);
}

absl::Status Run(const Json& job, IoContext& io) {
  TESSERA_ASSIGN_OR_RETURN(
      const auto store,
      store::OpenFileStore(job.at("root"), {.durability = store::Durability::kKernel}));
  TESSERA_ASSIGN_OR_RETURN(const zarr::Array array, ArrayOf(job, *store));
  const ShapeDtype about = array.shape_dtype();
  TESSERA_ASSIGN_OR_RETURN(const Box box, BoxOf(job, about.shape));
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(about.dtype, box.shape()));
  const std::string file = job.at("data");
  if (job.at("do") == "read") {
    std::vector<std::byte> memory(bytes);
    TESSERA_RETURN_IF_ERROR(
        array.Read(box, RowMajorView(memory.data(), box.shape(), DTypeBytes(about.dtype)), io));
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(memory.data()), bytes);
    return absl::OkStatus();
  }
  const std::string data = ReadFile(file);
  if (static_cast<int64_t>(data.size()) != bytes) {
    return InvalidArgument(file, ": found ", data.size(), " bytes, expected ", bytes);
  }
  return array
      .Write(box,
             RowMajorView(reinterpret_cast<const std::byte*>(data.data()), box.shape(),
                          DTypeBytes(about.dtype)),
             io)
      .status();
}

int Main(const char* jobs_file) {
  const auto jobs = ParseJson(ReadFile(jobs_file));
  if (!jobs.ok()) {
    std::fprintf(stderr, "%s: %s\n", jobs_file, jobs.status().ToString().c_str());
    return 2;
  }
  IoContext io;
  int failed = 0;
  for (const Json& job : *jobs) {
    const absl::Status status = Run(job, io);
    if (status.ok()) continue;
    std::fprintf(stderr, "%s: %s\n", job.at("path").get<std::string>().c_str(),
                 status.ToString().c_str());
    ++failed;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: zarr_peer JOBS.json\n");
    return 2;
  }
  return tessera::Main(arguments[1]);
}
