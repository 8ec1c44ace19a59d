"""CheckpointManager: safetensors, whole and in shards, without JAX."""

import json
import unittest

import ml_dtypes
import numpy as np
import safetensors.numpy

import python_case
from tessera.eformer.serialization import CheckpointManager

save, load = CheckpointManager.save_checkpoint, CheckpointManager.load_checkpoint


def tree():
    return {"a": {"w": np.arange(8, dtype=np.float32)}, "b": [np.arange(4), np.ones(2)]}


class SaveTest(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "model.safetensors"

    def test_one_file_holds_the_arrays_by_dotted_key(self):
        self.assertEqual(save(tree(), self.path, None, float_dtype="fp32", shard_size_gb=None,
                              metadata={"format": "x"}), str(self.path))
        stored = safetensors.numpy.load_file(self.path)
        self.assertEqual({key: str(array.dtype) for key, array in stored.items()},
                         {"a.w": "float32", "b.0": "int64", "b.1": "float32"})
        with safetensors.safe_open(self.path, "numpy") as file:
            self.assertEqual(file.metadata(), {"format": "x"})

    def test_floats_are_bfloat16_unless_a_dtype_is_named(self):
        save(tree(), self.path, None, shard_size_gb=None)
        loaded, _ = load(self.path)
        self.assertEqual((loaded["a"]["w"].dtype, loaded["b"]["0"].dtype),
                         (ml_dtypes.bfloat16, np.int64))

    def test_shards_come_with_an_index(self):
        index = save(tree(), self.path, None, float_dtype="fp32", shard_size_gb=32 / 2**30,
                     metadata={"k": "v"})
        self.assertEqual(index, str(self.folder / "model.safetensors.index.json"))
        written = json.loads((self.folder / "model.safetensors.index.json").read_text())
        self.assertEqual(written["weight_map"], {
            "a.w": "model-00001-of-00003.safetensors", "b.0": "model-00002-of-00003.safetensors",
            "b.1": "model-00003-of-00003.safetensors"})
        self.assertEqual(written["metadata"]["total_size"], 72)
        for path in (index, self.path, self.folder / "model",
                     self.folder / "model-00002-of-00003.safetensors"):
            loaded, metadata = load(path)
            np.testing.assert_array_equal(loaded["a"]["w"], tree()["a"]["w"])
            self.assertEqual((loaded["b"]["1"].shape, metadata["k"]), ((2,), "v"))

    def test_the_index_may_be_left_out(self):
        save(tree(), self.path, None, shard_size_gb=32 / 2**30, write_index_file=False)
        self.assertEqual(sorted(path.suffix for path in self.folder.glob("model*")),
                         [".safetensors"] * 3)
        loaded, _ = load(self.folder / "model-00001-of-00003.safetensors")
        self.assertIn("a", loaded)

    def test_gathering_is_done_by_key(self):
        functions = {"a": {"w": lambda array: array + 1}}
        save(tree(), self.path, None, gather_fns=functions, shard_size_gb=None)
        self.assertEqual(load(self.path)[0]["a"]["w"][0], 1)
        with self.assertRaisesRegex(KeyError, "b.0, b.1"):
            save(tree(), self.path, None, gather_fns=functions, mismatch_allowed=False)
        save(tree(), self.path, None, gather_fns=True, shard_size_gb=None)

    def test_nothing_is_saved_when_it_is_off(self):
        self.assertEqual(save(tree(), self.path, None, enable=False), self.path)
        self.assertEqual(save(tree(), "/dev/null", None), "/dev/null")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_limits_are_told_by_name(self):
        for call in (lambda: save(tree(), "gs://b/m.safetensors", None),
                     lambda: load("gs://b/m.safetensors")):
            with self.assertRaisesRegex(NotImplementedError, "gs://b/m.safetensors.*local paths"):
                call()
        manager = CheckpointManager(self.folder)
        with self.assertRaisesRegex(NotImplementedError, "msgpack"):
            manager.save_state_to_gcs_msgpack(tree(), "gs://b/m")
        with self.assertRaisesRegex(NotImplementedError, "msgpack"):
            manager.load_state_from_gcs_msgpack("gs://b/m")


class LoadTest(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "model.safetensors"
        safetensors.numpy.save_file({"a.w": np.ones(2, np.float32), "a.b": np.ones(3, np.int8),
                                     "f8": np.ones(2, ml_dtypes.float8_e4m3fn)}, self.path)

    def test_each_array_meets_its_function_then_the_callback_then_the_dtype(self):
        seen = []

        def callback(array, key):
            seen.append((key, str(array.dtype), float(array[0])))
            return array

        loaded, _ = load(self.path, {"a": {"w": lambda array: array * 3}}, callback=callback,
                         dtype="bf16")
        self.assertEqual(sorted(seen), [("a.b", "int8", 1.0), ("a.w", "float32", 3.0),
                                        ("f8", "float8_e4m3fn", 1.0)])
        self.assertEqual([str(array.dtype) for array in
                          (loaded["a"]["w"], loaded["a"]["b"], loaded["f8"])],
                         ["bfloat16", "int8", "float8_e4m3fn"])

    def test_keys_without_a_function_are_counted_or_refused(self):
        functions = {"a.w": lambda array: array}
        with self.assertLogs("tessera.eformer.serialization.base_manager", "INFO") as logs:
            load(self.path, functions, verbose=True)
        self.assertIn("2 arrays had no shard function", logs.output[0])
        with self.assertRaisesRegex(KeyError, r"f8, a\.b"):
            load(self.path, functions, mismatch_allowed=False)

    def test_errors_of_a_function_are_its_own(self):
        def fail(array):
            raise KeyError("inside")

        with self.assertRaisesRegex(KeyError, "inside"):
            load(self.path, {"a.w": fail})

    def test_what_is_no_checkpoint_is_told(self):
        with self.assertRaisesRegex(FileNotFoundError, "none"):
            load(self.folder / "none.safetensors")
        (self.folder / "bad.safetensors").write_bytes(b"\xff" * 100)
        with self.assertRaisesRegex((OSError, ValueError), "bad.safetensors"):
            load(self.folder / "bad.safetensors")
        with self.assertRaisesRegex(ValueError, "f33"):
            load(self.path, dtype="f33")


if __name__ == "__main__":
    unittest.main()
