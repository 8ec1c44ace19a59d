#include "tessera/convert/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "tessera/commit/owner.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"

namespace tessera::convert {
namespace {

constexpr std::string_view kBoot = "boot ";

absl::Status SystemError(const std::string& path, std::string_view what) {
  return Unavailable(path, ": ", what, ": ", std::strerror(errno));
}

std::string Line(std::string_view text) { return Concat(HashOf(text).Hex(), " ", text, "\n"); }

// What a line says; nullopt when it is not whole.
std::optional<std::string_view> Checked(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view text = line.substr(space + 1);
  if (HashOf(text).Hex() != line.substr(0, space)) return std::nullopt;
  return text;
}

std::string TextOf(const JournalEntry& entry) {
  std::string text = Concat(entry.array, " ", entry.unit);
  for (const checkpoint::StoredChunk& chunk : entry.chunks) {
    text += Concat(" ", chunk.cell, " ", chunk.value.size, " ", chunk.value.hash.Hex());
  }
  return text;
}

absl::StatusOr<JournalEntry> EntryOf(std::string_view text) {
  std::istringstream words{std::string(text)};
  JournalEntry entry;
  words >> entry.array >> entry.unit;
  if (words.fail()) return Internal("a line of a journal has no unit");
  checkpoint::StoredChunk chunk{.array = entry.array};
  std::string hash;
  while (words >> chunk.cell >> chunk.value.size >> hash) {
    TESSERA_ASSIGN_OR_RETURN(chunk.value.hash, Hash128::FromHex(hash));
    entry.chunks.push_back(chunk);
  }
  return entry;
}

absl::Status WriteAll(int file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(path, "cannot write");
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// Whether the file ends in the middle of a line.
bool EndsInLine(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() <= 0) return false;
  file.seekg(-1, std::ios::end);
  return file.get() != '\n';
}

}  // namespace

std::string BootId() { return commit::ThisProcess().boot; }

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  const bool is_new = error || size == 0;
  const std::string front = is_new ? Line(Concat(kBoot, BootId())) : EndsInLine(path) ? "\n" : "";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return SystemError(path, "cannot open");
  std::unique_ptr<Journal> journal(new Journal(path, file));
  TESSERA_RETURN_IF_ERROR(WriteAll(file, path, front));
  return journal;
}

Journal::~Journal() { close(file_); }

absl::Status Journal::Append(const JournalEntry& entry) {
  const std::string line = Line(TextOf(entry));
  MutexLock lock(mutex_);
  return WriteAll(file_, path_, line);
}

absl::StatusOr<JournalContent> ReadJournal(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  JournalContent content;
  std::string line;
  while (std::getline(file, line)) {
    const auto text = Checked(line);
    if (!text.has_value()) continue;
    if (text->starts_with(kBoot)) {
      content.boot = text->substr(kBoot.size());
      continue;
    }
    TESSERA_ASSIGN_OR_RETURN(JournalEntry entry, EntryOf(*text));
    content.entries.push_back(std::move(entry));
  }
  if (file.bad()) return SystemError(path, "cannot read");
  return content;
}

}  // namespace tessera::convert
