"""<prefix>_structure.json: the containers and plain values of a tree, as eformer reads them.

eformer keeps JAX's tree definition and all leaves that are no arrays as pickles.  They are written
so that eformer can read what tessera saves.  Reading never loads a pickle: the engine reads them as
data (tessera/ledger/PICKLES.md).
"""

from __future__ import annotations

import base64
import json
import pickle
import warnings
from typing import Any

from ... import _core
from . import _kinds
from ._index import WRITER_VERSION, stored_path
from ._side_files import Files
from .serialization import is_array_like, join_key

_PLAIN_TYPES = (type(None), bool, int, float, complex, str)


def structure_name(prefix: str | None) -> str:
    return f"{prefix or 'pytree'}_structure.json"


class TreeLeaves:
    """The leaves of a tree as eformer counts them: None is one, too."""

    def __init__(self, pytree: Any, prefix: str):
        flat = _core.FlatTree(pytree, none_is_leaf=True)
        self.leaves: list[Any] = flat.leaves
        self.components: list[list[str]] = flat.components
        self.keys = [join_key(prefix, key) for key in flat.keys]
        self.is_array = [is_array_like(leaf) for leaf in self.leaves]
        self.array_keys = [key for key, array in zip(self.keys, self.is_array) if array]
        self._flat = flat

    def unflatten(self, leaves: list[Any]) -> Any:
        return self._flat.unflatten(leaves)

    def stored_paths(self, prefix: str) -> list[str]:
        """Where tessera stores each array."""
        return [
            stored_path(prefix, parts)
            for parts, array in zip(self.components, self.is_array)
            if array
        ]


def make_structure(
    pytree: Any, leaves: TreeLeaves, prefix: str, array_paths: list[str], extras: Any
) -> dict[str, Any]:
    """The file's content.  TypeError, naming each, for leaves that cannot be kept."""
    _check_leaves(leaves)
    return {
        "format": "pytree-structure",
        "version": WRITER_VERSION,
        "backend": "tensorstore",
        "prefix": prefix,
        "treedef_b64": _base64(_pickled_treedef(pytree)),
        "leaf_keys_full": leaves.keys,
        "arr_mask": leaves.is_array,
        "array_keys": leaves.array_keys,
        "array_relpaths": array_paths,
        "nonarray_payload": {
            str(position): _base64(pickle.dumps(leaf))
            for position, leaf in enumerate(leaves.leaves)
            if not leaves.is_array[position]
        },
        "safetensors_file": None,
        "extras": extras or {},
    }


def encode_structure(structure: dict[str, Any]) -> bytes:
    """The file's bytes.  TypeError for extras that JSON cannot hold."""
    try:
        return json.dumps(structure, indent=2).encode()
    except TypeError as error:
        raise TypeError(f"extras: {error}") from error


def _check_leaves(leaves: TreeLeaves) -> None:
    problems = []
    for key, leaf, array in zip(leaves.keys, leaves.leaves, leaves.is_array):
        if array:
            continue
        if type(leaf) not in _PLAIN_TYPES:
            problems.append(f"{key} ({type(leaf).__name__})")
        elif type(leaf) is int and not -(2**63) <= leaf < 2**63:
            problems.append(f"{key} (an int past 64 bits)")
    if problems:
        raise TypeError(
            "only arrays, None, bool, int, float, complex and str can be saved; found "
            + ", ".join(problems[:20])
        )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _pickled_treedef(pytree: Any) -> bytes:
    """JAX's own pickle of the tree definition; without JAX, what it would be."""
    jax = _kinds.loaded_jax()
    if jax is None:
        return _core.encode_tree_def(pytree)
    treedef = jax.tree_util.tree_structure(pytree, is_leaf=lambda leaf: leaf is None)
    return pickle.dumps(treedef)


def read_structure(files: Files, prefix: str) -> dict[str, Any] | None:
    """The file of a prefix; None without one.

    ValueError, naming the file, when it is of another prefix or no structure at all.
    """
    name = structure_name(prefix)
    structure = files.json(name)
    if structure is None:
        return None
    if not isinstance(structure.get("array_keys"), list):
        raise ValueError(f"{files.path(name)}: expected the structure of a tree")
    if structure.get("prefix") != prefix:
        raise ValueError(
            f"{files.path(name)}: of the prefix {structure.get('prefix')!r}, "
            f"and {prefix!r} was asked for"
        )
    return structure


def rebuild(files: Files, prefix: str, arrays: list[Any]) -> Any:
    """The tree that the file describes, with these arrays in the order of its array_keys.

    ValueError for a leaf whose pickle is of no plain value: it is not loaded.  Containers that
    cannot be read without loading a pickle come as dicts, with a warning.
    """
    name = structure_name(prefix)
    tree, problem = _core.rebuild_pytree(files.text(name), prefix, arrays)
    if problem is not None:
        path = files.path(name)
        warnings.warn(f"{path}: dicts take the place of containers: {problem}", stacklevel=2)
    return tree
