"""tessera stat: the statistics that NumPy computes."""
import unittest

import ml_dtypes
import numpy as np

import cli_case
import golden_values


class StatTest(cli_case.CliCase):
    def check(self, found, values):
        """Holds what the command says of an array against NumPy."""
        numbers = np.abs(values) if values.dtype.kind == "c" else golden_values.wide(values)
        numbers = numbers.astype(np.float64) if numbers.dtype == bool else numbers
        finite = numbers[np.isfinite(numbers)]
        self.assertEqual(found["count"], numbers.size)
        self.assertEqual(found["finite"], finite.size)
        self.assertEqual(found["zeros"], int((numbers == 0).sum()))
        self.assertEqual(found["nan"], int(np.isnan(numbers).sum()))
        self.assertEqual(found["inf"], int(np.isinf(numbers).sum()))
        self.assertEqual(found["positive_inf"], int((numbers == np.inf).sum()))
        if finite.size == 0:
            self.assertEqual((found["min"], found["mean"]), (None, None))
            self.assertEqual(found["histogram"], {"edges": [], "counts": []})
            return
        double = finite.astype(np.float64)
        if values.dtype.kind == "c":
            np.testing.assert_allclose([found["min"], found["max"]], [double.min(), double.max()],
                                       rtol=1e-6)
        else:
            self.assertEqual((found["min"], found["max"]),
                             (finite.min().item(), finite.max().item()))
        scale = np.abs(double).max()
        np.testing.assert_allclose(found["mean"], double.mean(), atol=1e-6 * scale)
        np.testing.assert_allclose(found["std"], double.std(), atol=1e-6 * scale)
        if values.dtype.kind != "c" and double.max() > double.min():
            counts, edges = np.histogram(double, 40)
            self.assertEqual(found["histogram"]["counts"], counts.tolist())
            self.assertEqual(found["histogram"]["edges"], edges.tolist())

    def test_golden_arrays_have_the_statistics_of_numpy(self):
        seen = 0
        for name, folder, expected in cli_case.golden_sets():
            ran = self.run_tessera("stat", folder / "ckpt", "--json")
            if ran.code == 2:
                self.assertRegex(
                    ran.err, "OCDBT|no array and no safetensors file",
                    name)
                continue
            found = ran.json()["arrays"]
            self.assertEqual(set(found), set(expected["arrays"]))
            for key in list(found)[:10]:
                with self.subTest(set=name, key=key):
                    self.tessera("cat", folder / "ckpt", key, "-o", "a.npy", "--overwrite")
                    dtype = golden_values.dtype_of(found[key]["dtype"])
                    self.check(found[key], np.load(self.folder / "a.npy").view(dtype))
                    seen += 1
        self.assertGreater(seen, 50)

    def test_special_numbers(self):
        arrays = {
            "odd": np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, 3], np.float32),
            "nan": np.full(7, np.nan, np.float32),
            "empty": np.zeros((0, 3), np.float32),
            "large": np.array([2**63 - 1, -2**63, 5], np.int64),
            "half": np.random.default_rng(0).standard_normal(5000).astype(np.float16),
            "brain": np.random.default_rng(0).standard_normal(5000).astype(ml_dtypes.bfloat16),
            "float": np.random.default_rng(0).standard_normal((300, 50)).astype(np.float32),
            "counts": np.arange(40, dtype=np.int32),
            "far": 1e6 + np.random.default_rng(0).standard_normal(3000),
        }
        path = self.safetensors_file(arrays=arrays)
        found = self.json("stat", path)["arrays"]
        self.assertEqual(list(found), sorted(arrays))
        for key, values in arrays.items():
            with self.subTest(key):
                self.check(found[key], values)
        self.assertEqual(list(found["odd"]), [
            "dtype", "shape", "count", "finite", "min", "max", "mean", "std", "zeros", "nan", "inf",
            "positive_inf", "negative_inf", "histogram"])

    def test_memory_and_threads_change_nothing(self):
        values = np.random.default_rng(0).standard_normal((1024, 2048)).astype(np.float32)
        path = self.safetensors_file(arrays={"a": values})
        whole = self.tessera("stat", path, "--json").out
        for env in ({"TESSERA_MEMORY": "20MiB"}, {"TESSERA_THREADS": "1"}, {"TESSERA_THREADS": "7"}):
            with self.subTest(env):
                self.assertEqual(self.tessera("stat", path, "--json", env=env).out, whole)

    def test_text_of_several_arrays_is_a_table(self):
        lines = self.tessera("stat", self.safetensors_file(), "--match", "norm|embed").lines()
        self.assertEqual(lines[0].split(), ["KEY", "DTYPE", "SHAPE", "MIN", "MAX", "MEAN", "STD",
                                            "ZEROS", "NAN", "INF", "HISTOGRAM"])
        self.assertRegex(lines[1], "^model.embed.embedding +bfloat16 +.64,16. .* [▁▂▃▄▅▆▇█ ]{20}$")
        self.assertEqual(lines[2].split(), ["model.layers.0.norm.scale", "float32", "[16]", "1",
                                            "1", "1", "0", "0", "0", "0", "█"])
        self.assertEqual(lines[-1], "14 arrays, 1,232 elements, no NaN, no Inf")

    def test_text_of_one_array_has_bars(self):
        path = self.safetensors_file(arrays={"a": np.array([0, 1, 1, 1, np.nan, 4], np.float32)})
        self.assertEqual(self.tessera("stat", path, "--bins", "4").lines(), [
            "a  float32  [6]", "elements  6", "min       0.0", "max       4.0", "mean      1.4",
            "std       1.35647", "zeros     1 (17%)", "NaN       1", "+Inf      0", "-Inf      0",
            "", "FROM  TO  COUNT",
            "   0   1      1  █████████████▍", "   1   2      3  " + "█" * 40,
            "   2   3      0", "   3   4      1  █████████████▍"])

    def test_a_locale_without_utf8_gets_ascii(self):
        path = self.safetensors_file(arrays={"a": np.array([0, 1, 1], np.float32),
                                             "b": np.arange(9, dtype=np.int8)})
        for words in ((), ("--match", "a")):
            text = self.tessera("stat", path, *words, env={"LC_ALL": "C"}).out
            self.assertTrue(text.isascii(), text)
            self.assertRegex(text, "[#@]")

    def test_mistakes_are_told(self):
        path = self.safetensors_file()
        self.assertIn("--bins", self.error("stat", path, "--bins", "0"))
        self.assertIn("expected at most 65536", self.error("stat", path, "--bins", "70000"))
        self.assertIn("nothing", self.error("stat", path, "--match", "nothing"))
        self.assertIn("none", self.error("stat", self.folder / "none"))


if __name__ == "__main__":
    unittest.main()
