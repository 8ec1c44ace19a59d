"""Where our checkpoints differ from eformer's on purpose: both are asked, both answers checked.

usage: checkpoint_differences_test.py CHECKPOINT_PEER

The reasons are in docs/differences.md, "Checkpoints".  CHECKPOINT_PEER is the program of
checkpoint_peer.cc.
"""

import json
import unittest

from peer_case import ONE_AXIS, PeersTest, jax_mesh, jax_sharding
from peer_trees import MESHES

import jax
import numpy as np
from eformer.serialization.serialization import tree_deserialize_leaves, tree_serialize_leaves
from jax.sharding import PartitionSpec


class DifferencesTest(PeersTest):
    def setUp(self):
        super().setUp()
        self.folder = self.peer.folder()
        self.values = np.arange(1, 33, dtype=np.float32).reshape(8, 4)

    def serialize(self, tree, mesh=MESHES[1], spec=(), **more):
        sharding = jax_sharding(mesh, spec)
        tree_serialize_leaves(str(self.folder), jax.device_put(tree, sharding), **more)

    def deserialize(self, **more):
        return tree_deserialize_leaves(str(self.folder), jax_mesh(ONE_AXIS), **more)

    def refuses_to_load(self, code, *words, **more):
        self.peer.refuses(code, *words, do="load", dir=self.folder, out=str(self.peer.folder()),
                          **more)

    def load(self, **more):
        return self.peer.load(self.folder, **more)[0]

    def test_we_keep_64_bits(self):
        tree = {"f": np.array([0.1, 1e30]), "i": np.array([2**40 + 1])}
        self.serialize(tree, prefix="model")
        self.assert_same(self.load(prefix="model"), tree, self.folder)
        with jax.enable_x64(False):
            loaded = self.deserialize(prefix="model")
        self.assertEqual([loaded["f"].dtype, loaded["i"].dtype], [np.float32, np.int32])

    def test_we_refuse_a_missing_chunk_that_eformer_reads_as_zeros(self):
        self.serialize({"w": self.values}, spec=["x"], prefix="model")
        (self.folder / "model/w/1.0").unlink()
        loaded = self.deserialize(prefix="model")
        self.assertFalse(np.any(np.asarray(loaded["w"])[4:]))
        self.refuses_to_load("DATA_LOSS", "w: ", "model/w/1.0", prefix="model")
        self.peer.refuses("DATA_LOSS", "model/w/1.0", do="seal", dir=self.folder)

    def test_we_keep_keys_apart_that_eformer_writes_to_one_place(self):
        tree = {"a.b": self.values, "a": {"b": self.values + 1}, "../up": self.values + 2,
                "/": self.values + 3, "": self.values + 4, "%": self.values + 5}
        self.peer.save(self.folder, tree, prefix="model")
        self.assert_same(self.load(prefix="model"), tree, self.folder)
        names = {path.relative_to(self.folder / "model").as_posix()
                 for path in self.folder.rglob(".zarray") for path in [path.parent]}
        self.assertEqual(names, {"a%2Eb", "a/b", "%2E%2E%2Fup", "%2F", "%-", "%25"})
        self.assertEqual(set(self.deserialize(prefix="model")),
                         {"a%2Eb", "a", "%2E%2E%2Fup", "%2F", "%-", "%25"})

    def test_we_refuse_two_arrays_of_one_path(self):
        self.serialize({"a.b": self.values, "a": {"b": self.values}}, prefix="model")
        self.refuses_to_load("INVALID_ARGUMENT", "model/a/b", prefix="model")

    def test_an_array_at_the_root_comes_back_bare(self):
        self.serialize(self.values, prefix="m")
        self.assertEqual(list(self.deserialize(prefix="m")), ["m"])
        self.assert_same(self.load(prefix="m"), self.values, self.folder)
        self.peer.save(self.folder, self.values + 1, prefix="ours")
        self.assert_same(self.load(prefix="ours"), self.values + 1, self.folder)
        self.assert_same(self.deserialize(prefix="ours"), {"ours": self.values + 1}, self.folder)
        self.folder = self.peer.folder()
        self.serialize(self.values)
        self.assertEqual(list(self.deserialize()), [""])
        self.assert_same(self.load(), self.values, self.folder)
        self.peer.refuses("INVALID_ARGUMENT", "prefix", do="save", dir=self.peer.folder(),
                          tree=self.peer.to_json(self.values, None, self.folder))

    def test_a_prefix_with_a_slash_is_cut_from_the_keys(self):
        for prefix in ("a/b", "c.d"):
            self.serialize({"w": self.values}, prefix=prefix)
            self.assert_same(self.load(prefix=prefix), {"w": self.values}, self.folder)
        self.assertEqual(list(self.deserialize(prefix="a/b")), ["a"])
        self.assertEqual(list(self.deserialize(prefix="c.d")), ["w"])

    def test_a_sharding_of_a_key_beats_the_rules(self):
        self.serialize({"w": self.values}, prefix="model")
        mesh = MESHES[1]
        shardings = {"w": jax_sharding(mesh, ["x"])}
        loaded = tree_deserialize_leaves(
            str(self.folder), jax_mesh(mesh), prefix="model", shardings=shardings,
            partition_rules=[(".*", PartitionSpec("y"))])
        self.assertEqual(loaded["w"].sharding.spec, PartitionSpec("y"))
        _, specs, _ = self.peer.load(self.folder, prefix="model", mesh=mesh,
                                     shardings={"w": ["x"]}, rules=[[".*", ["y"]]])
        self.assertEqual(specs, {("w",): ["x"]})

    def test_specs_are_cut_to_the_rank_and_corrected_when_asked(self):
        tree = {"b": np.arange(8, dtype=np.int32), "odd": np.arange(15).reshape(5, 3)}
        self.serialize(tree, prefix="model")
        mesh = MESHES[1]
        for pattern, error in (("b", IndexError), ("odd", ValueError)):
            rules = [(pattern, PartitionSpec("x", "y")), (".*", PartitionSpec())]
            with self.assertRaises(error):
                tree_deserialize_leaves(str(self.folder), jax_mesh(mesh), prefix="model",
                                        partition_rules=rules)
        asked = {"prefix": "model", "mesh": mesh, "rules": [[".*", ["x", "y"]]]}
        self.refuses_to_load("INVALID_ARGUMENT", "odd", **asked)
        loaded, specs, _ = self.peer.load(self.folder, auto_correct=True, **asked)
        self.assert_same(loaded, tree, self.folder)
        self.assertEqual(specs, {("b",): ["x"], ("odd",): []})

    def test_arrays_of_an_index_without_prefixes_stay_listed(self):
        for save, kept in ((self.serialize, False), (self.save_ours, True)):
            self.folder = self.peer.folder()
            self.serialize({"old": self.values})
            index = self.folder / "tensorstore_index.json"
            about = json.loads(index.read_text())
            del about["prefixes"]
            index.write_text(json.dumps(about))
            save({"new": self.values}, prefix="model")
            self.assertEqual("arrays" in json.loads(index.read_text()), kept)
        self.assert_same(self.load(), {"old": self.values}, self.folder)
        self.assert_same(self.deserialize(), {"old": self.values}, self.folder)
        self.assert_same(self.deserialize(prefix="model"), {"new": self.values}, self.folder)

    def save_ours(self, tree, **more):
        self.peer.save(self.folder, tree, **more)

    def test_plain_values_are_kept_even_without_arrays(self):
        self.save_ours({"step": 3, "none": None, "list": []}, prefix="model")
        self.assertEqual(self.load(prefix="model"), {"step": 3, "none": None, "list": []})
        self.assertEqual(self.deserialize(prefix="model"), {})

    def test_an_index_that_tells_another_shape_is_refused(self):
        self.serialize({"w": self.values}, prefix="model")
        index = self.folder / "tensorstore_index.json"
        about = json.loads(index.read_text())
        about["prefixes"]["model"][0]["shape"] = [4, 8]
        index.write_text(json.dumps(about))
        self.assert_same(self.deserialize(prefix="model"), {"w": self.values}, self.folder)
        self.refuses_to_load("FAILED_PRECONDITION", "[4,8]", "[8,4]", prefix="model")

    def test_what_is_not_there_is_an_error(self):
        self.folder.mkdir()
        self.assertIsNone(self.deserialize())
        self.refuses_to_load("NOT_FOUND", "tensorstore_index.json")
        self.serialize({"w": self.values}, prefix="model")
        with self.assertRaisesRegex(ValueError, "model"):
            self.deserialize(prefix="opt")
        self.refuses_to_load("INVALID_ARGUMENT", "opt", "model", prefix="opt")


if __name__ == "__main__":
    unittest.main()
