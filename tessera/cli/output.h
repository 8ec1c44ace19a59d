// Output: text on its way to a file descriptor.
#ifndef TESSERA_CLI_OUTPUT_H_
#define TESSERA_CLI_OUTPUT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tessera/core/json.h"

namespace tessera::cli {

// On one line and without spaces; text that is not UTF-8 is replaced.
std::string JsonLine(const OrderedJson& document);

// Buffered; used by one thread at a time.  That the reader has gone (a closed pipe) is no error:
// what is written from then on is dropped, and a long listing may look at closed() and stop.
class Output {
 public:
  // A negative descriptor drops everything, as ranks other than the first do.
  explicit Output(int descriptor) : descriptor_(descriptor) {}
  ~Output() { Flush().IgnoreError(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Write(std::string_view text);
  void WriteLine(std::string_view text);
  // Two spaces of indentation, and a new line at its end; text that is not UTF-8 is replaced.
  void WriteJson(const OrderedJson& document);

  bool closed() const { return closed_; }
  // DataLoss when something could not be written, as on a disk that is full.
  absl::Status Flush();

 private:
  static constexpr size_t kBuffer = 1 << 16;

  int descriptor_;
  bool closed_ = false;
  absl::Status status_;
  std::string buffer_;
};

}  // namespace tessera::cli

#endif  // TESSERA_CLI_OUTPUT_H_
