// A store that passes every call on to another one; the wrappers change what they are about.
#ifndef TESSERA_STORE_FORWARDING_STORE_H_
#define TESSERA_STORE_FORWARDING_STORE_H_

#include <string>
#include <utility>
#include <vector>

#include "tessera/store/kv_store.h"

namespace tessera::store {

// The store below must outlive this one.
class ForwardingStore : public KvStore {
 public:
  explicit ForwardingStore(KvStore& base) : base_(base) {}

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token stop) override {
    return base_.Read(key, range, std::move(stop));
  }
  absl::StatusOr<ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                     std::span<std::byte> target, std::stop_token stop) override {
    return base_.ReadInto(key, offset, target, std::move(stop));
  }
  absl::StatusOr<ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                    std::stop_token stop) override {
    return base_.ReadAll(key, target, std::move(stop));
  }
  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    return base_.ReadMany(requests, std::move(stop));
  }
  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte> value,
                                   const std::optional<Generation>& if_generation,
                                   std::stop_token stop) override {
    return base_.Write(key, value, if_generation, std::move(stop));
  }
  absl::Status Delete(std::string_view key, const std::optional<Generation>& if_generation,
                      std::stop_token stop) override {
    return base_.Delete(key, if_generation, std::move(stop));
  }
  absl::Status DeletePrefix(std::string_view prefix, std::stop_token stop) override {
    return base_.DeletePrefix(prefix, std::move(stop));
  }
  absl::Status MovePrefix(std::string_view from, std::string_view to,
                          std::stop_token stop) override {
    return base_.MovePrefix(from, to, std::move(stop));
  }
  bool moves() const override { return base_.moves(); }
  absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix,
                                              std::stop_token stop) override {
    return base_.List(prefix, std::move(stop));
  }
  absl::Status Flush(std::stop_token stop) override { return base_.Flush(std::move(stop)); }
  absl::Status Reserve(std::string_view key, uint64_t size, std::stop_token stop) override {
    return base_.Reserve(key, size, std::move(stop));
  }
  absl::Status WriteAt(std::string_view key, uint64_t offset, std::span<const std::byte> data,
                       std::stop_token stop) override {
    return base_.WriteAt(key, offset, data, std::move(stop));
  }
  bool writes_parts() const override { return base_.writes_parts(); }
  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop) override {
    return base_.Map(key, std::move(stop));
  }
  std::string Describe(std::string_view key) const override { return base_.Describe(key); }

 protected:
  KvStore& base() { return base_; }
  const KvStore& base() const { return base_; }

 private:
  KvStore& base_;
};

}  // namespace tessera::store

#endif  // TESSERA_STORE_FORWARDING_STORE_H_
