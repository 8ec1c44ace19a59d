"""Savers: trees written to checkpoints in the background."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable

from . import _arrays, _core, _distributed, _runtime
from ._fetch import fetching
from ._future import SaveFuture
from ._progress import Progress


def dtype_name(dtype: Any) -> str | None:
    """The name of an element type, of NumPy's, ml_dtypes', JAX's or by name."""
    if dtype is None or isinstance(dtype, str):
        return dtype
    import numpy

    return numpy.dtype(dtype).name


def path_text(path: Any) -> str:
    """A path as text; TypeError for what is none."""
    try:
        text = os.fspath(path)
    except TypeError:
        text = str(path) if hasattr(path, "as_posix") else None
    if not isinstance(text, str):
        raise TypeError(f"a path is expected, not {type(path).__name__}")
    return text


class Saver:
    """Writes trees to checkpoints, one at a time, while the program goes on.

    Used by one thread at a time.  In several processes of JAX every call is collective.
    """

    def __init__(self) -> None:
        self._core: _core.Saver | None = None
        self._made_for: Any = None
        _runtime.remember(self)

    def start(self, directory: Any, tree: Any, *, prefix: str | None = None, float_dtype: Any = None,
              codec: str = "auto", chunk_bytes: int | None = None, write_index: bool = True,
              share: bool = False, refuse_if_busy: bool = False,
              side_files: dict[str, bytes] | None = None,
              shared_files: dict[str, bytes] | None = None,
              commit_callback: Callable[[Any], Any] | None = None, progress: Any = None,
              timeout: float | None = None, format: str = "tensorstore",
              shard_bytes: int | None = None, stem: str | None = None,
              metadata: dict[str, str] | None = None) -> SaveFuture:
        """Begins to save and returns once the tree may change again; with ``share`` it may not,
        until the future is done.

        ``side_files`` (of the prefix) and ``shared_files`` appear together with the arrays.
        ``commit_callback(report)`` is called in the background, on the first process, once all is
        committed; what it raises is the save's error.  What the last save failed with is raised
        here, once.
        """
        options = dict(
            prefix=prefix, float_dtype=float_dtype, codec=codec, chunk_bytes=chunk_bytes,
            write_index=write_index, share=share, refuse_if_busy=refuse_if_busy,
            side_files=side_files, shared_files=shared_files, commit_callback=commit_callback,
            timeout=timeout, format=format, shard_bytes=shard_bytes, stem=stem, metadata=metadata,
        )
        # First of all, so that every process counts this save, whatever fails here alone.
        comm = _distributed.comm()
        try:
            return self._start(comm, directory, tree, Progress.of(progress, "saving"), options)
        except BaseException as error:
            if comm is not None:
                comm.abort(f"{type(error).__name__}: {error}")
            raise

    def _start(self, comm: _core.Comm | None, directory: Any, tree: Any, bar: Progress | None,
               options: dict[str, Any]) -> SaveFuture:
        options["float_dtype"] = dtype_name(options["float_dtype"])
        options["progress"] = bar.update if bar else None
        saver = self._saver(comm)
        with fetching(tree) as fetched:
            options["share"] = options["share"] or fetched
            future = SaveFuture(saver.start(path_text(directory), tree, options))
        if bar:
            future.add_done_callback(lambda _: bar.close())
        return future

    def _saver(self, comm: _core.Comm | None) -> _core.Saver:
        runtime = _runtime.runtime()
        if self._core is None or self._made_for is not runtime:
            if _runtime.is_current(self._made_for):  # and not of the process that was forked from
                self.wait_until_finished()
            self._core = _core.Saver(runtime, comm)
            self._made_for = runtime
        elif comm is not None:
            self._core.use_comm(comm)
        return self._core

    def wait_until_finished(self) -> None:
        """Waits for the save that runs and raises what it failed with, unless that was raised
        before."""
        if self._core is not None:
            self._core.wait_until_finished()

    def finish(self) -> None:
        """When the interpreter ends: waits, and drops the saver while Python can still be called."""
        core, self._core = self._core, None
        if core is not None and _runtime.is_current(self._made_for):
            try:
                core.wait_until_finished()
            except Exception as error:
                import sys

                print(f"tessera: a save that was under way at exit failed: {error}", file=sys.stderr)

    @property
    def busy(self) -> bool:
        """Whether a save runs."""
        return self._core is not None and self._core.busy


def save(path: Any, tree: Any, *, background: bool = False, saver: Saver | None = None,
         **options: Any) -> Any:
    """Saves a tree of arrays as a checkpoint at ``path``, whole or not at all.

    The leaves may be NumPy arrays (with ml_dtypes), jax.Array, anything that speaks DLPack, and
    plain numbers and texts.  Returns a SaveReport or, with ``background=True``, a future of one,
    once the tree may change again.  Options are those of ``Saver.start``.

    >>> import numpy, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save(folder, {"w": numpy.arange(6.0).reshape(2, 3), "step": 7}).arrays
    1
    """
    if background:
        return (saver or _default_saver()).start(path, tree, **options)
    saver = saver or Saver()
    options.setdefault("share", True)  # nobody changes the tree while we wait
    future = saver.start(path, tree, **options)
    try:
        return future.result()
    except BaseException:
        future.cancel()  # after Ctrl-C the save need not go on
        with contextlib.suppress(Exception):  # told already
            saver.wait_until_finished()
        raise


_default: Saver | None = None


def _default_saver() -> Saver:
    global _default
    if _default is None:
        _default = Saver()
    return _default


def wait_until_finished() -> None:
    """Waits for ``save(..., background=True)``, and raises what it failed with."""
    if _default is not None:
        _default.wait_until_finished()


_ = _arrays  # tells C++ what it needs of leaves
