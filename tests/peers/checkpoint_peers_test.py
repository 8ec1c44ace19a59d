"""Checkpoints that we save, loaded by eformer and JAX; those that they save, loaded by us.

usage: checkpoint_peers_test.py CHECKPOINT_PEER

Random trees with every dtype that JAX can store, on meshes of eight devices, loaded on random other
meshes.  CHECKPOINT_PEER is the program of checkpoint_peer.cc.
"""

import json
import unittest

from peer_case import ONE_AXIS, PeersTest, jax_mesh, jax_sharding
from peer_trees import MESHES, RandomTrees, arrays_of, difference, nested

import jax
from eformer.serialization import AsyncCheckpointManager, Checkpointer
from eformer.serialization.serialization import tree_deserialize_leaves, tree_serialize_leaves
from jax.experimental.array_serialization.serialization import GlobalAsyncCheckpointManager


class CheckpointPeersTest(PeersTest):
    def test_we_load_what_tree_serialize_leaves_writes(self):
        for seed in range(5):
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
            self.assertEqual(report["vouched"]["nobody"], report["checked"]["arrays"])

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
        for seed in range(50, 54):
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
            manager = AsyncCheckpointManager()
            manager.save_pytree(first, str(folder), mesh=jax_mesh(MESHES[1]), prefix="model")
            placed = self.on_devices(trees, kept, MESHES[1])
            tree_serialize_leaves(str(folder), placed, prefix="opt")
            for _ in range(2):  # over what eformer wrote, then over our own
                tree = trees.tree()
                self.save(trees, folder, tree, prefix="model")
                self.check_eformer_loads(trees, folder, tree, prefix="model")
                self.check_we_load(trees, folder, tree, prefix="model")
                # The tree that eformer's file tells of is not there any more.
                with self.assertRaises(FileNotFoundError):
                    manager.load_pytree(str(folder), jax_mesh(ONE_AXIS), prefix="model")
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
            self.assertEqual(report["vouched"]["nobody"], unsealed)

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
