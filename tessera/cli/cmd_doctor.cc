// tessera doctor
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/checkpoint/open_location.h"
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/table.h"
#include "tessera/cli/verbs.h"
#include "tessera/cli/wrap.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/probe/advice.h"
#include "tessera/probe/movers.h"
#include "tessera/probe/probe.h"

namespace tessera::cli {
namespace {

using probe::ProbeReport;
using probe::Speed;
using probe::Way;

std::string_view YesNo(bool value) { return value ? "yes" : "no"; }

std::string SyncText(const probe::Latency& latency) {
  if (latency.count == 0) return "not measured";
  return fmt::format("{:.3g} ms (95 %: {:.3g} ms)", latency.median_ms, latency.p95_ms);
}

std::string RateText(double per_second) {
  return CountText(static_cast<int64_t>(per_second)) + "/s";
}

std::string RenameText(const probe::Renames& renames) {
  const std::string looks =
      fmt::format("{} replaced, {} looks", CountText(renames.replaced), CountText(renames.looks));
  return fmt::format("{} ({}), NOREPLACE {}, EXCHANGE {}",
                     renames.atomic ? "atomic" : Concat("NOT atomic: ", renames.seen), looks,
                     YesNo(renames.noreplace), YesNo(renames.exchange));
}

std::string DirectText(const probe::DirectIo& direct) {
  if (!direct.works) return "no";
  return fmt::format("yes, memory aligned to {}, offsets to {} ({})", direct.memory_alignment,
                     direct.offset_alignment, direct.told ? "told by the kernel" : "tried out");
}

std::string NamesText(const probe::FileSystem& system) {
  return fmt::format("up to {} bytes, case {}, hard links {}, symbolic links {}, flock {}",
                     system.max_name, system.case_sensitive ? "sensitive" : "INSENSITIVE",
                     YesNo(system.hard_links), YesNo(system.symbolic_links), YesNo(system.locks));
}

Table FactsTable(const ProbeReport& report, const Terminal& terminal) {
  const probe::FileSystem& system = report.file_system;
  const probe::SmallFiles& small = report.small_files;
  Table table({{.title = ""}, {.title = "", .shrinks = true}});
  const auto add = [&](std::string name, std::string_view value) {
    table.Add({std::move(name), Printable(value, terminal)});
  };
  add("storage", Concat(report.path, ", ", system.type.empty() ? "unknown" : system.type, " on ",
                        system.source));
  add("mounted", system.options);
  add("free", Concat(SizeText(system.free_bytes), " of ", SizeText(system.total_bytes)));
  add("rename", RenameText(report.renames));
  add("O_DIRECT", DirectText(report.direct));
  add("fsync", Concat(SyncText(report.file_sync), ", of a folder ", SyncText(report.folder_sync)));
  add("small files",
      Concat("create ", RateText(small.create), ", stat ", RateText(small.stat), ", rename ",
             RateText(small.rename), ", unlink ", RateText(small.unlink)));
  add("names", NamesText(system));
  add("memory", fmt::format("copied at {:.2f} GB/s by one thread, {:.2f} GB/s by {}",
                            report.memory.one_thread / 1e9, report.memory.all_threads / 1e9,
                            report.memory.threads));
  return table;
}

// "64 KiB", "16 MiB": they are round numbers.
std::string BlockText(int64_t bytes) {
  return bytes >= 1 << 20 ? Concat(bytes >> 20, " MiB") : Concat(bytes >> 10, " KiB");
}

std::string SpeedCell(const std::vector<Speed>& speeds, Way way, int64_t block, int threads) {
  for (const Speed& speed : speeds) {
    if (speed.way == way && speed.block_bytes == block && speed.threads == threads) {
      return fmt::format("{:.2f}{}", speed.bytes_per_second / 1e9, speed.from_cache ? "*" : "");
    }
  }
  return "-";
}

bool Has(const std::vector<Speed>& speeds, Way way, int64_t block) {
  return std::any_of(speeds.begin(), speeds.end(), [&](const Speed& speed) {
    return speed.way == way && speed.block_bytes == block;
  });
}

void AddSpeeds(std::string_view verb, const std::vector<Speed>& speeds, Table& table) {
  for (const Way way : {Way::kBuffered, Way::kDirect, Way::kCached}) {
    for (const int64_t block : probe::kBlocks) {
      if (!Has(speeds, way, block)) continue;
      std::vector<std::string> cells = {Concat(verb, " ", probe::WayName(way)), BlockText(block)};
      for (const int threads : probe::kThreads) {
        cells.push_back(SpeedCell(speeds, way, block, threads));
      }
      table.Add(std::move(cells));
    }
  }
}

std::string SpeedsText(const ProbeReport& report, const Terminal& terminal) {
  std::vector<Column> columns = {{.title = "GB/s"}, {.title = "BLOCKS", .align = Align::kRight}};
  for (const int threads : probe::kThreads) {
    columns.push_back(
        {.title = Concat(threads, threads == 1 ? " THREAD" : " THREADS"), .align = Align::kRight});
  }
  if (terminal.columns > 0 && terminal.columns < 60) {
    for (size_t i = 0; i < std::size(probe::kThreads); ++i) {
      columns[i + 2].title = Concat(terminal.unicode ? "×" : "x", probe::kThreads[i]);
    }
  }
  Table table(std::move(columns));
  AddSpeeds("write", report.writes, table);
  AddSpeeds("read", report.reads, table);
  std::string text = table.Text(terminal);
  const size_t width = ParagraphWidth(terminal);
  text += Wrapped(
      fmt::format(
          "Writes end with a sync. {} at most, {:.1f} s{}{}.", SizeText(report.size),
          report.seconds,
          report.left_out == 0
              ? ""
              : fmt::format(", {} cases left out for lack of time or space", report.left_out),
          text.find('*') == std::string::npos ? ""
                                              : "; * served by the page cache, not by the storage"),
      0, width);
  return text;
}

std::string AdviceText(const ProbeReport& report, const Terminal& terminal) {
  const std::vector<std::string> advice = Advice(report);
  if (advice.empty()) return Concat("\n", terminal.Green("nothing to advise"), "\n");
  const size_t width = ParagraphWidth(terminal);
  std::string text = Concat("\n", terminal.Yellow("advice:"), "\n");
  for (const std::string& sentence : advice) {
    text += Wrapped(Printable(sentence, terminal), 2, width);
  }
  return text;
}

absl::StatusOr<double> SecondsOf(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const std::optional<int64_t> seconds, arguments.Count("--seconds"));
  return seconds ? static_cast<double>(*seconds) : probe::kDefaultSeconds;
}

absl::StatusOr<ProbeReport> Probe(const Arguments& arguments, Context& context) {
  probe::ProbeOptions options;
  TESSERA_ASSIGN_OR_RETURN(options.seconds, SecondsOf(arguments));
  TESSERA_ASSIGN_OR_RETURN(options.size, arguments.Size("--size"));
  TESSERA_ASSIGN_OR_RETURN(const std::string folder, checkpoint::FolderOf(arguments.Positional(0)));
  ProgressLine progress = context.Progress("measuring");
  options.on_part = [&](std::string_view part) {
    progress.Begin(Concat("measuring ", part));
    progress.Update({});
  };
  absl::StatusOr<ProbeReport> report = ProbeStorage(folder, options, context.stop());
  if (!absl::IsCancelled(report.status())) return report;
  return Cancelled("interrupted; nothing is left in ", folder);
}

void TellOfLeftovers(const ProbeReport& report, Context& context) {
  for (const std::string& path : report.removed) {
    context.Note(Concat("removed ", path, ", which a run that was killed had left"));
  }
  for (const std::string& path : report.kept) {
    context.Note(Concat(path, " belongs to another run; if there is none, delete it"));
  }
}

absl::StatusOr<Answer> RunDoctor(const Arguments& arguments, Context& context) {
  // Several ranks would measure each other.
  if (!context.is_first_rank()) return Answer::kYes;
  TESSERA_ASSIGN_OR_RETURN(const ProbeReport report, Probe(arguments, context));
  TellOfLeftovers(report, context);
  if (arguments.json()) {
    context.out().WriteJson(ToJson(report));
    return Answer::kYes;
  }
  const Terminal& terminal = context.terminal();
  context.out().Write(FactsTable(report, terminal).Text(terminal));
  context.out().Write(Concat("\n", SpeedsText(report, terminal), AdviceText(report, terminal)));
  return Answer::kYes;
}

}  // namespace

Verb DoctorVerb() {
  return {
      .name = "doctor",
      .summary = "what a storage can do, measured",
      .positionals = {{"PATH", "a folder of the storage"}},
      .options = {{.name = "--seconds", .value = "S", .help = "how long it may take; else 20"},
                  {.name = "--size",
                   .value = "SIZE",
                   .help = "the most bytes to write at a time; else 256MiB, or a tenth of what "
                           "is free"}},
      .details =
          "It reads and writes by block size and number of threads, through the page cache "
          "and around it, clocks syncs and small files, and tries out what a save relies on: "
          "that replacing a file is atomic, conditional renames, locks. All of that in a "
          "folder of its own below PATH, which is deleted in the end, also after Ctrl-C; what "
          "a run that was killed has left goes with the next one.",
      .examples = {{"tessera doctor . --seconds 5", "this folder's storage, in short"},
                   {"tessera doctor . --seconds 5 --json | jq .fsync_ms", "how long a sync takes"}},
      .run = RunDoctor};
}

}  // namespace tessera::cli
