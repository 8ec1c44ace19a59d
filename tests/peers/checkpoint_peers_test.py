"""Checkpoints that we save, loaded by eformer and JAX; those that they save, loaded by us.

usage: checkpoint_peers_test.py CHECKPOINT_PEER

Random trees with every dtype that JAX can store, on meshes of eight devices, always loaded on
another mesh than the one they were saved from.  CHECKPOINT_PEER is the program of
checkpoint_peer.cc.  Where we mean to differ from eformer (docs/differences.md, "Checkpoints"), the
difference is what is tested.
"""

import json
import os
import re
import sys
import unittest

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ.setdefault("LOGGING_LEVEL_ED", "ERROR")

import jax
import numpy as np
from eformer.serialization import AsyncCheckpointManager, Checkpointer
from eformer.serialization.serialization import tree_deserialize_leaves, tree_serialize_leaves
from jax.experimental.array_serialization.serialization import GlobalAsyncCheckpointManager
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import peer_trees
from peer_trees import MESHES, RandomTrees, arrays_of, difference, nested

PEER = sys.argv.pop()
jax.config.update("jax_enable_x64", True)
ONE_AXIS = MESHES[0]


def jax_mesh(mesh):
    return Mesh(np.array(jax.devices()).reshape([size for _, size in mesh]),
                [name for name, _ in mesh])


def jax_sharding(mesh, spec):
    entries = [tuple(entry) if isinstance(entry, list) else entry for entry in spec]
    return NamedSharding(jax_mesh(mesh), PartitionSpec(*entries))


class CheckpointPeersTest(unittest.TestCase):
    def setUp(self):
        self.peer = peer_trees.Peer(PEER, self)
        self.arrays = 0

    def tearDown(self):
        print(f"{self.id()}: {self.arrays} arrays")

    def on_devices(self, trees, tree, mesh):
        """The same tree with JAX arrays under random shardings."""
        def place(leaf):
            if not isinstance(leaf, np.ndarray):
                return leaf
            return jax.device_put(leaf, jax_sharding(mesh, trees.spec(mesh, leaf.shape)))
        return jax.tree.map(place, tree)

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
                              chunk_bytes=trees.pick([24, 200, 1 << 26]), **more)

    def test_we_load_what_tree_serialize_leaves_writes(self):
        for seed in range(8):
            trees, folder = RandomTrees(seed), self.peer.folder()
            saved = {prefix: trees.tree() for prefix in ("model", "opt", "ema.fast", None)}
            for prefix, tree in saved.items():
                placed = self.on_devices(trees, tree, trees.pick(MESHES))
                tree_serialize_leaves(str(folder), placed, prefix=prefix)
            for prefix, tree in saved.items():
                result = self.check_we_load(trees, folder, nested(tree), prefix=prefix or "")
                self.assertEqual(result, {"integrity": "none", "indexed": True})
            report = self.peer.run(do="verify", dir=folder)
            self.assertEqual(report["problems"], [])
            self.assertEqual(report["unsealed_arrays"], report["checked"]["arrays"])

    def test_we_load_what_the_manager_writes(self):
        for seed in range(20, 24):
            trees, folder = RandomTrees(seed), self.peer.folder()
            manager = AsyncCheckpointManager()
            for prefix in ("model", None):
                tree, mesh = trees.tree(values=False), trees.pick(MESHES)
                manager.save_tree(self.on_devices(trees, tree, mesh), str(folder),
                                  mesh=jax_mesh(mesh), prefix=prefix)
                self.check_we_load(trees, folder, nested(tree), prefix=prefix or "")

    def test_we_load_and_understand_what_save_pytree_writes(self):
        for seed in range(30, 36):
            trees, folder = RandomTrees(seed), self.peer.folder()
            manager = AsyncCheckpointManager()
            for prefix in ("model", "opt"):
                tree, mesh = trees.tree(), trees.pick(MESHES)
                manager.save_pytree(self.on_devices(trees, tree, mesh), str(folder),
                                    mesh=jax_mesh(mesh), prefix=prefix)
                self.check_we_load(trees, folder, nested(tree), prefix=prefix)
                self.check_structure(folder, prefix, tree)

    def check_structure(self, folder, prefix, tree):
        """The structure file that lies there tells the tree, with every plain value."""
        told = self.peer.run(do="structure", dir=folder, prefix=prefix)
        self.assertEqual(told["without_treedef"], "")
        arrays = arrays_of(tree)
        self.assertEqual(told["paths"], ["/".join([prefix, *key]) for key, _ in arrays])
        with_arrays = self.fill(told["tree"], [leaf for _, leaf in arrays])
        self.assertIsNone(difference(self.peer.from_json(with_arrays, {}, ()), tree))

    def fill(self, json_tree, arrays):
        """The arrays' own JSON where the tree names them by number."""
        if isinstance(json_tree, list):
            return [self.fill(child, arrays) for child in json_tree]
        if not isinstance(json_tree, dict):
            return json_tree
        if "record" in json_tree:
            data = self.peer.folder()
            data.mkdir()
            about = self.peer.to_json(arrays[json_tree["record"]], None, data)
            return {"array": {**about["array"], "spec": None}}
        return {kind: self.fill(body, arrays) for kind, body in json_tree.items()}

    def test_we_find_and_load_the_steps_of_a_checkpointer(self):
        trees, base = RandomTrees(40), self.peer.folder()
        checkpointer = Checkpointer(str(base), None, [])
        saved = {}
        for step in (9, 10, 100):
            saved[step], mesh = trees.tree(), trees.pick(MESHES)
            checkpointer.save_pytree(self.on_devices(trees, saved[step], mesh), prefix="state",
                                     mesh=jax_mesh(mesh), step=step)
        found = self.peer.run(do="steps", dir=base)
        self.assertEqual(found, {"steps": ["run-9", "run-10", "run-100"], "latest": "run-100"})
        for step, tree in saved.items():
            folder = base / f"run-{step}"
            self.check_we_load(trees, folder, nested(tree), prefix="state")
            self.check_structure(folder, "state", tree)

    def test_eformer_loads_what_we_save(self):
        for seed in range(50, 58):
            trees, folder = RandomTrees(seed), self.peer.folder()
            saved = {prefix: trees.tree() for prefix in ("model", "opt", None)}
            for prefix, tree in saved.items():
                codec = ["jax", "none", "blosc", "auto"][seed % 4]
                self.save(trees, folder, tree, prefix=prefix or "", codec=codec)
            for prefix, tree in saved.items():
                self.check_eformer_loads(trees, folder, tree, prefix=prefix)
                result = self.check_we_load(trees, folder, tree, prefix=prefix or "")
                self.assertEqual(result["integrity"], "manifest")

    def test_the_manager_loads_what_we_save(self):
        for seed in range(60, 66):
            trees, folder = RandomTrees(seed), self.peer.folder()
            manager, tree = AsyncCheckpointManager(), trees.tree()
            self.save(trees, folder, tree, prefix="model", structure=True)
            self.check_structure(folder, "model", tree)
            flat, _ = manager.load(str(folder), jax_mesh(ONE_AXIS), prefix="model")
            self.assert_same(flat, nested(tree), folder)
            loaded, _ = manager.load_pytree(str(folder), jax_mesh(ONE_AXIS), prefix="model")
            self.assert_same(loaded, tree, folder)

    def test_plain_jax_loads_what_we_save(self):
        for seed in range(70, 74):
            trees, folder, mesh = RandomTrees(seed), self.peer.folder(), MESHES[1]
            tree = trees.tree()
            self.save(trees, folder, tree, prefix="model")
            arrays = arrays_of(tree)
            loaded = GlobalAsyncCheckpointManager().deserialize_with_paths(
                [jax_sharding(mesh, trees.spec(mesh, leaf.shape)) for _, leaf in arrays],
                [str(folder.joinpath("model", *key)) for key, _ in arrays])
            self.assert_same(loaded, [leaf for _, leaf in arrays], folder)

    def test_we_load_folders_of_plain_jax_by_listing_them(self):
        for seed in range(80, 84):
            trees, folder, mesh = RandomTrees(seed), self.peer.folder(), MESHES[2]
            tree = trees.tree()
            arrays = arrays_of(self.on_devices(trees, tree, mesh))
            manager = GlobalAsyncCheckpointManager()
            manager.serialize_with_paths([leaf for _, leaf in arrays],
                                         [str(folder.joinpath(*key)) for key, _ in arrays])
            manager.wait_until_finished()
            result = self.check_we_load(trees, folder, nested(tree))
            self.assertEqual(result, {"integrity": "none", "indexed": False})
            # Ours: eformer returns None.
            self.assertIsNone(tree_deserialize_leaves(str(folder), jax_mesh(ONE_AXIS)))

    def test_a_prefix_that_we_replace_is_what_eformer_then_loads(self):
        for seed in range(90, 94):
            trees, folder = RandomTrees(seed), self.peer.folder()
            kept = trees.tree()
            first = self.on_devices(trees, trees.tree(), MESHES[1])
            tree_serialize_leaves(str(folder), first, prefix="model")
            tree_serialize_leaves(str(folder), self.on_devices(trees, kept, MESHES[1]), prefix="opt")
            for _ in range(2):  # over what eformer wrote, then over our own
                tree = trees.tree()
                self.save(trees, folder, tree, prefix="model")
                self.check_eformer_loads(trees, folder, tree, prefix="model")
                self.check_we_load(trees, folder, tree, prefix="model")
            self.check_eformer_loads(trees, folder, kept, prefix="opt")
            self.check_we_load(trees, folder, nested(kept), prefix="opt")

    def test_both_programs_add_prefixes_to_one_checkpoint(self):
        for seed in range(100, 104):
            trees, folder = RandomTrees(seed), self.peer.folder()
            ours, theirs, again, bare = (trees.tree() for _ in range(4))
            self.save(trees, folder, ours, prefix="ours")
            placed = self.on_devices(trees, theirs, MESHES[1])
            tree_serialize_leaves(str(folder), placed, prefix="theirs")
            self.save(trees, folder, again, prefix="again")
            tree_serialize_leaves(str(folder), self.on_devices(trees, bare, MESHES[3]))
            index = json.loads((folder / "tensorstore_index.json").read_text())
            self.assertEqual(list(index["prefixes"]), ["ours", "theirs", "again"])
            for prefix, tree in (("ours", ours), ("again", again)):
                self.check_eformer_loads(trees, folder, tree, prefix=prefix)
                result = self.check_we_load(trees, folder, tree, prefix=prefix)
                self.assertEqual(result["integrity"], "manifest")
            for prefix, tree in (("theirs", theirs), ("", bare)):
                self.check_eformer_loads(trees, folder, tree, prefix=prefix)
                result = self.check_we_load(trees, folder, nested(tree), prefix=prefix)
                self.assertEqual(result["integrity"], "none")
            report = self.peer.run(do="verify", dir=folder)
            self.assertEqual(report["problems"], [])
            unsealed = len(arrays_of(theirs)) + len(arrays_of(bare))
            self.assertEqual(report["unsealed_arrays"], unsealed)

    def test_what_eformer_writes_over_a_prefix_of_ours_must_be_sealed_again(self):
        trees = RandomTrees(110)
        first, second = ({"w": trees.array("float32", [8, 4]), "b": [trees.array("int8", [4])]}
                         for _ in range(2))
        for change in ("values", "keys"):
            folder = self.peer.folder()
            self.peer.save(folder, first, prefix="model")
            self.peer.save(folder, first, prefix="opt")
            if change == "keys":
                second["more"] = trees.array("bool", [3])
            one = jax.device_put(second, jax.devices()[0])
            tree_serialize_leaves(str(folder), one, prefix="model")
            self.peer.refuses("DATA_LOSS", "seal", do="load", dir=folder, prefix="model",
                              out=str(self.peer.folder()))
            self.assertFalse(self.peer.run(do="verify", dir=folder)["ok"])
            self.assertIn("model", self.peer.run(do="seal", dir=folder)["sealed"])
            loaded, _, result = self.peer.load(folder, prefix="model")
            self.assert_same(loaded, second if change == "values" else nested(second), folder)
            self.assertEqual(result["integrity"], "seal")
            self.assertTrue(self.peer.run(do="verify", dir=folder)["ok"])
            self.assert_same(self.peer.load(folder, prefix="opt")[0], first, folder)


if __name__ == "__main__":
    unittest.main()
