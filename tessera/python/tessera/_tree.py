"""Containers of registered types: what JAX's registry knows, when JAX is in use."""

from __future__ import annotations

import collections
import sys
from typing import Any

from . import _core


def _jax_tree_util():
    jax = sys.modules.get("jax")
    return getattr(jax, "tree_util", None)


def _text(entry: Any) -> str:
    for name in ("key", "idx", "name"):
        if hasattr(entry, name):
            return str(getattr(entry, name))
    return str(entry)


def _is_unnamed(entry: Any) -> bool:
    return type(entry).__name__ == "FlattenedIndexKey"


def type_name(cls: type) -> str:
    """How checkpoints name a class: "module:qualified name"."""
    return f"{cls.__module__}:{cls.__qualname__}"


def flatten_node(node: Any):
    """(type name, names or None, children, function that makes it again, static data as text) of a
    registered container; None for a leaf."""
    tree_util = _jax_tree_util()
    if tree_util is None:
        return None
    level = tree_util.default_registry.flatten_one_level_with_keys(node)
    if level is None or isinstance(node, tuple) and hasattr(node, "_fields"):
        return None  # named tuples are known without a registry
    entries = [entry for entry, _ in level[0]]
    children = [child for _, child in level[0]]
    names = None
    if entries and not any(map(_is_unnamed, entries)):
        names = [_text(entry) for entry in entries]
    made_of = _one_level_structure(tree_util, node, children)
    return (type_name(type(node)), names, children, made_of.unflatten, str(made_of))


def _one_level_structure(tree_util, node: Any, children: list):
    _, structure = tree_util.tree_flatten(node, is_leaf=lambda inner: inner is not node)
    if structure.num_leaves != len(children):
        raise ValueError(f"a node of type {type_name(type(node))} contains itself")
    return structure


def _find_type(name: str) -> type | None:
    """The class, if its module is imported already: a checkpoint makes nobody import anything."""
    module_name, _, qualified = name.partition(":")
    found: Any = sys.modules.get(module_name)
    for part in qualified.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


_FACTORIES = {f.__name__: f for f in (int, float, complex, bool, str, list, dict, tuple, set)}


def make_node(kind: str, name: str, names: list[str] | None, statics: dict[str, str], data: str,
              children: list) -> Any:
    """A container that a checkpoint names by its type.  Where the type is not at hand, a dict of
    its fields or a list of its children takes its place, with a warning."""
    if kind == "default dict":
        return collections.defaultdict(_FACTORIES.get(name), zip(names or (), children))
    found = _find_type(name)
    if found is not None and issubclass(found, tuple) and hasattr(found, "_fields"):
        if list(found._fields) == (names or []):
            return found(*children)
    import warnings

    warnings.warn(f"a container of type {name!r} comes as plain dicts and lists: only named "
                  "tuples that are imported already are made again; like= gives the others", stacklevel=4)
    return dict(zip(names, children)) if names else list(children)


_core.set_flatten_node(flatten_node)
_core.set_make_node(make_node)
