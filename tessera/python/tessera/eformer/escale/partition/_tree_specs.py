"""The specs and shardings that the leaves of a tree carry."""

from __future__ import annotations

import typing as tp
from collections.abc import Iterable, Mapping

from tessera import _core, _mesh, _place


_DEEPEST = 1000


def get_names_from_partition_spec(partition_specs: tp.Any) -> list[str]:
    """The distinct axis names of specs, in order of first appearance."""
    specs: list[tp.Any] = []
    todo = [(partition_specs, 0)]  # the last one is looked at next
    while todo:
        value, depth = todo.pop()
        if depth > _DEEPEST:
            raise ValueError("get_names_from_partition_spec: containers are nested deeper than "
                             f"{_DEEPEST}")
        inner = _spec_or_items(value, specs)
        todo += [(item, depth + 1) for item in reversed(inner)]
    return _core.names_from_specs(specs)


def _spec_or_items(value: tp.Any, specs: list[tp.Any]) -> list[tp.Any]:
    """Adds a spec to the list, or gives what a container holds."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return list(value.values())
    if _mesh.is_named(value):
        value = value.spec
    if _mesh.is_spec(value):
        specs.append(_mesh.core_spec(value))
        return []
    if isinstance(value, str):
        specs.append(_core.PartitionSpec(value))
        return []
    if not isinstance(value, Iterable):
        raise TypeError("get_names_from_partition_spec: a PartitionSpec is expected, "
                        f"not {type(value).__name__}")
    return list(value)


def extract_sharding_structure(pytree: tp.Any) -> tp.Any:
    """The tree with the NamedSharding of each array; None for every other leaf."""
    flat = _mesh.flatten(pytree)
    return flat.unflatten([_array_sharding(leaf) for leaf in flat.leaves])


def _array_sharding(leaf: tp.Any) -> tp.Any:
    if not _place.is_device_array(leaf):
        return None
    sharding = _mesh.sharding_of(leaf)
    return sharding if _mesh.is_named(sharding) else None


def get_shardings_with_structure(pytree: tp.Any) -> tp.Any:
    """The same as ``extract_sharding_structure``."""
    return extract_sharding_structure(pytree)


def extract_shardings(tree: tp.Any, mesh: tp.Any = None) -> tp.Any:
    """The tree with the NamedSharding that each leaf carries, None where it carries none.

    A leaf whose sharding is a bare spec has it bound to the mesh given or in scope, which is only
    looked for then.
    """
    flat = _mesh.flatten(tree)
    return flat.unflatten([_carried_sharding(leaf, mesh, key)
                           for key, leaf in zip(flat.keys, flat.leaves)])


def _carried_sharding(leaf: tp.Any, mesh: tp.Any, key: str) -> tp.Any:
    sharding = _mesh.sharding_of(leaf)
    if _mesh.is_named(sharding):
        return sharding
    if not _mesh.is_spec(sharding):
        return None
    try:
        mesh = _mesh.mesh_or_context(mesh, "extract_shardings")
        return _mesh.named_sharding(mesh, _mesh.core_spec(sharding))
    except (AssertionError, ValueError) as error:
        raise _mesh.named_error(error, key) from None


def get_partition_spec(tree: tp.Any, *, strict: bool = False) -> tp.Any:
    """The tree with the PartitionSpec of each array, an empty one for numbers.

    Arrays without a spec (on one device, in host memory) have an empty one, too, unless ``strict``.
    ValueError naming the leaf for anything else.
    """
    flat = _mesh.flatten(tree)
    return flat.unflatten([_spec_of_leaf(leaf, key, strict)
                           for key, leaf in zip(flat.keys, flat.leaves)])


def _spec_of_leaf(leaf: tp.Any, key: str, strict: bool) -> tp.Any:
    empty = _core.PartitionSpec if isinstance(leaf, _core.ShardedArray) else _mesh.spec_class()
    if _place.is_number(leaf):
        return empty()
    where = f"{key}: " if key else ""
    if not _place.is_device_array(leaf) and not _place.is_host_array(leaf):
        raise ValueError(f"{where}an array or number is expected, not {type(leaf).__name__}")
    sharding = _mesh.sharding_of(leaf)
    if _mesh.is_named(sharding):
        return sharding.spec
    if strict:
        raise ValueError(f"{where}the array has no spec: its sharding is {sharding}")
    if sharding is not None and not sharding.is_fully_replicated:
        raise ValueError(f"{where}the array is split by a sharding without a spec: {sharding}")
    return empty()
