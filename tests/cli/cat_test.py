"""tessera cat: values as NumPy prints them, as JSON, and as .npy files."""
import hashlib
import io
import json
import unittest

import ml_dtypes
import numpy as np

import cli_case
import golden_values


def printed(values, **options):
    return np.array2string(values, floatmode="unique", **options)


class CatTest(cli_case.CliCase):
    def cat(self, path, key, *words):
        """The lines below the one that tells key, dtype and shape."""
        lines = self.tessera("cat", path, key, *words).out.split("\n", 1)
        return lines[1].rstrip("\n")

    def npy(self, path, key, *words):
        file = self.folder / "out.npy"
        self.tessera("cat", path, key, "-o", file, "--overwrite", *words)
        return file

    def test_golden_arrays_have_the_contents_that_their_writers_put_there(self):
        seen = 0
        for name, folder, expected in cli_case.golden_sets():
            if self.run_tessera("ls", folder / "ckpt").code == 2:
                continue
            for key, about in list(expected["arrays"].items())[:12]:
                with self.subTest(set=name, key=key):
                    values = np.load(self.npy(folder / "ckpt", key))
                    self.assertEqual(list(values.shape), about["shape"])
                    self.assertEqual(hashlib.sha256(values.tobytes()).hexdigest(), about["sha256"])
                    dtype = golden_values.dtype_of(about["dtype"])
                    self.assertEqual(values.view(dtype).dtype, dtype)
                    seen += 1
        self.assertGreater(seen, 50)

    def test_text_is_that_of_numpy(self):
        random = np.random.default_rng(1)
        arrays = {
            "small": random.standard_normal((3, 4)).astype(np.float32),
            "wide": (10.0 ** random.integers(-9, 9, (4, 7)) * random.standard_normal((4, 7))),
            "half": random.standard_normal((2, 3, 5)).astype(np.float16),
            "large": random.standard_normal((40, 50)).astype(np.float32),
            "long": np.arange(5000, dtype=np.int64) - 17,
            "line": random.standard_normal(30),
            "flags": random.integers(0, 2, (3, 9)).astype(bool),
            "bytes": random.integers(0, 255, (4, 4)).astype(np.uint8),
            "odd": np.array([np.nan, -np.inf, np.inf, 0, -0.0, 1.5], np.float32),
            "nothing": np.array([np.nan, np.inf], np.float32),
            "scalar": np.array(2.5, np.float32),
            "empty": np.zeros((0, 3), np.float32),
            "ones": np.ones((2, 2), np.float64),
            "cube": np.arange(1200, dtype=np.int32).reshape(10, 10, 12),
        }
        path = self.safetensors_file(arrays=arrays)
        for key, values in arrays.items():
            with self.subTest(key):
                self.assertEqual(self.cat(path, key), printed(values))
        self.assertEqual(self.cat(path, "large", "--all"),
                         printed(arrays["large"], threshold=10**9))

    def test_types_of_ml_dtypes_have_short_digits(self):
        path = self.safetensors_file(arrays={"b": np.array([0.1, 1, -2.5], ml_dtypes.bfloat16)})
        self.assertEqual(self.tessera("cat", path, "b").lines(),
                         ["b  bfloat16  [3]", "[ 0.1  1.  -2.5]"])

    def test_slices_are_those_of_numpy(self):
        values = np.arange(8 * 6 * 5, dtype=np.int32).reshape(8, 6, 5)
        path = self.safetensors_file(arrays={"a": values})
        for text, expected in {
                "0:4,:,-1": values[0:4, :, -1], "::2": values[::2], "...,0": values[..., 0],
                "::-1, 1:3": values[::-1, 1:3], "3": values[3], "1,2,3": values[1, 2, 3],
                "7:2:-2,...,::3": values[7:2:-2, ..., ::3], "5:5": values[5:5], "": values,
        }.items():
            with self.subTest(text):
                found = self.json("cat", path, "a", "--slice", text)
                self.assertEqual(found["values"], expected.tolist())
                self.assertEqual(found["shape"], list(expected.shape))
                loaded = np.load(self.npy(path, "a", "--slice", text))
                np.testing.assert_array_equal(loaded, expected)

    def test_json_has_all_values(self):
        path = self.safetensors_file(arrays={
            "f": np.array([[0.1, np.nan], [np.inf, -np.inf]], np.float32),
            "n": np.arange(5000, dtype=np.int64)})
        self.assertEqual(
            self.json("cat", path, "f"),
            {"key": "f", "dtype": "float32", "shape": [2, 2],
             "values": [[0.1, "NaN"], ["Infinity", "-Infinity"]]})
        self.assertEqual(self.json("cat", path, "n")["values"], list(range(5000)))

    def test_complex_numbers_are_pairs(self):
        folder = cli_case.GOLDENS / "eformer-dtypes" / "ckpt"
        file = self.npy(folder, "d_complex64")
        values = np.load(file)
        self.assertEqual(self.cat(folder, "d_complex64"), printed(values))
        pairs = self.json("cat", folder, "d_complex64")["values"]
        np.testing.assert_array_equal(
            np.array(pairs, np.float32), np.stack([values.real, values.imag], axis=-1))

    def test_npy_files_are_those_of_numpy(self):
        arrays = {"f": np.zeros((3, 4), np.float32), "b": np.ones(5, bool),
                  "s": np.array(3, np.int64), "e": np.zeros((0, 2), np.uint16),
                  "m": np.ones((2, 3), ml_dtypes.bfloat16)}
        path = self.safetensors_file(arrays=arrays)
        for key, values in arrays.items():
            with self.subTest(key):
                expected = io.BytesIO()
                np.save(expected, values)
                self.assertEqual(self.npy(path, key).read_bytes(), expected.getvalue())

    def test_a_type_that_numpy_lacks_is_noted(self):
        path = self.safetensors_file(arrays={"m": np.ones((2, 3), ml_dtypes.bfloat16)})
        ran = self.tessera("cat", path, "m", "-o", "m.npy")
        self.assertEqual(ran.out, "m  bfloat16  [2,3]  12 B to m.npy\n")
        self.assertIn("numpy.load(FILE).view(ml_dtypes.bfloat16)", ran.err)
        self.assertEqual(
            self.json("cat", path, "m", "-o", "n.npy"),
            {"key": "m", "dtype": "bfloat16", "shape": [2, 3], "file": "n.npy"})

    def test_a_file_is_not_replaced_unasked(self):
        path = self.safetensors_file(arrays={"a": np.ones(3, np.float32)})
        self.write("a.npy", "mine")
        self.assertEqual(self.error("cat", path, "a", "-o", "a.npy"),
                         "a.npy: there is a file already; --overwrite replaces it")
        self.assertEqual((self.folder / "a.npy").read_text(), "mine")
        self.tessera("cat", path, "a", "-o", "a.npy", "--overwrite")
        np.testing.assert_array_equal(np.load(self.folder / "a.npy"), np.ones(3))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         ["a.npy", "model.safetensors"])

    def test_little_memory_is_enough_for_a_large_file(self):
        values = np.random.default_rng(0).standard_normal((2048, 1024)).astype(np.float32)
        path = self.safetensors_file(arrays={"a": values})
        self.tessera("cat", path, "a", "-o", "a.npy", env={"TESSERA_MEMORY": "6MiB"})
        np.testing.assert_array_equal(np.load(self.folder / "a.npy"), values)
        self.assertIn("more than the budget of 6291456; take a smaller slice",
                      self.error("cat", path, "a", "--all", env={"TESSERA_MEMORY": "6MiB"}))
        self.assertIn("...", self.tessera("cat", path, "a", env={"TESSERA_MEMORY": "6MiB"}).out)

    def test_mistakes_are_told(self):
        path = self.safetensors_file()
        self.assertEqual(
            self.error("cat", path, "model.norm.scal"),
            "no array 'model.norm.scal' among the 86 of the checkpoint; did you mean "
            "'model.norm.scale'?")
        self.assertEqual(
            self.error("cat", path, "model.norm.scale", "--slice", "16"),
            "model.norm.scale: slice '16' of dimension 0, which has size 16: expected an index "
            "from -16 to 15")
        self.assertEqual(
            self.error("cat", path, "model.norm.scale", "--slice", "0,0"),
            "model.norm.scale: slice '0,0': found 2 dimensions, expected at most the 1 of shape "
            "[16]")
        self.assertIn("none/a.npy", self.error("cat", path, "model.norm.scale", "-o", "none/a.npy"))
        self.assertEqual(self.error("cat", path, "model.norm.scale", "--overwrite"),
                         "--overwrite is for the file of -o, and there is none")

    def test_a_damaged_checkpoint_prints_nothing(self):
        path = self.safetensors_file(arrays={"a": np.zeros(4096, np.float32)})
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size - 64)
        self.error("cat", path, "a", "--json")


if __name__ == "__main__":
    unittest.main()
