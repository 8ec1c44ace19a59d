// Saving: a saver that works in the background, and the results to come.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/saver.h"
#include "tessera/codec/parse_specs.h"
#include "tessera/comm/comm.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/python/bind.h"
#include "tessera/python/callbacks.h"
#include "tessera/python/errors.h"
#include "tessera/python/numpy.h"
#include "tessera/python/option_reader.h"
#include "tessera/python/py_object.h"
#include "tessera/python/py_tree.h"
#include "tessera/python/py_value.h"
#include "tessera/python/runtime.h"

namespace tessera::python {

namespace nb = nanobind;
using checkpoint::SaveReport;

namespace {

// A caller's function that is told of progress.  What it raises stops the save.
class ProgressCall {
 public:
  explicit ProgressCall(std::optional<KeptObject> function) : function_(std::move(function)) {}

  void Tell(const checkpoint::SaveProgress& done) {
    const absl::Status status = CallPython(*function_, done.bytes_done, done.bytes_total);
    if (status.ok()) return;
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = status;
    stop_.request_stop();
  }

  std::stop_source& stop() { return stop_; }

  // The error of the save: what the function raised, or else `result`.
  absl::Status ErrorOr(const absl::Status& result) {
    MutexLock lock(mutex_);
    return error_.ok() ? result : error_;
  }

 private:
  const std::optional<KeptObject> function_;
  std::stop_source stop_;
  Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

// A save that runs.  Result and callbacks may be asked for by any thread.
class SaveFuture {
 public:
  SaveFuture(Future<SaveReport> future, std::shared_ptr<ProgressCall> progress)
      : future_(std::move(future)), progress_(std::move(progress)) {}

  bool Done() const {
    CheckHere();
    return future_.ready();
  }

  // Waits in slices, so that Ctrl-C is heard.
  bool Wait(std::optional<double> seconds) const {
    CheckHere();
    using Clock = std::chrono::steady_clock;
    const auto until =
        Clock::now() + std::chrono::duration<double>(std::min(seconds.value_or(0), 1e9));
    constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(100);
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::nanoseconds>(until - Clock::now());
      {
        ReleasedGil release;
        if (future_.WaitFor(seconds.has_value() ? std::min(left, kSlice) : kSlice)) return true;
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (seconds.has_value() && Clock::now() >= until) return false;
    }
  }

  absl::Status Status(std::optional<double> seconds) const {
    if (!Wait(seconds)) Raise(absl::DeadlineExceededError("the save has not ended yet"));
    return progress_->ErrorOr(future_.Wait().status());
  }

  SaveReport Result(std::optional<double> seconds) const {
    Check(Status(seconds), NotFoundIs::kFile);
    return *future_.Wait();
  }

  nb::object Exception(std::optional<double> seconds) const {
    const absl::Status status = Status(seconds);
    return status.ok() ? nb::none() : ExceptionOf(status, NotFoundIs::kFile);
  }

  void OnDone(nb::object function) const {
    CheckHere();
    future_.OnReady([kept = KeptObject(std::move(function))](const auto&) {
      // Whoever waits is told of the save's own error; there is nobody to tell of this one.
      CallPython(kept).IgnoreError();
    });
  }

  void Cancel() { progress_->stop().request_stop(); }

 private:
  void CheckHere() const {
    if (here_) return;
    Raise(FailedPrecondition("this save runs in the process that was forked from, not here"));
  }

  OfThisProcess here_;
  Future<SaveReport> future_;
  std::shared_ptr<ProgressCall> progress_;
};

checkpoint::SaveCodec CodecOf(const std::string& name) {
  if (name == "auto") return checkpoint::AutoCodec{};
  return Unwrap(codec::ParseSpecs(name));
}

std::vector<commit::SideFile> FilesOf(const OptionReader& options, const char* option) {
  std::vector<commit::SideFile> result;
  const auto files = options.Get<nb::dict>(option, nb::dict());
  for (const auto [name, content] : files) {
    const auto bytes = CastOption<nb::bytes>(option, content);
    result.push_back({CastOption<std::string>(option, name),
                      Bytes::CopyOf(std::string_view(bytes.c_str(), bytes.size()))});
  }
  return result;
}

checkpoint::SaveFormat FormatOf(const std::string& name, int64_t shard_bytes,
                                const std::string& stem, const nb::dict& metadata) {
  if (name == "tensorstore") return checkpoint::TensorstoreFormat{};
  if (name != "safetensors") {
    Raise(InvalidArgument("format is '", name, "'; expected 'tensorstore' or 'safetensors'"));
  }
  checkpoint::SafetensorsFormat format;
  if (shard_bytes > 0) format.shard_bytes = shard_bytes;
  if (!stem.empty()) format.stem = stem;
  for (const auto [key, value] : metadata) {
    format.metadata.emplace_back(CastOption<std::string>("metadata", key),
                                 CastOption<std::string>("metadata", value));
  }
  return format;
}

checkpoint::PlanOptions PlanOf(const OptionReader& options) {
  checkpoint::PlanOptions plan;
  plan.format = FormatOf(
      options.Get<std::string>("format", "tensorstore"), options.Get<int64_t>("shard_bytes", 0),
      options.Get<std::string>("stem", ""), options.Get<nb::dict>("metadata", nb::dict()));
  plan.prefix = options.Get<std::string>("prefix", "");
  const auto dtype = options.Get<std::string>("float_dtype", "");
  if (!dtype.empty()) plan.float_dtype = Unwrap(ParseDTypeAlias(dtype));
  plan.chunk_bytes = options.Get<int64_t>("chunk_bytes", plan.chunk_bytes);
  plan.codec = CodecOf(options.Get<std::string>("codec", "auto"));
  return plan;
}

checkpoint::SaveOptions SaveOptionsOf(const OptionReader& options,
                                      const std::shared_ptr<ProgressCall>& progress) {
  checkpoint::SaveOptions save;
  save.plan = PlanOf(options);
  save.write_index = options.Get<bool>("write_index", true);
  if (options.Get<bool>("share", false)) save.snapshot = checkpoint::SnapshotMode::kShare;
  if (options.Get<bool>("refuse_if_busy", false)) save.if_busy = checkpoint::IfBusy::kRefuse;
  save.side_files = FilesOf(options, "side_files");
  save.shared_files = FilesOf(options, "shared_files");
  if (auto callback = options.Function("commit_callback")) {
    save.commit_callback = [kept = *callback](const SaveReport& report) {
      return CallPython(kept, report);
    };
  }
  if (options.Find("progress").has_value()) {
    save.progress = [progress](const checkpoint::SaveProgress& done) { progress->Tell(done); };
  }
  if (const auto seconds = options.FindAs<double>("timeout")) {
    constexpr double kMost = 1e9;
    if (!(*seconds > 0))
      Raise(InvalidArgument("timeout is ", *seconds, " s; expected more than 0"));
    save.timeout = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(std::min(*seconds, kMost)));
  }
  save.stop = progress->stop().get_token();
  return save;
}

// One save at a time, in the background.
class PySaver {
 public:
  PySaver(std::shared_ptr<Runtime> runtime, std::shared_ptr<comm::Comm> comm)
      : runtime_(std::move(runtime)), comm_(std::move(comm)) {
    saver_ = std::make_unique<checkpoint::Saver>(checkpoint::SaverResources{
        .io = &runtime_->io(), .platform = &runtime_->platform(), .comm = comm_.get()});
  }

  ~PySaver() {
    if (!here_) {
      static_cast<void>(saver_.release());  // its thread is another process's
      return;
    }
    ReleasedGil release;
    saver_.reset();
  }

  std::unique_ptr<SaveFuture> Start(const std::string& directory, nb::handle tree,
                                    const nb::dict& given) {
    const Turn turn(*this);
    const OptionReader reader(given);
    auto progress = std::make_shared<ProgressCall>(reader.Function("progress"));
    const checkpoint::SaveOptions options = SaveOptionsOf(reader, progress);
    if (options.if_busy == checkpoint::IfBusy::kWait) AwaitLast();
    const array::ValueTree values = ValuesOf(FromPython(tree), runtime_->platform());
    auto started = [&] {
      ReleasedGil release;
      return saver_->Start(checkpoint::OpenForSave(directory), values, options);
    }();
    CheckLast(started.status());
    last_.emplace(*std::move(started), std::move(progress));
    return std::make_unique<SaveFuture>(*last_);
  }

  // A Comm of which one process has gone serves nobody any more, so that each save has its own.
  void UseComm(std::shared_ptr<comm::Comm> comm) {
    const Turn turn(*this);
    AwaitLast();
    ReleasedGil release;
    saver_->UseComm(*comm);
    comm_ = std::move(comm);
  }

  void WaitUntilFinished() {
    const Turn turn(*this);
    AwaitLast();
    absl::Status status;
    {
      ReleasedGil release;
      status = saver_->WaitUntilFinished();
    }
    CheckLast(status);
  }

  bool Busy() const { return here_ && saver_->busy(); }

 private:
  // One thread at a time uses the saver, also when the interpreter ends while another one does.
  class Turn {
   public:
    explicit Turn(PySaver& saver) : saver_(saver) {
      if (!saver.here_) {
        Raise(FailedPrecondition("a saver does not follow into a forked process; make another"));
      }
      ReleasedGil release;
      saver_.mutex_.Lock();
    }
    ~Turn() { saver_.mutex_.Unlock(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    PySaver& saver_;
  };

  // The C++ saver waits as well, but does not hear Ctrl-C.
  void AwaitLast() const {
    if (last_.has_value()) last_->Wait(std::nullopt);
  }

  // Raises the error of the last save, or of the one that could not begin.
  void CheckLast(const absl::Status& status) const {
    if (status.ok()) return;
    const bool stopped = absl::IsCancelled(status) && last_.has_value();
    Check(stopped && !last_->Status(0).ok() ? last_->Status(0) : status, NotFoundIs::kFile);
  }

  OfThisProcess here_;
  Mutex mutex_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<comm::Comm> comm_;
  std::optional<SaveFuture> last_;
  std::unique_ptr<checkpoint::Saver> saver_;
};

void BindReport(nb::module_& module) {
  nb::class_<checkpoint::LostLeaf>(module, "LostLeaf", "A leaf whose value was not kept.")
      .def_ro("key", &checkpoint::LostLeaf::key)
      .def_ro("type_name", &checkpoint::LostLeaf::type_name);
  nb::class_<SaveReport>(module, "SaveReport", "What a save has written.")
      .def_ro("id", &SaveReport::id, "Of the commit; empty: there was nothing to write.")
      .def_ro("prefix", &SaveReport::prefix)
      .def_ro("arrays", &SaveReport::arrays)
      .def_ro("nbytes", &SaveReport::nbytes)
      .def_ro("chunks", &SaveReport::chunks)
      .def_ro("stored_bytes", &SaveReport::stored_bytes)
      .def_ro("lost", &SaveReport::lost, "Leaves that were not kept.")
      .def_ro("blocked_seconds", &SaveReport::blocked_seconds)
      .def_ro("total_seconds", &SaveReport::total_seconds)
      .def("__repr__", [](const SaveReport& report) {
        return Concat("SaveReport(arrays=", report.arrays, ", nbytes=", report.nbytes,
                      ", stored_bytes=", report.stored_bytes,
                      ", total_seconds=", report.total_seconds, ")");
      });
}

}  // namespace

void BindSave(nb::module_& module) {
  BindMemory(module);
  BindReport(module);
  nb::class_<Runtime>(module, "Runtime", "Threads, memory and devices of this process.")
      .def(nb::new_([](int process, std::vector<int64_t> devices, int threads, int64_t memory) {
             return Unwrap(Runtime::Make(process, std::move(devices), threads, memory));
           }),
           nb::arg("process") = 0, nb::arg("devices"), nb::arg("threads") = 0,
           nb::arg("memory") = 0);
  nb::class_<SaveFuture>(module, "SaveFuture", "A save that runs.")
      .def("done", &SaveFuture::Done)
      .def("wait", &SaveFuture::Wait, nb::arg("timeout") = nb::none())
      .def("result", &SaveFuture::Result, nb::arg("timeout") = nb::none())
      .def("exception", &SaveFuture::Exception, nb::arg("timeout") = nb::none())
      .def("on_done", &SaveFuture::OnDone, nb::arg("function"))
      .def("cancel", &SaveFuture::Cancel);
  nb::class_<PySaver>(module, "Saver", "One save at a time, in the background.")
      .def(nb::init<std::shared_ptr<Runtime>, std::shared_ptr<comm::Comm>>(), nb::arg("runtime"),
           nb::arg("comm").none() = nb::none())
      .def("start", &PySaver::Start, nb::arg("directory"), nb::arg("tree").none(),
           nb::arg("options"))
      .def("use_comm", &PySaver::UseComm, nb::arg("comm"))
      .def("wait_until_finished", &PySaver::WaitUntilFinished)
      .def_prop_ro("busy", &PySaver::Busy);
}

}  // namespace tessera::python
