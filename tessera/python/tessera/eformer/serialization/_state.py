"""Trees as eformer's managers flatten them: by dotted text keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ... import _core, _place
from ._foreign import insert


def nested_state(tree: Any) -> Any:
    """The tree, or where a key holds a dot, the dicts that its keys make when split at dots.

    Callers of eformer hand over flat states, ``{"a.b": x}`` or ``{("a", "b"): x}``, and nested
    ones, and mean the same.  ValueError when two leaves then have one key.
    """
    if isinstance(tree, Mapping) and any(isinstance(key, tuple) for key in tree):
        tree = {_dotted(key): value for key, value in tree.items()}
    flat = _core.FlatTree(tree)
    if not any("." in part for components in flat.components for part in components):
        return tree
    state: dict[str, Any] = {}
    for key, leaf in zip(flat.keys, flat.leaves):
        insert(state, key.split("."), leaf)
    return state


def _dotted(key: Any) -> str:
    return ".".join(map(str, key)) if isinstance(key, tuple) else str(key)


def flat_functions(functions: Mapping[Any, Any]) -> dict[str, Callable[[Any], Any]]:
    """Functions by dotted key, from a flat or nested mapping.  TypeError for other values."""
    result: dict[str, Callable[[Any], Any]] = {}

    def walk(mapping: Mapping[Any, Any], above: list[str]) -> None:
        for key, value in mapping.items():
            parts = [*above, *map(str, key if isinstance(key, tuple) else (key,))]
            if isinstance(value, Mapping):
                walk(value, parts)
            elif value is None or callable(value):
                result[".".join(parts)] = value
            else:
                raise TypeError(
                    f"{'.'.join(parts)}: expected a function, found {type(value).__name__}"
                )

    walk(functions, [])
    return result


def gather(
    tree: Any,
    gather_fns: Mapping[Any, Any] | bool | None,
    mismatch_allowed: bool = True,
) -> tuple[Any, int]:
    """The tree with each array gathered by the function of its key, and the keys without one.

    True brings every array to the host.  KeyError, naming all of them, for keys without a function
    unless that is allowed.
    """
    if not gather_fns:
        return tree, 0
    flat = _core.FlatTree(tree)
    if gather_fns is True:
        leaves = [_to_host(leaf, key) for key, leaf in zip(flat.keys, flat.leaves)]
        return flat.unflatten(leaves), 0
    if not isinstance(gather_fns, Mapping):
        found = type(gather_fns).__name__
        raise TypeError(f"gather_fns: expected a mapping or a bool, found {found}")
    functions = flat_functions(gather_fns)
    missing = [key for key in flat.keys if functions.get(key) is None]
    if missing and not mismatch_allowed:
        raise KeyError(f"no gather function for {', '.join(missing[:20])}")
    leaves = [
        leaf if functions.get(key) is None else functions[key](leaf)
        for key, leaf in zip(flat.keys, flat.leaves)
    ]
    return flat.unflatten(leaves), len(missing)


def _to_host(leaf: Any, key: str) -> Any:
    is_array = hasattr(leaf, "shape") and hasattr(leaf, "dtype")
    return _place.gather(leaf, key=key) if is_array else leaf
