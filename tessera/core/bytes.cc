#include "tessera/core/bytes.h"

#include <utility>

#include "tessera/core/status.h"

namespace tessera {

Bytes Bytes::Take(std::vector<std::byte> data) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data));
  const std::span<const std::byte> view(*owner);
  return Bytes(view, std::move(owner));
}

Bytes Bytes::CopyOf(std::span<const std::byte> data) {
  return Take(std::vector<std::byte>(data.begin(), data.end()));
}

Bytes Bytes::CopyOf(std::string_view text) {
  return CopyOf(std::as_bytes(std::span(text.data(), text.size())));
}

Bytes Bytes::Borrow(std::span<const std::byte> data, std::shared_ptr<const void> owner) {
  return Bytes(data, std::move(owner));
}

Bytes Bytes::Slice(size_t offset, size_t length) const {
  TESSERA_CHECK(offset <= size() && length <= size() - offset);
  return Bytes(view_.subspan(offset, length), owner_);
}

}  // namespace tessera
