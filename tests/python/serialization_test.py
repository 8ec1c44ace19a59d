"""tessera.eformer.serialization.serialization without JAX: keys, saves and loads with NumPy."""

import collections
import json
import sys
import threading
import unittest

import numpy as np

import python_case
import tessera
from tessera.eformer.serialization import GlobalAsyncCheckpointManager, serialization
from tessera.eformer.serialization.serialization import (
    tree_deserialize_leaves,
    tree_serialize_leaves,
)

Moments = collections.namedtuple("Moments", "mu nu")


class DictKey:
    def __init__(self, key):
        self.key = key


class SequenceKey:
    def __init__(self, idx):
        self.idx = idx


class GetAttrKey:
    def __init__(self, name):
        self.name = name


class FlattenedIndexKey(DictKey):
    def __str__(self):
        return f"[<flat index {self.key}>]"


class KeysTest(unittest.TestCase):
    def test_join_key(self):
        for prefix, key, joined in [(None, None, ""), ("a", None, "a"), (None, "b", "b"),
                                    ("a", "b", "a.b"), ("", "b", "b"), ("a", "", "a")]:
            self.assertEqual(serialization.join_key(prefix, key), joined)

    def test_steps_of_a_key_path_have_names(self):
        for entry, name in [(DictKey("w"), "w"), (DictKey(3), "3"), (DictKey(True), "True"),
                            (DictKey(("a", 1)), "('a', 1)"), (SequenceKey(2), "2"),
                            (GetAttrKey("mu"), "mu"), (FlattenedIndexKey(0), "0"), (".[a]", "a"),
                            ("['x']", "x"), ("[]", ""), ("[']", "'"), ("..x", ".x"), ("[a", "[a")]:
            self.assertEqual(serialization._keyentry_to_str(entry), name)

    def test_leaf_key_paths(self):
        paths = serialization.leaf_key_paths
        self.assertEqual(paths({"b": [1, {"c": 2}], "a": 3}, "root"),
                         {"a": "root.a", "b": ["root.b.0", {"c": "root.b.1.c"}]})
        self.assertEqual(paths({"a": None, "b": 1}), {"a": None, "b": "b"})
        self.assertEqual(paths({"a": None, "b": 1}, is_leaf=serialization._is_none),
                         {"a": "a", "b": "b"})
        self.assertEqual(paths((1, (2, 3)), None), ("0", ("1.0", "1.1")))
        self.assertEqual(paths(Moments({"w": 1}, [2]), "opt"),
                         Moments({"w": "opt.mu.w"}, ["opt.nu.0"]))
        self.assertEqual(paths(5, "m"), "m")
        with self.assertRaises(ValueError):
            paths({1: 1, "a": 2})

    def test_what_is_array_like(self):
        for value, answer in [(np.ones(2), True), (np.float32(1), True), (123, False),
                              (None, False), ([1], False)]:
            self.assertEqual(serialization.is_array_like(value), answer)

    def test_paths_of_keys_stay_in_the_folder(self):
        for key, path in [("m.l1.w", "/ckpt/m/l1/w"), ("", "/ckpt"), ("a..b", "/ckpt/a/b"),
                          ("a/b.c", "/ckpt/a/b/c"), ("../x", "/ckpt/%2Fx"), ("/x", "/ckpt/%2Fx")]:
            found = serialization._fs_paths_from_key_paths("/ckpt", {"k": key, "n": None})
            self.assertEqual(found, {"k": path, "n": None})


class ShardingsTest(unittest.TestCase):
    def test_the_default_is_a_full_copy(self):
        mesh = tessera.Mesh(["dp", "tp"], [2, 4])
        sharding = serialization._fully_replicated_sharding(mesh)
        self.assertEqual(sharding, tessera.NamedSharding(mesh, tessera.P()))
        self.assertEqual(serialization._fully_replicated_sharding(None),
                         tessera.SingleDeviceSharding(0))
        self.assertEqual(serialization._sharding_from_leaf(3, mesh), sharding)
        self.assertEqual(serialization._sharding_from_leaf(np.ones(2), mesh), sharding)
        with self.assertLogs(serialization.logger, "WARNING") as logs:
            self.assertIsNone(serialization._sharding_from_leaf("s", mesh))
        self.assertIn("type str", logs.output[0])


class SaveTest(python_case.PythonCase):
    def index(self):
        return json.loads((self.folder / "tensorstore_index.json").read_text())

    def test_the_index_lists_arrays_by_prefix(self):
        tree = {"b": np.ones(4, np.float32),
                "a": {"w": np.ones((8, 4), np.float32), "n": None, "s": 3}}
        self.assertIsNone(tree_serialize_leaves(self.folder, tree, prefix="model"))
        self.assertEqual(self.index()["prefixes"]["model"], [
            {"path": "model/a/w", "shape": [8, 4], "dtype": "float32"},
            {"path": "model/b", "shape": [4], "dtype": "float32"}])
        tree_serialize_leaves(self.folder, {"z": np.ones(2)})
        self.assertEqual([record["path"] for record in self.index()["arrays"]], ["z"])
        self.assertEqual(len(self.index()["prefixes"]["model"]), 2)

    def test_an_empty_tree_writes_nothing(self):
        tree_serialize_leaves(self.folder, {})
        self.assertFalse((self.folder / "tensorstore_index.json").exists())

    def test_keys_that_would_meet_are_kept_apart(self):
        tree_serialize_leaves(self.folder, {"a.b": np.zeros(1), "a": {"b": np.ones(2)}})
        self.assertEqual([record["path"] for record in self.index()["arrays"]],
                         ["a/b", "a%2Eb"])

    def test_callbacks_run_when_the_data_is_there(self):
        seen = []
        tree_serialize_leaves(self.folder, {"w": np.ones(2)},
                              commit_callback=lambda: seen.append(sorted(self.index())))
        self.assertEqual(len(seen), 1)

    def test_what_a_callback_raises_comes_out(self):
        def callback():
            raise LookupError("of the callback")

        with self.assertRaisesRegex(LookupError, "of the callback"):
            tree_serialize_leaves(self.folder, {"w": np.ones(2)}, commit_callback=callback)

    def test_a_manager_saves_in_the_background_what_was_there_at_the_call(self):
        manager, array = GlobalAsyncCheckpointManager(), np.ones(1000)
        hold = threading.Event()
        tree_serialize_leaves(self.folder, {"w": array}, manager, commit_callback=hold.wait)
        array[:] = 7
        hold.set()
        manager.wait_until_finished()
        loaded = tree_deserialize_leaves(self.folder, None)
        np.testing.assert_array_equal(loaded["w"], np.ones(1000))

    def test_an_error_in_the_background_is_raised_by_the_wait(self):
        manager = GlobalAsyncCheckpointManager()

        def callback():
            raise LookupError("of the callback")

        tree_serialize_leaves(self.folder, {"w": np.ones(2)}, manager, commit_callback=callback)
        with self.assertRaisesRegex(LookupError, "of the callback"):
            manager.wait_until_finished()
        manager.wait_until_finished()

    def test_without_write_index_the_index_stays_as_it_is(self):
        tree_serialize_leaves(self.folder, {"w": np.ones(2)}, write_index=False)
        self.assertFalse((self.folder / "tensorstore_index.json").exists())
        self.assertTrue((self.folder / "w" / ".zarray").exists())

    def test_arrays_go_to_paths_of_their_own(self):
        manager = GlobalAsyncCheckpointManager()
        paths = [str(self.folder / "x" / name) for name in ("a", "b/c")]
        committed = []
        manager.serialize_with_paths([np.arange(3), np.ones((2, 2))], paths,
                                     on_commit_callback=lambda: committed.append(True))
        manager.wait_until_finished()
        arrays = manager.deserialize_with_paths([tessera.SingleDeviceSharding(0)] * 2, paths)
        np.testing.assert_array_equal(np.asarray(arrays[0]), [0, 1, 2])
        self.assertEqual((arrays[1].shape, committed), ((2, 2), [True]))
        with self.assertRaisesRegex(ValueError, "1 arrays and 2 paths"):
            manager.serialize_with_paths([np.ones(1)], paths)
        with self.assertRaisesRegex(FileNotFoundError, "none"):
            manager.deserialize_with_paths([None], [str(self.folder / "none")])

    def test_wrong_types_are_told_by_key(self):
        with self.assertRaisesRegex(TypeError, "a.b.*object"):
            tree_serialize_leaves(self.folder, {"a": {"b": np.array([object()])}})
        with self.assertRaises(TypeError):
            tree_serialize_leaves(3, {"a": np.ones(2)})


class LoadTest(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.tree = {"a": {"w": np.arange(32, dtype=np.float32).reshape(8, 4)},
                     "b": np.ones(4, np.float32), "l": [np.int64(1), (np.zeros(0),)], "s": 3}
        tree_serialize_leaves(self.folder, self.tree, prefix="model")

    def load(self, mesh=None, **options):
        return tree_deserialize_leaves(self.folder, mesh, prefix="model", **options)

    def test_arrays_come_as_dicts_nested_by_key(self):
        loaded = self.load()
        self.assertEqual(sorted(loaded), ["a", "b", "l"])
        self.assertEqual(sorted(loaded["l"]), ["0", "1"])
        np.testing.assert_array_equal(loaded["a"]["w"], self.tree["a"]["w"])
        self.assertEqual(loaded["l"]["0"].dtype, np.int64)
        self.assertNotIn("jax", sys.modules)

    def test_callbacks_see_arrays_by_key_in_batches(self):
        seen = []

        def callback(array, key):
            seen.append(key)
            return array * 2

        loaded = self.load(callback=callback, chunk_size=1)
        self.assertEqual(seen, ["a.w", "b", "l.0", "l.1.0"])
        np.testing.assert_array_equal(loaded["b"], [2, 2, 2, 2])

    def test_functions_stand_for_shardings(self):
        loaded = self.load(shardings={"a": {"w": lambda array: array.sum()}})
        self.assertEqual(loaded["a"]["w"], 496)

    def test_rules_and_shardings_place_arrays_on_a_mesh(self):
        mesh = tessera.Mesh(["dp", "tp"], [2, 4])
        rules = [("a/w$", tessera.P("dp", "tp")), (".*", tessera.P())]
        loaded = self.load(mesh, partition_rules=rules, shardings={"b": tessera.P("tp")})
        self.assertEqual(loaded["a"]["w"].sharding.spec, tessera.P("dp", "tp"))
        self.assertEqual(loaded["b"].sharding.spec, tessera.P("tp"))
        np.testing.assert_array_equal(np.asarray(loaded["a"]["w"]), self.tree["a"]["w"])
        with self.assertRaisesRegex(ValueError, r"a\.w.*b.*l\.0"):
            self.load(mesh)
        with self.assertRaisesRegex(tessera.IndivisibleError, "b"):
            self.load(mesh, partition_rules=[("b", tessera.P(("dp", "tp"))), (".*", tessera.P())])

    def test_an_array_that_is_the_whole_tree_comes_back_bare(self):
        tree_serialize_leaves(self.folder, np.arange(3), prefix="one")
        loaded = tree_deserialize_leaves(self.folder, None, prefix="one")
        np.testing.assert_array_equal(loaded, [0, 1, 2])
        with self.assertRaisesRegex(ValueError, "needs a prefix"):
            tree_serialize_leaves(self.folder, np.arange(3))

    def test_unknown_prefixes_are_told_with_the_known_ones(self):
        with self.assertRaisesRegex(ValueError, "opt.*model"):
            tree_deserialize_leaves(self.folder, None, prefix="opt")

    def test_nothing_to_load_is_an_error(self):
        with self.assertRaisesRegex(FileNotFoundError, "none"):
            tree_deserialize_leaves(self.folder / "none", None)

    def test_other_formats_of_the_index_are_refused(self):
        (self.folder / "tensorstore_index.json").write_text('{"format": "x"}')
        with self.assertRaisesRegex(ValueError, "x"):
            self.load()

    def test_wrong_arguments_are_told(self):
        with self.assertRaisesRegex(TypeError, "shardings: expected a mapping by key, found list"):
            self.load(shardings=[1])
        with self.assertRaisesRegex(TypeError, r"partition_rules\[0\]"):
            self.load(partition_rules=["a"])
        with self.assertRaisesRegex(TypeError, "mesh"):
            self.load(mesh=object())

    def test_what_a_callback_raises_comes_out(self):
        def callback(array, key):
            raise LookupError(key)

        with self.assertRaisesRegex(LookupError, "a.w"):
            self.load(callback=callback)

    def test_damage_is_not_loaded(self):
        chunk = self.folder / "model" / "a" / "w" / "0.0"
        chunk.write_bytes(chunk.read_bytes()[:-1] + b"?")
        with self.assertRaisesRegex(tessera.DataLossError, "a.w|a/w"):
            self.load()
        chunk.unlink()
        with self.assertRaisesRegex(tessera.DataLossError, "a.w|a/w"):
            self.load()


if __name__ == "__main__":
    unittest.main()
