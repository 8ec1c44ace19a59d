"""Meshes and shardings of JAX on eight devices that are the host's.  Imported before JAX is."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_enable_x64", True)


def jax_mesh(mesh):
    """Of pairs of an axis and its size, as peer_trees.MESHES has them."""
    return Mesh(np.array(jax.devices()).reshape([size for _, size in mesh]),
                [name for name, _ in mesh])


def jax_spec(spec):
    return PartitionSpec(*[tuple(entry) if isinstance(entry, list) else entry for entry in spec])


def jax_sharding(mesh, spec):
    return NamedSharding(jax_mesh(mesh), jax_spec(spec))


def on_devices(trees, tree, mesh):
    """The same tree with JAX arrays under random shardings."""
    def place(leaf):
        if not isinstance(leaf, np.ndarray):
            return leaf
        return jax.device_put(leaf, jax_sharding(mesh, trees.spec(mesh, leaf.shape)))
    return jax.tree.map(place, tree)
