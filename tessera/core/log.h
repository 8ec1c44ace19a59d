// Logging: short lines to stderr, at or above the level that TESSERA_LOG names.
#ifndef TESSERA_CORE_LOG_H_
#define TESSERA_CORE_LOG_H_

#include <functional>
#include <optional>
#include <string_view>

#include "tessera/core/status.h"

namespace tessera {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// "debug", "info", "warn" or "warning", "error", "off"; nullopt for other text.
std::optional<LogLevel> ParseLogLevel(std::string_view text);

// From TESSERA_LOG, read once at first use; warnings and errors when it is not set.
LogLevel MinimumLogLevel();

void WriteLog(LogLevel level, std::string_view message);

// Gets every line, whatever its level, in place of stderr.
using LogSink = std::function<void(LogLevel, std::string_view)>;

// Installs `sink` for the whole process and returns the one before; nullptr is stderr.
// The sink is called by one thread at a time.
LogSink SetLogSink(LogSink sink);

template <typename... Parts>
void LogInfo(const Parts&... parts) {
  WriteLog(LogLevel::kInfo, Concat(parts...));
}
template <typename... Parts>
void LogWarning(const Parts&... parts) {
  WriteLog(LogLevel::kWarning, Concat(parts...));
}

}  // namespace tessera

#endif  // TESSERA_CORE_LOG_H_
