"""tessera diff: keys, dtypes, shapes, elements and numbers of two checkpoints."""
import unittest

import ml_dtypes
import numpy as np

import cli_case


class DiffTest(cli_case.CliCase):
    def pair(self, a, b):
        return (self.safetensors_file("a.safetensors", a), self.safetensors_file("b.safetensors", b))

    def test_every_golden_set_is_the_same_as_itself(self):
        seen = 0
        for name, folder, _ in cli_case.golden_sets():
            with self.subTest(name):
                ran = self.run_tessera("diff", folder / "ckpt", folder / "ckpt", "--values", "--json")
                if ran.code == 2:
                    self.assertRegex(ran.err, "OCDBT|no array and no safetensors file", name)
                    continue
                self.assertEqual(ran.code, 0)
                found = ran.json()
                self.assertTrue(found["same"])
                self.assertEqual((found["only_a"], found["only_b"], found["changed"]), ([], [], []))
                seen += 1
        self.assertGreaterEqual(seen, 8)

    def test_the_same_is_said_in_one_line(self):
        a, b = self.pair(None, None)
        self.assertEqual(self.tessera("diff", a, b).out, "the same 86 arrays\n")
        self.assertEqual(self.tessera("diff", a, b, "--structure").out,
                         "the same structure: 86 arrays\n")

    def test_numbers_are_those_of_numpy(self):
        random = np.random.default_rng(3)
        x = random.standard_normal((50, 70)).astype(np.float32)
        y = x.copy()
        y[3, 4] += 0.25
        y[40] *= np.float32(1.001)
        found = self.json("diff", *self.pair({"x": x}, {"x": y}), "--values", code=1)["changed"][0]
        x64, y64 = x.astype(np.float64), y.astype(np.float64)
        self.assertEqual((found["key"], found["what"]), ("x", "values"))
        self.assertEqual(found["different"], int((x != y).sum()))
        self.assertEqual(found["first_different"], [3, 4])
        self.assertEqual(found["max_abs"], np.abs(x64 - y64).max())
        self.assertEqual(found["max_rel"],
                         (np.abs(x64 - y64) / np.maximum(np.abs(x64), np.abs(y64))).max())
        cosine = (x64 * y64).sum() / np.sqrt((x64 * x64).sum() * (y64 * y64).sum())
        self.assertAlmostEqual(found["cosine"], cosine, places=12)
        steps = [np.where(v.view(np.int32) < 0, -(v.view(np.int32) & 0x7FFFFFFF).astype(np.int64),
                          v.view(np.int32)) for v in (x, y)]
        self.assertEqual(found["max_ulp"], int(np.abs(steps[0] - steps[1]).max()))

    def test_dtypes_are_compared_by_value(self):
        x = np.array([1, 0.1, -2], np.float32)
        a, b = self.pair({"x": x}, {"x": x.astype(ml_dtypes.bfloat16)})
        found = self.json("diff", a, b, "--values", code=1)["changed"][0]
        self.assertEqual(
            {k: found[k] for k in ("what", "dtype_a", "dtype_b", "different", "first_different",
                                   "max_ulp")},
            {"what": "dtype", "dtype_a": "float32", "dtype_b": "bfloat16", "different": 1,
             "first_different": [1], "max_ulp": None})
        self.assertNotIn("different", self.json("diff", a, b, code=1)["changed"][0])

    def test_text_lists_what_is_missing_and_what_has_changed(self):
        a = cli_case.model()
        b = dict(a)
        for layer in range(cli_case.LAYERS):
            del b[f"model.layers.{layer}.norm.scale"]
        b["model.extra"] = np.zeros(2, np.float32)
        b["model.norm.scale"] = a["model.norm.scale"].reshape(4, 4)
        b["model.embed.embedding"] = a["model.embed.embedding"].copy()
        b["model.embed.embedding"][1, 2] = 7
        a, b = self.pair(a, b)
        lines = [line.split() for line in self.tessera("diff", a, b, code=1).lines()]
        self.assertEqual(lines, [
            ["-", "model.layers.{0..11}.norm.scale", "×12"],
            ["+", "model.extra"],
            ["KEY", "CHANGE", "DIFFERENT", "FIRST", "AT"],
            ["~", "model.embed.embedding", "values", "1", "of", "1,024", "[1,2]"],
            ["~", "model.norm.scale", "shape", "[16]", "→", "[4,4]"],
            "12 only in A, 1 only in B, 2 changed, 72 the same".split()])
        self.assertEqual(self.tessera("diff", a, b, "--structure", code=1).lines()[-1],
                         "12 only in A, 1 only in B, 1 changed, 73 the same")
        self.assertIn("COSINE", self.tessera("diff", a, b, "--values", code=1).out)
        self.assertTrue(self.tessera("diff", a, b, "--values", code=1,
                                     env={"LC_ALL": "C"}).out.isascii())

    def test_keys_are_renamed_as_python_does(self):
        a = cli_case.model()
        b = {key.removeprefix("model.").replace("layers", "blocks"): v for key, v in a.items()}
        a, b = self.pair(a, b)
        renames = ("--rename", r"^model\.=>", "--rename", r"layers\.(\d+)=>blocks.\1")
        self.assertEqual(self.tessera("diff", a, b, *renames).out, "the same 86 arrays\n")
        self.assertEqual(len(self.json("diff", a, b, code=1)["only_a"]), 86)
        self.assertRegex(
            self.error("diff", a, b, "--rename", "layers.*=>x"),
            r"^the keys 'model\.layers\.0.*' and 'model\.layers\..*' are both renamed to 'model\.x'$")

    def test_bytes_of_the_same_number_are_counted(self):
        a, b = self.pair({"x": np.array([0.0, 1], np.float32)}, {"x": np.array([-0.0, 1], np.float32)})
        found = self.json("diff", a, b, "--values", code=1)["changed"][0]
        self.assertEqual((found["different"], found["same_number"], found["max_abs"]), (1, 1, 0.0))

    def test_large_integers_are_exact(self):
        a, b = self.pair({"x": np.array([2**62 + 1], np.int64)}, {"x": np.array([2**62], np.int64)})
        found = self.json("diff", a, b, "--values", code=1)["changed"][0]
        self.assertEqual(found["max_abs"], 1)

    def test_mistakes_are_told(self):
        a, b = self.pair(None, None)
        self.assertIn("expected 'PATTERN=>REPLACEMENT'", self.error("diff", a, b, "--rename", "x"))
        self.assertIn("rename: ", self.error("diff", a, b, "--rename", "(=>x"))
        self.assertIn("match: ", self.error("diff", a, b, "--match", "("))
        self.assertEqual(self.error("diff", a, b, "--values", "--structure"),
                         "--values and --structure: expected one of them at most")
        self.assertIn("none", self.error("diff", a, self.folder / "none"))


if __name__ == "__main__":
    unittest.main()
