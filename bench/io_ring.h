// The least of io_uring that a measurement needs, straight on the system calls.
#ifndef TESSERA_BENCH_IO_RING_H_
#define TESSERA_BENCH_IO_RING_H_

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tessera::bench {

// One thread's queue of reads and writes.  Its memory is the process's until the end: a measuring
// program makes a handful.
class IoRing {
 public:
  explicit IoRing(unsigned depth) {
    io_uring_params params = {};
    ring_ = static_cast<int>(syscall(SYS_io_uring_setup, depth, &params));
    if (ring_ < 0) return;
    std::byte* sq = Map(params.sq_off.array + params.sq_entries * sizeof(unsigned), 0);
    std::byte* cq =
        Map(params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe), IORING_OFF_CQ_RING);
    sq_tail_ = reinterpret_cast<unsigned*>(sq + params.sq_off.tail);
    sq_mask_ = *reinterpret_cast<unsigned*>(sq + params.sq_off.ring_mask);
    sq_array_ = reinterpret_cast<unsigned*>(sq + params.sq_off.array);
    entries_ = reinterpret_cast<io_uring_sqe*>(
        Map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    cq_head_ = reinterpret_cast<unsigned*>(cq + params.cq_off.head);
    cq_tail_ = reinterpret_cast<unsigned*>(cq + params.cq_off.tail);
    cq_mask_ = *reinterpret_cast<unsigned*>(cq + params.cq_off.ring_mask);
    results_ = reinterpret_cast<io_uring_cqe*>(cq + params.cq_off.cqes);
  }
  ~IoRing() {
    if (valid()) close(ring_);
  }
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;

  // False where the kernel or a sandbox does not offer io_uring.
  bool valid() const { return ring_ >= 0; }

  // Starts IORING_OP_READ or IORING_OP_WRITE.
  void Start(uint8_t operation, int file, std::byte* data, size_t length, uint64_t offset) {
    const unsigned tail = *sq_tail_;
    io_uring_sqe& entry = entries_[tail & sq_mask_];
    entry = {};
    entry.opcode = operation;
    entry.fd = file;
    entry.addr = reinterpret_cast<uint64_t>(data);
    entry.len = static_cast<unsigned>(length);
    entry.off = offset;
    sq_array_[tail & sq_mask_] = tail & sq_mask_;
    std::atomic_ref(*sq_tail_).store(tail + 1, std::memory_order_release);
    ++unsubmitted_;
  }

  // The result of one that has ended.
  int Wait() {
    while (std::atomic_ref(*cq_tail_).load(std::memory_order_acquire) == *cq_head_) {
      const auto taken =
          syscall(SYS_io_uring_enter, ring_, unsubmitted_, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
      if (taken > 0) unsubmitted_ -= static_cast<unsigned>(taken);
    }
    const int result = results_[*cq_head_ & cq_mask_].res;
    std::atomic_ref(*cq_head_).store(*cq_head_ + 1, std::memory_order_release);
    return result;
  }

 private:
  std::byte* Map(size_t size, off_t offset) const {
    return static_cast<std::byte*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_, offset));
  }

  int ring_ = -1;
  unsigned unsubmitted_ = 0;
  unsigned* sq_tail_ = nullptr;
  unsigned sq_mask_ = 0;
  unsigned* sq_array_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
  unsigned* cq_head_ = nullptr;
  unsigned* cq_tail_ = nullptr;
  unsigned cq_mask_ = 0;
  io_uring_cqe* results_ = nullptr;
};

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_IO_RING_H_
