// Loading: a checkpoint that is open, its arrays in parts and as a tree.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/load_array.h"
#include "tessera/checkpoint/load_tree.h"
#include "tessera/checkpoint/open.h"
#include "tessera/comm/comm.h"
#include "tessera/core/future.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/status.h"
#include "tessera/python/bind.h"
#include "tessera/python/callbacks.h"
#include "tessera/python/errors.h"
#include "tessera/python/numpy.h"
#include "tessera/python/option_reader.h"
#include "tessera/python/py_mesh.h"
#include "tessera/python/py_object.h"
#include "tessera/python/py_tree.h"
#include "tessera/python/py_value.h"
#include "tessera/python/runtime.h"
#include "tessera/tree/map.h"

namespace tessera::python {

namespace nb = nanobind;
using checkpoint::CheckpointArray;
using checkpoint::LoadResult;

namespace {

// Runs `work` on a thread of its own, so that Ctrl-C is heard while it goes on; it then stops.
template <typename T>
absl::StatusOr<T> RunInterruptible(std::function<absl::StatusOr<T>(std::stop_token)> work) {
  Promise<T> promise;
  const Future<T> future = promise.future();
  std::jthread thread([&](std::stop_token stop) { promise.Set(work(std::move(stop))); });
  while (true) {
    bool ready;
    {
      ReleasedGil release;
      ready = future.WaitFor(std::chrono::milliseconds(100));
    }
    if (ready) break;
    if (PyErr_CheckSignals() != 0) {
      nb::python_error interrupt;
      ReleasedGil release;
      thread.request_stop();
      thread.join();
      throw interrupt;
    }
  }
  ReleasedGil release;
  thread.join();
  return future.Wait();
}

// The shards of this process: [(device id, NumPy array), ...], which look at the array's memory.
nb::list PiecesOf(const array::ShardedArray& array) {
  nb::list pieces;
  for (const array::Shard& shard : array.shards()) {
    // Nobody else has the memory: a load gives each array its own.
    pieces.append(nb::make_tuple(shard.device.id, NumpyOf(shard.View(array.dtype()), array.dtype(),
                                                          shard.buffer.owner(), true)));
  }
  return pieces;
}

// What Python may say of a load, as keyword arguments of `load`.
struct Request {
  checkpoint::LoadSettings settings;
  std::optional<PythonTree> like;
};

checkpoint::ShardingFunction ChooserOf(nb::handle function) {
  return [kept = KeptObject(nb::borrow(function))](const ledger::ArrayRecord& record) {
    return WithPython([&]() -> absl::StatusOr<checkpoint::ChosenSharding> {
      nb::dict info;
      info["path"] = record.path;
      info["shape"] = TupleOf(record.shape);
      info["dtype"] = record.dtype;
      const nb::object chosen = kept.get()(info);
      if (chosen.is_none()) return checkpoint::ChosenSharding();
      if (nb::isinstance<mesh::NamedSharding>(chosen)) {
        return checkpoint::ChosenSharding(nb::cast<mesh::NamedSharding>(chosen));
      }
      return checkpoint::ChosenSharding(nb::cast<mesh::SingleDeviceSharding>(chosen));
    });
  };
}

checkpoint::ShardingChoice ChoiceOf(const nb::object& leaf) {
  if (nb::isinstance<mesh::NamedSharding>(leaf)) return nb::cast<mesh::NamedSharding>(leaf);
  if (nb::isinstance<mesh::PartitionSpec>(leaf)) return nb::cast<mesh::PartitionSpec>(leaf);
  if (nb::isinstance<mesh::SingleDeviceSharding>(leaf)) {
    return nb::cast<mesh::SingleDeviceSharding>(leaf);
  }
  return ChooserOf(leaf);
}

checkpoint::ShardingChoices ChoicesOf(nb::handle shardings) {
  const PythonTree python = FromPython(shardings);
  return Unwrap(tree::Map(python.tree, [](const nb::object& leaf) { return ChoiceOf(leaf); }));
}

// `describe` gives (shape, dtype, sharding or None) of an array, and None of what is none.
checkpoint::TargetTree TargetOf(const PythonTree& like, nb::handle describe) {
  return Unwrap(tree::Map(like.tree, [&](const nb::object& leaf) {
    const nb::object described = describe(leaf);
    checkpoint::TargetLeaf target;
    if (described.is_none()) {
      target.value = {.value = KeepAlive(leaf)};
      return target;
    }
    ShapeDtype array;
    array.shape = DimsOf(described[0]);
    const std::optional<DType> dtype = DTypeOf(described[1]);
    if (!dtype.has_value()) RaiseTypeError("like", "an array of a dtype that cannot be loaded");
    array.dtype = *dtype;
    target.array = std::move(array);
    const nb::object sharding = nb::borrow(described[2]);
    if (nb::isinstance<mesh::NamedSharding>(sharding)) {
      target.sharding = nb::cast<mesh::NamedSharding>(sharding);
    } else if (!sharding.is_none()) {
      target.sharding = nb::cast<mesh::SingleDeviceSharding>(sharding);
    }
    return target;
  }));
}

std::vector<mesh::PartitionRule> RulesOf(nb::handle rules) {
  std::vector<mesh::PartitionRule> result;
  for (const nb::handle rule : rules) {
    result.push_back({nb::cast<std::string>(rule[0]), nb::cast<mesh::PartitionSpec>(rule[1])});
  }
  return result;
}

Request RequestOf(const nb::dict& given) {
  const OptionReader options(given);
  Request result;
  checkpoint::LoadRequest& request = result.settings.request;
  request.mesh = OptionalMeshOf(options.Find("mesh").value_or(nb::none()));
  if (const auto rules = options.Find("rules")) request.rules = RulesOf(*rules);
  if (const auto tree = options.Find("shardings")) request.shardings = ChoicesOf(*tree);
  if (const auto like = options.Find("like")) {
    result.like = FromPython(*like);
    request.target = TargetOf(*result.like, options.Find("describe").value_or(nb::none()));
  }
  request.select = options.Get<std::string>("match", "");
  request.names = options.Get<std::vector<std::string>>("keys", {});
  if (const auto dtype = options.FindAs<std::string>("dtype")) {
    request.cast = Unwrap(ParseDTypeAlias(*dtype));
  }
  request.auto_correct = options.Get<bool>("auto_correct", false);
  request.cast_to_target = options.Get<bool>("cast_to_like", false);
  checkpoint::LoadOptions& load = result.settings.options;
  load.chunk_size = std::max<int64_t>(0, options.Get<int64_t>("chunk_size", load.chunk_size));
  load.read.verify = options.Get<bool>("verify", load.read.verify);
  if (options.Get<bool>("fill_absent", false)) load.read.absent = checkpoint::AbsentChunks::kFill;
  return result;
}

// Each array becomes what make(key, shape, numpy dtype, sharding, pieces) returns.
checkpoint::LoadCallback MakerOf(nb::object make) {
  return [kept = KeptObject(std::move(make))](array::ShardedArray array, std::string_view name) {
    return WithPython([&]() -> absl::StatusOr<array::Value> {
      nb::object made =
          kept.get()(nb::str(name.data(), name.size()), TupleOf(array.shape()),
                     NumpyDtype(array.dtype()), ObjectOf(array.sharding()), PiecesOf(array));
      return array::Opaque{.value = KeepAlive(std::move(made))};
    });
  };
}

nb::object LeafObject(const array::Value& value) {
  const auto* opaque = std::get_if<array::Opaque>(&value);
  TESSERA_CHECK(opaque != nullptr);  // arrays were made objects as they came
  if (opaque->value != nullptr) {
    return nb::borrow(static_cast<PyObject*>(const_cast<void*>(opaque->value.get())));
  }
  return ObjectOf(*opaque);
}

// A checkpoint that is open: what is stored is known, and nothing is read yet.
class PyCheckpoint {
 public:
  PyCheckpoint(std::shared_ptr<Runtime> runtime, checkpoint::Checkpoint checkpoint)
      : runtime_(std::move(runtime)), checkpoint_(std::move(checkpoint)) {}

  static std::unique_ptr<PyCheckpoint> Open(std::shared_ptr<Runtime> runtime,
                                            const std::string& location, const std::string& prefix,
                                            bool all_prefixes, bool verify) {
    const checkpoint::OpenOptions options = {
        .prefix = prefix, .all_prefixes = all_prefixes, .verify = verify};
    auto opened = [&] {
      ReleasedGil release;
      return checkpoint::Checkpoint::OpenAt(location, runtime->io(), options);
    }();
    return std::make_unique<PyCheckpoint>(std::move(runtime),
                                          Unwrap(std::move(opened), NotFoundIs::kFile));
  }

  size_t size() const { return checkpoint_.arrays().size(); }

  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const CheckpointArray& array : checkpoint_.arrays()) keys.push_back(array.name);
    return keys;
  }
  std::vector<std::vector<std::string>> Components() const {
    std::vector<std::vector<std::string>> components;
    for (const CheckpointArray& array : checkpoint_.arrays()) components.push_back(array.key);
    return components;
  }

  // (shape, dtype, chunk shape, codec, stored bytes or None).
  nb::tuple About(size_t index) const {
    const CheckpointArray& array = At(index);
    return nb::make_tuple(TupleOf(array.shape()), NumpyDtype(array.dtype()),
                          TupleOf(array.chunk_shape()), array.CodecText(), array.stored_bytes());
  }

  // The elements of the box, as an array of their own.
  nb::object Read(size_t index, std::vector<int64_t> origin, std::vector<int64_t> shape) {
    const CheckpointArray& array = At(index);
    const Box box = Unwrap(Box::Make(origin, shape));
    if (!Contains(Box::Whole(array.shape()), box)) throw nb::index_error("outside of the array");
    const int64_t bytes = Unwrap(NumBytes(array.dtype(), box.shape()));
    std::shared_ptr<std::byte> memory = AllocateHostMemory(bytes);
    if (memory == nullptr && bytes > 0) Raise(ResourceExhausted("no memory for ", bytes, " bytes"));
    const StridedView target = RowMajorView(memory.get(), box.shape(), DTypeBytes(array.dtype()));
    Check(RunInterruptible<bool>([&](std::stop_token stop) -> absl::StatusOr<bool> {
            TESSERA_ASSIGN_OR_RETURN(const auto reader,
                                     checkpoint::ArrayReader::Make(checkpoint_, array, {}));
            TESSERA_RETURN_IF_ERROR(reader.ReadBox(box, target, runtime_->io(), std::move(stop)));
            return true;
          }).status(),
          NotFoundIs::kFile);
    return NumpyOf(AsConst(target), array.dtype(), std::move(memory), true);
  }

  nb::object Load(const nb::dict& given, nb::object make) {
    Request request = RequestOf(given);
    request.settings.options.callback = MakerOf(std::move(make));
    // Arrays of JAX and of tessera are never written to, and others have no replicas.
    request.settings.options.replicas = checkpoint::Replicas::kShare;
    request.settings.lent = {.io = &runtime_->io(), .platform = &runtime_->platform()};
    const LoadResult loaded = Unwrap(RunInterruptible<LoadResult>([&](std::stop_token stop) {
      return checkpoint::LoadOpened(checkpoint_, request.settings, std::move(stop));
    }));
    static const TreeShapes* no_shapes = new TreeShapes;
    return ToPython(loaded.tree, request.like.has_value() ? *request.like->shapes : *no_shapes,
                    LeafObject);
  }

  // The bytes of a file beside the arrays, as of the commit that this checkpoint shows; None
  // without one.
  nb::object ReadFile(const std::string& name) const {
    auto found = [&] {
      nb::gil_scoped_release release;
      return checkpoint_.store().Read(name, store::ByteRange::AtMost(kMaxFileBytes));
    }();
    const store::ReadResult file = Unwrap(std::move(found), NotFoundIs::kFile);
    if (!file.value.has_value()) return nb::none();
    return nb::bytes(file.value->data(), file.value->size());
  }

  const checkpoint::Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  static constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;

  const CheckpointArray& At(size_t index) const {
    if (index >= size()) throw nb::index_error("no such array");
    return checkpoint_.arrays()[index];
  }

  std::shared_ptr<Runtime> runtime_;
  checkpoint::Checkpoint checkpoint_;
};

}  // namespace

void BindLoad(nb::module_& module) {
  nb::class_<PyCheckpoint>(module, "Checkpoint", "A checkpoint that is open.")
      .def_static("open", &PyCheckpoint::Open, nb::arg("runtime"), nb::arg("location"),
                  nb::arg("prefix") = "", nb::arg("all_prefixes") = false, nb::arg("verify") = true)
      .def("__len__", &PyCheckpoint::size)
      .def_prop_ro("keys", &PyCheckpoint::Keys)
      .def_prop_ro("components", &PyCheckpoint::Components)
      .def_prop_ro("prefix", [](const PyCheckpoint& self) { return self.checkpoint().prefix(); })
      .def_prop_ro("prefixes",
                   [](const PyCheckpoint& self) { return self.checkpoint().prefixes(); })
      .def_prop_ro("format",
                   [](const PyCheckpoint& self) {
                     return std::string(checkpoint::FormatName(self.checkpoint().format()));
                   })
      .def_prop_ro("sealed",
                   [](const PyCheckpoint& self) {
                     return self.checkpoint().integrity() != checkpoint::Integrity::kNone;
                   })
      .def_prop_ro("metadata",
                   [](const PyCheckpoint& self) { return self.checkpoint().header_metadata(); })
      .def_prop_ro(
          "has_structure",
          [](const PyCheckpoint& self) { return self.checkpoint().structure().has_value(); })
      .def("read_file", &PyCheckpoint::ReadFile, nb::arg("name"))
      .def("about", &PyCheckpoint::About, nb::arg("index"))
      .def("read", &PyCheckpoint::Read, nb::arg("index"), nb::arg("origin"), nb::arg("shape"))
      .def("load", &PyCheckpoint::Load, nb::arg("options"), nb::arg("make"));
}

}  // namespace tessera::python
