"""AsyncCheckpointManager without JAX: trees, structures, checksums and templates with NumPy."""

import base64
import collections
import hashlib
import json
import os
import pickle
import shutil
import sys
import unittest
from unittest import mock

import ml_dtypes
import numpy as np

import python_case
import tessera
from tessera.eformer.serialization import AsyncCheckpointManager, async_manager
from tessera.eformer.serialization.async_manager import CheckpointMetadata

Moments = collections.namedtuple("Moments", "mu nu")


def state():
    return {"layers": [{"w": np.arange(6, dtype=np.float32).reshape(2, 3)}, {"w": np.ones(3)}],
            "opt": Moments((np.zeros(2, np.int8),), {"b": np.float16(2)}),
            "step": 7, "rate": 0.5, "name": "run", "none": None, "flag": True}


class ManagerCase(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.manager = AsyncCheckpointManager()

    def json(self, name):
        return json.loads((self.folder / name).read_text())


class SaveTreeTest(ManagerCase):
    def test_trees_come_back_as_nested_dicts_with_metadata(self):
        seen = []
        path = self.manager.save_tree(state(), self.folder, metadata={"step": 3},
                                      callback=seen.append)
        self.assertEqual((path, seen), (str(self.folder), [str(self.folder)]))
        tree, metadata = self.manager.load(self.folder, None)
        self.assertEqual(sorted(tree["layers"]), ["0", "1"])
        np.testing.assert_array_equal(tree["layers"]["0"]["w"], state()["layers"][0]["w"])
        self.assertEqual(tree["opt"]["nu"]["b"].dtype, np.float16)
        self.assertEqual(metadata["custom_metadata"], {"step": 3})
        self.assertTrue(metadata["timestamp"].endswith("+00:00"))
        self.assertNotIn("jax", sys.modules)

    def test_flat_states_mean_nested_ones(self):
        for flat in ({"a.b": np.ones(2), "a.c.d": np.zeros(1)},
                     {("a", "b"): np.ones(2), ("a", "c", "d"): np.zeros(1)}):
            self.manager.save(flat, self.folder)
            tree, _ = self.manager.load(self.folder, None)
            self.assertEqual(sorted(tree["a"]), ["b", "c"])
        with self.assertRaisesRegex(ValueError, "a.b"):
            self.manager.save({"a.b": np.ones(2), "a": {"b": np.ones(1)}}, self.folder)

    def test_prefixes_live_side_by_side_with_their_own_metadata(self):
        for prefix in ("model", "opt"):
            self.manager.save_tree({"w": np.full(2, len(prefix))}, self.folder, prefix=prefix,
                                   metadata={"of": prefix})
        for prefix in ("model", "opt"):
            tree, metadata = self.manager.load(self.folder, None, prefix=prefix)
            self.assertEqual(tree["w"][0], len(prefix))
            self.assertEqual(metadata["custom_metadata"], {"of": prefix})
        self.assertEqual(self.json("checkpoint_metadata.json")["custom_metadata"], {"of": "opt"})
        with self.assertRaisesRegex(ValueError, "model.*opt"):
            self.manager.load(self.folder, None)

    def test_gather_functions_are_applied_first(self):
        self.manager.save_tree({"a": {"w": np.ones(2)}, "b": np.ones(1)}, self.folder,
                               gather_fns={"a": {"w": lambda array: array * 5}})
        tree, _ = self.manager.load(self.folder, None)
        self.assertEqual((tree["a"]["w"][0], tree["b"][0]), (5, 1))
        with self.assertRaisesRegex(TypeError, "a: expected a function, found int"):
            self.manager.save_tree({"a": np.ones(1)}, self.folder, gather_fns={"a": 3})

    def test_floats_keep_their_dtype_unless_one_is_given(self):
        tree = {"f": np.ones(2, np.float32), "i": np.ones(2, np.int32)}
        self.manager.save_tree(tree, self.folder / "as is")
        AsyncCheckpointManager(float_dtype="bf16").save_tree(tree, self.folder / "manager's")
        self.manager.save_tree(tree, self.folder / "given", float_dtype=ml_dtypes.bfloat16)
        for name, dtype in [("as is", "float32"), ("manager's", "bfloat16"), ("given", "bfloat16")]:
            loaded, _ = self.manager.load(self.folder / name, None)
            self.assertEqual((str(loaded["f"].dtype), str(loaded["i"].dtype)), (dtype, "int32"))
        with self.assertRaisesRegex(ValueError, "floating.*int32"):
            AsyncCheckpointManager(float_dtype="int32")

    def test_a_manager_that_is_off_saves_nothing(self):
        manager = AsyncCheckpointManager(enable=False)
        self.assertEqual(manager.save_tree(state(), self.folder), str(self.folder))
        self.assertEqual(manager.save_pytree(state(), self.folder, prefix="m"), str(self.folder))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_metadata_that_json_has_not_is_refused_before_anything_is_written(self):
        with self.assertRaisesRegex(TypeError, "metadata.*object"):
            self.manager.save_tree(state(), self.folder, metadata={"x": object()})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_save_is_one_commit(self):
        """Whoever looks sees metadata, structure and arrays of one save, or of the one before."""
        for value in (1, 2):
            self.manager.save_pytree({"w": np.full(2, value)}, self.folder, prefix="model",
                                     extras={"value": value})
        with mock.patch.object(async_manager, "_sync_remote_checkpoint_visibility",
                               side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                self.manager.save_pytree({"w": np.full(2, 3)}, self.folder, prefix="model",
                                         extras={"value": 3})
        # What was not committed in the same step would be missing now.
        self.assertEqual(self.json("checkpoint_metadata.json")["custom_metadata"], {"value": 3})
        self.assertEqual(self.json("model_structure.json")["extras"], {"value": 3})
        index = self.json("tensorstore_index.json")
        self.assertEqual([name for name, *_ in index["tessera"]["files"]],
                         ["checkpoint_metadata.json"])


class LoadTest(ManagerCase):
    def test_dtype_and_callback_and_rules(self):
        self.manager.save_tree({"f": np.ones((8, 2), np.float32), "i": np.ones(2, np.int32)},
                               self.folder)
        seen = []
        tree, _ = self.manager.load(self.folder, None, dtype="fp16", chunk_size=1,
                                    callback=lambda array, key: seen.append(key) or array)
        self.assertEqual((str(tree["f"].dtype), str(tree["i"].dtype)), ("float16", "int32"))
        self.assertEqual(seen, ["f", "i"])
        mesh = tessera.Mesh(["d"], [8])
        tree, _ = self.manager.load(self.folder, mesh, partition_rules=[("f", tessera.P("d")),
                                                                        (".*", tessera.P())])
        self.assertEqual(tree["f"].sharding.spec, tessera.P("d"))

    def test_the_path_may_be_that_of_the_index(self):
        self.manager.save_tree({"w": np.ones(2)}, self.folder)
        index = self.folder / "tensorstore_index.json"
        self.assertTrue(self.manager.is_tensorstore(self.folder))
        self.assertTrue(self.manager.is_tensorstore(index))
        self.assertFalse(self.manager.is_tensorstore(self.folder / "none"))
        self.assertEqual(str(self.manager.safe_loadpath(index)), str(self.folder))
        tree, _ = self.manager.load(index, None)
        self.assertEqual(tree["w"][0], 1)

    def test_nothing_there_is_an_error(self):
        with self.assertRaisesRegex(FileNotFoundError, "none"):
            self.manager.load(self.folder / "none", None)
        with self.assertRaises(FileNotFoundError):
            self.manager.load(self.folder, None)

    def test_safetensors_are_saved_and_loaded_as_well(self):
        manager = AsyncCheckpointManager(use_tensorstore=False, enable_validation=True)
        for name in ("m.safetensors", "m"):
            saved = manager.save_tree(state(), self.folder / name, metadata={"a": 1})
            self.assertEqual(saved, str(self.folder / "m.safetensors"))
            tree, metadata = manager.load(self.folder / name, None)
            np.testing.assert_array_equal(tree["layers"]["0"]["w"], state()["layers"][0]["w"])
            self.assertEqual(json.loads(metadata["custom_metadata"]), {"a": 1})
        tree, _ = manager.load_tree_parallel(self.folder / "m.safetensors",
                                             {"layers.0.w": lambda array: array + 1},
                                             dtype="bf16", prefix_filter="layers.0")
        self.assertEqual((list(tree["layers"]), str(tree["layers"]["0"]["w"].dtype)),
                         (["0"], "bfloat16"))


    def test_safetensors_are_placed_by_rules_and_found_in_their_folder(self):
        AsyncCheckpointManager(use_tensorstore=False).save_tree(
            {"w": np.arange(8.0)}, self.folder / "m.safetensors", metadata={"a": 1})
        mesh = tessera.Mesh(["d"], [2])
        for path in (self.folder, self.folder / "m.safetensors"):
            tree, metadata = self.manager.load(path, mesh,
                                               partition_rules=[("w", tessera.P("d"))])
            self.assertEqual(tree["w"].sharding.spec, tessera.P("d"))
            self.assertEqual(json.loads(metadata["custom_metadata"]), {"a": 1})


class ChecksumTest(ManagerCase):
    def setUp(self):
        super().setUp()
        self.manager = AsyncCheckpointManager(enable_validation=True)

    def test_checksums_are_of_the_stored_elements(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3).T
        self.assertEqual(self.manager.compute_checksum(array),
                         hashlib.sha256(array.tobytes()).hexdigest())
        self.manager.save_tree({"a": {"w": array}, "s": 3}, self.folder, float_dtype="fp16")
        metadata = self.json("checkpoint_metadata.json")
        stored = array.astype(np.float16)
        self.assertEqual(metadata["checksum"],
                         {"a.w": hashlib.sha256(stored.tobytes()).hexdigest()})
        self.assertEqual(metadata["array_metadata"],
                         {"a.w": {"dtype": "float16", "shape": [3, 2]}})
        tree, _ = self.manager.load(self.folder, None, dtype="float32")
        np.testing.assert_array_equal(tree["a"]["w"], array)

    def test_elements_that_are_others_are_told_by_key(self):
        for tensorstore in (True, False):
            self.manager.use_tensorstore = tensorstore
            path = self.folder / ("c" if tensorstore else "c.safetensors")
            with mock.patch.object(async_manager, "add_checksums") as add:
                add.side_effect = lambda about, tree, dtype: setattr(about, "checksum",
                                                                     {"w": "0" * 64})
                self.manager.save_tree({"w": np.ones(2)}, path)
            with self.assertRaisesRegex(ValueError, "w: its elements.*checksum"):
                self.manager.load(path, None)
            self.manager.load(path, None, validate=False)

    def test_without_checksums_only_who_asks_is_told(self):
        AsyncCheckpointManager().save_tree({"w": np.ones(2)}, self.folder)
        with self.assertLogs("tessera.eformer.serialization._metadata", "WARNING"):
            self.manager.load(self.folder, None)
        with self.assertRaisesRegex(ValueError, "no checksums"):
            AsyncCheckpointManager().load(self.folder, None, validate=True)

    def test_metadata_comes_back_from_its_dict(self):
        about = CheckpointMetadata(timestamp="t", checksum={"a": "b"}, custom_metadata={"c": 1})
        self.assertEqual(CheckpointMetadata.from_dict(about.to_dict()).checksum, {"a": "b"})
        self.assertEqual(CheckpointMetadata.from_dict({"checksum": '{"a": "b"}'}).checksum,
                         {"a": "b"})
        self.assertEqual(CheckpointMetadata.from_dict({}).custom_metadata, {})
        with self.assertRaisesRegex(ValueError, "checksum: expected an object, found list"):
            CheckpointMetadata.from_dict({"checksum": []})


class PytreeTest(ManagerCase):
    def save(self, tree=None, **more):
        return self.manager.save_pytree(state() if tree is None else tree, self.folder,
                                        prefix="model", **more)

    def load(self, mesh=None, **more):
        return self.manager.load_pytree(self.folder, mesh, prefix="model", **more)

    def forget_what_tessera_notes(self):
        index = self.json("tensorstore_index.json")
        del index["tessera"]
        (self.folder / "tensorstore_index.json").write_text(json.dumps(index))
        shutil.rmtree(self.folder / ".tessera")

    def test_the_very_tree_comes_back(self):
        self.assertEqual(self.save(extras={"step": 3}), str(self.folder))
        tree, extras = self.load()
        self.assertEqual(extras, {"step": 3})
        self.assert_same_arrays(tree, state())
        self.assertIsInstance(tree["opt"], Moments)
        self.assertEqual([tree[key] for key in ("step", "rate", "name", "none", "flag")],
                         [7, 0.5, "run", None, True])

    def test_the_structure_file_alone_tells_the_tree_as_well(self):
        """As it does for checkpoints of eformer's, which have nothing else."""
        self.save()
        self.forget_what_tessera_notes()
        tree, _ = self.load()
        self.assert_same_arrays(tree, state())
        self.assertEqual((tree["none"], tree["name"], type(tree["opt"])), (None, "run", Moments))

    def test_no_pickle_is_ever_loaded(self):
        self.save()
        path = self.folder / "model_structure.json"
        structure = json.loads(path.read_text())
        self.forget_what_tessera_notes()

        class Evil:
            def __reduce__(self):
                return os.mkdir, (evil_folder,)

        evil_folder = str(self.folder / "evil")
        payload = base64.b64encode(pickle.dumps(Evil())).decode()
        position = next(iter(structure["nonarray_payload"]))
        structure["nonarray_payload"][position] = payload
        structure["treedef_b64"] = payload
        path.write_text(json.dumps(structure))
        with self.assertRaisesRegex(ValueError, "not loaded; give a template"):
            self.load()
        self.load(template=state())
        self.assertFalse(os.path.exists(evil_folder))

    def test_leaves_that_cannot_be_kept_are_named_before_anything_is_written(self):
        with self.assertRaisesRegex(TypeError, r"model\.a \(object\), model\.b\.0 \(bytes\), "
                                               r"model\.c \(an int past 64 bits\)"):
            self.save({"a": object(), "b": [b"x"], "c": 2**64, "w": np.ones(1)})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_prefixes_must_be_named(self):
        for prefix in ("", None, 3):
            with self.assertRaisesRegex(ValueError, "prefix"):
                self.manager.save_pytree(state(), self.folder, prefix=prefix)
            with self.assertRaisesRegex(ValueError, "prefix"):
                self.manager.load_pytree(self.folder, None, prefix=prefix)

    def test_what_is_missing_is_told(self):
        with self.assertRaisesRegex(FileNotFoundError, "index"):
            self.load()
        self.save()
        with self.assertRaisesRegex(FileNotFoundError, r"no prefix 'opt'; known are \['model'\]"):
            self.manager.load_pytree(self.folder, None, prefix="opt")

    def test_a_structure_of_another_prefix_is_refused(self):
        self.save()
        self.manager.save_pytree(state(), self.folder, prefix="opt")
        (self.folder / "opt_structure.json").write_bytes(
            (self.folder / "model_structure.json").read_bytes())
        with self.assertRaisesRegex(ValueError, "of the prefix 'model', and 'opt'"):
            self.manager.load_pytree(self.folder, None, prefix="opt")

    def test_shardings_rules_dtype_and_callback(self):
        self.save()
        mesh = tessera.Mesh(["x", "y"], [2, 1])
        tree, _ = self.load(mesh)
        self.assertEqual(tree["layers"][0]["w"].sharding.spec, tessera.P())
        tree, _ = self.load(mesh, shardings={"model.layers.0.w": tessera.P("x")})
        self.assertEqual(tree["layers"][0]["w"].sharding.spec, tessera.P("x"))
        seen = []
        tree, _ = self.load(dtype="bf16", callback=lambda a, key: seen.append(key) or a)
        self.assertEqual(seen, ["layers.0.w", "layers.1.w", "opt.mu.0", "opt.nu.b"])
        self.assertEqual((str(tree["layers"][0]["w"].dtype), tree["opt"].mu[0].dtype),
                         ("bfloat16", np.int8))

    def test_floats_are_stored_as_the_dtype(self):
        self.save(dtype="bfloat16")
        tree, _ = self.load()
        self.assertEqual(str(tree["layers"][1]["w"].dtype), "bfloat16")

    def test_a_tree_of_values_alone_is_kept(self):
        self.save({"a": 3, "b": [None, "x"]})
        self.assertEqual(self.load()[0], {"a": 3, "b": [None, "x"]})


class TemplateTest(ManagerCase):
    def setUp(self):
        super().setUp()
        self.saved = {"w": np.arange(6.0).reshape(2, 3), "b": np.arange(3.0)[None], "lr": 0.5,
                      "c": np.arange(4)}
        self.manager.save_pytree(self.saved, self.folder, prefix="m")

    def load(self, template, **more):
        return self.manager.load_pytree(self.folder, None, prefix="m", template=template, **more)[0]

    def test_arrays_and_values_fill_it(self):
        found = self.load({"w": np.zeros((2, 3)), "lr": 0.1, "new": "kept"})
        np.testing.assert_array_equal(found["w"], self.saved["w"])
        self.assertEqual((found["lr"], found["new"]), (0.5, "kept"))

    def test_strictly_everything_must_fit(self):
        with self.assertRaisesRegex(KeyError, "x, y.*it has b, c, w"):
            self.load({"x": np.zeros(1), "y": np.zeros(2)})
        with self.assertRaisesRegex(ValueError, r"b \(stored as \(1, 3\), wanted \(3,\)\)"):
            self.load({"b": np.zeros(3)})

    def test_otherwise_what_can_be_made_to_fit_is(self):
        with self.assertLogs("tessera.eformer.serialization._template", "WARNING") as logs:
            found = self.load({"w": np.zeros(6), "b": np.zeros(3), "c": np.full(5, 9),
                               "x": np.full(2, 8)}, strict_shapes=False)
        np.testing.assert_array_equal(found["w"], np.arange(6.0))
        np.testing.assert_array_equal(found["b"], np.arange(3.0))
        np.testing.assert_array_equal(found["c"], np.full(5, 9))
        np.testing.assert_array_equal(found["x"], np.full(2, 8))
        self.assertEqual(len(logs.output), 4)

    def test_shardings_of_the_template_count(self):
        mesh = tessera.Mesh(["x"], [2])
        sharding = tessera.NamedSharding(mesh, tessera.P("x"))
        like = mock.Mock(shape=(2, 3), dtype=np.dtype("float64"), sharding=sharding)
        found, _ = self.manager.load_pytree(self.folder, mesh, prefix="m", template={"w": like})
        self.assertEqual(found["w"].sharding, sharding)


if __name__ == "__main__":
    unittest.main()
