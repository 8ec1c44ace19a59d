"""Sharding constraints fitted to arrays, partition rules, and questions about meshes.

The functions of eformer's module of this name.  Where they do otherwise than the original, and by
which option its way comes back, is told in docs/differences.md.

The environment is read when a value is first needed: ``MIN_SHARDING_SIZE`` (elements, 16384) is the
``min_size`` of ``match_partition_rules`` where None is given, ``LOG_SHARDING_MOVE`` (true, yes, 1
or on) has corrections of specs warned of.
"""

from __future__ import annotations

import typing as tp
import warnings
from collections.abc import Callable, Mapping, Sequence

from tessera import _core, _jax, _mesh, _place

from ._axes import (
    AxisType,
    get_axes_size_in_mesh,
    get_incontext_mesh,
    get_mesh_axis_names,
    get_mesh_axis_size,
    get_submesh_device_index,
    names_in_current_mesh,
)
from ._rules import create_pattern_based_partition_spec, match_partition_rules, shape_of
from ._tree_specs import (
    extract_sharding_structure,
    extract_shardings,
    get_names_from_partition_spec,
    get_partition_spec,
    get_shardings_with_structure,
)

__all__ = (
    "AxisType",
    "analyze_sharding_strategy",
    "create_pattern_based_partition_spec",
    "extract_sharding_structure",
    "extract_shardings",
    "get_axes_size_in_mesh",
    "get_corrected_named_sharding",
    "get_incontext_mesh",
    "get_mesh_axis_names",
    "get_mesh_axis_size",
    "get_names_from_partition_spec",
    "get_partition_spec",
    "get_shardings_with_structure",
    "get_submesh_device_index",
    "make_shard_and_gather_fns",
    "match_partition_rules",
    "names_in_current_mesh",
    "with_sharding_constraint",
)


def __getattr__(name: str) -> tp.Any:
    if name == "MIN_SHARDING_SIZE":
        return _core.min_sharding_size()
    if name == "LOG_SHARDING_MOVE":
        return _core.log_sharding_move()
    if name in ("Mesh", "NamedSharding", "PartitionSpec"):
        jax = _jax.jax()
        return getattr(jax.sharding if jax is not None else _core, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# -- specs fitted to arrays -----------------------------------------------------------------------


class Correction(tp.NamedTuple):
    """One entry of a spec that was changed so that it fits an array."""

    dimension: int
    before: tp.Any
    after: tp.Any
    reason: str
    key: str = ""  # of the leaf, where a tree was fitted


def _correct(mesh: tp.Any, shape: Sequence[int], spec: tp.Any, keep_partial: bool,
             key: str = "") -> tuple[_core.PartitionSpec, list[Correction]]:
    """The spec fitted to the shape, with a warning for each change if those are asked for."""
    try:
        sharding, records = _core.correct_sharding(
            _mesh.core_mesh(mesh), shape, _mesh.core_spec(spec), keep_partial)
    except ValueError as error:
        raise _mesh.named_error(error, key) from None
    corrections = [Correction(*record, key) for record in records]
    if corrections and _core.log_sharding_move():
        for at in corrections:
            where = f"{key}: " if key else ""
            warnings.warn(f"{where}{spec} for shape {tuple(shape)}: dimension {at.dimension}: "
                          f"{at.before!r} -> {at.after!r} ({at.reason})", stacklevel=4)
    return sharding.spec, corrections


def get_corrected_named_sharding(shape: tuple[int, ...], partition_spec: tp.Any,
                                 raise_mesh_error: bool = True, *, mesh: tp.Any = None,
                                 keep_partial: bool = False,
                                 return_corrections: bool = False) -> tp.Any:
    """The spec fitted to the shape, bound to the mesh given or in scope.

    Entries that name an axis which the mesh lacks, or that do not divide their dimension, become
    None; ``keep_partial`` keeps the leading axes of a tuple that fit.  Without a mesh:
    AssertionError, or replicated on the empty mesh if ``raise_mesh_error`` is false.
    ``return_corrections`` adds the list of what was changed.
    """
    if mesh is None and not raise_mesh_error:
        mesh = _mesh.context_mesh()
    else:
        mesh = _mesh.mesh_or_context(mesh, "get_corrected_named_sharding")
    if mesh is None or mesh.empty:
        sharding, corrections = _without_mesh(partition_spec, raise_mesh_error), []
    else:
        spec, corrections = _correct(mesh, shape, partition_spec, keep_partial)
        sharding = _mesh.named_sharding(mesh, spec)
    return (sharding, corrections) if return_corrections else sharding


def _without_mesh(spec: tp.Any, raise_mesh_error: bool) -> tp.Any:
    if raise_mesh_error:
        raise AssertionError("get_corrected_named_sharding: the mesh is empty")
    warnings.warn(f"get_corrected_named_sharding: no mesh; {spec} becomes a replicated sharding on "
                  "the empty mesh", stacklevel=3)
    return _mesh.replicated(_mesh.empty_mesh())


class _Constraint(tp.NamedTuple):
    """What with_sharding_constraint was asked for."""

    mesh: tp.Any  # None: leave everything as it is
    spec: tp.Any
    keep_partial: bool
    place_host: bool

    def apply(self, leaf: tp.Any, key: str, corrections: list[Correction]) -> tp.Any:
        if self.mesh is None or not self._is_constrained(leaf):
            return leaf
        spec, changed = _correct(self.mesh, leaf.shape, self.spec, self.keep_partial, key)
        corrections += changed
        sharding = _mesh.named_sharding(self.mesh, spec)
        try:
            return _place.place(leaf, sharding)
        except (ValueError, TypeError) as error:
            raise _mesh.named_error(error, key) from error

    def _is_constrained(self, leaf: tp.Any) -> bool:
        if _place.is_device_array(leaf):
            return True
        return self.place_host and _place.is_host_array(leaf)


def _constraint_of(sharding: tp.Any, mesh: tp.Any, empty_spec: str) -> tuple[tp.Any, tp.Any]:
    """The mesh, or None for "leave it", and the spec."""
    if empty_spec not in ("replicate", "leave"):
        raise ValueError(f"empty_spec is 'replicate' or 'leave', not {empty_spec!r}")
    if _mesh.is_named(sharding):
        mesh, spec = sharding.mesh, sharding.spec
    elif _mesh.is_spec(sharding):
        mesh, spec = mesh if mesh is not None else _mesh.context_mesh(), sharding
    else:
        raise TypeError("with_sharding_constraint: a PartitionSpec or NamedSharding is expected, "
                        f"not {type(sharding).__name__}")
    if mesh is None or mesh.empty:
        if _core.log_sharding_move():
            warnings.warn(f"with_sharding_constraint: no mesh for {spec}; nothing is done",
                          stacklevel=3)
        return None, spec
    return (None if empty_spec == "leave" and len(spec) == 0 else mesh), spec


def with_sharding_constraint(arr: tp.Any, sharding: tp.Any, *, mesh: tp.Any = None,
                             empty_spec: str = "replicate", keep_partial: bool = False,
                             place_host: bool = False,
                             return_corrections: bool = False) -> tp.Any:
    """Puts an array, or every array of a tree, on a spec that is fitted to its shape.

    A spec takes the mesh given or in scope, and without any nothing is done; a NamedSharding brings
    its own.  Inside of jit it is a constraint, elsewhere the array moves.  An empty spec
    replicates, or leaves arrays where they are with ``empty_spec="leave"``.  Host arrays stay
    unless ``place_host``; all that is no array stays.  ``return_corrections`` adds the list of
    entries that did not fit.
    """
    mesh, spec = _constraint_of(sharding, mesh, empty_spec)
    constraint = _Constraint(mesh, spec, keep_partial, place_host)
    corrections: list[Correction] = []
    if _place.is_device_array(arr) or _place.is_host_array(arr):
        result = constraint.apply(arr, "", corrections)
    else:
        flat = _mesh.flatten(arr)
        result = flat.unflatten([constraint.apply(leaf, key, corrections)
                                 for key, leaf in zip(flat.keys, flat.leaves)])
    return (result, corrections) if return_corrections else result


def make_shard_and_gather_fns(partition_specs: tp.Any, mesh: tp.Any = None, *,
                              auto_correct: bool = False) -> tuple[tp.Any, tp.Any]:
    """Two trees of functions like the tree of specs: one places an array, one gathers it.

    Placing is exact: a dimension that does not divide is an error, or left whole with
    ``auto_correct``; a spec longer than the rank is cut.  Arrays of the host are placed, too.
    Gathering gives NumPy arrays.  None stays None.
    """
    mesh = _mesh.mesh_or_context(mesh, "make_shard_and_gather_fns")
    if mesh.empty:
        raise AssertionError("make_shard_and_gather_fns: the mesh is empty")
    flat = _mesh.flatten(partition_specs)
    shard_fns = []
    gather_fns = []
    for key, spec in zip(flat.keys, flat.leaves):
        try:
            spec = _bound_spec(mesh, spec)
        except (ValueError, TypeError, NotImplementedError) as error:
            raise _mesh.named_error(error, key) from None
        shard_fns.append(_shard_fn(mesh, spec, auto_correct, key))
        gather_fns.append(_gather_fn(key))
    return flat.unflatten(shard_fns), flat.unflatten(gather_fns)


def _bound_spec(mesh: tp.Any, spec: tp.Any) -> _core.PartitionSpec:
    """The spec, if it can be bound to the mesh."""
    if _mesh.is_named(spec):
        spec = spec.spec
    spec = _mesh.core_spec(spec)
    if _core.UNCONSTRAINED in tuple(spec):
        raise NotImplementedError(f"{spec} leaves a dimension to the runtime")
    _core.NamedSharding(_mesh.core_mesh(mesh), spec)
    return spec


def _shard_fn(mesh: tp.Any, spec: _core.PartitionSpec, auto_correct: bool,
              key: str) -> Callable[[tp.Any], tp.Any]:
    def shard_fn(tensor: tp.Any) -> tp.Any:
        if not _place.is_device_array(tensor):
            tensor = _place.host_array(tensor, key)
        shape = tuple(tensor.shape)
        if auto_correct:
            fitted, _ = _correct(mesh, shape, spec, False, key)
        else:
            fitted = _core.PartitionSpec(*tuple(spec)[: len(shape)])
        try:
            return _place.place(tensor, _mesh.named_sharding(mesh, fitted), key)
        except ValueError as error:
            raise _mesh.named_error(error, key) from error

    return shard_fn


def _gather_fn(key: str) -> Callable[[tp.Any], tp.Any]:
    def gather_fn(tensor: tp.Any) -> tp.Any:
        return _place.gather(tensor, key=key)

    return gather_fn


# -- analysis -------------------------------------------------------------------------------------


def analyze_sharding_strategy(pytree: tp.Any, partition_specs: tp.Any,
                              mesh: tp.Any = None) -> dict[str, tp.Any]:
    """What each device would hold of a tree.

    The specs stand in a tree of the same structure, or in a dict by dotted or slash path, where a
    leaf without one is replicated.  The result has ``total_parameters`` and
    ``sharded_parameters`` (elements), ``memory_per_device`` (bytes by device id),
    ``balance_score`` (mean / most of those), ``efficiency`` (bytes of all arrays / (devices x
    most)), ``partition_stats`` (arrays, parameters and bytes by spec), ``skipped_leaves`` and
    ``unused_specs``.
    """
    mesh = _mesh.mesh_or_context(mesh, "analyze_sharding_strategy")
    flat = _mesh.flatten(pytree)
    specs, unused = _specs_of(flat, partition_specs)
    arrays = []
    for key, leaf, spec in zip(flat.keys, flat.leaves, specs):
        if shape_of(leaf) is not None and hasattr(leaf, "dtype"):
            arrays.append((key, shape_of(leaf), _dtype_name(leaf.dtype), _mesh.core_spec(spec)))
    result = _core.analyze_sharding(arrays, _mesh.core_mesh(mesh))
    result["skipped_leaves"] = len(specs) - len(arrays)
    result["unused_specs"] = unused
    return result


def _dtype_name(dtype: tp.Any) -> str:
    import numpy

    return numpy.dtype(dtype).name


def _specs_of(flat: _core.FlatTree, specs: tp.Any) -> tuple[list[tp.Any], list[str]]:
    """One spec for each leaf, and the keys of specs that name no array."""
    spec_tree = _mesh.flatten(specs)
    difference = flat.difference(spec_tree)
    if difference is None:
        return spec_tree.leaves, []
    by_path = isinstance(specs, Mapping) and all(
        isinstance(key, str) and _mesh.is_spec(spec) for key, spec in specs.items())
    if not by_path:
        raise ValueError("analyze_sharding_strategy: the specs are neither a tree like that of the "
                         f"arrays ({difference}) nor a dict of specs by path")
    unused = dict.fromkeys(specs)
    chosen = []
    for key, parts, leaf in zip(flat.keys, flat.components, flat.leaves):
        name = key if key in specs else _mesh.slashed(parts)
        chosen.append(specs.get(name, _core.PartitionSpec()))
        if shape_of(leaf) is not None:
            unused.pop(name, None)
    return chosen, sorted(unused)
