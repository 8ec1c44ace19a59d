// Folding: keys that differ in their numbers alone, as one line.
#ifndef TESSERA_CLI_FOLD_H_
#define TESSERA_CLI_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cli/terminal.h"

namespace tessera::cli {

struct FoldItem {
  std::string_view key;  // with dots
  int64_t kind = 0;      // only items of one kind are folded, as those of one dtype and shape
};

struct Fold {
  std::string key;            // "layers.{0..31}.attn.kernel", "layers.{0..3,7}.bias"; or one key
  std::vector<size_t> items;  // by number, ascending
  friend bool operator==(const Fold&, const Fold&) = default;
};

// Parts of a key that are whole numbers are counted; the last ones first, so that
// layers.{0..31}.experts.{0..7}.kernel stands for 256 keys.  In the order of the first items.
std::vector<Fold> FoldKeys(std::span<const FoldItem> items);

// Each by itself, in the same order.
std::vector<Fold> UnfoldedKeys(std::span<const FoldItem> items);

// "×32", for the line of so many keys; nothing for one.
std::string TimesText(size_t count, const Terminal& terminal);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_FOLD_H_
