"""Arrays on their way to a sharding and back to the host."""

from __future__ import annotations

from typing import Any

from . import _arrays, _core, _distributed, _jax, _mesh


def is_tracer(leaf: Any) -> bool:
    """Whether it stands for an array inside of jit, shard_map or the like."""
    jax = _jax.jax()
    return jax is not None and isinstance(leaf, jax.core.Tracer)


def is_device_array(leaf: Any) -> bool:
    """Whether it is an array on devices, of either kind; tracers are, too."""
    jax = _jax.jax()
    return isinstance(leaf, _core.ShardedArray) or jax is not None and isinstance(leaf, jax.Array)


def is_host_array(leaf: Any) -> bool:
    import numpy

    return isinstance(leaf, (numpy.ndarray, numpy.generic))


def is_number(leaf: Any) -> bool:
    return isinstance(leaf, (bool, int, float, complex))


def host_array(value: Any, key: str = "array") -> Any:
    """A NumPy array of something that holds one: itself, a number, or a DLPack producer."""
    import numpy

    if is_host_array(value) or is_number(value):
        return numpy.asarray(value)
    if hasattr(value, "__dlpack__"):
        return _arrays.from_dlpack(value, key)
    raise TypeError(f"an array is expected, not {type(value).__name__}")


# -- to a sharding --------------------------------------------------------------------------------


def place(value: Any, sharding: Any, key: str = "array") -> Any:
    """The array under exactly this sharding, of the sharding's kind: itself where it has it.

    ValueError when the sharding does not divide the array.  Copies between any two sets of devices.
    """
    if not is_device_array(value):
        value = host_array(value, key)
    shape = tuple(value.shape)
    _mesh.core_sharding(sharding, shape).shard_shape(shape)
    if is_tracer(value):
        return _constrain(value, sharding)
    if _jax.is_sharding(sharding):
        return _place_with_jax(value, sharding)
    if not is_host_array(value) and not isinstance(value, _core.ShardedArray):
        value = gather(value)
    return _core.place(value, sharding)


def _constrain(value: Any, sharding: Any) -> Any:
    """What placing is inside of jit."""
    jax = _jax.jax()
    if not _mesh.is_named(sharding):
        return jax.lax.with_sharding_constraint(value, sharding)
    # Inside of shard_map some axes belong to it, which only the mesh of the context knows.
    target = sharding.spec if _mesh.is_inside_shard_map(sharding.mesh) else sharding
    if _mesh.is_explicit(sharding.mesh) and hasattr(jax.sharding, "reshard"):
        return jax.sharding.reshard(value, target)
    return jax.lax.with_sharding_constraint(value, target)


def _place_with_jax(value: Any, sharding: Any) -> Any:
    jax = _jax.jax()
    if isinstance(value, _core.ShardedArray):
        value = gather(value)
    if not sharding.is_fully_addressable and getattr(value, "is_fully_addressable", False):
        value = gather(value)  # each process has the whole array, and needs none of the others
    if not is_host_array(value):
        return jax.device_put(value, sharding)
    value = _own_copy(value)
    if _keeps_dtype(value, sharding):
        return jax.device_put(value, sharding)
    with _jax.keeps_64_bits(value.dtype):
        return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index],
                                            dtype=value.dtype)


def _own_copy(value: Any) -> Any:
    """A copy of an array that the caller may change later, as JAX looks at memory of the host where
    it can; the copy lies so that it can."""
    import numpy

    if not value.flags.writeable:
        return value
    memory = numpy.empty(value.nbytes + 64, numpy.uint8)
    begin = -memory.ctypes.data % 64
    copy = memory[begin:begin + value.nbytes].view(value.dtype).reshape(value.shape)
    numpy.copyto(copy, value)
    return copy


def _keeps_dtype(value: Any, sharding: Any) -> bool:
    """Whether device_put takes a host array as it is, and without a word to other processes."""
    wide = value.dtype.itemsize >= 8 and value.dtype.name != "complex64"
    return sharding.is_fully_addressable and (_jax.jax().config.jax_enable_x64 or not wide)


# -- to the host ----------------------------------------------------------------------------------


def gather(value: Any, float_dtype: str | None = None, key: str = "array") -> Any:
    """The whole array as NumPy's, from one replica of each part; floats as `float_dtype`."""
    if is_tracer(value):
        raise TypeError(f"{key}: a traced value has no elements; gather outside of jit")
    if not is_device_array(value):
        return _core.to_host(host_array(value, key), float_dtype)
    if not isinstance(value, _core.ShardedArray):
        if value.is_fully_replicated and not value.is_fully_addressable:
            value = value.addressable_shards[0].data
        process = _jax.jax().process_index()
        described = _jax.describe(value, key)
        value = _core.ShardedArray.from_pieces(*described, process)
    # An array that is all here is nothing that other processes know of.
    engine = None if value.is_fully_addressable else _distributed.comm()
    return _core.to_host(value, float_dtype, engine)
