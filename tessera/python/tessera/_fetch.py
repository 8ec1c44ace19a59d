"""Arrays on their way from accelerators to the host."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from . import _core, _jax


def _start(shard: Any) -> Any:
    """The part in memory that its device writes to at full speed, some thirty times as fast as to
    other memory of the host; where there is none such, the part itself."""
    kinds = {memory.kind for memory in shard.device.addressable_memories()}
    if "pinned_host" not in kinds:
        shard.data.copy_to_host_async()
        return shard.data
    jax = _jax.jax()
    sharding = jax.sharding.SingleDeviceSharding(shard.device, memory_kind="pinned_host")
    return jax.device_put(shard.data, sharding)


def _is_far(array: Any) -> bool:
    jax = _jax.jax()
    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key) or array.is_deleted():
        return False  # refused by its key when it is described
    on_host = next(iter(array.sharding.device_set)).platform == "cpu"
    return not on_host and array.sharding.memory_kind in (None, "device")


@contextlib.contextmanager
def fetching(tree: Any) -> Iterator[bool]:
    """Starts all copies from accelerators, so that they run beside each other.

    Gives whether that is every array of the tree: then what is saved is nobody's but ours.
    """
    jax = _jax.jax()
    if jax is None or not _jax.backends_exist() or jax.default_backend() == "cpu":
        yield False
        return
    arrays = [leaf for leaf in _core.FlatTree(tree).leaves if hasattr(leaf, "dtype")]
    far = [leaf for leaf in arrays if _jax.is_array(leaf) and _is_far(leaf)]
    _jax.fetched.parts = {
        id(array): {box: _start(shard) for box, shard in _jax.distinct_shards(array).items()}
        for array in far
    }
    try:
        yield len(far) == len(arrays)
    finally:
        _jax.fetched.parts = {}
