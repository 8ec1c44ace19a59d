"""The writer that saves are given: tessera's own, under the method names of JAX's."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..._load import load_tree
from ..._save import Saver, path_text
from ..paths import is_remote_path
from . import _kinds


class GlobalAsyncCheckpointManager:
    """Saves in the background, one save at a time; each becomes visible as a whole.

    Stands in for the class of that name in jax.experimental.array_serialization.
    """

    def __init__(self, timeout_secs: float | None = None):
        self._saver = Saver()
        self._timeout = timeout_secs
        self._options: dict[str, Any] = {}

    def with_files(
        self,
        *,
        side_files: dict[str, bytes] | None = None,
        shared_files: dict[str, bytes] | None = None,
        float_dtype: Any = None,
        share: bool = False,
    ) -> GlobalAsyncCheckpointManager:
        """The same writer, whose saves also write these files in the commit of the arrays.

        With `share` the tree is not copied, and may not change until the save is finished.
        """
        other = object.__new__(GlobalAsyncCheckpointManager)
        other._saver, other._timeout = self._saver, self._timeout
        other._options = {
            "side_files": side_files,
            "shared_files": shared_files,
            "float_dtype": _kinds.float_dtype_name(float_dtype),
            "share": share,
        }
        return other

    def save(
        self,
        directory: Any,
        tree: Any,
        *,
        prefix: str | None = None,
        commit_callback: Callable[[], None] | None = None,
        write_index: bool = True,
    ) -> Any:
        """Starts a save of a tree and gives its future, once the tree may change again.

        NotImplementedError for storage that only JAX's writer reaches.
        """
        path = path_text(directory)
        _check_local(path)
        callback = None if commit_callback is None else lambda *_: commit_callback()
        return self._saver.start(
            path,
            tree,
            prefix=prefix,
            commit_callback=callback,
            write_index=write_index,
            timeout=self._timeout,
            **self._options,
        )

    def serialize_with_paths(
        self,
        arrays: Sequence[Any],
        paths: Sequence[str],
        *,
        on_commit_callback: Callable[[], None] | None = None,
    ) -> None:
        """Starts a save of each array to its own folder; no index is written."""
        if len(arrays) != len(paths):
            raise ValueError(f"there are {len(arrays)} arrays and {len(paths)} paths")
        if not paths:
            if on_commit_callback is not None:
                on_commit_callback()
            return
        folder, tree = _nest(paths, arrays)
        self.save(folder, tree, commit_callback=on_commit_callback, write_index=False)

    def deserialize_with_paths(
        self, shardings: Sequence[Any], paths: Sequence[str], **unused: Any
    ) -> list[Any]:
        """The array of each folder, placed as its sharding says."""
        del unused  # JAX's limits of memory and of concurrency; the engine has its own
        if len(shardings) != len(paths):
            raise ValueError(f"there are {len(shardings)} shardings and {len(paths)} paths")
        self.wait_until_finished()
        return [_load_array(path, sharding) for path, sharding in zip(paths, shardings)]

    def wait_until_finished(self) -> None:
        """Returns when no save runs.  Raises what the last one has failed with."""
        self._saver.wait_until_finished()

    def check_for_errors(self) -> None:
        """Raises what a save that has ended has failed with."""
        if not self._saver.busy:
            self._saver.wait_until_finished()


def make_manager(directory: Any, timeout_secs: float | None, share: bool = False) -> Any:
    """The writer for a place: tessera's, or JAX's for storage that only that reaches."""
    if not is_remote_path(directory) or _kinds.loaded_jax() is None:
        return GlobalAsyncCheckpointManager(timeout_secs).with_files(share=share)
    from jax.experimental.array_serialization import serialization as jax_serialization

    timeout = {} if timeout_secs is None else {"timeout_secs": int(timeout_secs)}
    return jax_serialization.GlobalAsyncCheckpointManager(**timeout)


def _check_local(directory: Any) -> None:
    if is_remote_path(directory):
        raise NotImplementedError(
            f"{directory}: tessera saves to local paths only; give a GlobalAsyncCheckpointManager "
            "of JAX's for other storage"
        )


def _nest(paths: Sequence[str], arrays: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """The folder above all paths, and the arrays as a tree below it."""
    for path in paths:
        _check_local(path)
    absolute = [os.path.abspath(path) for path in paths]
    folder = os.path.commonpath([os.path.dirname(path) for path in absolute])
    tree: dict[str, Any] = {}
    for path, array in zip(absolute, arrays):
        *above, name = os.path.relpath(path, folder).split(os.sep)
        node = tree
        for part in above:
            node = node.setdefault(part, {})
        node[name] = array
    return folder, tree


def _load_array(path: str, sharding: Any) -> Any:
    _check_local(path)
    if not os.path.isdir(path):
        raise FileNotFoundError(f"{path}: there is no array")
    return load_tree(path, shardings={"": sharding})
