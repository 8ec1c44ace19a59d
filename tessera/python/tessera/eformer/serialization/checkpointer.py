"""Checkpointer: the checkpoints of a training run, by steps and by time."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ... import _distributed
from . import _runs, fsspec_utils
from ._policies import CheckpointInterval, check_policies
from ._runs import find_latest_checkpoint
from ._step_deleter import StepDeleter
from .async_manager import AsyncCheckpointManager

__all__ = ["CheckpointInterval", "Checkpointer", "find_latest_checkpoint"]

logger = logging.getLogger(__name__)

MetadataDict = dict[str, Any]


class Checkpointer:
    """Saves the steps of a run to ``run-<step>`` below a base, and finds the latest one again.

    Steps that a policy names are kept; others are saved as temporary when `save_interval` has
    passed, and deleted in the background once a newer step is complete.  ``metadata.json`` is
    written last: a folder without it is no checkpoint.
    """

    def __init__(
        self,
        base_path: str,
        save_interval: timedelta | None,
        step_policies: Sequence[CheckpointInterval],
        *,
        manager: AsyncCheckpointManager | None = None,
        dt_now_injection: Callable[[], dt.datetime] | None = None,
        delete_old_temp_checkpoints: bool = True,
    ) -> None:
        """ValueError, naming the interval, unless `until` grows and only the last one has none.

        With `delete_old_temp_checkpoints`, temporary steps of earlier runs go after the next save.
        """
        check_policies(save_interval, step_policies)
        self.base_path = str(base_path)
        self.save_interval = save_interval
        self.step_policies = list(step_policies)
        self._dt_now_injection = dt_now_injection or dt.datetime.now
        self._last_save_time = self._dt_now_injection()
        self._last_save_step = 0
        self._manager = manager or AsyncCheckpointManager(use_tensorstore=True)
        self._last_temporary_checkpoint: str | None = None
        self._old_temporary_checkpoints: list[str] = []
        self._deleter = StepDeleter()
        if fsspec_utils.jax.process_index() == 0:
            self._look_for_leftovers(delete_old_temp_checkpoints)

    def _look_for_leftovers(self, temporary_ones_too: bool) -> None:
        """Ends deletions that were begun, and remembers the temporary steps of earlier runs."""
        for folder in _runs.folders_in(self.base_path):
            if _runs.step_of(folder) is None:
                continue
            if _runs.is_being_deleted(folder):
                self._queue_checkpoint_removal(folder)
            elif temporary_ones_too and _is_temporary(folder):
                logger.info("%s is temporary, and goes after the next save", folder)
                self._old_temporary_checkpoints.append(folder)

    def on_step(
        self,
        mesh: Any,
        pytree: Any = None,
        force: bool = False,
        *,
        step: int,
        true_callbacks: list[Callable[[str, Any, dict], None]] | None = None,
        extras: dict | None = None,
    ) -> None:
        """Saves this step if the policies or the time say so; to be called once a step.

        `force` saves it for good.  Callbacks are called as (destination, mesh, metadata) when a
        step is saved, and it is complete when all have returned.  Process 0 decides for all.
        """
        if step == 0 and not force:
            self._last_save_time = self._dt_now_injection()
            return
        if step == self._last_save_step and not force:
            return
        should_save, permanent = self._decide(step, force)
        if not should_save:
            return
        if pytree is None and not true_callbacks:
            raise ValueError(f"step {step}: there is neither a tree nor a callback to save it by")
        logger.info("saving step %d%s", step, "" if permanent else " as temporary")
        destination = f"run-{int(step)}"
        path = fsspec_utils.join_path(self.base_path, destination)
        if pytree is not None:
            self._save(pytree, path, mesh, step, not permanent, extras, {})
        for callback in true_callbacks or []:
            about = {"step": step, "is_temporary": not permanent, **(extras or {})}
            callback(destination, mesh, about)
        self._complete(path, step, not permanent)

    def _decide(self, step: int, force: bool) -> tuple[bool, bool]:
        """Whether to save, and for good: what process 0 thinks."""
        every = self._get_save_interval_for_step(step)
        elapsed = self._dt_now_injection() - self._last_save_time
        permanent = bool(force) or (every is not None and step % every == 0)
        due = self.save_interval is not None and elapsed >= self.save_interval
        if self.save_interval is None:
            return permanent, permanent  # without a clock to look at, all decide the same
        told = _from_process_0(bytes([permanent or due, permanent]))
        return bool(told[0]), bool(told[1])

    def _get_save_interval_for_step(self, step: int) -> int | None:
        for policy in self.step_policies:
            if policy.until is None or policy.until >= step:
                return policy.every
        return None

    def _save(
        self,
        tree: Any,
        path: str,
        mesh: Any,
        step: int,
        is_temporary: bool,
        extras: dict | None,
        options: dict[str, Any],
    ) -> None:
        """Writes a tree without marking the step as complete."""
        self._make_folder(path)
        self._manager.save_tree(
            tree=tree,
            path=path,
            mesh=mesh,
            metadata={"is_temporary": is_temporary, "step": int(step), **(extras or {})},
            **options,
        )

    def _make_folder(self, path: str) -> None:
        deleter = getattr(self, "_deleter", None)  # none where a test has made only a part of us
        if deleter is not None:
            deleter.end(path)
        if fsspec_utils.should_write_shared_checkpoint_files(path):
            fsspec_utils.mkdirs(path)

    def _complete(self, path: str, step: int, is_temporary: bool) -> None:
        """Marks a step as complete, and lets the temporary ones before it go."""
        _mark_complete(path, step, is_temporary)
        needless = [*self._old_temporary_checkpoints, self._last_temporary_checkpoint]
        self._old_temporary_checkpoints = []
        self._last_temporary_checkpoint = path if is_temporary else None
        self._last_save_step = int(step)
        self._last_save_time = self._dt_now_injection()
        for folder in needless:
            if folder is not None and folder != path and _is_temporary(folder):
                self._queue_checkpoint_removal(folder)

    def save_checkpoint(
        self,
        tree: Any,
        destination: str,
        *,
        commit_callback: Callable[[], None] | None = None,
        is_temporary: bool = False,
        mesh: Any = None,
        step: int = -1,
        shardings: Any = None,
        partition_rules: Any = None,
        prefix: str | None = None,
        structured: bool = False,
        dtype: Any = None,
        extras: dict | None = None,
    ) -> None:
        """Saves a tree to a folder below the base, whatever the policies say.

        Without a step, that of the folder's name counts.  `structured` keeps the containers, and
        needs a prefix; `dtype` is what floats are stored as.  The callback is called at the end.
        """
        del shardings, partition_rules  # arrays are saved from where they are
        path = fsspec_utils.join_path(self.base_path, destination)
        step = _step_or(step, path)
        if structured:
            if not prefix:
                raise ValueError("structured=True needs a prefix")
            self._save_structured(tree, path, mesh, prefix, dtype, {**(extras or {}), "step": step})
        else:
            options: dict[str, Any] = {"prefix": prefix}
            if dtype is not None:
                options["float_dtype"] = dtype
            self._save(tree, path, mesh, step, is_temporary, extras, options)
        _mark_complete(path, step, is_temporary)
        self._last_save_step = step
        self._last_save_time = self._dt_now_injection()
        if commit_callback is not None:
            commit_callback()

    def _save_structured(
        self,
        tree: Any,
        path: str,
        mesh: Any,
        prefix: str,
        dtype: Any,
        extras: dict,
        write_index: bool = True,
    ) -> None:
        self._make_folder(path)
        self._manager.save_pytree(
            pytree=tree,
            path=path,
            mesh=mesh,
            prefix=prefix,
            do_all_gather=False,
            cpu_offload=False,
            dtype=dtype,
            extras=extras,
            write_index=write_index,
        )

    def load_checkpoint(
        self,
        mesh: Any,
        *,
        path: str | None = None,
        discover_latest: bool = True,
        shardings: Mapping[str, Any] | None = None,
        partition_rules: Any = None,
        dtype: Any = None,
        prefix: str | None = None,
        structured: bool = False,
        template: Any = None,
        strict_shapes: bool = True,
    ) -> tuple[Any, MetadataDict]:
        """Loads the latest checkpoint below a path, or the one at it: the tree and its metadata.

        FileNotFoundError when there is none.
        """
        if structured and not prefix:
            raise ValueError("structured=True needs a prefix")
        root = self._choose(path, discover_latest)
        if root is None:
            raise FileNotFoundError(f"{path or self.base_path}: there is no checkpoint")
        options = {"shardings": shardings, "partition_rules": partition_rules, "dtype": dtype}
        if not structured:
            return self._manager.load(path=root, mesh=mesh, prefix=prefix, **options)
        return self._manager.load_pytree(
            path=root,
            mesh=mesh,
            prefix=prefix,
            template=template,
            strict_shapes=strict_shapes,
            **options,
        )

    def _choose(self, path: str | None, discover_latest: bool) -> str | None:
        root = str(path or self.base_path)
        if not discover_latest:
            return root
        return _from_process_0((find_latest_checkpoint(root) or "").encode()).decode() or None

    def wait_until_finished(self) -> None:
        """Returns when nothing is saved and nothing is deleted any more."""
        self._manager.global_manager.wait_until_finished()
        self._deleter.wait_until_finished()

    def _queue_checkpoint_removal(self, checkpoint_dir: str) -> None:
        if fsspec_utils.jax.process_index() == 0:
            self._deleter.put(checkpoint_dir)

    def save_pytree(
        self,
        tree: Any,
        prefix: str,
        *,
        step: int | None = None,
        destination: str | None = None,
        mesh: Any = None,
        dtype: Any = None,
        extras: dict | None = None,
        temporary: bool = False,
        write_index: bool = True,
    ) -> str:
        """Saves a tree with its containers below the base, and gives the folder's path.

        The folder is `destination`, else ``run-<step>``, else the base itself.  With a step it is
        marked as complete.
        """
        if not isinstance(prefix, str) or not prefix:
            raise ValueError(f"prefix: expected text that is not empty, found {prefix!r}")
        if destination is None and step is not None:
            destination = f"run-{int(step)}"
        path = self.base_path
        if destination is not None:
            path = fsspec_utils.join_path(self.base_path, str(destination))
        extras = dict(extras or {})
        if step is not None:
            extras["step"] = int(step)
        self._save_structured(tree, path, mesh, prefix, dtype, extras, write_index)
        if step is not None:
            _mark_complete(path, step, temporary)
        return path

    def load_pytree(
        self,
        mesh: Any,
        *,
        prefix: str,
        path: str | None = None,
        discover_latest: bool = True,
        discover_raise: bool = True,
        partition_rules: Any = None,
        dtype: Any = None,
        load_treedef: bool = False,
        callback: Callable[[Any, str], Any] | None = None,
        template: Any = None,
        strict_shapes: bool = True,
        chunk_size: int | None = None,
    ) -> tuple[Any, MetadataDict]:
        """Loads a prefix of the latest checkpoint: the tree and what was kept with it.

        `load_treedef` gives the containers that were saved, or those of the template; else dicts
        come.  Without a checkpoint: FileNotFoundError, or (None, {}) if not `discover_raise`.
        """
        root = self._choose(path, discover_latest)
        if root is None:
            if discover_raise:
                raise FileNotFoundError(f"{path or self.base_path}: there is no checkpoint")
            return None, {}
        options: dict[str, Any] = {
            "path": self._manager.safe_loadpath(root),
            "mesh": mesh,
            "prefix": prefix,
            "partition_rules": partition_rules,
            "dtype": dtype,
            "callback": callback,
            "chunk_size": chunk_size,
        }
        if load_treedef:
            options.update(template=template, strict_shapes=strict_shapes)
            tree, found = self._manager.load_pytree(**options)
        else:
            tree, found = self._manager.load(**options)
        return tree, {**_metadata_or_nothing(str(options["path"])), **found}


def _step_or(step: int, path: str) -> int:
    found = _runs.step_of(path)
    return found if step == -1 and found is not None else int(step)


def _from_process_0(value: bytes) -> bytes:
    """What process 0 thinks; every process asks at the same point."""
    comm = _distributed.comm()
    return value if comm is None else comm.broadcast(value)


def _mark_complete(path: str, step: int, is_temporary: bool) -> None:
    """Has process 0 say that a step is complete; the others return when it has.

    Where it fails, all of them do.
    """
    comm = _distributed.comm()
    problem: Exception | None = None
    try:
        _write_checkpoint_metadata(path, step=int(step), is_temporary=bool(is_temporary))
    except Exception as error:
        problem = error
    if comm is not None:
        comm.agree(None if problem is None else f"{path}: {problem}")
    if problem is not None:
        raise problem


def _is_temporary(folder: str) -> bool:
    try:
        return bool(_read_checkpoint_metadata(folder).get("is_temporary", False))
    except (OSError, ValueError):
        return False


def _metadata_or_nothing(folder: str) -> MetadataDict:
    try:
        return _read_checkpoint_metadata(folder)
    except (OSError, ValueError):
        return {}


def _write_checkpoint_metadata(checkpoint_path: str, step: int, is_temporary: bool) -> None:
    """Marks a folder as a complete step; process 0 does so."""
    if fsspec_utils.jax.process_index() == 0:
        _runs.write_run_metadata(checkpoint_path, int(step), bool(is_temporary))


def _read_checkpoint_metadata(checkpoint_path: str, fs: Any = None) -> MetadataDict:
    """What metadata.json of a folder says.  FileNotFoundError when it has none."""
    del fs  # the path tells the file system
    return _runs.read_run_metadata(checkpoint_path)
