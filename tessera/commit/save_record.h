// .tessera/saves/<id>.json: a save that has begun.  Pure: text in, values out.
#ifndef TESSERA_COMMIT_SAVE_RECORD_H_
#define TESSERA_COMMIT_SAVE_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/commit/owner.h"

namespace tessera::commit {

// Where the data of a save is written.
enum class Placement {
  kStaged,   // below DataFolder(id), moved after the commit
  kInPlace,  // at its paths, which nothing else has
};

struct SaveRecord {
  std::string id;
  std::string prefix;              // empty: none
  std::vector<std::string> paths;  // of its arrays
  Placement placement = Placement::kStaged;
  // The owner deletes what a dead save has left, under an id of its own.
  bool sweeping = false;
  std::string holder;  // the id that the owner works under
  Owner owner;
  int64_t started = 0;  // seconds of Unix time
  friend bool operator==(const SaveRecord&, const SaveRecord&) = default;
};

inline constexpr std::string_view kSavesFolder = ".tessera/saves/";
inline constexpr std::string_view kManifestsFolder = ".tessera/manifests/";
inline constexpr std::string_view kSealsFolder = ".tessera/seals/";

// ".tessera/saves/<id>.json", and the id of such a key; empty for what is none.
std::string SaveKey(std::string_view id);
std::string_view IdOfSaveKey(std::string_view key);
// ".tessera/data/<id>/", and ".tessera/last/<id>/" for what is moved after the rest.
std::string DataFolder(std::string_view id);
std::string LastFolder(std::string_view id);
// ".tessera/manifests/<id>.": what all own files of a save begin with.
std::string OwnFileStart(std::string_view id);

std::string EncodeSaveRecord(const SaveRecord& record);

// DataLoss when the text was cut short; Unimplemented for a later schema; else InvalidArgument
// naming the field.
absl::StatusOr<SaveRecord> DecodeSaveRecord(std::string_view text);

std::string_view PlacementName(Placement placement);
absl::StatusOr<Placement> PlacementFromJson(const ObjectReader& reader);

// Field "schema" must be 1.
absl::Status CheckSchema(const ObjectReader& reader);
// A field that holds an id, and one that holds a list of texts.
absl::StatusOr<std::string> IdFromJson(const ObjectReader& reader, const char* field);
absl::StatusOr<std::vector<std::string>> TextsFromJson(const ObjectReader& reader,
                                                       const char* field);
// One that holds paths of arrays.
absl::StatusOr<std::vector<std::string>> PathsFromJson(const ObjectReader& reader,
                                                       const char* field);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_SAVE_RECORD_H_
