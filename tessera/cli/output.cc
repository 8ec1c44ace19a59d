#include "tessera/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"

namespace tessera::cli {

std::string JsonLine(const OrderedJson& document) {
  return document.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

void Output::Write(std::string_view text) {
  if (closed_ || descriptor_ < 0) return;
  buffer_ += text;
  if (buffer_.size() >= kBuffer) Flush().IgnoreError();  // kept in status_
}

void Output::WriteLine(std::string_view text) {
  Write(text);
  Write("\n");
}

void Output::WriteJson(const OrderedJson& document) {
  WriteLine(document.dump(2, ' ', false, OrderedJson::error_handler_t::replace));
}

absl::Status Output::Flush() {
  const std::string text = std::exchange(buffer_, {});
  for (size_t done = 0; done < text.size() && !closed_;) {
    const ssize_t written = write(descriptor_, text.data() + done, text.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR) {
      status_ = DataLoss("standard output: ", std::strerror(errno));
      closed_ = true;
    }
  }
  return status_;
}

}  // namespace tessera::cli
