"""JAX's arrays, meshes and shardings, for programs that use JAX.

JAX is never imported here: who has its objects has imported it.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from typing import Any, Iterable

from . import _core


def jax() -> Any:
    """The module, if the program has imported it."""
    module = sys.modules.get("jax")
    return module if hasattr(module, "sharding") else None


def _kind(name: str) -> type | None:
    module = jax()
    return getattr(module.sharding, name, None) if module is not None else None


def _is(value: Any, *names: str) -> bool:
    kinds = tuple(kind for name in names if (kind := _kind(name)) is not None)
    return bool(kinds) and isinstance(value, kinds)


def is_array(leaf: Any) -> bool:
    """Whether it is a jax.Array with elements, which a tracer has not."""
    module = jax()
    if module is None or not isinstance(leaf, module.Array):
        return False
    if isinstance(leaf, module.core.Tracer):
        raise TypeError("a traced value has no elements to save: save outside of jit")
    return True


def is_mesh(value: Any) -> bool:
    return _is(value, "Mesh")


def is_sharding(value: Any) -> bool:
    return _is(value, "Sharding")


def is_spec(value: Any) -> bool:
    return _is(value, "PartitionSpec")


def is_descriptor(leaf: Any) -> bool:
    """Whether it is a jax.ShapeDtypeStruct."""
    module = jax()
    return module is not None and isinstance(leaf, module.ShapeDtypeStruct)


# -- processes and devices ------------------------------------------------------------------------


def _distributed_state() -> Any:
    from jax._src import distributed  # JAX has no public name for its client

    return distributed.global_state


def process_count() -> int:
    """How many processes of JAX work together."""
    if jax() is None:
        return 1
    state = _distributed_state()
    if state.client is not None:
        return state.num_processes or 1
    return jax().process_count() if backends_exist() else 1


def distributed_client() -> Any:
    """The client of jax.distributed; None before jax.distributed.initialize()."""
    return _distributed_state().client


def backends_exist() -> bool:
    from jax._src import xla_bridge  # asking in public would start them

    return xla_bridge.backends_are_initialized()


def local_devices() -> tuple[int, tuple[int, ...]]:
    """This process's number and the ids of its devices; (0, (0,)) while JAX does nothing."""
    module = jax()
    if module is None or not (process_count() > 1 or backends_exist()):
        return 0, (0,)
    devices = list(module.local_devices())
    with contextlib.suppress(RuntimeError):  # a program may have switched the CPU off
        devices += module.local_devices(backend="cpu")
    return module.process_index(), tuple(sorted({device.id for device in devices}))


# -- meshes and shardings -------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def core_mesh(mesh: Any) -> _core.Mesh:
    devices = list(mesh.devices.flat)
    types = [str(kind).rpartition(".")[2].lower() for kind in getattr(mesh, "axis_types", ())]
    return _core.Mesh(
        list(mesh.axis_names),
        list(mesh.devices.shape),
        device_ids=[device.id for device in devices],
        processes=[device.process_index for device in devices],
        axis_types=types or None,
    )


def core_spec(spec: Iterable) -> _core.PartitionSpec:
    unconstrained = _kind("PartitionSpec").UNCONSTRAINED
    return _core.PartitionSpec(
        *(_core.UNCONSTRAINED if entry is unconstrained else entry for entry in spec)
    )


@functools.lru_cache(maxsize=4096)
def _core_named(sharding: Any) -> _core.NamedSharding:
    return _core.NamedSharding(core_mesh(sharding.mesh), core_spec(sharding.spec))


def core_sharding(sharding: Any, shape: tuple[int, ...]) -> Any:
    """A sharding of tessera's that places an array of this shape alike."""
    if _is(sharding, "NamedSharding"):
        return _core_named(sharding)
    if _is(sharding, "SingleDeviceSharding"):
        (device,) = sharding.device_set
        return _core.SingleDeviceSharding(device.id, device.process_index)
    return _sharding_of_boxes(sharding.devices_indices_map(tuple(shape)), shape)


def _sharding_of_boxes(indices: dict, shape: tuple[int, ...]) -> _core.NamedSharding:
    """A mesh made up so that each device gets its part: one axis per dimension, one for copies."""
    starts = [sorted({index[d].start or 0 for index in indices.values()}) for d in range(len(shape))]
    copies: dict[tuple, list] = {}
    for device, index in indices.items():
        cell = tuple(starts[d].index(part.start or 0) for d, part in enumerate(index))
        copies.setdefault(cell, []).append(device)
    count = len(next(iter(copies.values())))
    sizes = [len(cuts) for cuts in starts] + [count]
    if any(len(devices) != count for devices in copies.values()) or len(copies) * count != len(indices):
        raise NotImplementedError("a sharding whose parts are not on equally many devices")
    devices = [device for cell in sorted(copies) for device in copies[cell]]
    names = [f"dimension {d}" for d in range(len(shape))]
    mesh = _core.Mesh(
        names + ["copy"],
        sizes,
        device_ids=[device.id for device in devices],
        processes=[device.process_index for device in devices],
    )
    return _core.NamedSharding(mesh, _core.PartitionSpec(*names))


def jax_spec(spec: _core.PartitionSpec) -> Any:
    kind = _kind("PartitionSpec")
    return kind(*(kind.UNCONSTRAINED if entry is _core.UNCONSTRAINED else entry for entry in spec))


def jax_sharding(sharding: Any, mesh: Any) -> Any:
    """JAX's form of a sharding on `mesh`, or on one device."""
    module = jax()
    if isinstance(sharding, _core.SingleDeviceSharding):
        return module.sharding.SingleDeviceSharding(_device(sharding.device_id))
    return module.sharding.NamedSharding(mesh, jax_spec(sharding.spec))


def _device(device_id: int) -> Any:
    for device in jax().local_devices():
        if device.id == device_id:
            return device
    raise ValueError(f"this process has no device {device_id}")


# -- arrays ---------------------------------------------------------------------------------------


def _box(index: tuple, shape: tuple[int, ...]) -> tuple:
    return tuple(part.indices(size)[:2] for part, size in zip(index, shape))


def distinct_shards(array: Any) -> dict[tuple, Any]:
    """By box, the shard of the first device of this process that has it."""
    shards: dict[tuple, Any] = {}
    for shard in array.addressable_shards:
        shards.setdefault(_box(shard.index, array.shape), shard)
    return shards


class _Fetched(threading.local):
    """Parts that are on their way from accelerators while a save begins, by array and box."""

    def __init__(self) -> None:
        self.parts: dict[int, dict[tuple, Any]] = {}


fetched = _Fetched()


def _host_view(data: Any) -> Any:
    """The elements of one device's part: in place where they are the host's."""
    import numpy

    view = numpy.asarray(data)
    return view if view.flags.c_contiguous else numpy.ascontiguousarray(view)


def describe(array: Any, key: str) -> tuple:
    """(shape, sharding, [(device id, NumPy array), ...]) of the parts that are here.

    Copies of one part are looked at once, so that an accelerator sends each part once.
    """
    module = jax()
    if module.dtypes.issubdtype(array.dtype, module.dtypes.prng_key):
        raise TypeError(f"{key}: a key array cannot be saved; save jax.random.key_data of it")
    if array.is_deleted():
        raise ValueError(f"{key}: the array was deleted or donated")
    parts = fetched.parts.get(id(array))
    if parts is None:
        parts = {box: shard.data for box, shard in distinct_shards(array).items()}
    views = {box: _host_view(data) for box, data in parts.items()}
    pieces = [(shard.device.id, views[_box(shard.index, array.shape)])
              for shard in array.addressable_shards]
    return tuple(array.shape), core_sharding(array.sharding, array.shape), pieces


def keeps_64_bits(dtype: Any) -> Any:
    """JAX narrows 64-bit arrays unless it is told that they are meant."""
    if dtype.itemsize < 8 or dtype.name == "complex64":
        return contextlib.nullcontext()
    module = jax()
    return module.enable_x64(True) if hasattr(module, "enable_x64") else module.experimental.enable_x64()


def make_array(shape: tuple[int, ...], dtype: Any, sharding: Any, pieces: list) -> Any:
    """A jax.Array of these parts.  Parts in host memory are looked at, not copied, where JAX's
    devices are the host."""
    by_device = dict(pieces)
    views = {
        _box(index, shape): by_device[device.id]
        for device, index in sharding.addressable_devices_indices_map(tuple(shape)).items()
    }
    with keeps_64_bits(dtype):
        return jax().make_array_from_callback(
            tuple(shape), sharding, lambda index: views[_box(index, shape)], dtype=dtype
        )
