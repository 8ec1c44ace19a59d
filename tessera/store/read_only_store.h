// ReadOnlyStore: reads are passed on, whatever would change a value is refused.
#ifndef TESSERA_STORE_READ_ONLY_STORE_H_
#define TESSERA_STORE_READ_ONLY_STORE_H_

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/store/forwarding_store.h"

namespace tessera::store {

// What a store derives from that shows another one in its own way.
class ReadOnlyStore : public ForwardingStore {
 public:
  // `why` ends the errors, which begin with the key's place: "a view is not written to".
  ReadOnlyStore(KvStore& base, std::string why) : ForwardingStore(base), why_(std::move(why)) {}

  absl::StatusOr<ValueInfo> ReadPieces(std::string_view key, const ByteRange& range,
                                       std::span<std::byte> room, Sink sink,
                                       std::stop_token stop) override {
    return base().ReadPieces(key, range, room, sink, std::move(stop));
  }
  bool streams() const override { return base().streams(); }
  bool moves() const final { return false; }
  bool writes_parts() const final { return false; }

  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte>,
                                   const std::optional<Generation>&, std::stop_token) final {
    return Refuse(key);
  }
  absl::StatusOr<ValueInfo> WritePieces(std::string_view key, Producer,
                                        const std::optional<Generation>&, std::stop_token) final {
    return Refuse(key);
  }
  absl::Status Delete(std::string_view key, const std::optional<Generation>&,
                      std::stop_token) final {
    return Refuse(key);
  }
  absl::Status DeletePrefix(std::string_view prefix, std::stop_token) final {
    return Refuse(prefix);
  }
  absl::Status MovePrefix(std::string_view from, std::string_view, std::stop_token) final {
    return Refuse(from);
  }
  absl::Status Reserve(std::string_view key, uint64_t, std::stop_token) final {
    return Refuse(key);
  }
  absl::Status WriteAt(std::string_view key, uint64_t, std::span<const std::byte>,
                       std::stop_token) final {
    return Refuse(key);
  }

 private:
  absl::Status Refuse(std::string_view key) const {
    return FailedPrecondition(Describe(key), ": ", why_);
  }

  const std::string why_;
};

}  // namespace tessera::store

#endif  // TESSERA_STORE_READ_ONLY_STORE_H_
