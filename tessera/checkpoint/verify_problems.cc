#include "tessera/checkpoint/verify_problems.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>

#include "tessera/core/bytes.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

// Texts one after the other, each behind its length: names of files may hold any byte.
class TextWriter {
 public:
  void Add(std::string_view text) { all_ += Concat(text.size(), ":", text); }
  void Add(int64_t number) { Add(Concat(number)); }
  std::string Finish() && { return std::move(all_); }

 private:
  std::string all_;
};

class TextReader {
 public:
  explicit TextReader(std::string_view all) : rest_(all) {}

  bool done() const { return rest_.empty(); }

  absl::StatusOr<std::string> Text() {
    size_t size = 0;
    const char* const end = rest_.data() + rest_.size();
    const auto [colon, error] = std::from_chars(rest_.data(), end, size);
    if (error != std::errc() || colon == end || *colon != ':') return Broken();
    rest_.remove_prefix(static_cast<size_t>(colon - rest_.data()) + 1);
    if (size > rest_.size()) return Broken();
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }

  absl::StatusOr<int64_t> Number() {
    TESSERA_ASSIGN_OR_RETURN(const std::string text, Text());
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, number).ptr != end) return Broken();
    return number;
  }

 private:
  static absl::Status Broken() { return Internal("the findings of a rank end in the middle"); }

  std::string_view rest_;
};

void Write(const VerifyProblem& problem, TextWriter& writer) {
  writer.Add(problem.key);
  writer.Add(problem.file);
  writer.Add(problem.problem);
}

std::string Encode(const RankFindings& mine) {
  TextWriter writer;
  writer.Add(mine.work.Hex());
  for (const int64_t count :
       {mine.counts.arrays, mine.counts.chunks, mine.counts.bytes, mine.counts.unsealed_arrays,
        mine.counts.seal_arrays, mine.counts.absent_chunks}) {
    writer.Add(count);
  }
  writer.Add(int64_t{mine.if_no_other.has_value()});
  if (mine.if_no_other.has_value()) Write(*mine.if_no_other, writer);
  for (const Finding& finding : mine.findings) {
    writer.Add(finding.piece);
    Write(finding.problem, writer);
  }
  return std::move(writer).Finish();
}

absl::StatusOr<VerifyProblem> ReadProblem(TextReader& reader) {
  VerifyProblem problem;
  TESSERA_ASSIGN_OR_RETURN(problem.key, reader.Text());
  TESSERA_ASSIGN_OR_RETURN(problem.file, reader.Text());
  TESSERA_ASSIGN_OR_RETURN(problem.problem, reader.Text());
  return problem;
}

absl::StatusOr<RankFindings> Decode(std::string_view text) {
  TextReader reader(text);
  RankFindings found;
  TESSERA_ASSIGN_OR_RETURN(const std::string work, reader.Text());
  TESSERA_ASSIGN_OR_RETURN(found.work, Hash128::FromHex(work));
  for (int64_t* const count :
       {&found.counts.arrays, &found.counts.chunks, &found.counts.bytes,
        &found.counts.unsealed_arrays, &found.counts.seal_arrays, &found.counts.absent_chunks}) {
    TESSERA_ASSIGN_OR_RETURN(*count, reader.Number());
  }
  TESSERA_ASSIGN_OR_RETURN(const int64_t other, reader.Number());
  if (other != 0) {
    TESSERA_ASSIGN_OR_RETURN(found.if_no_other, ReadProblem(reader));
  }
  while (!reader.done()) {
    Finding finding;
    TESSERA_ASSIGN_OR_RETURN(finding.piece, reader.Number());
    TESSERA_ASSIGN_OR_RETURN(finding.problem, ReadProblem(reader));
    found.findings.push_back(std::move(finding));
  }
  return found;
}

void Add(RankFindings more, RankFindings& all) {
  all.counts.arrays += more.counts.arrays;
  all.counts.chunks += more.counts.chunks;
  all.counts.bytes += more.counts.bytes;
  all.counts.unsealed_arrays += more.counts.unsealed_arrays;
  all.counts.seal_arrays += more.counts.seal_arrays;
  all.counts.absent_chunks += more.counts.absent_chunks;
  if (more.if_no_other.has_value()) all.if_no_other = std::move(more.if_no_other);
  for (Finding& finding : more.findings) all.findings.push_back(std::move(finding));
}

// By file; an order that depends neither on threads nor on ranks.
VerifyReport Report(RankFindings all) {
  std::sort(all.findings.begin(), all.findings.end(), [](const auto& a, const auto& b) {
    return std::tie(a.problem.file, a.piece, a.problem.key, a.problem.problem) <
           std::tie(b.problem.file, b.piece, b.problem.key, b.problem.problem);
  });
  VerifyReport report = std::move(all.counts);
  for (Finding& finding : all.findings) report.problems.push_back(std::move(finding.problem));
  if (report.problems.empty() && all.if_no_other.has_value()) {
    report.problems.push_back(*std::move(all.if_no_other));
  }
  return report;
}

}  // namespace

absl::StatusOr<VerifyReport> JoinFindings(const VerifyOptions& options,
                                          absl::StatusOr<RankFindings> mine) {
  if (options.comm == nullptr) {
    TESSERA_RETURN_IF_ERROR(mine.status());
    return Report(*std::move(mine));
  }
  TESSERA_RETURN_IF_ERROR(options.comm->Agree(mine.status(), options.limit));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> encoded,
                           options.comm->AllGather(Bytes::CopyOf(Encode(*mine)), options.limit));
  RankFindings all;
  for (size_t rank = 0; rank < encoded.size(); ++rank) {
    TESSERA_ASSIGN_OR_RETURN(RankFindings found, Decode(encoded[rank].text()));
    if (rank == 0) all.work = found.work;
    if (found.work != all.work) {
      return Aborted("rank ", rank, " has found another checkpoint than rank 0: it was changed ",
                     "meanwhile, or the ranks do not see the same files");
    }
    Add(std::move(found), all);
  }
  return Report(std::move(all));
}

}  // namespace tessera::checkpoint
