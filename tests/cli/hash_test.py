"""tessera hash: the same elements have the same hash in every format."""
import hashlib
import unittest

import numpy as np

import cli_case
import ranks_case


def content_hash(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


class HashTest(ranks_case.RanksCase):
    def test_golden_sets_have_the_hashes_that_their_writers_tell(self):
        seen = 0
        for name, folder, expected in cli_case.golden_sets():
            with self.subTest(name):
                ran = self.run_tessera("hash", folder / "ckpt", "--json")
                if ran.code == 2:
                    self.assertRegex(ran.err, "OCDBT|no array and no safetensors file", name)
                    continue
                self.assertEqual({k: a["sha256"] for k, a in ran.json()["arrays"].items()},
                                 {k: a["sha256"] for k, a in expected["arrays"].items()})
                seen += 1
        self.assertGreaterEqual(seen, 8)

    def test_lines_tell_hash_type_and_key_in_the_order_people_count(self):
        arrays = cli_case.model()
        path = self.safetensors_file(arrays=arrays)
        lines = self.tessera("hash", path).lines()
        self.assertEqual(len(lines), len(arrays))
        self.assertEqual(lines[-1],
                         f"{content_hash(arrays['model.norm.scale'])}  float32[16]  "
                         "model.norm.scale")
        keys = [line.split("  ")[2] for line in lines]
        self.assertLess(keys.index("model.layers.2.norm.scale"),
                        keys.index("model.layers.10.norm.scale"))
        hashes = self.json("hash", path, "--match", r"layers\.3\..*up")["arrays"]
        key = "model.layers.3.mlp.up.kernel"
        self.assertEqual(hashes, {key: {"dtype": "bfloat16", "shape": [16, 64],
                                        "sha256": content_hash(arrays[key])}})

    def test_other_formats_give_the_same_lines(self):
        path = self.safetensors_file()
        expected = self.tessera("hash", path).out
        for form in ("tensorstore", "zarr2", "zarr3", "safetensors"):
            self.tessera("convert", path, form, "--to", form)
            self.assertEqual(self.tessera("hash", form).out, expected, form)
            for count in self.numbers():
                self.assertEqual(self.ranks(count, "hash", form).out, expected, form)

    def test_errors(self):
        path = self.safetensors_file()
        self.assertIn("nowhere", self.error("hash", "nowhere"))
        self.assertIn("'nothing' is found in none of the", self.error("hash", path, "--match",
                                                                      "nothing"))
        self.assertIn("'('", self.error("hash", path, "--match", "("))
        for count in self.numbers():
            ran = self.ranks(count, "hash", path, "--match", "(", code=2)
            self.assertEqual(ran.err.count("tessera: "), 1, ran.err)
            self.assertEqual(ran.out, "")

    def test_a_damaged_chunk_is_named(self):
        self.tessera("convert", self.safetensors_file(), "saved", "--to", "tensorstore")
        (self.folder / "saved/model/norm/scale/0").write_bytes(b"no")
        self.assertIn("model.norm.scale: ", self.error("hash", "saved"))


if __name__ == "__main__":
    unittest.main()
