// Listing: what the metadata of a checkpoint tells of its arrays, as plain data.
#ifndef TESSERA_CLI_LISTING_H_
#define TESSERA_CLI_LISTING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"

namespace tessera::cli {

struct ListedArray {
  std::string key;
  DType dtype = DType::kFloat32;
  Dims shape;
  int64_t nbytes = 0;
  // Details.
  Dims chunk_shape = {};
  std::string codec = {};
  int64_t stored_bytes = 0;
};

struct Listing {
  std::string format;
  std::string path;
  std::vector<std::string> prefixes;
  std::vector<ListedArray> arrays;  // in natural order
  bool has_details = true;          // else only what the index says is known
};

struct Totals {
  int64_t arrays = 0;
  int64_t nbytes = 0;
  int64_t stored_bytes = 0;

  // Sizes are anybody's: the largest number instead of an overflow.
  void Add(const ListedArray& array);
};
Totals TotalsOf(const Listing& listing);

// Details lie with each array, so that very many of them take seconds to read.
enum class Details {
  kAll,
  kOfFew,  // not of more than 10,000 arrays that an index lists
};

// Without reading an array: metadata from the manifest where there is one.  By --match and
// --prefix.
absl::StatusOr<Listing> ListArrays(const std::string& location, const Arguments& arguments,
                                   Context& context, Details details);

// The arrays of a checkpoint that is open.
absl::StatusOr<Listing> ListingOf(const std::string& location,
                                  const checkpoint::Checkpoint& checkpoint,
                                  const std::optional<std::string>& match, Context& context);

// A number for each array: the same for those of one dtype, shape, chunk shape and codec.
std::vector<int64_t> KindsOf(const Listing& listing);

// One JSON object.
std::string JsonText(const ListedArray& array);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_LISTING_H_
