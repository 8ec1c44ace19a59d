#include "tessera/core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "tessera/core/environment.h"
#include "tessera/core/mutex.h"

namespace tessera {
namespace {

// The process has one stderr, hence one logger; it is the only state that rooms share unseen.
struct Logger {
  Mutex mutex;
  LogSink sink ABSL_GUARDED_BY(mutex);
  std::shared_ptr<spdlog::logger> stderr_logger;
};

Logger& ProcessLogger() {
  static Logger& logger = *[] {
    auto* made = new Logger;
    made->stderr_logger = std::make_shared<spdlog::logger>(
        "tessera", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->stderr_logger->set_pattern("tessera %^%l%$: %v");
    made->stderr_logger->set_level(spdlog::level::trace);
    return made;
  }();
  return logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

std::optional<LogLevel> ParseLogLevel(std::string_view text) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warn" || text == "warning") return LogLevel::kWarning;
  if (text == "error") return LogLevel::kError;
  if (text == "off") return LogLevel::kOff;
  return std::nullopt;
}

LogLevel MinimumLogLevel() {
  static const LogLevel level =
      ParseLogLevel(GetEnvironment("TESSERA_LOG").value_or("")).value_or(LogLevel::kWarning);
  return level;
}

void WriteLog(LogLevel level, std::string_view message) {
  Logger& logger = ProcessLogger();
  MutexLock lock(logger.mutex);
  if (logger.sink != nullptr) {
    logger.sink(level, message);
  } else if (level >= MinimumLogLevel()) {
    logger.stderr_logger->log(ToSpdlog(level), "{}", message);
  }
}

LogSink SetLogSink(LogSink sink) {
  Logger& logger = ProcessLogger();
  MutexLock lock(logger.mutex);
  return std::exchange(logger.sink, std::move(sink));
}

}  // namespace tessera
