"""The peer JAX: its checkpoint manager, which writes through TensorStore, and jax.device_put.

Verbs ckpt_load, ckpt_save, reshard: README.md.  Beside them make_checkpoint and
make_checkpoint_small write the checkpoints of the cases.  Devices are virtual ones of this host.
"""

import os
import pathlib
import sys
import tempfile
import time

import ml_dtypes  # noqa: F401  (NumPy then knows bfloat16 by name)
import numpy as np
import tensorstore as ts

import peer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from suite.weights import weights  # noqa: E402  (found by the line above)

RESHARD_COLUMNS = 32768
MAKE_COLUMNS = 8192
MIB = 1 << 20


class Devices:
    """N virtual devices in a row, and the ways to lie on them."""

    def __init__(self, arguments):
        count = arguments.number("devices", 8, least=1)
        threads = arguments.threads()
        if threads:
            # JAX's own limits on TensorStore are fixed, so that only the system can hold it back.
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        # Both are read once, when JAX is imported.
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count}"
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        from jax.experimental.array_serialization import serialization
        self.jax, self.serialization = jax, serialization
        self.mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
        # The first array on each device brings up what JAX makes only once.
        jax.block_until_ready(jax.device_put(np.zeros(count, np.float32), self.of("rows", 2)))

    def of(self, name, ndim):
        """Arrays of less than two dimensions are whole everywhere."""
        spec = self.jax.sharding.PartitionSpec
        specs = {"rows": spec("x"), "columns": spec(None, "x"), "whole": spec()}
        return self.jax.sharding.NamedSharding(self.mesh, specs[name if ndim > 1 else "whole"])

    def put(self, array, name):
        return self.jax.device_put(array, self.of(name, array.ndim))


def gathered(array):
    """A sharded array in one piece.  Not by NumPy's own conversion: JAX would keep that copy."""
    whole = np.empty(array.shape, array.dtype)
    for shard in array.addressable_shards:
        if shard.replica_id == 0:
            whole[shard.index] = np.asarray(shard.data)
    return whole


def paths_of(folder, names):
    return [str(folder / name) for name in names]


class FreshPaths:
    """The same folder by another path for each load.  JAX has TensorStore keep 10 GB of decoded
    chunks, by path, so that otherwise the load after a warm one would not be a load."""

    def __init__(self, folder, names):
        self._folder, self._names, self._count = folder, names, 0
        self._links = tempfile.TemporaryDirectory()

    def renew(self):
        self._count += 1
        link = pathlib.Path(self._links.name) / str(self._count)
        link.symlink_to(self._folder)
        self.paths = paths_of(link, self._names)


def ckpt_load(arguments):
    folder = arguments.path("dir")
    mesh = arguments.text("mesh", of=("rows", "columns", "whole"))
    devices = Devices(arguments)
    names = peer.array_names(folder)
    # A program that restarts knows its model's shapes, so that this is not timed.
    shardings = [devices.of(mesh, len(peer.metadata_of(folder, name)["shape"])) for name in names]
    fresh = FreshPaths(folder, names)

    def load():
        manager = devices.serialization.GlobalAsyncCheckpointManager()
        return devices.jax.block_until_ready(
            manager.deserialize_with_paths(shardings, fresh.paths))

    return peer.Work(run=load, payload=lambda loaded: sum(array.nbytes for array in loaded),
                     elements=lambda loaded: map(gathered, loaded), before=fresh.renew)


def read_state(folder, names, devices):
    """By TensorStore and not by JAX, which would keep the decoded chunks in memory."""
    opened = [ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": path + "/"}})
              for path in paths_of(folder, names)]
    state = [devices.put(future.result().read().result(), "rows") for future in opened]
    return devices.jax.block_until_ready(state)


def specs_of(arrays, paths, codec, sync, devices):
    """Those that JAX makes by itself, with another compressor or without sync."""
    specs = [devices.serialization.get_tensorstore_spec(path) for path in paths]
    for spec, array in zip(specs, arrays):
        if codec == "none":
            spec["metadata"] = {"compressor": None, "shape": array.shape,
                                "chunks": list(array.sharding.shard_shape(array.shape))}
        spec["kvstore"]["file_io_sync"] = sync
    return specs


def save(arrays, paths, codec, sync, devices):
    """Seconds until the caller may go on; has waited until all is committed."""
    manager = devices.serialization.GlobalAsyncCheckpointManager()
    start = time.perf_counter()
    if codec != "none" and sync:
        manager.serialize_with_paths(arrays, paths, on_commit_callback=lambda: None)
    else:
        manager.serialize(arrays, specs_of(arrays, paths, codec, sync, devices),
                          on_commit_callback=lambda: None)
    blocked = time.perf_counter() - start
    manager.wait_until_finished()
    return blocked


def stored_bytes(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def ckpt_save(arguments):
    """codec=auto is what each side takes by itself: for JAX that is zstd.  It waits for the disk
    unless sync=0."""
    source, target = arguments.path("from"), arguments.path("to")
    codec = arguments.text("codec", of=("zstd", "auto", "none"))
    sync = arguments.text("sync", "1", of=("0", "1")) == "1"
    devices = Devices(arguments)
    names = peer.array_names(source)
    state = read_state(source, names, devices)
    paths = paths_of(target, names)
    return peer.Work(run=lambda: save(state, paths, codec, sync, devices),
                     payload=lambda _: sum(array.nbytes for array in state),
                     before=lambda: peer.remove(target),
                     more=lambda blocked: {"blocked_s": blocked,
                                           "stored_bytes": stored_bytes(target)})


def reshard(arguments):
    """Element [row, column] is (7 * row + column) % 251, which all of the dtypes can hold."""
    size = arguments.number("bytes", least=1)
    dtype = np.dtype(arguments.text("dtype", "float32", of=("float32", "bfloat16")))
    devices = Devices(arguments)
    jnp, lax = devices.jax.numpy, devices.jax.lax
    rows, columns = devices.of("rows", 2), devices.of("columns", 2)
    shape = (size // RESHARD_COLUMNS // dtype.itemsize, RESHARD_COLUMNS)

    def make():
        row, column = (lax.broadcasted_iota(jnp.int32, shape, dim) for dim in (0, 1))
        return ((7 * row + column) % 251).astype(dtype)

    source = devices.jax.block_until_ready(devices.jax.jit(make, out_shardings=rows)())

    def run():
        result = devices.jax.block_until_ready(devices.jax.device_put(source, columns))
        assert result.sharding == columns
        return result

    return peer.Work(run=run, payload=lambda result: result.nbytes,
                     elements=lambda result: [gathered(result)])


def make(arguments, arrays, devices):
    """Saves {name: array} without sync: it only must be there, not survive."""
    folder = arguments.path("dir")
    paths = paths_of(folder, arrays)
    return peer.Work(run=lambda: save(list(arrays.values()), paths, "zstd", False, devices),
                     payload=lambda _: peer.total_bytes(arrays),
                     before=lambda: peer.remove(folder))


def make_checkpoint(arguments):
    """bfloat16 arrays of 64 MiB (one smaller one for less), split by rows."""
    size = arguments.number("bytes", least=1)
    devices = Devices(arguments)
    rows = min(4096, size // (2 * MAKE_COLUMNS))
    arrays = {f"layer{i}/kernel":
              devices.put(weights("bfloat16").array((rows, MAKE_COLUMNS), i), "rows")
              for i in range(max(1, size // (64 * MIB)))}
    return make(arguments, arrays, devices)


def make_checkpoint_small(arguments):
    """float32 arrays of 4 KiB, whole on every device."""
    count = arguments.number("count", least=1)
    devices = Devices(arguments)
    arrays = {f"layer{i}/bias": devices.put(weights("float32").array((1024,), i), "whole")
              for i in range(count)}
    return make(arguments, arrays, devices)


if __name__ == "__main__":
    peer.main({"ckpt_load": ckpt_load, "ckpt_save": ckpt_save, "reshard": reshard,
               "make_checkpoint": make_checkpoint,
               "make_checkpoint_small": make_checkpoint_small})
