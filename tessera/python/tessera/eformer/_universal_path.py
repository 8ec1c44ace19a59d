"""What every kind of path can do, whatever storage it points into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any


class UniversalPath(ABC):
    """A path in some storage; named after pathlib where pathlib has the same thing.

    ``stem``, ``suffixes`` and ``parts`` are methods here, as eformer has them; ``name``, ``suffix``
    and ``parent`` are attributes.
    """

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is something at this path."""

    @abstractmethod
    def read_text(self, encoding: str = "utf-8") -> str:
        """The file's text.  FileNotFoundError when there is none."""

    @abstractmethod
    def write_text(self, data: str, encoding: str = "utf-8") -> None:
        """Makes this a file of that text, and the folders above it."""

    @abstractmethod
    def read_bytes(self) -> bytes:
        """The file's bytes.  FileNotFoundError when there is none."""

    @abstractmethod
    def write_bytes(self, data: bytes) -> None:
        """Makes this a file of these bytes, and the folders above it."""

    @abstractmethod
    def mkdir(self, parents: bool = True, exist_ok: bool = True) -> None:
        """Makes this a folder.  FileExistsError when it is there and `exist_ok` is false."""

    @abstractmethod
    def is_dir(self) -> bool:
        """Whether this is a folder."""

    @abstractmethod
    def is_file(self) -> bool:
        """Whether this is a file."""

    @abstractmethod
    def iterdir(self) -> Iterator[UniversalPath]:
        """What lies directly in this folder; nothing for what is no folder."""

    @abstractmethod
    def glob(self, pattern: str, recursive: bool = False) -> Iterator[UniversalPath]:
        """The paths below that match; ``**`` is a plain ``*`` unless `recursive`."""

    @abstractmethod
    def __truediv__(self, other: Any) -> UniversalPath:
        """The path of `other` below this one."""

    @abstractmethod
    def __str__(self) -> str:
        """The path as text."""

    @abstractmethod
    def as_posix(self) -> str:
        """The path as text with forward slashes."""

    @abstractmethod
    def stem(self) -> str:
        """The name without its last suffix."""

    @abstractmethod
    def suffixes(self) -> list[str]:
        """All suffixes of the name, each with its dot."""

    @abstractmethod
    def with_name(self, name: str) -> UniversalPath:
        """The same path with another name at its end."""

    @abstractmethod
    def with_suffix(self, suffix: str) -> UniversalPath:
        """The same path with another last suffix."""

    @abstractmethod
    def with_stem(self, stem: str) -> UniversalPath:
        """The same path with another stem."""

    @abstractmethod
    def parts(self) -> tuple[str, ...]:
        """The components of the path."""

    @abstractmethod
    def relative_to(self, other: UniversalPath) -> UniversalPath:
        """The way from `other` to here."""

    @abstractmethod
    def is_absolute(self) -> bool:
        """Whether the path does not depend on where one stands."""

    @abstractmethod
    def resolve(self) -> UniversalPath:
        """The absolute path, links followed."""

    @abstractmethod
    def rmdir(self) -> None:
        """Removes this folder, which must be empty."""

    @abstractmethod
    def unlink(self, missing_ok: bool = False) -> None:
        """Removes this file.  FileNotFoundError unless it is there or `missing_ok`."""

    @abstractmethod
    def rename(self, target: UniversalPath) -> UniversalPath:
        """Moves this to `target` and returns it."""

    @abstractmethod
    def stat(self) -> dict[str, Any]:
        """Size, times and what else the storage knows.  FileNotFoundError when nothing is there."""
