#include "tessera/cli/context.h"

#include "tessera/comm/alone.h"
#include "tessera/core/environment.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

Context::Parts Completed(Context::Parts parts) {
  if (parts.comm == nullptr) parts.comm = comm::MakeAlone();
  return parts;
}

}  // namespace

Context::Context(Parts parts)
    : parts_(Completed(std::move(parts))),
      out_(is_first_rank() ? parts_.out : -1),
      terminal_(ranks() == 1 ? Terminal::Of(parts_.out) : Terminal::OfRank(parts_.out)),
      err_terminal_(ranks() == 1 ? Terminal::Of(parts_.err) : Terminal::OfRank(parts_.err)) {}

void Context::Note(std::string_view text) {
  if (!is_first_rank() || parts_.quiet) return;
  Output err(parts_.err);
  err.WriteLine(Concat("tessera: ", text));
}

ProgressLine Context::Progress(std::string_view what) {
  const bool silent = parts_.quiet || !is_first_rank();
  return ProgressLine(std::string(what), silent ? -1 : parts_.err, err_terminal_);
}

IoContext& Context::io() {
  if (!io_.has_value()) io_.emplace(IoOptions{.budget_bytes = parts_.memory});
  return *io_;
}

absl::StatusOr<int64_t> MemoryOfEnvironment() {
  const std::optional<std::string> text = GetEnvironment("TESSERA_MEMORY");
  if (!text.has_value() || text->empty()) return int64_t{1} << 30;
  const absl::StatusOr<int64_t> size = ParseSize(*text);
  if (!size.ok()) return Prefixed(size.status(), "TESSERA_MEMORY");
  if (*size == 0) return InvalidArgument("TESSERA_MEMORY is 0; expected some memory, as 1GiB");
  return *size;
}

}  // namespace tessera::cli
