// Staging: the folder in which a conversion is made before anyone sees it.
//
//   .NAME.tessera-convert/conversion.json   who is at it, what it makes, and how far it is
//   .NAME.tessera-convert/journal/RANK      which units are copied
//   .NAME.tessera-convert/data/             what becomes NAME
#ifndef TESSERA_CONVERT_STAGING_H_
#define TESSERA_CONVERT_STAGING_H_

#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/commit/owner.h"
#include "tessera/convert/publish.h"
#include "tessera/store/kv_store.h"

namespace tessera::convert {

// Held by one process, rank 0; the other ranks know the folder.
class Staging {
 public:
  enum class State {
    kBegun,       // nothing in it counts
    kPrepared,    // every file is there, and the journals tell which parts of them are filled
    kPublishing,  // data/ may be what was at the destination before
  };

  // Takes the folder for the conversion that `digest` names, and empties it unless it is to go on
  // with that one.  Aborted, with who and since when, while another process is at it;
  // FailedPrecondition when the folder is none of ours.
  static absl::StatusOr<std::unique_ptr<Staging>> Take(const DestinationPath& destination,
                                                       const std::string& digest, bool resume,
                                                       std::stop_token stop = {});

  const std::string& path() const { return path_; }
  // Goes on with what was there.
  bool resumed() const { return resumed_; }

  absl::Status SetState(State state, std::stop_token stop = {});

  // Forgets what is in it.
  absl::Status Empty(std::stop_token stop = {});

  // Takes the whole folder away.
  absl::Status Remove();

 private:
  Staging(std::string path, std::string digest);

  absl::Status TakeOver(bool resume, const std::stop_token& stop);
  absl::Status CheckIsOurs(const std::stop_token& stop);
  absl::Status WriteRecord(State state, const std::stop_token& stop);

  const std::string path_;
  const std::string digest_;
  const commit::LiveId live_;
  const int64_t since_;
  std::unique_ptr<store::KvStore> store_;
  store::Generation generation_;
  bool resumed_ = false;
};

// Deletes the files below `folder` that a killed process was still writing.
absl::Status SweepUnfinished(const std::string& folder);

// The folders in it.
std::string DataFolder(const std::string& staging);
std::string JournalFolder(const std::string& staging);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_STAGING_H_
