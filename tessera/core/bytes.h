// Bytes: a shared, immutable slice of memory.
#ifndef TESSERA_CORE_BYTES_H_
#define TESSERA_CORE_BYTES_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tessera {

// A view that keeps alive what it looks at.  Copying and slicing cost a reference count, never the
// bytes.  Thread-safe: the bytes do not change while any Bytes names them.
class Bytes {
 public:
  Bytes() = default;

  // Takes the vector's memory.
  static Bytes Take(std::vector<std::byte> data);

  // Copies.
  static Bytes CopyOf(std::span<const std::byte> data);
  static Bytes CopyOf(std::string_view text);

  // Looks at memory that `owner` keeps alive and nobody changes (a mapped file, a buffer).
  static Bytes Borrow(std::span<const std::byte> data, std::shared_ptr<const void> owner);

  const std::byte* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  std::span<const std::byte> span() const { return view_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(view_.data()), view_.size()};
  }

  // Bytes [offset, offset + length).  REQUIRES: they lie inside.
  Bytes Slice(size_t offset, size_t length) const;

  // Equal contents.
  friend bool operator==(const Bytes& a, const Bytes& b) { return a.text() == b.text(); }

 private:
  Bytes(std::span<const std::byte> view, std::shared_ptr<const void> owner)
      : view_(view), owner_(std::move(owner)) {}

  std::span<const std::byte> view_;
  std::shared_ptr<const void> owner_;
};

}  // namespace tessera

#endif  // TESSERA_CORE_BYTES_H_
