"""Trees of arrays as folders of zarr arrays and an index: eformer's functions by their names."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import _core
from ..paths import ePath
from . import _foreign, fsspec_utils
from ._deserialize import deserialize, fully_replicated
from ._global_manager import GlobalAsyncCheckpointManager, make_manager
from ._index import add_to_index

logger = logging.getLogger(__name__)

# Seconds that processes wait for each other.
GLOBAL_CHECKPOINT_TIMEOUT = int(os.getenv("GLOBAL_CHECKPOINT_TIMEOUT", "400"))

__all__ = [
    "is_array_like",
    "leaf_key_paths",
    "tree_deserialize_leaves",
    "tree_serialize_leaves",
]

# The attribute that names a child, by the class of JAX's key.
_KEY_ATTRIBUTES = {
    "DictKey": "key",
    "SequenceKey": "idx",
    "GetAttrKey": "name",
    "FlattenedIndexKey": "key",
}


def join_key(prefix: str | None, k: str | None) -> str:
    """Prefix and key with a dot between them; either may be missing."""
    return _core.join_key(prefix, k)


def _keyentry_to_str(path_elem: Any) -> str:
    """The name of one step of a key path: a mapping's key, an index, or a field."""
    attribute = _KEY_ATTRIBUTES.get(type(path_elem).__name__)
    if attribute is not None and hasattr(path_elem, attribute):
        return str(getattr(path_elem, attribute))
    text = str(path_elem).removeprefix(".")
    if len(text) < 2 or text[0] != "[" or text[-1] != "]":
        return text
    inner = text[1:-1]
    quoted = len(inner) >= 2 and inner[0] == inner[-1] and inner[0] in "'\""
    return inner[1:-1] if quoted else inner


def leaf_key_paths(
    pytree: Any, prefix: str | None = "", *, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The tree with each leaf replaced by its dotted key, which begins with the prefix."""
    return _core.leaf_key_paths(pytree, prefix, is_leaf)


def is_array_like(x: Any) -> bool:
    """Whether a value has a shape and a dtype."""
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _is_none(x: Any) -> bool:
    return x is None


def tree_serialize_leaves(
    checkpoint_dir: Any,
    pytree: Any,
    manager: Any = None,
    *,
    prefix: str | None = None,
    commit_callback: Callable[[], None] | None = None,
    write_index: bool = True,
) -> None:
    """Saves the arrays of a tree below `checkpoint_dir` and lists them in the index.

    Waits for the commit unless a manager is given, which then runs the save in the background.
    tessera's own manager makes arrays, index and structure visible in one step; another one, such
    as JAX's, is handed the arrays, and the index is written afterwards.
    """
    given = manager is not None
    if not given:
        manager = make_manager(checkpoint_dir, GLOBAL_CHECKPOINT_TIMEOUT, share=True)
    if commit_callback is None:
        commit_callback = _log_commit
    if isinstance(manager, GlobalAsyncCheckpointManager):
        manager.save(
            checkpoint_dir,
            pytree,
            prefix=prefix,
            commit_callback=commit_callback,
            write_index=write_index,
        )
        if not given:
            manager.wait_until_finished()
        return
    root = ePath(checkpoint_dir)
    records = _foreign.serialize(
        manager,
        root,
        pytree,
        prefix=prefix,
        commit_callback=commit_callback,
        is_array_like=is_array_like,
    )
    if not given:
        manager.wait_until_finished()
    shared = fsspec_utils.should_write_shared_checkpoint_files(checkpoint_dir)
    if write_index and records and shared:
        add_to_index(root, prefix, records)


def _log_commit() -> None:
    logger.info("the checkpoint is committed")


def _fs_paths_from_key_paths(checkpoint_dir: Any, leaf_path: Any) -> Any:
    """The tree of dotted keys as paths below a folder; none of them leads out of it."""
    root = ePath(checkpoint_dir)

    def stored(key: str) -> str:
        path = root
        for part in key.split("."):
            # A slash inside makes a folder; one in front would lead to the root.
            pieces = [part] if part.startswith("/") else part.split("/")
            for piece in pieces:
                path = path / _core.encode_stored_path([piece]) if piece else path
        return str(path)

    flat = _core.FlatTree(leaf_path)
    return flat.unflatten([stored(key) for key in flat.leaves])


def _fully_replicated_sharding(mesh: Any) -> Any:
    """A full copy on every device of the mesh; without a mesh, on this process's first device."""
    return fully_replicated(mesh)


def _sharding_from_leaf(leaf: Any, mesh: Any) -> Any:
    """A leaf's own sharding, else a replicated one; None, with a warning, for what is no array."""
    if getattr(leaf, "sharding", None) is not None:
        return leaf.sharding
    if is_array_like(leaf) or isinstance(leaf, bool | int | float | complex | np.ndarray):
        return _fully_replicated_sharding(mesh)
    logger.warning("there is no sharding for a leaf of type %s", type(leaf).__name__)
    return None


def tree_deserialize_leaves(
    checkpoint_dir: Any,
    mesh: Any,
    manager: Any = None,
    *,
    prefix: str | None = None,
    partition_rules: Sequence[tuple[str, Any]] | None = None,
    shardings: Mapping[str, Any] | None = None,
    callback: Callable[[Any, str], Any] | None = None,
    chunk_size: int | None = None,
) -> Any:
    """Loads the arrays of a prefix as dicts nested by their keys.

    The sharding of a key beats the rules, and is a sharding, a spec, or a function that gets the
    loaded array.  `callback` gets each array and its key, and what it returns is kept.
    `chunk_size` arrays are loaded at a time.
    """
    return deserialize(
        checkpoint_dir,
        mesh,
        manager,
        root=ePath(checkpoint_dir),
        prefix=prefix,
        rules=partition_rules,
        shardings=shardings,
        callback=callback,
        chunk_size=chunk_size,
    )
