"""Whether objects are JAX's or tessera's, and making new ones of the same kind."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ... import _core


def loaded_jax() -> Any:
    """JAX where the program has imported it, else None."""
    return sys.modules.get("jax")


def is_jax_object(value: Any) -> bool:
    """Whether an object's class is one of JAX's."""
    module = type(value).__module__
    return module == "jax" or module.startswith(("jax.", "jaxlib."))


def replicated_spec(mesh: Any) -> Any:
    """The empty partition spec, of the kind that goes with a mesh."""
    if is_jax_object(mesh):
        return loaded_jax().sharding.PartitionSpec()
    import tessera

    return tessera.PartitionSpec()


def replicated_sharding(mesh: Any) -> Any:
    """A full copy on every device of a mesh.  AssertionError for a mesh without devices."""
    if getattr(mesh, "empty", False):
        raise AssertionError("an empty mesh has no device to place arrays on; give a mesh")
    if is_jax_object(mesh):
        return loaded_jax().sharding.NamedSharding(mesh, replicated_spec(mesh))
    import tessera

    return tessera.NamedSharding(mesh, replicated_spec(mesh))


def first_device_sharding() -> Any:
    """All of an array on this process's first device."""
    jax = loaded_jax()
    if jax is not None:
        return jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    import tessera

    return tessera.SingleDeviceSharding(0)


def as_device_array(array: Any) -> Any:
    """A NumPy array as JAX's where JAX is in use and would keep its dtype; else as it is."""
    jax = loaded_jax()
    if jax is None or not isinstance(array, np.ndarray):
        return array
    if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
        return array
    return jax.numpy.asarray(array)


def is_float(array: Any) -> bool:
    """Whether an array's elements are real floating-point numbers."""
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        return False
    kind = getattr(dtype, "kind", "")
    return kind == "f" or (kind == "V" and "float" in str(dtype))


def float_dtype_name(dtype: Any) -> str | None:
    """The name of a floating dtype, however it is given; None stays None.

    ValueError for what is no floating dtype.
    """
    if dtype is None:
        return None
    name = _core.dtype_of_alias(dtype if isinstance(dtype, str) else np.dtype(dtype).name)
    if "float" not in name:
        raise ValueError(f"expected a floating dtype, found {dtype!r}")
    return name


def cast_float(array: Any, dtype: Any) -> Any:
    """The array with its floats as `dtype`; others, and all without a dtype, as they are."""
    name = float_dtype_name(dtype)
    if name is None or not is_float(array) or str(array.dtype) == name:
        return array
    import ml_dtypes

    return array.astype(np.dtype(getattr(ml_dtypes, name, name)))
