"""Trees of shardings: made from an index, checked, and applied to trees of arrays.

The functions of eformer's module of this name; docs/differences.md tells where they do otherwise.
"""

from __future__ import annotations

import logging
import os
import typing as tp
from collections.abc import Callable

from tessera import _core, _jax, _mesh, _place

logger = logging.getLogger(__name__)

__all__ = (
    "apply_sharding_tree",
    "create_sharding_tree_from_index",
    "make_itsharded",
    "validate_sharding_tree",
)

_INDEX_NAME = "tensorstore_index.json"


# -- from an index --------------------------------------------------------------------------------


def create_sharding_tree_from_index(checkpoint_dir: tp.Any, mesh: tp.Any = None,
                                    prefix: str | None = None, default_sharding: tp.Any = None, *,
                                    allow_missing: bool = False) -> tp.Any:
    """Nested dicts like the checkpoint's keys, with a sharding for each array of its index.

    ``default_sharding`` is a sharding, a spec of the mesh, or a function from an array's record
    (``path``, ``shape``, ``dtype``) to one; without it arrays are replicated on the mesh, and None
    without a mesh.  ValueError when a sharding does not fit a recorded shape, and for a prefix that
    is not there.  FileNotFoundError without an index, or an empty dict if ``allow_missing``.
    """
    text = _read_index(checkpoint_dir)
    if text is None:
        if not allow_missing:
            raise FileNotFoundError(f"{checkpoint_dir}: there is no {_INDEX_NAME}")
        logger.warning("%s: there is no %s", checkpoint_dir, _INDEX_NAME)
        return {}
    if _mesh.is_spec(default_sharding) and mesh is None:
        raise ValueError(f"create_sharding_tree_from_index: the default spec {default_sharding} "
                         "needs a mesh")
    choose = _chooser(mesh, default_sharding)
    tree: dict[str, tp.Any] = {}
    for components, record in _core.index_records(text, prefix or ""):
        chosen = _checked(choose(record), record)
        if not components:  # the checkpoint is this array and nothing else
            return chosen
        at = tree
        for component in components[:-1]:
            at = at.setdefault(component, {})
        at[components[-1]] = chosen
    return tree


def _read_index(directory: tp.Any) -> str | None:
    """The index of a local or remote checkpoint; None: there is none."""
    if hasattr(directory, "read_text") and hasattr(directory, "__truediv__"):
        path = directory / _INDEX_NAME
    elif "://" in str(directory):
        from tessera.eformer.paths import ePath

        path = ePath(directory) / _INDEX_NAME
    else:
        return _read_local(os.path.join(directory, _INDEX_NAME))
    return path.read_text() if path.exists() else None


def _read_local(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _chooser(mesh: tp.Any, default: tp.Any) -> Callable[[dict], tp.Any]:
    """The function from a record to its sharding."""
    if default is None:
        sharding = None if mesh is None else _mesh.replicated(mesh)
    elif _mesh.is_spec(default):
        sharding = _mesh.named_sharding(mesh, _mesh.core_spec(default))
    elif _mesh.is_sharding(default):
        sharding = default
    elif callable(default):
        return default
    else:
        raise TypeError("default_sharding is a sharding, a PartitionSpec, a function or None, "
                        f"not {type(default).__name__}")
    return lambda record: sharding


def _checked(chosen: tp.Any, record: dict) -> tp.Any:
    """The sharding, if it fits the recorded shape."""
    if _mesh.is_sharding(chosen):
        shape = tuple(record["shape"])
        try:
            _mesh.core_sharding(chosen, shape).shard_shape(shape)
        except ValueError as error:
            raise _mesh.named_error(error, record["path"]) from None
    return chosen


# -- applied to arrays ----------------------------------------------------------------------------


def apply_sharding_tree(arrays: tp.Any, sharding_tree: tp.Any, mesh: tp.Any = None) -> tp.Any:
    """Each array placed as the leaf at its place in the other tree says.

    A leaf is a sharding, a spec of the mesh, a function of the array that gives either of these or
    the placed array itself, or None: replicated on the mesh given or in scope, else on the first
    device of this process.  What is no array stays.  Trees of other structures are warned of, and
    nothing is placed.  The error of a leaf names it.
    """
    if sharding_tree is None:
        return arrays
    flat = _mesh.flatten(arrays, none_is_leaf=True)
    targets = _mesh.flatten(sharding_tree, none_is_leaf=True)
    difference = flat.difference(targets)
    if difference is not None:
        logger.warning("apply_sharding_tree: arrays and shardings differ %s; nothing is placed",
                       difference)
        return arrays
    mesh = mesh if mesh is not None else _mesh.context_mesh()
    placed = []
    for key, leaf, target in zip(flat.keys, flat.leaves, targets.leaves):
        try:
            placed.append(_apply(leaf, target, mesh, key))
        except (ValueError, AssertionError) as error:
            raise _mesh.named_error(error, key) from error
    return flat.unflatten(placed)


def _apply(leaf: tp.Any, target: tp.Any, mesh: tp.Any, key: str) -> tp.Any:
    if not (_place.is_device_array(leaf) or _place.is_host_array(leaf)):
        return leaf
    if callable(target) and not _mesh.is_sharding(target) and not _mesh.is_spec(target):
        target = target(leaf)
        if _place.is_device_array(target) or _place.is_host_array(target):
            return target
    if target is None:
        return _place.place(leaf, _default_sharding(leaf, mesh), key)
    if _mesh.is_spec(target):
        bound = _mesh.mesh_or_context(mesh, "apply_sharding_tree")
        target = _mesh.named_sharding(bound, _mesh.core_spec(target))
    if not _mesh.is_sharding(target):
        raise TypeError(f"{key}: a sharding, PartitionSpec, function or None is expected, "
                        f"not {type(target).__name__}")
    return _place.place(leaf, target, key)


def _default_sharding(leaf: tp.Any, mesh: tp.Any) -> tp.Any:
    if mesh is not None:
        return _mesh.replicated(mesh)
    jax = _jax.jax()
    if jax is not None and not isinstance(leaf, _core.ShardedArray):
        return jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    return _core.SingleDeviceSharding(0)


def make_itsharded(xs: tp.Any, mesh: tp.Any) -> tp.Any:
    """The tree with every device array that is whole in this process replicated over the mesh, from
    whatever devices it is on.  All else stays."""
    flat = _mesh.flatten(xs)
    replicated = []
    for key, leaf in zip(flat.keys, flat.leaves):
        if _is_whole_here(leaf):
            chosen = _mesh.mesh_or_context(mesh, "make_itsharded")
            try:
                leaf = _place.place(leaf, _mesh.replicated(chosen), key)
            except ValueError as error:
                raise _mesh.named_error(error, key) from error
        replicated.append(leaf)
    return flat.unflatten(replicated)


def _is_whole_here(leaf: tp.Any) -> bool:
    if not _place.is_device_array(leaf):
        return False
    return _place.is_tracer(leaf) or leaf.is_fully_addressable


# -- checked --------------------------------------------------------------------------------------


def validate_sharding_tree(sharding_tree: tp.Any, expected_structure: tp.Any, *,
                           null_is_leaf: bool = True) -> bool:
    """Whether two trees have the same structure; the first difference is logged.

    None counts as a leaf, so that a template of None stands for any arrays, unless ``null_is_leaf``
    is false.
    """
    try:
        first = _mesh.flatten(sharding_tree, none_is_leaf=null_is_leaf)
        second = _mesh.flatten(expected_structure, none_is_leaf=null_is_leaf)
    except (TypeError, ValueError) as error:
        logger.warning("validate_sharding_tree: %s", error)
        return False
    difference = first.difference(second)
    if difference is not None:
        logger.info("validate_sharding_tree: the trees differ %s", difference)
    return difference is None
