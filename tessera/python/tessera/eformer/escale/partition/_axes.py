"""Questions about the mesh in scope and its axes."""

from __future__ import annotations

import typing as tp

from tessera import _core, _jax, _mesh

AxisType = tuple[str, ...] | str | tp.Any | None


def get_incontext_mesh(raise_error: bool = True) -> tp.Any:
    """The mesh of the innermost ``with mesh:`` (or ``jax.set_mesh``) of this thread.

    AssertionError where there is none, or the empty mesh if ``raise_error`` is false.
    """
    if raise_error:
        return _mesh.mesh_or_context(None, "get_incontext_mesh")
    mesh = _mesh.context_mesh()
    return mesh if mesh is not None else _mesh.empty_mesh()


def names_in_current_mesh(*names: str) -> bool:
    """Whether all names are axes of the mesh in scope."""
    mesh = _mesh.context_mesh()
    return set(names) <= set(mesh.axis_names if mesh is not None else ())


def get_mesh_axis_names(mesh: tp.Any = None) -> list[str]:
    """The names of a mesh's axes, in order."""
    mesh = _mesh.mesh_or_context(mesh, "get_mesh_axis_names")
    return _core.mesh_axis_names(_mesh.core_mesh(mesh))


def get_axes_size_in_mesh(axis_names: AxisType, mesh: tp.Any = None) -> int:
    """The product of the sizes of one axis or several; KeyError for one that the mesh lacks."""
    mesh = _mesh.mesh_or_context(mesh, "get_axes_size_in_mesh")
    return _core.axes_size(axis_names, _mesh.core_mesh(mesh))


def _checked_names(axis_names: AxisType, caller: str) -> tuple[str, ...]:
    if isinstance(axis_names, str):
        return (axis_names,)
    if not isinstance(axis_names, (list, tuple)):
        raise TypeError(f"{caller}: axis_names is a str or a list or tuple of them, "
                        f"not {type(axis_names).__name__}")
    for name in axis_names:
        if not isinstance(name, str):
            raise TypeError(f"{caller}: an axis name is a str, not {type(name).__name__}")
    return tuple(axis_names)


def _bound_sizes(names: tuple[str, ...]) -> dict[str, int] | None:
    """The sizes of axes that a computation is mapped over; None unless all names are such axes."""
    jax = _jax.jax()
    if jax is None or not names:
        return None
    sizes = {}
    for name in names:
        try:
            sizes[name] = int(jax.lax.psum(1, axis_name=name))
        except NameError:
            return None
    return sizes


def get_mesh_axis_size(axis_names: AxisType, *, mesh: tp.Any = None) -> int:
    """The number of devices along axes: those that the computation is mapped over (inside of
    shard_map, vmap and the like), else those of the mesh given or in scope."""
    names = _checked_names(axis_names, "get_mesh_axis_size")
    if not names:
        return 1
    bound = _bound_sizes(names) if mesh is None else None
    if bound is None:
        mesh = _mesh.mesh_or_context(mesh, "get_mesh_axis_size")
        return _core.axes_size(names, _mesh.core_mesh(mesh))
    product = 1
    for name in names:
        product *= bound[name]
    return product


def get_submesh_device_index(axis_names: AxisType, *, device: tp.Any = None,
                             mesh: tp.Any = None) -> tp.Any:
    """The index of a device within axes, the first of which counts most.

    Inside of shard_map it is the device that runs, and the result is traced.  Elsewhere ``device``
    is an id or a device of the mesh given or in scope; without one, that of ``with mesh.at(id):``.
    """
    names = _checked_names(axis_names, "get_submesh_device_index")
    if not names:
        return 0
    bound = _bound_sizes(names) if device is None and mesh is None else None
    if bound is not None:
        return _traced_index(names, bound)
    if device is None:
        return _core.submesh_index(names)
    mesh = _mesh.mesh_or_context(mesh, "get_submesh_device_index")
    return _core.submesh_index(names, _mesh.core_mesh(mesh), getattr(device, "id", device))


def _traced_index(names: tuple[str, ...], sizes: dict[str, int]) -> tp.Any:
    if len(sizes) != len(names):
        raise _core.DuplicateAxisError(f"get_submesh_device_index: an axis stands twice in {names}")
    lax = _jax.jax().lax
    index: tp.Any = 0
    for name in names:
        index = index * sizes[name] + lax.axis_index(name)
    return index
