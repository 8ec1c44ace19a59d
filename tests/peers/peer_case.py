"""What the tests share that hold our checkpoints against those of eformer and JAX.

Their last argument is the program of checkpoint_peer.cc.
"""

import re
import sys
import unittest

from peer_meshes import jax_mesh, jax_sharding, on_devices

from eformer.serialization.serialization import tree_deserialize_leaves

import peer_trees
from peer_trees import MESHES, arrays_of, difference, nested

PEER = sys.argv.pop()
ONE_AXIS = MESHES[0]


class PeersTest(unittest.TestCase):
    def setUp(self):
        self.peer = peer_trees.Peer(PEER, self)
        self.arrays = 0

    def tearDown(self):
        print(f"{self.id()}: {self.arrays} arrays")

    def on_devices(self, trees, tree, mesh):
        return on_devices(trees, tree, mesh)

    def assert_same(self, found, expected, where):
        self.assertIsNone(difference(found, expected), where)
        self.arrays += len(arrays_of(expected))

    def check_we_load(self, trees, folder, expected, **more):
        """On two other meshes: by specs for each array, and by a rule that is corrected."""
        mesh = trees.pick(MESHES)
        specs = {key: trees.spec(mesh, leaf.shape) for key, leaf in arrays_of(expected)}
        shardings = {".".join(key): spec for key, spec in specs.items()}
        tree, found, result = self.peer.load(folder, mesh=mesh, shardings=shardings, **more)
        self.assert_same(tree, expected, folder)
        self.assertEqual(found, specs)
        mesh = trees.pick(MESHES)
        rules = [[".*", [name for name, _ in mesh]]]
        tree, _, _ = self.peer.load(folder, mesh=mesh, rules=rules, auto_correct=True, **more)
        self.assert_same(tree, expected, folder)
        return result

    def check_eformer_loads(self, trees, folder, tree, **more):
        """Replicated on one axis, by shardings for each key, and by rules for each key."""
        loaded = tree_deserialize_leaves(str(folder), jax_mesh(ONE_AXIS), **more)
        self.assert_same(loaded, nested(tree), folder)
        mesh = trees.pick(MESHES)
        specs = {key: trees.spec(mesh, leaf.shape) for key, leaf in arrays_of(tree)}
        by_key = {".".join(key): jax_sharding(mesh, spec) for key, spec in specs.items()}
        loaded = tree_deserialize_leaves(str(folder), jax_mesh(mesh), shardings=by_key, **more)
        self.assert_same(loaded, nested(tree), folder)
        for key, leaf in arrays_of(loaded):
            self.assertEqual(leaf.sharding, by_key[".".join(key)])
        rules = [(f"^{re.escape(key.replace('.', '/'))}$", sharding.spec)
                 for key, sharding in by_key.items()]
        loaded = tree_deserialize_leaves(str(folder), jax_mesh(mesh), partition_rules=rules,
                                         chunk_size=3, **more)
        self.assert_same(loaded, nested(tree), folder)

    def save(self, trees, folder, tree, **more):
        """Saves as we do, from a random mesh, in small chunks or whole shards."""
        mesh = trees.pick(MESHES)
        return self.peer.save(folder, tree, lambda shape: trees.spec(mesh, shape), mesh=mesh,
                              chunk_bytes=trees.pick([48, 200, 1 << 26]), **more)
