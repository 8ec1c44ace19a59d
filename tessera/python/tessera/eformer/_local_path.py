"""Paths in the file system of this machine."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._universal_path import UniversalPath


class LocalPath(UniversalPath):
    """A pathlib.Path, kept in ``path``, with the methods of UniversalPath.

    Writing a file replaces the old one in one step: a reader, or a crash, sees the old content or
    the new one.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def exists(self) -> bool:
        return self.path.exists()

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.path.read_text(encoding=encoding)

    def write_text(self, data: str, encoding: str = "utf-8") -> None:
        self.write_bytes(data.encode(encoding))

    def read_bytes(self) -> bytes:
        return self.path.read_bytes()

    def write_bytes(self, data: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists() and not self.path.is_file():
            self.path.write_bytes(data)  # a device or a pipe, or the error that a folder gives
        else:
            _replace_file(self.path, data)

    def mkdir(self, parents: bool = True, exist_ok: bool = True) -> None:
        if not str(self.path).startswith("/dev/null"):
            self.path.mkdir(parents=parents, exist_ok=exist_ok)

    def is_dir(self) -> bool:
        return self.path.is_dir()

    def is_file(self) -> bool:
        return self.path.is_file()

    def iterdir(self) -> Iterator[LocalPath]:
        if self.path.is_dir():
            for item in self.path.iterdir():
                yield LocalPath(item)

    def glob(self, pattern: str, recursive: bool = False) -> Iterator[LocalPath]:
        if not recursive:
            pattern = pattern.replace("**", "*")
        for item in self.path.glob(pattern):
            yield LocalPath(item)

    def __truediv__(self, other: Any) -> LocalPath:
        return LocalPath(self.path / str(other))

    def __str__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"LocalPath('{self.path}')"

    def __fspath__(self) -> str:
        return str(self.path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalPath) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def suffix(self) -> str:
        return self.path.suffix

    @property
    def parent(self) -> LocalPath:
        return LocalPath(self.path.parent)

    def as_posix(self) -> str:
        return self.path.as_posix()

    def stem(self) -> str:
        return self.path.stem

    def suffixes(self) -> list[str]:
        return self.path.suffixes

    def with_name(self, name: str) -> LocalPath:
        return LocalPath(self.path.with_name(name))

    def with_suffix(self, suffix: str) -> LocalPath:
        return LocalPath(self.path.with_suffix(suffix))

    def with_stem(self, stem: str) -> LocalPath:
        return LocalPath(self.path.with_stem(stem))

    def parts(self) -> tuple[str, ...]:
        return self.path.parts

    def relative_to(self, other: LocalPath | str | Path) -> LocalPath:
        return LocalPath(self.path.relative_to(Path(str(other))))

    def is_absolute(self) -> bool:
        return self.path.is_absolute()

    def resolve(self) -> LocalPath:
        return LocalPath(self.path.resolve())

    def rmdir(self) -> None:
        self.path.rmdir()

    def unlink(self, missing_ok: bool = False) -> None:
        self.path.unlink(missing_ok=missing_ok)

    def rename(self, target: LocalPath | str | Path) -> LocalPath:
        return LocalPath(self.path.rename(Path(str(target))))

    def stat(self) -> dict[str, Any]:
        found = self.path.stat()
        return {
            "size": found.st_size,
            "mtime": found.st_mtime,
            "ctime": found.st_ctime,
            "atime": found.st_atime,
            "mode": found.st_mode,
            "uid": found.st_uid,
            "gid": found.st_gid,
        }


def _replace_file(path: Path, data: bytes) -> None:
    """Writes a file beside `path` and moves it there once it is durable."""
    target = path.resolve()  # of a link, what it points to is replaced
    temporary = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            if target.exists():
                os.fchmod(file.fileno(), target.stat().st_mode & 0o7777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
