// Names that a mistyped one may have meant.
#ifndef TESSERA_CORE_NEAREST_H_
#define TESSERA_CORE_NEAREST_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// How many letters must be added, taken away, changed or swapped with their neighbour to make one
// of the other; more than `most` counts as most + 1.
size_t EditDistance(std::string_view a, std::string_view b, size_t most);

// Of the candidates, at most `count` that are near enough to be meant, the nearest first: a third
// of the letters may differ.  Those that hold `name` as a part, or end with its last part after a
// dot, come after these.
std::vector<std::string> NearestNames(std::string_view name,
                                      std::span<const std::string_view> candidates,
                                      size_t count = 3);

// "; did you mean 'a'?", "; did you mean 'a', 'b' or 'c'?", or nothing when none is near.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace tessera

#endif  // TESSERA_CORE_NEAREST_H_
