"""Loading the arrays of a prefix: natively, or by a writer that is not tessera's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._load import load_tree
from . import _foreign, _kinds
from ._global_manager import GlobalAsyncCheckpointManager
from ._index import INDEX_NAME, key_of, read_index, records_of
from ._side_files import Files

Callback = Callable[[Any, str], Any]


@dataclass(frozen=True)
class ShardingOfShape:
    """A sharding for an array of that shape; one of another shape is replicated on its mesh."""

    sharding: Any
    shape: tuple[int, ...]

    def of(self, shape: Sequence[int]) -> Any:
        if tuple(shape) == self.shape:
            return self.sharding
        return _kinds.replicated_sharding(self.sharding.mesh)


def deserialize(
    directory: Any,
    mesh: Any,
    manager: Any,
    *,
    root: Any,
    prefix: str | None,
    rules: Any = None,
    shardings: Any = None,
    inspect: Callback | None = None,
    dtype: Any = None,
    callback: Callback | None = None,
    chunk_size: int | None = None,
    nested_dicts: bool = True,
    on_files: Callable[[Files, bool], None] | None = None,
) -> Any:
    """The arrays of a prefix, each inspected, cast, given to its function and to the callback.

    `root` is the path object of `directory`.  `on_files` is called before the first array, with the
    files beside the arrays and whether the tree comes back as it was saved.  It does without
    `nested_dicts` where that is recorded and the manager is tessera's own.
    """
    placed, functions = split_shardings(shardings)
    rules = rules_list(rules)
    native = manager is None or isinstance(manager, GlobalAsyncCheckpointManager)
    # What is inspected is what was stored, and a foreign writer cannot cast.
    casts = native and inspect is None
    finish = _finish(mesh, placed, functions, inspect, None if casts else dtype, callback)
    if not native:
        if on_files is not None:
            on_files(Files(root), False)
        records = records_of(read_index(root / INDEX_NAME), prefix)
        shapes = {".".join(key_of(record, prefix)): record["shape"] for record in records}
        by_key = _shardings_of(shapes, mesh, rules, placed, functions)
        return _foreign.deserialize(
            manager, root, records, by_key, prefix=prefix, callback=finish, chunk_size=chunk_size
        )
    if manager is not None:
        manager.wait_until_finished()
    if mesh is not None and functions:
        # A function places its array itself, so nothing else needs to be said of its key.
        placed = {**dict.fromkeys(functions, fully_replicated(mesh)), **placed}
    tree = load_tree(
        directory,
        prefix=prefix or None,
        mesh=mesh,
        rules=rules,
        shardings={key: _choice(given) for key, given in placed.items()} or None,
        dtype=_kinds.float_dtype_name(dtype) if casts else None,
        callback=finish,
        chunk_size=max(chunk_size or 0, 0),
        nested_dicts=nested_dicts,
        on_open=None if on_files is None else lambda c: on_files(Files(root, c), c.has_structure),
    )
    # An array that is the whole tree has no key.
    return tree[""] if nested_dicts and isinstance(tree, dict) and list(tree) == [""] else tree


def fully_replicated(mesh: Any) -> Any:
    """A full copy on every device of the mesh; without a mesh, on this process's first device."""
    return _kinds.first_device_sharding() if mesh is None else _kinds.replicated_sharding(mesh)


def rules_list(rules: Any) -> list[tuple[str, Any]] | None:
    """Rules as a list of pairs.  TypeError, with its number, for what is none."""
    if rules is None:
        return None
    pairs = list(rules)
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(
                f"partition_rules[{number}]: expected a pattern and a spec, found {pair!r}"
            )
    return [(pattern, spec) for pattern, spec in pairs]


def split_shardings(shardings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Shardings and functions by dotted key, from a flat or nested mapping."""
    if shardings is None:
        return {}, {}
    if not isinstance(shardings, Mapping):
        raise TypeError(f"shardings: expected a mapping by key, found {type(shardings).__name__}")
    placed: dict[str, Any] = {}
    functions: dict[str, Any] = {}

    def walk(mapping: Mapping[Any, Any], above: list[str]) -> None:
        for key, value in mapping.items():
            parts = [*above, *map(str, key if isinstance(key, tuple) else (key,))]
            if isinstance(value, Mapping):
                walk(value, parts)
            elif value is not None:
                kind = functions if callable(value) else placed
                kind[".".join(parts)] = value

    walk(shardings, [])
    return placed, functions


def _finish(
    mesh: Any,
    placed: dict[str, Any],
    functions: dict[str, Any],
    inspect: Callback | None,
    dtype: Any,
    callback: Callback | None,
) -> Callback | None:
    """What is done with each array once it is there; None: nothing."""
    # Without a mesh arrays come to the host; where JAX is in use its arrays are expected.
    to_device = mesh is None and not placed and _kinds.loaded_jax() is not None
    if not (to_device or functions or inspect or dtype is not None or callback):
        return None

    def finish(array: Any, key: str) -> Any:
        if inspect is not None:
            inspect(array, key)
        if to_device:
            array = _kinds.as_device_array(array)
        array = _kinds.cast_float(array, dtype)
        if key in functions:
            array = functions[key](array)
        return array if callback is None else callback(array, key)

    return finish


def _shardings_of(
    keys: Mapping[str, Sequence[int]],
    mesh: Any,
    rules: Any,
    placed: dict[str, Any],
    functions: dict[str, Any],
) -> dict[str, Any]:
    """The sharding of every key, of which the shapes are given.

    ValueError, naming all that have none.
    """
    matched: dict[str, Any] = {}
    if rules is not None:
        from ..escale.partition.constraints import match_partition_rules

        names = {key.replace(".", "/"): key for key in keys}
        specs = match_partition_rules(rules, dict.fromkeys(names, 0), strict=False)
        matched = {key: specs[name] for name, key in names.items()}
    elif len(getattr(mesh, "axis_names", ())) > 1:
        missing = [key for key in keys if key not in placed and key not in functions]
        if missing:
            raise ValueError(
                f"no sharding for {', '.join(missing[:20])} on a mesh of several axes; "
                "give shardings or partition_rules"
            )
    default = fully_replicated(mesh)
    chosen = {key: placed.get(key, matched.get(key, default)) for key in keys}
    return {key: _bind(mesh, _fitting(chosen[key], shape)) for key, shape in keys.items()}


def _fitting(sharding: Any, shape: Sequence[int]) -> Any:
    return sharding.of(shape) if isinstance(sharding, ShardingOfShape) else sharding


def _choice(sharding: Any) -> Any:
    """What the engine is told of a key: a sharding, or a function of what is stored."""
    if isinstance(sharding, ShardingOfShape):
        return lambda info: sharding.of(info["shape"])
    return sharding


def _bind(mesh: Any, sharding: Any) -> Any:
    """A spec bound to the mesh; a sharding as it is."""
    if mesh is None or hasattr(sharding, "is_equivalent_to"):
        return sharding
    if _kinds.is_jax_object(sharding):
        return _kinds.loaded_jax().sharding.NamedSharding(mesh, sharding)
    import tessera

    return tessera.NamedSharding(mesh, sharding)
