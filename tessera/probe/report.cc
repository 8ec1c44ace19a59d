#include "tessera/probe/report.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tessera/probe/advice.h"

namespace tessera::probe {
namespace {

constexpr Way kWays[] = {Way::kBuffered, Way::kCached, Way::kDirect};

OrderedJson SpeedJson(const Speed& speed) {
  OrderedJson json = {{"block_bytes", speed.block_bytes},
                      {"threads", speed.threads},
                      {"bytes_per_second", speed.bytes_per_second},
                      {"request_ms", speed.request_ms}};
  if (speed.from_cache) json["from_cache"] = true;
  return json;
}

OrderedJson SpeedsJson(const std::vector<Speed>& speeds) {
  OrderedJson json = {{"best_bytes_per_second", BestSpeed(speeds)}};
  for (const Way way : kWays) {
    OrderedJson list = OrderedJson::array();
    for (const Speed& speed : speeds) {
      if (speed.way == way) list.push_back(SpeedJson(speed));
    }
    if (!list.empty()) json[std::string(WayName(way))] = std::move(list);
  }
  return json;
}

OrderedJson LatencyJson(const Latency& latency) {
  if (latency.count == 0) return nullptr;
  return {{"median_ms", latency.median_ms}, {"p95_ms", latency.p95_ms}, {"count", latency.count}};
}

OrderedJson RenamesJson(const Renames& renames) {
  return {{"atomic", renames.atomic},     {"noreplace", renames.noreplace},
          {"exchange", renames.exchange}, {"replaced", renames.replaced},
          {"looks", renames.looks},       {"seen", renames.seen}};
}

OrderedJson DirectJson(const DirectIo& direct) {
  if (!direct.works) return {{"works", false}};
  return {{"works", true},
          {"memory_alignment", direct.memory_alignment},
          {"offset_alignment", direct.offset_alignment},
          {"learned", direct.told ? "statx" : "tried"}};
}

OrderedJson FileSystemJson(const FileSystem& system) {
  return {{"type", system.type},
          {"source", system.source},
          {"options", system.options},
          {"free_bytes", system.free_bytes},
          {"total_bytes", system.total_bytes},
          {"free_files", system.free_files},
          {"max_name", system.max_name},
          {"case_sensitive", system.case_sensitive},
          {"hard_links", system.hard_links},
          {"symbolic_links", system.symbolic_links},
          {"locks", system.locks}};
}

OrderedJson SmallFilesJson(const SmallFiles& files) {
  return {{"create_per_second", files.create},
          {"stat_per_second", files.stat},
          {"rename_per_second", files.rename},
          {"unlink_per_second", files.unlink}};
}

OrderedJson MemoryJson(const MemorySpeed& memory) {
  return {{"copy_bytes_per_second", memory.one_thread},
          {"copy_bytes_per_second_all", memory.all_threads},
          {"threads", memory.threads}};
}

}  // namespace

std::string_view WayName(Way way) {
  switch (way) {
    case Way::kBuffered:
      return "buffered";
    case Way::kCached:
      return "cached";
    case Way::kDirect:
      return "direct";
  }
  return "";
}

double BestSpeed(const std::vector<Speed>& speeds) {
  double best = 0;
  for (const Speed& speed : speeds) {
    if (speed.way != Way::kCached) best = std::max(best, speed.bytes_per_second);
  }
  return best;
}

OrderedJson ToJson(const ProbeReport& report) {
  OrderedJson json;
  json["read"] = SpeedsJson(report.reads);
  json["write"] = SpeedsJson(report.writes);
  json["rename_atomic"] = report.renames.atomic;
  json["fsync_ms"] =
      report.file_sync.count == 0 ? OrderedJson() : OrderedJson(report.file_sync.median_ms);
  json["path"] = report.path;
  json["file_system"] = FileSystemJson(report.file_system);
  json["rename"] = RenamesJson(report.renames);
  json["direct"] = DirectJson(report.direct);
  json["fsync"] = {{"file", LatencyJson(report.file_sync)},
                   {"folder", LatencyJson(report.folder_sync)}};
  json["small_files"] = SmallFilesJson(report.small_files);
  json["memory"] = MemoryJson(report.memory);
  json["size"] = report.size;
  json["seconds"] = report.seconds;
  json["left_out"] = report.left_out;
  json["removed"] = report.removed;
  json["kept"] = report.kept;
  json["advice"] = Advice(report);
  return json;
}

}  // namespace tessera::probe
