"""Helpers of savers and loaders: moving arrays, sizes, file names of shards, and flat states.

The functions of eformer's module of this name; docs/differences.md tells where they do otherwise.
"""

from __future__ import annotations

import logging
import typing as tp
from collections.abc import Callable, Mapping

from tessera import _core, _distributed, _jax, _mesh, _place
from tessera.eformer.escale.partition.constraints import with_sharding_constraint

logger = logging.getLogger(__name__)

__all__ = (
    "apply_gather_functions",
    "broadcast_tensor",
    "chunk_tensor_by_memory",
    "derive_base_prefix_from_path",
    "estimate_array_nbytes",
    "estimate_available_memory",
    "flatten_for_broadcast",
    "group_keys_by_shard_size",
    "index_filename",
    "is_gcs_path",
    "optimize_shard_layout",
    "parse_gcs_path",
    "read_process_array",
    "reshard",
    "shard_filename",
    "to_host",
)


# -- moving arrays --------------------------------------------------------------------------------


def reshard(x: tp.Any, target_sharding: tp.Any) -> tp.Any:
    """The array on another sharding, or on a spec of the mesh in scope.

    Entries of a spec that do not fit the array are dropped; an empty spec replicates.  Inside of
    jit it is a constraint, elsewhere the array moves, between any devices.
    """
    if _mesh.is_spec(target_sharding) or _mesh.is_named(target_sharding):
        return with_sharding_constraint(x, target_sharding)
    if not _mesh.is_sharding(target_sharding):
        raise TypeError("reshard: a sharding or PartitionSpec is expected, "
                        f"not {type(target_sharding).__name__}")
    return _place.place(x, target_sharding) if _place.is_device_array(x) else x


def _float_name(dtype: tp.Any) -> str:
    """The name of a floating dtype, given by a name (short ones too), a NumPy or JAX type."""
    import numpy

    if isinstance(dtype, str):
        name = _core.dtype_of_alias(dtype)
    else:
        name = numpy.dtype(dtype).name
    if not name.startswith(("float", "bfloat")):
        raise ValueError(f"a floating dtype is expected, not {name}")
    return name


def to_host(x: tp.Any, float_dtype: tp.Any, mesh: tp.Any, cpu_offload: bool) -> tp.Any:
    """The whole array as a NumPy array, its floats converted to ``float_dtype`` unless None.

    It comes from one replica of each part, so ``mesh`` and ``cpu_offload`` have nothing to do
    where devices and host share their memory.  A number without a dtype is returned as it is.
    """
    name = None if float_dtype is None else _float_name(float_dtype)
    if name is None and _place.is_number(x):
        return x
    return _place.gather(x, name)


def chunk_tensor_by_memory(tensor: tp.Any, memory_limit: int) -> list[tp.Any]:
    """The array cut along its first dimension into as few pieces as fit the limit, of lengths that
    differ by at most one.  A row that is larger than the limit is a piece of its own."""
    plan = _row_chunks(tensor, memory_limit)
    if len(plan) == 1:
        return [tensor]
    return [tensor[begin:begin + rows] for begin, rows in plan]


def _row_chunks(tensor: tp.Any, limit: int) -> list[tuple[int, int]]:
    shape, dtype = _array_like(tensor)
    plan = _core.row_chunks(shape, dtype, limit)
    if any(over for _, _, over in plan):
        logger.warning("an array of shape %s cannot be cut into pieces of %d bytes", shape, limit)
    return [(begin, rows) for begin, rows, _ in plan]


def broadcast_tensor(tensor: tp.Any, memory_limit_bytes: int,
                     target_sharding: tp.Any = None) -> tp.Any:
    """Process 0's array on every process, byte for byte, at most so many bytes at a time; then
    placed on ``target_sharding`` if there is one, else as a NumPy array.

    All processes call it with arrays of one shape and dtype.
    """
    if memory_limit_bytes <= 0:
        raise ValueError(f"memory_limit_bytes must be positive, not {memory_limit_bytes}")
    if not _place.is_device_array(tensor):
        tensor = _place.host_array(tensor)
    if target_sharding is not None:
        shape = tuple(tensor.shape)
        _mesh.core_sharding(target_sharding, shape).shard_shape(shape)
    comm = _distributed.comm()
    host = _place.gather(tensor)
    if comm is not None:
        host = _core.broadcast(host, memory_limit_bytes, comm)
    return host if target_sharding is None else _place.place(host, target_sharding)


# -- sizes ----------------------------------------------------------------------------------------


def _array_like(array: tp.Any) -> tuple[tuple[int, ...], str]:
    """Shape and dtype of an array or number, without looking at elements."""
    import numpy

    if isinstance(array, bool):
        return (), "bool"
    if _place.is_number(array):
        return (), _number_dtype(array)
    if not (hasattr(array, "shape") and hasattr(array, "dtype")):
        raise TypeError(f"an array or number is expected, not {type(array).__name__}")
    try:
        return tuple(array.shape), numpy.dtype(array.dtype).name
    except TypeError:
        raise TypeError(f"an array of dtype {array.dtype} has no size in bytes") from None


def _number_dtype(number: tp.Any) -> str:
    """The dtype that JAX gives to Python's numbers."""
    jax = _jax.jax()
    wide = jax is not None and jax.config.jax_enable_x64
    if isinstance(number, complex):
        return "complex128" if wide else "complex64"
    kind = "int" if isinstance(number, int) else "float"
    return kind + ("64" if wide else "32")


def estimate_array_nbytes(array: tp.Any, *, storage: str = "packed") -> int:
    """The bytes of an array or number.  Elements under a byte count as packed next to each other,
    or as a byte each with ``storage="padded"``."""
    shape, dtype = _array_like(array)
    return _core.estimate_nbytes(shape, dtype, storage)


_LEAST_MEMORY = 100 << 20


def estimate_available_memory() -> int:
    """Bytes that a load may plan with: half of what the host has left (limits of containers
    count), and of each local device at most 0.4 of its limit and what is free there; 100 MiB at
    least."""
    most = _core.available_host_memory() // 2
    for limit, in_use in _device_memory():
        most = min(most, limit * 2 // 5, limit - in_use)
    return max(most, _LEAST_MEMORY)


def _device_memory() -> list[tuple[int, int]]:
    """(limit, bytes in use) of each local device that tells its limit."""
    jax = _jax.jax()
    if jax is None or not _jax.backends_exist():
        return []
    stats = [device.memory_stats() or {} for device in jax.local_devices()]
    return [(int(stat["bytes_limit"]), int(stat.get("bytes_in_use", 0)))
            for stat in stats if stat.get("bytes_limit")]


def group_keys_by_shard_size(flat_state: Mapping[str, tp.Any],
                             max_shard_size_bytes: int) -> list[list[str]]:
    """The keys packed in order into shards of at most so many bytes; a larger array has its own."""
    return _core.group_keys_by_shard_size(_sizes(flat_state), max_shard_size_bytes)


def optimize_shard_layout(state: Mapping[str, tp.Any], max_shard_size_bytes: int, *,
                          order: str = "natural") -> list[list[str]]:
    """The keys packed so that those of one parent stay together where they fit.

    Parents are visited with numbers by value, keys without a parent first; ``order="codepoint"``
    is eformer's order, which has ``layers.10`` before ``layers.2``.
    """
    return _core.optimize_shard_layout(_sizes(state), max_shard_size_bytes, order)


def _sizes(state: Mapping[str, tp.Any]) -> list[tuple[str, int]]:
    return [(key, _stored_nbytes(value)) for key, value in state.items()]


def _stored_nbytes(value: tp.Any) -> int:
    """Bytes in memory and in files, where every element takes a whole number of them."""
    if _place.is_host_array(value) or _place.is_device_array(value):
        return int(value.nbytes)
    return estimate_array_nbytes(value, storage="padded")


# -- names ----------------------------------------------------------------------------------------


def derive_base_prefix_from_path(path_str: str) -> str:
    """The stem that the files of a sharded set have in common.

    >>> derive_base_prefix_from_path("/x/model-00001-of-00004.safetensors")
    '/x/model'
    """
    return _core.derive_base_prefix_from_path(str(path_str))


def shard_filename(base_prefix: str, idx: int, total: int) -> str:
    """The name of shard ``idx`` of ``total``, counted from 1.

    >>> shard_filename("/checkpoints/model", 1, 4)
    '/checkpoints/model-00001-of-00004.safetensors'
    """
    return _core.shard_filename(str(base_prefix), idx, total)


def index_filename(base_prefix: str) -> str:
    """The name of the index of a sharded set.

    >>> index_filename("/checkpoints/model")
    '/checkpoints/model.safetensors.index.json'
    """
    return _core.index_filename(str(base_prefix))


def is_gcs_path(path: tp.Any) -> bool:
    """Whether it is text that begins with ``gs://``, or a path object for Google Cloud Storage.

    >>> is_gcs_path("gs://my-bucket/checkpoint"), is_gcs_path("/local/path/checkpoint")
    (True, False)
    """
    if isinstance(path, str):
        return _core.is_gcs_path(path)
    return any(base.__name__ == "GCSPath" for base in type(path).__mro__)


def parse_gcs_path(gcs_path: str) -> tuple[str, str]:
    """Bucket and object of a ``gs://`` path."""
    return _core.parse_gcs_path(str(gcs_path))


# -- flat states ----------------------------------------------------------------------------------

# What read_process_array casts; all else comes as it was stored.
_CAST_DTYPES = ("float16", "bfloat16", "float32", "float64")


def read_process_array(key: str, shard_fns: Mapping[str, Callable] | None, mismatch_allowed: bool,
                       manager: tp.Any,
                       callback: Callable[[tp.Any, str], tp.Any] | None = None,
                       dtype: tp.Any = None) -> tuple[str, tp.Any, int]:
    """One tensor of ``manager.get_tensor(key)``: placed by its function, passed to the callback,
    then cast.  Gives the key, the tensor, and 1 if functions were given but none for this key.

    KeyError for such a key unless ``mismatch_allowed``.
    """
    name = None if dtype is None else _float_name(dtype)
    tensor = manager.get_tensor(key)
    mismatch = 0
    if shard_fns:
        function = shard_fns.get(key)
        if function is not None:
            tensor = function(tensor)
        elif mismatch_allowed:
            mismatch = 1
        else:
            known = ", ".join(repr(other) for other in list(shard_fns)[:20])
            raise KeyError(f"no shard function for {key!r}; there are some for {known}")
    if callback is not None:
        tensor = callback(tensor, key)
    return key, tensor if name is None else _cast(tensor, name), mismatch


def _cast(tensor: tp.Any, name: str) -> tp.Any:
    import ml_dtypes
    import numpy

    if str(getattr(tensor, "dtype", "")) not in _CAST_DTYPES:
        return tensor
    if isinstance(tensor, _core.ShardedArray):
        return _place.place(_place.gather(tensor, name), tensor.sharding)
    return tensor.astype(numpy.dtype(getattr(ml_dtypes, name, name)))


def apply_gather_functions(state: Mapping[str, tp.Any], gather_fns: tp.Any,
                           mismatch_allowed: bool, verbose: bool, *,
                           return_mismatches: bool = False) -> tp.Any:
    """Each value of a flat state passed through its function.

    ``gather_fns`` is a mapping, nested or with dotted or tuple keys; True brings every array to the
    host; False and None do nothing.  A value without a function stays if ``mismatch_allowed``, else
    KeyError.  ``return_mismatches`` adds the number of such values.
    """
    if isinstance(gather_fns, Mapping):
        functions = flatten_for_broadcast(gather_fns)
    else:
        functions = dict.fromkeys(state, _to_host_if_array if gather_fns else None)
    gathered = {}
    mismatches = 0
    for key, value in _progress(state, verbose):
        if key not in functions:
            if not mismatch_allowed:
                raise KeyError(f"no gather function for {key!r}")
            mismatches += 1
        function = functions.get(key)
        gathered[key] = value if function is None else function(value)
    return (gathered, mismatches) if return_mismatches else gathered


def _to_host_if_array(value: tp.Any) -> tp.Any:
    return _place.gather(value) if _place.is_device_array(value) else value


def _progress(state: Mapping[str, tp.Any], verbose: bool) -> tp.Any:
    if not verbose:
        return state.items()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return state.items()
    return tqdm(state.items(), desc="gathering", total=len(state))


def flatten_for_broadcast(state: Mapping, *, keep_empty_nodes: bool = False) -> dict[str, tp.Any]:
    """Nested mappings as one flat dict with dotted names; keys that are tuples are paths.

    Only mappings are taken apart.  Empty ones vanish unless ``keep_empty_nodes``.  ValueError when
    two values would have one name.

    >>> flatten_for_broadcast({"a": {"b": 1, "c": {}}, "d": 2})
    {'a.b': 1, 'd': 2}
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"flatten_for_broadcast: a mapping is expected, not {type(state).__name__}")
    flat: dict[str, tp.Any] = {}
    # Lifo, so that what is deepest comes first, as a reader meets it.
    todo: list[tuple[tuple[str, ...], tp.Any]] = [((), state)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, Mapping) and (value or not path):
            todo += [(path + _parts(key), item) for key, item in reversed(list(value.items()))]
            continue
        name = ".".join(path)
        if isinstance(value, Mapping) and not keep_empty_nodes:
            continue
        if name in flat:
            raise ValueError(f"flatten_for_broadcast: two values would be called {name!r}")
        flat[name] = value
    return flat


def _parts(key: tp.Any) -> tuple[str, ...]:
    return tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)
