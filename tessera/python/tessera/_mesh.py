"""Meshes, specs and shardings of either kind: tessera's own, and JAX's where JAX is in use.

Functions give back objects of the kind that they were given; where nothing was given, JAX's if the
program has imported JAX.
"""

from __future__ import annotations

import functools
from typing import Any

from . import _core, _jax


def is_mesh(value: Any) -> bool:
    """Whether it is a mesh of either kind, JAX's abstract ones included."""
    return isinstance(value, _core.Mesh) or _jax.is_mesh(value) or is_abstract(value)


def is_abstract(value: Any) -> bool:
    return type(value).__name__ == "AbstractMesh" and hasattr(value, "axis_sizes")


def is_spec(value: Any) -> bool:
    return isinstance(value, _core.PartitionSpec) or _jax.is_spec(value)


def is_named(value: Any) -> bool:
    """Whether it is a NamedSharding of either kind."""
    if isinstance(value, _core.NamedSharding):
        return True
    return _jax.is_sharding(value) and hasattr(value, "spec") and hasattr(value, "mesh")


def is_sharding(value: Any) -> bool:
    own = (_core.NamedSharding, _core.SingleDeviceSharding)
    return isinstance(value, own) or _jax.is_sharding(value)


def sharding_of(leaf: Any) -> Any:
    """What a leaf says of its placement: a sharding, a spec or None."""
    try:
        return getattr(leaf, "sharding", None)
    except (TypeError, ValueError, RuntimeError):  # some have the attribute and raise when asked
        return None


# -- the mesh in scope ----------------------------------------------------------------------------


def _jax_mesh_module() -> Any:
    """Where JAX keeps its contexts; it has no public name."""
    if _jax.jax() is None:
        return None
    from jax._src import mesh

    return mesh


def _jax_context_mesh() -> Any:
    """The mesh of `with mesh:`, else of jax.set_mesh, else None."""
    module = _jax_mesh_module()
    if module is None:
        return None
    if hasattr(module, "thread_resources"):
        physical = module.thread_resources.env.physical_mesh
        if not physical.empty:
            return physical
    for name in ("get_concrete_mesh", "get_abstract_mesh"):
        current = getattr(module, name, lambda: None)()
        if current is not None and not getattr(current, "empty", True):
            return current
    return None


def context_mesh() -> Any:
    """The mesh in scope on this thread, JAX's before tessera's; None where there is none."""
    mesh = _jax_context_mesh()
    if mesh is not None:
        return mesh
    mesh = _core.current_mesh(raise_error=False)
    return None if mesh.empty else mesh


def is_inside_shard_map(mesh: Any) -> bool:
    """Whether the function that is being traced runs for a part of this mesh's devices each."""
    module = _jax_mesh_module()
    current = getattr(module, "get_abstract_mesh", lambda: None)()
    if current is None or dict(current.shape) != dict(mesh.shape):
        return False
    return any(str(kind).endswith("Manual") for kind in current.axis_types)


def is_explicit(mesh: Any) -> bool:
    """Whether JAX follows the sharding of every axis in its types."""
    types = getattr(mesh, "axis_types", None) or ()
    return bool(types) and all(str(kind).endswith("Explicit") for kind in types)


def empty_mesh() -> Any:
    module = _jax_mesh_module()
    return _core.Mesh() if module is None else module.Mesh(_no_devices(), ())


def _no_devices() -> Any:
    import numpy

    return numpy.empty((), dtype=object)


def mesh_or_context(mesh: Any, caller: str) -> Any:
    """The mesh given, else the one in scope.  AssertionError naming `caller` without any."""
    if mesh is not None:
        if not is_mesh(mesh):
            raise TypeError(f"{caller}: mesh is a tessera.Mesh or jax.sharding.Mesh, "
                            f"not {type(mesh).__name__}")
        return mesh
    mesh = context_mesh()
    if mesh is None:
        raise AssertionError(f"{caller}: no mesh was given and none is in scope; pass one, or call "
                             "inside `with mesh:`")
    return mesh


# -- from one kind to the other -------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _core_abstract_mesh(mesh: Any) -> _core.Mesh:
    """The axes of a mesh without devices, on devices that are made up."""
    return _core.Mesh(list(mesh.axis_names), list(mesh.axis_sizes))


def core_mesh(mesh: Any) -> _core.Mesh:
    if isinstance(mesh, _core.Mesh):
        return mesh
    if is_abstract(mesh):
        return _core_abstract_mesh(mesh)
    if getattr(mesh, "empty", False):
        return _core.Mesh()
    if not _jax.is_mesh(mesh):
        raise TypeError(f"a mesh is a tessera.Mesh or jax.sharding.Mesh, not {type(mesh).__name__}")
    return _jax.core_mesh(mesh)


def core_spec(spec: Any) -> _core.PartitionSpec:
    """TypeError unless it is a spec of either kind."""
    if isinstance(spec, _core.PartitionSpec):
        return spec
    if not _jax.is_spec(spec):
        raise TypeError(f"a PartitionSpec is expected, not {type(spec).__name__}")
    for part in ("unreduced", "reduced"):
        if getattr(spec, part, None):
            raise NotImplementedError(f"a spec with {part} axes: {spec}")
    return _jax.core_spec(spec)


def core_sharding(sharding: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(sharding, (_core.NamedSharding, _core.SingleDeviceSharding)):
        return sharding
    if is_named(sharding):
        return _core.NamedSharding(core_mesh(sharding.mesh), core_spec(sharding.spec))
    return _jax.core_sharding(sharding, tuple(shape))


def spec_class() -> type:
    """JAX's PartitionSpec where JAX is in use, else tessera's."""
    module = _jax.jax()
    return module.sharding.PartitionSpec if module is not None else _core.PartitionSpec


def spec_for(mesh: Any, spec: _core.PartitionSpec) -> Any:
    """Tessera's spec as one of the mesh's kind."""
    return spec if isinstance(mesh, _core.Mesh) else _jax.jax_spec(spec)


def spec_as(like: Any, spec: _core.PartitionSpec) -> Any:
    """Tessera's spec as one of the kind of another; itself where both say the same."""
    if core_spec(like) == spec:
        return like
    return spec if isinstance(like, _core.PartitionSpec) else _jax.jax_spec(spec)


def named_sharding(mesh: Any, spec: _core.PartitionSpec) -> Any:
    """A NamedSharding of the mesh's kind.  ValueError for an axis that the mesh lacks or that the
    spec uses twice."""
    core = _core.NamedSharding(core_mesh(mesh), spec)
    if isinstance(mesh, _core.Mesh):
        return core
    return _jax.jax().sharding.NamedSharding(mesh, _jax.jax_spec(spec))


def replicated(mesh: Any) -> Any:
    return named_sharding(mesh, _core.PartitionSpec())


# -- trees ----------------------------------------------------------------------------------------


def flatten(tree: Any, none_is_leaf: bool = False) -> _core.FlatTree:
    """The tree taken apart; specs, shardings and meshes are leaves."""
    return _core.FlatTree(tree, none_is_leaf=none_is_leaf)


def slashed(components: list[str]) -> str:
    return "/".join(components)


_PLAIN_ERRORS = (ValueError, TypeError, KeyError, AssertionError, NotImplementedError,
                 _core.DuplicateAxisError, _core.IndivisibleError)


def named_error(error: Exception, key: str) -> Exception:
    """The same error with the leaf's key before its message; itself where its class is one of the
    runtime's own, which takes other arguments."""
    if not key or type(error) not in _PLAIN_ERRORS:
        return error
    return type(error)(f"{key}: {error.args[0] if error.args else ''}")
