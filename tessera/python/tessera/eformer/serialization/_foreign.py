"""Saving and loading by a writer that is not tessera's, as eformer drives JAX's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core
from . import _kinds
from ._index import INDEX_NAME, array_record, key_of, read_index, records_of


def serialize(
    manager: Any,
    root: Any,
    pytree: Any,
    *,
    prefix: str | None,
    commit_callback: Callable[[], None],
    is_array_like: Callable[[Any], bool],
) -> list[dict[str, Any]]:
    """Hands the arrays of a tree to a writer, and gives the records of the index.

    `root` is the path object of the checkpoint's folder.
    """
    flat = _core.FlatTree(pytree, none_is_leaf=True)
    arrays, records = [], []
    for components, leaf in zip(flat.components, flat.leaves):
        if is_array_like(leaf):
            array = _kinds.as_device_array(leaf) if _kinds.is_jax_object(manager) else leaf
            arrays.append(array)
            records.append(array_record(prefix, components, array))
    _check_unique(records)
    paths = [str(root / record["path"]) for record in records]
    manager.serialize_with_paths(arrays, paths, on_commit_callback=commit_callback)
    return records


def _check_unique(records: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for record in records:
        if record["path"] in seen:
            raise ValueError(f"two leaves are stored as {record['path']!r}")
        seen.add(record["path"])


def stored_paths(root: Any, prefix: str, keys: list[str]) -> list[str]:
    """Where a writer has put the arrays of these keys, which begin with the prefix, by the index.

    ValueError, naming them, when the index does not have exactly these arrays.
    """
    if not keys:
        return []
    paths = {}
    for record in records_of(read_index(root / INDEX_NAME), prefix):
        paths[".".join([prefix, *key_of(record, prefix)])] = record["path"]
    different = sorted(set(paths) ^ set(keys))
    if different:
        raise ValueError(f"{root}: index and tree differ in {', '.join(different[:20])}")
    return [paths[key] for key in keys]


def deserialize(
    manager: Any,
    root: Any,
    records: list[dict[str, Any]],
    shardings: dict[str, Any],
    *,
    prefix: str | None,
    callback: Callable[[Any, str], Any] | None,
    chunk_size: int | None,
) -> dict[str, Any]:
    """The arrays of the records, nested by their keys; `shardings` has one for each dotted key."""
    keys = [key_of(record, prefix) for record in records]
    paths = [str(root / record["path"]) for record in records]
    step = chunk_size if chunk_size and chunk_size > 0 else max(len(keys), 1)
    result: dict[str, Any] = {}
    for start in range(0, len(keys), step):
        batch = keys[start : start + step]
        arrays = manager.deserialize_with_paths(
            shardings=[shardings[".".join(key)] for key in batch],
            paths=paths[start : start + step],
        )
        manager.wait_until_finished()
        for key, array in zip(batch, arrays):
            name = ".".join(key)
            insert(result, name.split("."), array if callback is None else callback(array, name))
    return result


def insert(tree: dict[str, Any], parts: list[str], value: Any) -> None:
    """Puts a value into nested dicts.  ValueError when one key lies inside another."""
    node = tree
    for depth, part in enumerate(parts[:-1]):
        node = node.setdefault(part, {})
        if not isinstance(node, dict):
            above = ".".join(parts[: depth + 1])
            raise ValueError(f"key {'.'.join(parts)!r} lies inside {above!r}")
    if parts[-1] in node:
        raise ValueError(f"key {'.'.join(parts)!r} is there twice, or has others inside it")
    node[parts[-1]] = value
