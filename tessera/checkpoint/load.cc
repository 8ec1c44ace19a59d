#include "tessera/checkpoint/load.h"

#include <chrono>
#include <utility>

#include "tessera/checkpoint/load_result.h"
#include "tessera/checkpoint/load_run.h"
#include "tessera/checkpoint/load_shared.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

bool LogsDebug() { return MinimumLogLevel() <= LogLevel::kDebug; }

LoadFacts FactsOf(const LoadContext& context) {
  LoadFacts facts{.budget_bytes = context.io.budget().limit()};
  facts.default_device.process = context.platform.process();
  if (!context.platform.devices().empty()) {
    facts.default_device.id = context.platform.devices().front()->id();
  }
  return facts;
}

// Data that is gone or changed may have been replaced, which the caller can do something about.
absl::Status Explained(const absl::Status& status, const LoadJob& job) {
  if (!absl::IsNotFound(status) && !absl::IsDataLoss(status)) return status;
  const absl::Status unchanged = job.checkpoint.CheckUnchanged(job.stop);
  if (!absl::IsAborted(unchanged)) {
    if (absl::IsNotFound(status) || job.checkpoint.integrity() == Integrity::kNone) return status;
    return DataLoss(std::string(status.message()), "; ", kDamagedOrReplaced);
  }
  return Aborted(std::string(unchanged.message()), ": ", std::string(status.message()));
}

void LogPlanAgainstActual(const LoadJob& job, const LoadReport& report) {
  if (!LogsDebug()) return;
  std::string planned = "nothing";
  for (const ProcessPlan& process : job.plan.processes) {
    if (process.process != job.context.platform.process()) continue;
    planned = Concat(process.requests, " chunks, ", process.read_bytes, " bytes to read, result ",
                     process.result_bytes, ", at most ", process.peak_bytes - process.result_bytes,
                     " beside it");
  }
  WriteLog(LogLevel::kDebug, Concat("load planned: ", planned));
  WriteLog(LogLevel::kDebug, Concat("load did: ", report.Text(), ", at most ",
                                    job.context.io.budget().peak(), " bytes beside it"));
}

}  // namespace

std::string LoadReport::Text() const {
  return Concat(arrays, " arrays, ", counts.chunks, " chunks, ", counts.absent_chunks, " absent, ",
                counts.bytes_read, " bytes read, ", received_bytes, " received, result ",
                result_bytes, ", ", seconds, " s");
}

absl::StatusOr<LoadResult> LoadCheckpoint(const Checkpoint& checkpoint, const LoadRequest& request,
                                          const LoadContext& context, const LoadOptions& options,
                                          std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  TESSERA_ASSIGN_OR_RETURN(const LoadPlan plan, PlanLoad(checkpoint, request, FactsOf(context)));
  TESSERA_ASSIGN_OR_RETURN(const ResultTree result, PlanResult(checkpoint, request, plan));
  if (LogsDebug()) WriteLog(LogLevel::kDebug, plan.Text());
  const LoadJob job{checkpoint, plan, context, options, std::move(stop)};
  LoadReport report;
  const bool shares = options.share_reads && context.comm != nullptr && context.comm->size() > 1;
  auto values = shares ? RunSharedLoad(job, report) : RunLoad(job, report);
  if (!values.ok()) return Explained(values.status(), job);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  LogPlanAgainstActual(job, report);
  TESSERA_ASSIGN_OR_RETURN(array::ValueTree tree, FillResult(result, *values));
  return LoadResult{std::move(tree), std::move(report)};
}

}  // namespace tessera::checkpoint
