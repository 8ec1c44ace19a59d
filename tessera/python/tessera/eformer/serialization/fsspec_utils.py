"""Files by URL: those of this machine directly, all others by fsspec where it is installed."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from ..paths import is_remote_path, path_protocol

__all__ = [
    "async_remove",
    "exists",
    "expand_glob",
    "is_remote_path",
    "join_path",
    "mkdirs",
    "remove",
    "should_write_shared_checkpoint_files",
]


class _Jax:
    """JAX once the program has imported it; until then one process, which is process 0."""

    def process_index(self) -> int:
        module = sys.modules.get("jax")
        return 0 if module is None else module.process_index()

    def process_count(self) -> int:
        module = sys.modules.get("jax")
        return 1 if module is None else module.process_count()

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get("jax")
        if module is None:
            raise AttributeError(f"jax.{name} was asked for, and JAX is not imported")
        return getattr(module, name)


jax = _Jax()


def exists(url: Any, **kwargs: Any) -> bool:
    """Whether there is a file or folder."""
    if _is_plain(url, kwargs):
        return os.path.exists(plain_path(url))
    filesystem, path = url_to_fs(url, **kwargs)
    return filesystem.exists(path)


def mkdirs(path: Any) -> None:
    """Makes a folder and those above it; one that is there already is fine."""
    if _is_plain(path):
        os.makedirs(plain_path(path), exist_ok=True)
        return
    filesystem, path = url_to_fs(path)
    filesystem.makedirs(path, exist_ok=True)


def should_write_shared_checkpoint_files(path: Any) -> bool:
    """Whether this process writes the files that all processes share.

    On remote storage only process 0 does, so that processes do not overwrite each other's; on local
    paths each may have a disk of its own, and all do.
    """
    return not is_remote_path(path) or jax.process_index() == 0


def expand_glob(url: str) -> Iterator[str]:
    """The URLs that braces and wildcards stand for; one without either is given as it is."""
    for candidate in _expand_braces(url):
        if _is_plain(candidate):
            path = plain_path(candidate)
            yield from sorted(glob.glob(path)) if glob.has_magic(path) else [candidate]
            continue
        filesystem, path = url_to_fs(candidate)
        if not glob.has_magic(path):
            yield candidate
            continue
        scheme = path_protocol(candidate)
        for found in filesystem.glob(path):
            yield f"{scheme}://{found}"


def remove(url: Any, *, recursive: bool = False, **kwargs: Any) -> None:
    """Removes a file, or with `recursive` a folder.  FileNotFoundError when it is not there."""
    if _is_plain(url, kwargs):
        _remove_plain(plain_path(url), recursive)
        return
    filesystem, path = url_to_fs(url, **kwargs)
    filesystem.rm(path, recursive=recursive)


async def async_remove(url: Any, *, recursive: bool = False, **kwargs: Any) -> None:
    """As `remove`, without blocking where the file system can."""
    if _is_plain(url, kwargs):
        _remove_plain(plain_path(url), recursive)
        return
    filesystem, path = url_to_fs(url, **kwargs)
    if getattr(filesystem, "async_impl", False):
        await filesystem._rm(path, recursive=recursive)
    else:
        filesystem.rm(path, recursive=recursive)


def join_path(lhs: Any, rhs: Any) -> str:
    """`rhs` below `lhs`; a URL or an absolute path at the right stands for itself.

    ValueError when both are URLs of different schemes.
    """
    lhs, rhs = str(lhs), str(rhs)
    left, right = _scheme(lhs), _scheme(rhs)
    if left is not None and right is not None and left != right:
        raise ValueError(f"cannot join {lhs!r} and {rhs!r}: their schemes differ")
    return rhs if right is not None else os.path.join(lhs, rhs)


def _scheme(url: str) -> str | None:
    return path_protocol(url) if "://" in url else None


def _is_plain(url: Any, options: dict[str, Any] | None = None) -> bool:
    return not options and not is_remote_path(url)


def plain_path(url: Any) -> str:
    """A path of this machine, without a scheme."""
    return os.path.expanduser(str(url).removeprefix("file://"))


def url_to_fs(url: Any, **kwargs: Any) -> tuple[Any, str]:
    """The file system of a URL and the path in it.  ImportError without fsspec."""
    try:
        import fsspec.core
    except ImportError as error:
        raise ImportError(f"{url}: paths that are not local need the package fsspec") from error
    return fsspec.core.url_to_fs(str(url), **kwargs)


def _remove_plain(path: str, recursive: bool) -> None:
    if not os.path.isdir(path) or os.path.islink(path):
        os.unlink(path)
    elif recursive:
        shutil.rmtree(path)
    else:
        raise IsADirectoryError(f"{path!r} is a folder; remove it with recursive=True")


def _expand_braces(url: str) -> Iterator[str]:
    if "{" not in url:
        yield url
        return
    try:
        import braceexpand
    except ImportError as error:
        raise ImportError(f"{url}: braces need the package braceexpand") from error
    yield from braceexpand.braceexpand(url)
