"""Arrays of other libraries, as NumPy's or as shards on devices."""

from __future__ import annotations

import sys
from typing import Any

from . import _core, _jax


def describe_leaf(leaf: Any, key: str):
    """What C++ saves of a leaf that is neither a plain value nor an array it knows: a NumPy array,
    (shape, sharding, [(device id, NumPy array), ...]), or None for what is no array."""
    if _jax.is_array(leaf):
        return _jax.describe(leaf, key)
    if isinstance(leaf, _core.ShardedArray):
        return leaf.describe()
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(leaf, (numpy.ndarray, numpy.generic)):
        return _native(leaf, key)
    if hasattr(leaf, "__dlpack__"):
        return from_dlpack(leaf, key)
    return None


def _native(array: Any, key: str):
    """A NumPy array or scalar in this machine's byte order, if its elements can be saved."""
    import numpy

    array = numpy.asarray(array)
    if array.dtype.hasobject or array.dtype.names is not None or array.dtype.kind in "SUMmO":
        raise TypeError(f"{key}: an array of dtype {array.dtype} cannot be saved")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def from_dlpack(producer: Any, key: str = "array"):
    """The NumPy array that looks at a tensor's memory; a tensor elsewhere is copied to the host."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(producer, torch.Tensor):
        return _from_torch(torch, producer, key)
    try:
        return _core.from_dlpack(producer)
    except (BufferError, TypeError, RuntimeError) as error:
        raise TypeError(f"{key}: the memory of a {type(producer).__name__} cannot be looked at: "
                        f"{error}") from error


def _from_torch(torch: Any, tensor: Any, key: str):
    tensor = tensor.detach()
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise TypeError(f"{key}: a {tensor.layout} tensor of {tensor.dtype} cannot be saved")
    tensor = tensor.cpu().resolve_conj().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "bool" or name.startswith("float8_"):
        # torch did not always tell DLPack of these: they go as bytes.
        import ml_dtypes

        return _core.from_dlpack(tensor.view(torch.uint8)).view(getattr(ml_dtypes, name, name))
    return _core.from_dlpack(tensor)


_core.set_describe_leaf(describe_leaf)
