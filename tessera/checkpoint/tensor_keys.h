// Keys of the tensors of a set, which have names with dots and no tree.
#ifndef TESSERA_CHECKPOINT_TENSOR_KEYS_H_
#define TESSERA_CHECKPOINT_TENSOR_KEYS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::checkpoint {

// Names are split at their dots, so that the keys make a tree of dicts.  No name is when they do
// not make one: when a name is a part of another up to a dot ("a" and "a.b"), or something between
// dots is empty.  Then each is a key of one component.
std::vector<std::vector<std::string>> KeysOfTensors(std::span<const std::string_view> names);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_TENSOR_KEYS_H_
