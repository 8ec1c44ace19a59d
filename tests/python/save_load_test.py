"""tessera.save and tessera.load with NumPy arrays and plain values."""

import asyncio
import collections
import json
import unittest

import ml_dtypes
import numpy as np

import python_case
import tessera

Moments = collections.namedtuple("Moments", "mu nu")


def every_dtype():
    names = ("bool int2 int4 uint4 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
             "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3fn float8_e5m2 "
             "float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu bfloat16 float16 "
             "float32 float64 complex64 complex128")
    for name in names.split():
        yield name, np.dtype(getattr(ml_dtypes, name, name))


class SaveLoadTest(python_case.PythonCase):
    def test_a_tree_comes_back_with_its_containers_and_values(self):
        tree = {
            "layers": [{"w": np.arange(6.0).reshape(2, 3)}, {"w": np.ones((2, 3))}],
            "opt": Moments(mu=(np.zeros(3, np.int8),), nu={"b": np.float32(2)}),
            "step": 7, "rate": 0.5, "name": "run", "flag": True, "none": None,
            "ordered": collections.OrderedDict(z=np.arange(2), a=np.arange(3)),
            "empty": {}, "z": 1 + 2j,
        }
        report = tessera.save(self.folder / "c", tree)
        self.assertEqual((report.arrays, report.lost), (6, []))
        loaded = tessera.load(self.folder / "c")
        self.assert_same_arrays(loaded, tree)
        self.assertEqual(list(loaded), list(tree))
        self.assertEqual([loaded[k] for k in ("step", "rate", "name", "flag", "none", "empty", "z")],
                         [7, 0.5, "run", True, None, {}, 1 + 2j])
        self.assertIsInstance(loaded["opt"], Moments)
        self.assertEqual(list(loaded["ordered"]), ["z", "a"])

    def test_every_dtype_comes_back_bit_for_bit(self):
        random = np.random.default_rng(7)
        tree = {}
        for name, dtype in every_dtype():
            raw = random.integers(0, 256, 24 * dtype.itemsize, np.uint8)
            if name == "bool":
                raw &= 1
            tree[name] = raw.view(dtype).reshape(4, 6)
            if name in ("int2", "int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"):
                tree[name] = np.arange(24).reshape(4, 6).astype(dtype)
        lacking = ("uint4", "float6_e2m3fn", "float6_e3m2fn")
        with self.assertRaisesRegex(NotImplementedError, "float6_e2m3fn.*float6_e3m2fn.*uint4"):
            tessera.save(self.folder / "c", tree)
        for name in lacking:
            del tree[name]
        tessera.save(self.folder / "c", tree)
        self.assert_same_arrays(tessera.load(self.folder / "c"), tree)

    def test_strides_byte_orders_and_scalars_of_numpy(self):
        base = np.arange(24.0).reshape(4, 6)
        tree = {"t": base.T, "s": base[::2, ::-1], "big": base.astype(">f8"),
                "scalar": np.float16(1.5), "broadcast": np.broadcast_to(np.arange(3), (2, 3)),
                "none": np.zeros((0, 4)), "point": np.array(3)}
        tessera.save(self.folder / "c", tree)
        tree["big"] = base
        self.assert_same_arrays(tessera.load(self.folder / "c"), tree)

    def test_loaded_arrays_look_at_memory_of_their_own(self):
        tessera.save(self.folder / "c", {"w": np.arange(1000.0)})
        first, second = (tessera.load(self.folder / "c")["w"] for _ in range(2))
        self.assertFalse(first.flags.owndata)
        self.assertTrue(first.flags.writeable)
        first[:] = 0
        self.assertEqual(second[999], 999)

    def test_some_arrays_under_another_dtype(self):
        tree = {"a": {"w": np.ones(4), "b": np.arange(3)}, "c": {"w": np.ones(2)}}
        tessera.save(self.folder / "c", tree)
        loaded = tessera.load(self.folder / "c", match=r"\.w$", dtype="bfloat16")
        self.assertEqual(loaded["a"]["w"].dtype, ml_dtypes.bfloat16)
        self.assertEqual(sorted(loaded), ["a", "c"])
        self.assertNotIn("b", loaded["a"])
        self.assertEqual(list(tessera.load(self.folder / "c", keys=["c.w"])), ["c"])
        with self.assertRaisesRegex(KeyError, "c.x"):
            tessera.load(self.folder / "c", keys=["c.x"])

    def test_a_template_gives_structure_and_must_fit(self):
        tree = {"a": [np.ones((2, 2)), np.zeros(3)]}
        tessera.save(self.folder / "c", tree)
        like = {"a": [np.empty((2, 2)), np.empty(3)]}
        self.assert_same_arrays(tessera.load(self.folder / "c", like=like), tree)
        with self.assertRaisesRegex(ValueError, r"a\.1"):
            tessera.load(self.folder / "c", like={"a": [np.empty((2, 2)), np.empty(4)]})
        with self.assertRaisesRegex(ValueError, r"a\.2"):
            tessera.load(self.folder / "c", like={"a": [np.empty((2, 2)), np.empty(3), np.empty(1)]})

    def test_safetensors_one_file_and_shards(self):
        tree = {"a": {"w": np.arange(1000, dtype=np.float32)}, "b": np.ones(1000, np.float32)}
        tessera.save(self.folder / "one", tree, format="safetensors", metadata={"by": "test"})
        tessera.save(self.folder / "many", tree, format="safetensors", shard_bytes=4096)
        self.assertTrue((self.folder / "one" / "model.safetensors").exists())
        self.assertEqual(len(list((self.folder / "many").glob("model-*-of-00002.safetensors"))), 2)
        for name in ("one", "many", "one/model.safetensors"):
            self.assert_same_arrays(tessera.load(self.folder / name), tree)
        self.assertEqual(tessera.open(self.folder / "one").metadata["by"], "test")

    def test_prefixes_share_a_folder(self):
        tessera.save(self.folder / "c", {"w": np.ones(2)}, prefix="model")
        tessera.save(self.folder / "c", {"m": np.zeros(2)}, prefix="optimizer")
        self.assertEqual(list(tessera.load(self.folder / "c", prefix="model")), ["w"])
        with self.assertRaisesRegex(ValueError, "model"):
            tessera.load(self.folder / "c", prefix="nothing")
        self.assertEqual(list(tessera.open(self.folder / "c")), ["model.w", "optimizer.m"])
        index = json.loads((self.folder / "c" / "tensorstore_index.json").read_text())
        self.assertEqual(sorted(index["prefixes"]), ["model", "optimizer"])

    def test_a_background_save_keeps_what_the_tree_was(self):
        tree = {"w": np.arange(100_000.0)}
        future = tessera.save(self.folder / "c", tree, background=True)
        tree["w"][:] = -1
        self.assertEqual(future.result(60).arrays, 1)
        self.assertTrue(future.done())
        self.assertIsNone(future.exception())
        self.assertEqual(tessera.load(self.folder / "c")["w"][5], 5)

    def test_futures_are_awaited(self):
        async def both():
            saved = tessera.save(self.folder / "c", {"w": np.arange(5)}, background=True)
            self.assertEqual((await saved).arrays, 1)
            return await tessera.load(self.folder / "c", background=True)

        self.assert_same_arrays(asyncio.run(both()), {"w": np.arange(5)})

    def test_progress_is_told_in_bytes(self):
        tree = {str(i): np.ones(1000) for i in range(5)}
        saved, loaded = [], []
        tessera.save(self.folder / "c", tree, progress=lambda *told: saved.append(told))
        tessera.load(self.folder / "c", progress=lambda *told: loaded.append(told))
        self.assertEqual((saved[-1], loaded[-1]), ((40_000, 40_000), (40_000, 40_000)))

    def test_tqdm_shows_progress_when_asked(self):
        done = self.program("""
            import sys, numpy, tessera
            tessera.save(sys.argv[1], {"w": numpy.ones(1000)}, progress=True)
            tessera.load(sys.argv[1], progress=True)
        """, self.folder / "c")
        self.assertIn("saving", done.stderr)
        self.assertIn("loading", done.stderr)

    def test_leaves_that_cannot_be_kept_are_told(self):
        report = tessera.save(self.folder / "c", {"w": np.ones(2), "f": {1, 2}})
        self.assertEqual([(lost.key, lost.type_name) for lost in report.lost], [("f", "set")])

    def test_what_cannot_be_saved(self):
        for tree, expected in (({"x": np.array([object()])}, "x: an array of dtype object"),
                               ({"x": {"y": np.array(["a"])}}, "x.y: an array of dtype <U1")):
            with self.assertRaisesRegex(TypeError, expected):
                tessera.save(self.folder / "c", tree)
        with self.assertRaisesRegex(ValueError, "format"):
            tessera.save(self.folder / "c", {"w": np.ones(1)}, format="pickle")
        with self.assertRaisesRegex(ValueError, "zst"):
            tessera.save(self.folder / "c", {"w": np.ones(1)}, codec="zst")
        with self.assertRaisesRegex(TypeError, "path"):
            tessera.save(3, {"w": np.ones(1)})
        with self.assertRaisesRegex(ValueError, "float16"):
            tessera.save(self.folder / "c", {"w": np.ones(1)}, float_dtype="floaty16")
        self.assertFalse((self.folder / "c").exists() and any((self.folder / "c").iterdir()))

    def test_a_damaged_chunk_is_data_loss(self):
        tessera.save(self.folder / "c", {"w": np.arange(1000.0)}, codec="none")
        chunk = self.folder / "c" / "w" / "0"
        chunk.write_bytes(chunk.read_bytes()[:-1] + b"\xff")
        with self.assertRaisesRegex(tessera.DataLossError, "w"):
            tessera.load(self.folder / "c")
        self.assertTrue(issubclass(tessera.DataLossError, OSError))

    def test_what_is_not_there(self):
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            tessera.load(self.folder / "nowhere")
        with self.assertRaises(NotImplementedError):
            tessera.load("s3://bucket/run")


if __name__ == "__main__":
    unittest.main()
