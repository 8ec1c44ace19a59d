// What a save tells while it runs and when it is done.
#ifndef TESSERA_CHECKPOINT_SAVE_REPORT_H_
#define TESSERA_CHECKPOINT_SAVE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::checkpoint {

// A leaf whose value no checkpoint can keep.
struct LostLeaf {
  std::string key;        // dotted
  std::string type_name;  // for messages
  friend bool operator==(const LostLeaf&, const LostLeaf&) = default;
};

// Of this rank.
struct SaveProgress {
  int64_t bytes_done = 0;  // of the arrays, in memory
  int64_t bytes_total = 0;
  int64_t chunks_done = 0;
  int64_t chunks_total = 0;
  friend bool operator==(const SaveProgress&, const SaveProgress&) = default;
};

struct SaveReport {
  std::string id = {};      // of the commit; empty: there was nothing to write
  std::string prefix = {};  // empty: none
  int64_t arrays = 0;
  int64_t nbytes = 0;               // of all arrays, as stored without compression
  int64_t chunks = 0;               // of all ranks
  int64_t stored_bytes = 0;         // of all chunks
  int64_t rank_bytes = 0;           // that this rank wrote, before compression
  std::vector<LostLeaf> lost = {};  // leaves that were not kept
  double blocked_seconds = 0;       // that Start took
  double total_seconds = 0;         // from Start to the commit
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_REPORT_H_
