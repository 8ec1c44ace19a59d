"""Loads: from a checkpoint to a tree of arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Callable

from . import _arrays, _core, _jax, _runtime
from ._future import Future, ThreadFuture
from ._progress import Progress
from ._save import dtype_name, path_text


def pattern_text(pattern: Any) -> str:
    """A rule's pattern as text, the flags of a compiled one included."""
    if isinstance(pattern, str):
        return pattern
    if not isinstance(pattern, re.Pattern):
        raise TypeError(f"a rule's pattern is a str or re.Pattern, not {type(pattern).__name__}")
    letters = "".join(
        letter for letter, flag in (("a", re.A), ("i", re.I), ("m", re.M), ("s", re.S), ("x", re.X))
        if pattern.flags & flag
    )
    return f"(?{letters}){pattern.pattern}" if letters else pattern.pattern


class _Places:
    """Where arrays go, in tessera's words, and the way back to the caller's own objects."""

    def __init__(self, mesh: Any):
        self.mesh = mesh
        self.uses_jax = _jax.is_mesh(mesh)
        self.uses_tessera = isinstance(mesh, _core.Mesh)
        self._given: dict[Any, Any] = {}  # by tessera's sharding

    def core_mesh(self) -> _core.Mesh | None:
        if self.mesh is None or self.uses_tessera:
            return self.mesh
        if not self.uses_jax:
            raise TypeError(f"mesh is a jax.sharding.Mesh or tessera.Mesh, "
                            f"not {type(self.mesh).__name__}")
        return _jax.core_mesh(self.mesh)

    def core_spec(self, spec: Any) -> _core.PartitionSpec:
        if isinstance(spec, _core.PartitionSpec):
            return spec
        if _jax.is_spec(spec):
            return _jax.core_spec(spec)
        raise TypeError(f"a rule's spec is a PartitionSpec, not {type(spec).__name__}")

    def rules(self, rules: Iterable | None) -> list | None:
        if rules is None:
            return None
        if not isinstance(rules, Iterable) or isinstance(rules, str):
            raise TypeError("rules is a list of pairs of a pattern and a spec, not "
                            f"{type(rules).__name__}")
        return [self.rule(index, rule) for index, rule in enumerate(rules)]

    def rule(self, index: int, rule: Any) -> tuple:
        if isinstance(rule, str) or not isinstance(rule, Sequence) or len(rule) != 2:
            raise TypeError(f"rule {index} is no pair of a pattern and a spec: {rule!r}")
        return pattern_text(rule[0]), self.core_spec(rule[1])

    def sharding(self, given: Any, shape: tuple[int, ...]) -> Any:
        """Tessera's form of a sharding or spec; None stays."""
        if _jax.is_sharding(given):
            self.uses_jax = True
            core = _jax.core_sharding(given, shape)
            self._given[core] = given
            return core
        if _jax.is_spec(given) or isinstance(given, _core.PartitionSpec):
            mesh = self.core_mesh()
            if mesh is None:
                raise AssertionError("a PartitionSpec needs a mesh to be bound to")
            return _core.NamedSharding(mesh, self.core_spec(given))
        if given is None or isinstance(given, (_core.NamedSharding, _core.SingleDeviceSharding)):
            self.uses_tessera |= given is not None
            return given
        raise TypeError(f"a sharding is expected, not {type(given).__name__}")

    def choice(self, given: Any) -> Any:
        """What C++ is told of one leaf of ``shardings``: all but specs depend on the shape."""
        if _jax.is_spec(given) or isinstance(given, _core.PartitionSpec):
            return self.core_spec(given)
        if callable(given) and not _jax.is_sharding(given):
            return lambda info: self.sharding(given(info), info["shape"])
        if _jax.is_sharding(given):
            self.uses_jax = True
            return lambda info: self.sharding(given, info["shape"])
        return self.sharding(given, ())

    def choices(self, shardings: Any) -> Any:
        if shardings is None:
            return None
        is_leaf = lambda node: _jax.is_spec(node) or _jax.is_sharding(node)  # noqa: E731
        flat = _core.FlatTree(shardings, is_leaf=is_leaf)
        return flat.unflatten([self.choice(leaf) for leaf in flat.leaves])

    def describe(self, leaf: Any) -> tuple | None:
        """(shape, dtype, sharding or None) of an array in a template."""
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            return None
        import numpy

        sharding = leaf.sharding if _jax.is_array(leaf) or _jax.is_descriptor(leaf) else None
        shape = tuple(leaf.shape)
        return shape, numpy.dtype(leaf.dtype), self.sharding(sharding, shape)

    def jax_sharding(self, core: Any) -> Any:
        given = self._given.get(core)
        return given if given is not None else _jax.jax_sharding(core, self.mesh)

    def make(self, shape: tuple, dtype: Any, sharding: Any, pieces: list) -> Any:
        """The array that the caller gets."""
        if self.uses_jax and (sharding in self._given or self.mesh is not None):
            return _jax.make_array(shape, dtype, self.jax_sharding(sharding), pieces)
        if self.uses_tessera:
            return _core.ShardedArray.from_pieces(tuple(shape), sharding, pieces)
        return pieces[0][1]


def load_tree(directory: Any, *, prefix: str | None = None, mesh: Any = None, rules: Any = None,
              shardings: Any = None, like: Any = None, keys: Iterable[str] | None = None,
              match: str | None = None, dtype: Any = None,
              callback: Callable[[Any, str], Any] | None = None, chunk_size: int | None = 0,
              auto_correct: bool = False, verify: bool = True, nested_dicts: bool = False,
              fill_absent: bool = False, cast_to_like: bool = False, progress: Any = None,
              on_open: Callable[[_core.Checkpoint], Any] | None = None) -> Any:
    """What ``load`` does; ``nested_dicts`` nests by the keys, whatever was saved.  ``on_open`` is
    called with the open checkpoint before anything is read, so that files beside the arrays can be
    looked at in the same state."""
    if prefix is not None and not isinstance(prefix, str):
        raise TypeError(f"prefix: a str is expected, not {type(prefix).__name__}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: a function is expected, not {type(callback).__name__}")
    keys = _list_of_keys(keys)
    places = _Places(mesh)
    options = dict(
        mesh=places.core_mesh(), rules=places.rules(rules), shardings=places.choices(shardings),
        keys=keys, match=match, dtype=dtype_name(dtype),
        chunk_size=chunk_size, auto_correct=auto_correct, verify=verify, fill_absent=fill_absent,
        cast_to_like=cast_to_like,
    )
    if like is not None:
        options.update(like=like, describe=places.describe)
    runtime = _runtime_for(places)
    checkpoint = _core.Checkpoint.open(runtime, path_text(directory), prefix or "", False,
                                       bool(verify))
    if on_open is not None:
        on_open(checkpoint)
    bar = Progress.of(progress, "loading")
    loaded: dict[str, Any] = {}
    done = [0]

    def make(key: str, shape: tuple, element: Any, sharding: Any, pieces: list) -> Any:
        made = places.make(shape, element, sharding, pieces)
        if bar:
            done[0] += sum(view.nbytes for _, view in pieces)
            bar.update(done[0], max(done[0], total))
        if callback is not None:
            made = callback(made, key)
        loaded[key] = made
        return made

    total = _bytes_of(checkpoint, keys) if bar else 0
    try:
        tree = checkpoint.load(options, make)
    finally:
        if bar:
            bar.close()
    return _core.unflatten_dict(loaded) if nested_dicts else tree


def _list_of_keys(keys: Any) -> list | None:
    if keys is None:
        return None
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise TypeError(f"keys: a list of str is expected, not {type(keys).__name__}")
    return list(keys)


def _runtime_for(places: _Places) -> _core.Runtime:
    if places.uses_tessera and not places.uses_jax and places.mesh is not None:
        return _runtime.host_runtime(tuple(sorted(places.mesh.device_ids)))
    return _runtime.runtime()


def _bytes_of(checkpoint: _core.Checkpoint, keys: list[str] | None) -> int:
    wanted = set(keys) if keys is not None else None
    total = 0
    for index, key in enumerate(checkpoint.keys):
        if wanted is None or key in wanted:
            shape, dtype, *_ = checkpoint.about(index)
            size = dtype.itemsize
            for length in shape:
                size *= length
            total += size
    return total


def load(path: Any, *, background: bool = False, **options: Any) -> Any:
    """Loads the tree that was saved at ``path``, in any of the formats that tessera reads.

    Without more it comes as NumPy arrays.  With ``mesh`` and ``rules`` (pairs of a regular
    expression and a spec) or ``shardings`` (a tree, flat or nested, of shardings, specs or
    functions) it is spread over the mesh: jax.Array for JAX's meshes, tessera.ShardedArray for
    tessera's.  ``like`` is a tree of arrays or jax.ShapeDtypeStruct whose structure, shapes, dtypes
    and shardings the result has.  ``keys`` and ``match`` choose arrays, ``dtype`` converts floats,
    ``callback(array, key)`` changes each array as it comes.  With ``background=True`` a future is
    returned at once.

    >>> import numpy, tempfile, tessera
    >>> folder = tempfile.mkdtemp()
    >>> _ = tessera.save(folder, {"w": numpy.arange(3), "step": 7})
    >>> load(folder)
    {'w': array([0, 1, 2]), 'step': 7}
    """
    if background:
        return ThreadFuture(lambda: load_tree(path, **options), "tessera load")
    return load_tree(path, **options)


__all__ = ["Future", "load", "load_tree"]
_ = _arrays
