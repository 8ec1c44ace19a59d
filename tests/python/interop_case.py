"""What the tests share that hold the package against eformer, JAX and safetensors in one process."""

import hashlib
import os
import pathlib
import sys
import tempfile
import typing
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))

import peer_meshes  # first: it says how many devices JAX has
from peer_trees import MESHES, RandomTrees, arrays_of, bits_of

__all__ = ["MESHES", "InteropTest", "Pair", "TreesWithPairs", "peer_meshes"]


class Pair(typing.NamedTuple):
    mu: typing.Any
    nu: typing.Any


class TreesWithPairs(RandomTrees):
    """Named tuples as well."""

    def child(self, depth, values):
        if values and depth > 0 and self.random.random() < 0.2:
            return Pair(super().child(depth - 1, values), super().child(depth - 1, values))
        return super().child(depth, values)


def digests(tree):
    """By dotted key: dtype, shape and SHA-256 of the elements of each array."""
    return {".".join(key): (leaf.dtype.name, tuple(leaf.shape),
                            hashlib.sha256(bits_of(leaf)).hexdigest())
            for key, leaf in arrays_of(tree)}


class InteropTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        # JAX syncs every file, which a drive takes its time for.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        folder = tempfile.TemporaryDirectory(dir=memory)
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def folder(self, name):
        return self.root / str(name)

    def assert_same(self, found, expected):
        self.assertEqual(digests(found), digests(expected))

    def places(self, trees, tree):
        """A random mesh, and on it a sharding for each array by its dotted key."""
        mesh = trees.pick(MESHES)
        return peer_meshes.jax_mesh(mesh), {
            ".".join(key): peer_meshes.jax_sharding(mesh, trees.spec(mesh, leaf.shape))
            for key, leaf in arrays_of(tree)}

    def assert_placed(self, found, shardings):
        for key, leaf in arrays_of(found):
            self.assertEqual(leaf.sharding, shardings[".".join(key)], key)

    def place(self, trees, tree):
        return peer_meshes.on_devices(trees, tree, trees.pick(MESHES))
