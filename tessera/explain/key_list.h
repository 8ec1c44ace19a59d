// KeyList: the first keys of many, for a message.
#ifndef TESSERA_EXPLAIN_KEY_LIST_H_
#define TESSERA_EXPLAIN_KEY_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::explain {

class KeyList {
 public:
  void Add(std::string_view key);

  int64_t count() const { return count_; }
  // The first one; empty: there is none, or it is the root.
  std::string first() const { return keys_.empty() ? "" : keys_[0]; }
  // "'a'", "'a', 'b', 'c' and 29 others".
  std::string Text() const;

 private:
  static constexpr size_t kMost = 3;

  int64_t count_ = 0;
  std::vector<std::string> keys_;
};

}  // namespace tessera::explain

#endif  // TESSERA_EXPLAIN_KEY_LIST_H_
