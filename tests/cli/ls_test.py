"""tessera ls: every array, in text and as JSON, without reading any."""
import json
import unittest

import cli_case


class LsTest(cli_case.CliCase):
    def test_golden_sets_have_the_arrays_that_their_writers_put_there(self):
        seen = 0
        for name, folder, expected in cli_case.golden_sets():
            with self.subTest(name):
                ran = self.run_tessera("ls", folder / "ckpt", "--json")
                if ran.code == 2:
                    self.assertRegex(ran.err, "OCDBT|no array and no safetensors file", name)
                    continue
                arrays = {a["key"]: a for a in ran.json()["arrays"]}
                self.assertEqual({k: (a["dtype"], a["shape"]) for k, a in arrays.items()},
                                 {k: (a["dtype"], a["shape"])
                                  for k, a in expected["arrays"].items()})
                seen += 1
        self.assertGreaterEqual(seen, 8)

    def test_json_tells_chunks_codec_and_sizes(self):
        listing = self.json("ls", cli_case.GOLDENS / "eformer-prefixes" / "ckpt")
        self.assertEqual(listing["format"], "tensorstore")
        self.assertEqual(sorted(listing["prefixes"]), ["model", "optimizer"])
        self.assertEqual(list(listing), ["format", "path", "prefixes", "arrays"])
        array = next(a for a in listing["arrays"] if a["key"] == "model.embed.embedding")
        self.assertEqual(list(array), ["key", "dtype", "shape", "chunk_shape", "codec", "nbytes",
                                       "stored_bytes"])
        self.assertEqual((array["dtype"], array["shape"], array["nbytes"]),
                         ("bfloat16", [128, 16], 4096))
        self.assertEqual(array["codec"], "zstd")
        self.assertGreater(array["stored_bytes"], 0)

    def test_a_prefix_shows_keys_without_it(self):
        listing = self.json("ls", cli_case.GOLDENS / "eformer-prefixes" / "ckpt", "--prefix", "model")
        self.assertIn("embed.embedding", [a["key"] for a in listing["arrays"]])
        self.assertRegex(
            self.error("ls", cli_case.GOLDENS / "eformer-prefixes" / "ckpt", "--prefix", "modle"),
            "modle.*model")

    def test_text_folds_layers_in_natural_order_and_adds_up(self):
        path = self.safetensors_file()
        lines = self.tessera("ls", path).lines()
        self.assertEqual([line.split()[0] for line in lines], [
            "KEY", "model.embed.embedding",
            "model.layers.{0..11}.attn.k_proj.kernel", "model.layers.{0..11}.attn.o_proj.kernel",
            "model.layers.{0..11}.attn.q_proj.kernel", "model.layers.{0..11}.attn.v_proj.kernel",
            "model.layers.{0..11}.mlp.down.kernel", "model.layers.{0..11}.mlp.up.kernel",
            "model.layers.{0..11}.norm.scale", "model.norm.scale", lines[-2], "86"])
        self.assertEqual(lines[-1], "86 arrays, 74.8 KiB, 74.8 KiB stored, safetensors")
        self.assertEqual(lines[2].split(),
                         ["model.layers.{0..11}.attn.k_proj.kernel", "×12", "bfloat16", "[16,16]",
                          "6.00", "KiB", "6.00", "KiB", "[16,16]", "none"])
        keys = [line.split()[0] for line in self.tessera("ls", path, "--all").lines()]
        self.assertLess(keys.index("model.layers.2.norm.scale"),
                        keys.index("model.layers.10.norm.scale"))

    def test_depth_adds_up_parts(self):
        lines = self.tessera("ls", self.safetensors_file(), "--depth", "2").lines()
        self.assertEqual([line.split()[:2] for line in lines[1:4]],
                         [["model.embed", "1"], ["model.layers", "84"], ["model.norm", "1"]])

    def test_match_selects(self):
        path = self.safetensors_file()
        keys = [a["key"] for a in self.json("ls", path, "--match", r"layers\.1\d\.norm")["arrays"]]
        self.assertEqual(keys, ["model.layers.10.norm.scale", "model.layers.11.norm.scale"])
        self.assertEqual(self.error("ls", path, "--match", "zzz"),
                         "--match 'zzz' is found in none of the 86 keys; see tessera ls")
        self.assertIn("(", self.error("ls", path, "--match", "("))

    def test_of_very_many_arrays_the_index_tells(self):
        records = [{"path": f"model/layers/{i}/kernel", "shape": [4, 4], "dtype": "float32"}
                   for i in range(10_001)]
        self.write("tensorstore_index.json", json.dumps(
            {"format": "tensorstore", "version": "1.1", "prefixes": {"model": records}}))
        lines = self.tessera("ls", self.folder).lines()
        self.assertEqual(lines[1].split(),
                         ["model.layers.{0..10000}.kernel", "×10,001", "float32", "[4,4]", "625",
                          "KiB"])
        self.assertEqual(lines[-1], "10,001 arrays, 625 KiB, tensorstore, prefix model; "
                                    "chunks, codecs and stored sizes with --long")
        # The arrays are not there, which is seen by who looks at them.
        self.assertIn(".zarray", self.error("ls", self.folder, "--long"))
        self.assertIn(".zarray", self.error("ls", self.folder, "--json"))
        self.assertEqual(len(self.tessera("ls", self.folder, "--match", "layers.77.k").lines()), 4)
        self.assertIn("none of the 10001 keys", self.error("ls", self.folder, "--match", "zzz"))

    def test_what_is_not_there_or_no_checkpoint(self):
        self.assertIn("nowhere", self.error("ls", "nowhere"))
        self.assertIn("text", self.error("ls", self.write("text.safetensors", "hello")))
        (self.folder / "empty").mkdir()
        self.assertIn("empty", self.error("ls", "empty"))
        self.assertIn("s3", self.error("ls", "s3://bucket/run"))
        self.assertEqual(self.error("ls", self.folder, "--depth", "x"),
                         "--depth 'x': expected a number from 1 up")

    def test_ocdbt_is_refused_by_name(self):
        self.assertIn("OCDBT", self.error("ls", cli_case.GOLDENS / "ocdbt-zarr" / "ckpt"))


if __name__ == "__main__":
    unittest.main()
