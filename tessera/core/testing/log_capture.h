// Collects what is logged while it lives.
#ifndef TESSERA_CORE_TESTING_LOG_CAPTURE_H_
#define TESSERA_CORE_TESTING_LOG_CAPTURE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/core/log.h"

namespace tessera::testing {

class LogCapture {
 public:
  LogCapture()
      : before_(SetLogSink([this](LogLevel level, std::string_view line) {
          lines_.emplace_back(level, std::string(line));
        })) {}
  ~LogCapture() { SetLogSink(std::move(before_)); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  const std::vector<std::pair<LogLevel, std::string>>& lines() const { return lines_; }

 private:
  std::vector<std::pair<LogLevel, std::string>> lines_;
  LogSink before_;
};

}  // namespace tessera::testing

#endif  // TESSERA_CORE_TESTING_LOG_CAPTURE_H_
