"""Checkpoints looked at without being loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Iterator

from . import _core, _runtime
from ._save import path_text


class LazyArray:
    """An array of a checkpoint: shape and dtype are known, elements are read when indexed."""

    def __init__(self, checkpoint: _core.Checkpoint, index: int, key: str):
        self._checkpoint = checkpoint
        self._index = index
        self.key = key
        self.shape, self.dtype, self.chunk_shape, self.codec, self.stored_bytes = checkpoint.about(index)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def nbytes(self) -> int:
        """Of all elements in memory."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """The elements as NumPy's basic indexing has them; only chunks that hold some are read."""
        parts = _basic_index(index, self.shape)
        hulls = [_hull(part, length) for part, length in zip(parts, self.shape)]
        box = self._checkpoint.read(self._index, [h[0] for h in hulls], [h[1] for h in hulls])
        return box[tuple(h[2] for h in hulls)] if hulls else box[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("the elements of a stored array are always read to new memory")
        whole = self[...]
        import numpy

        whole = numpy.asarray(whole)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<LazyArray {self.key!r} {self.dtype}{list(self.shape)}>"


def _basic_index(index: Any, shape: tuple[int, ...]) -> list:
    parts = list(index) if isinstance(index, tuple) else [index]
    for part in parts:
        if part is not Ellipsis and not isinstance(part, slice) and not hasattr(part, "__index__"):
            raise TypeError(f"integers, slices and ... index a stored array, not {type(part).__name__}")
        if isinstance(part, bool):
            raise TypeError("integers, slices and ... index a stored array, not bool")
    if parts.count(Ellipsis) > 1:
        raise IndexError("only one ... may stand in an index")
    given = len(parts) - parts.count(Ellipsis)
    if given > len(shape):
        raise IndexError(f"{given} indices for an array of {len(shape)} dimensions")
    at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    missing = [slice(None)] * (len(shape) - given)
    return parts[:at] + missing + parts[at + 1 :]


def _hull(part: Any, length: int) -> tuple[int, int, Any]:
    """(first, count) of what is read of a dimension, and how that is indexed then."""
    if not isinstance(part, slice):
        position = part.__index__()
        if not -length <= position < length:
            raise IndexError(f"index {position} is outside of a dimension of {length}")
        return position % length, 1, 0
    steps = range(*part.indices(length))
    if not steps:
        return 0, 0, slice(None)
    first, last = min(steps[0], steps[-1]), max(steps[0], steps[-1])
    return first, last - first + 1, slice(None, None, steps.step)


class Checkpoint(Mapping):
    """A mapping from dotted keys to arrays that are read when they are indexed.

    >>> import numpy, tempfile, tessera
    >>> folder = tempfile.mkdtemp()
    >>> _ = tessera.save(folder, {"a": {"b": numpy.arange(12).reshape(4, 3)}})
    >>> checkpoint = tessera.open(folder)
    >>> list(checkpoint), checkpoint["a.b"].shape
    (['a.b'], (4, 3))
    >>> checkpoint["a.b"][1:3, 0]
    array([3, 6])
    """

    def __init__(self, path: Any, *, prefix: str | None = None, verify: bool = True):
        self.path = path_text(path)
        self._core = _core.Checkpoint.open(
            _runtime.host_runtime(), self.path, prefix or "", prefix is None, verify
        )
        self._positions = {key: index for index, key in enumerate(self._core.keys)}

    def __getitem__(self, key: str) -> LazyArray:
        index = self._positions.get(key)
        if index is None:
            import difflib

            near = difflib.get_close_matches(str(key), self._positions, 3)
            hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
            raise KeyError(f"{key!r} is no array of {self.path}{hint}")
        return LazyArray(self._core, index, key)

    def __contains__(self, key: object) -> bool:
        return key in self._positions

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def format(self) -> str:
        return self._core.format

    @property
    def prefixes(self) -> list[str]:
        return list(self._core.prefixes)

    @property
    def sealed(self) -> bool:
        """Whether a manifest vouches for the bytes."""
        return self._core.sealed

    @property
    def metadata(self) -> dict[str, str]:
        """What the headers of safetensors files say beside their tensors."""
        return dict(self._core.metadata)

    def __repr__(self) -> str:
        return f"<Checkpoint {self.path!r} {self.format}, {len(self)} arrays>"


def open(path: Any, *, prefix: str | None = None, verify: bool = True) -> Checkpoint:
    """Opens a checkpoint without reading an array.  Of several prefixes all are shown, under keys
    that begin with the prefix, unless one is asked for."""
    return Checkpoint(path, prefix=prefix, verify=verify)
