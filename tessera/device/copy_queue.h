// Copies to, from and between devices, which may still run when the call returns.
#ifndef TESSERA_DEVICE_COPY_QUEUE_H_
#define TESSERA_DEVICE_COPY_QUEUE_H_

#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "tessera/core/strided.h"

namespace tessera::device {

// When something that was queued is done, and how it ended.  A value; copies share it.
// Thread-safe.
class Event {
 public:
  // How a device tells that work is done.  Thread-safe.
  class State {
   public:
    virtual ~State() = default;
    virtual bool done() const = 0;
    virtual absl::Status Wait() const = 0;
  };

  // Done, with this result.
  explicit Event(absl::Status status = absl::OkStatus()) : status_(std::move(status)) {}
  explicit Event(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  bool done() const { return state_ == nullptr || state_->done(); }

  // Blocks until it is done.  The error of the copy that failed, if one did.
  absl::Status Wait() const { return state_ == nullptr ? status_ : state_->Wait(); }

 private:
  absl::Status status_;
  std::shared_ptr<const State> state_;  // nullptr: done with status_
};

// Waits for all; the first error in their order.
absl::Status WaitForAll(std::span<const Event> events);

// A stream of copies to and from the memory of one device.  Copies of one queue take effect in the
// order they were given in, those of two queues in any order or at once.  Views look at whole
// elements; on the device's side their data are the device's addresses.  Memory on both sides must
// live, and what is read must not change, until the event is done.  Shapes or element sizes that
// differ are an InvalidArgument of the event.  Thread-safe.
class CopyQueue {
 public:
  // Waits for what was queued.
  virtual ~CopyQueue() = default;

  // Fastest from staging memory; with pageable memory the call may wait for the copy.
  virtual Event CopyToDevice(const ConstStridedView& host, const StridedView& device) = 0;
  virtual Event CopyToHost(const ConstStridedView& device, const StridedView& host) = 0;

  // From the memory of the device `source_id`, this one or another, to this queue's device.
  virtual Event CopyBetween(const ConstStridedView& source, int64_t source_id,
                            const StridedView& target) = 0;

  // Done when everything that was queued before is.
  virtual Event Mark() = 0;
};

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_COPY_QUEUE_H_
