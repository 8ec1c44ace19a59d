// What a load did.
#ifndef TESSERA_CHECKPOINT_LOAD_REPORT_H_
#define TESSERA_CHECKPOINT_LOAD_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/checkpoint/load_array.h"

namespace tessera::checkpoint {

struct ArrayReport {
  std::string name;
  ReadCounts counts;
  int64_t result_bytes = 0;  // on the devices of this process
  double seconds = 0;        // from its memory to the last byte, beside others
};

struct LoadReport {
  int64_t arrays = 0;
  ReadCounts counts;
  int64_t result_bytes = 0;
  int64_t received_bytes = 0;  // from other processes
  double seconds = 0;
  // Where asked for, in the order of the plan.
  std::vector<ArrayReport> each = {};

  // One line.
  std::string Text() const;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_REPORT_H_
