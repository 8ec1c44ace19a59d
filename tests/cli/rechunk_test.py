"""tessera rechunk: chunks by size, or as the shards of a mesh."""
import json
import unittest

import cli_case
import ranks_case

RULES = [["(q|k|v)_proj/kernel|up/kernel", ["dp", "tp"]], ["(o_proj|down)/kernel", ["tp", "dp"]],
         ["embedding", ["tp", None]], ["layers/.*/scale", []]]


class RechunkTest(ranks_case.RanksCase):
    def setUp(self):
        super().setUp()
        self.source = self.safetensors_file("source.safetensors")
        self.write("rules.json", json.dumps(RULES))
        self.tessera("convert", self.source, "saved", "--to", "tensorstore", "--codec", "gzip:4")

    def chunks(self, path):
        return {a["key"]: a["chunk_shape"] for a in self.json("ls", path)["arrays"]}

    def test_chunks_are_the_shards_of_the_mesh(self):
        report = self.json("rechunk", "saved", "made", "--mesh", "dp=2,tp=4", "--rules",
                           "rules.json")
        self.assertEqual(list(report)[:3], ["arrays", "nbytes", "seconds"])
        self.assertEqual(report["format"], "tensorstore")
        self.assertEqual(report["unmatched"], ["model.norm.scale"])
        chunks = self.chunks("made")
        self.assertEqual(chunks["model.layers.7.attn.q_proj.kernel"], [8, 4])
        self.assertEqual(chunks["model.layers.7.mlp.down.kernel"], [16, 8])
        self.assertEqual(chunks["model.embed.embedding"], [16, 16])
        self.assertEqual(chunks["model.layers.7.norm.scale"], [16])
        self.assertEqual(self.tessera("hash", "made").out, self.tessera("hash", "saved").out)
        self.assertEqual({a["codec"] for a in self.json("ls", "made")["arrays"]}, {"gzip"})
        self.assertTrue(self.json("verify", "made")["ok"])

    def test_specs_that_do_not_divide_are_corrected_and_listed(self):
        out = self.tessera("rechunk", "saved", "made", "--mesh", "dp=3,tp=4", "--rules",
                           "rules.json", "--match", r"layers\.0\.attn\.q|^model.norm").out
        lines = out.splitlines()
        self.assertTrue(lines[0].startswith("rechunked 2 arrays, "), out)
        self.assertEqual(lines[1:],
                         ["no rule takes these, which are chunked by size:", "  model.norm.scale",
                          "corrected, as the mesh does not divide them:",
                          "  model.layers.0.attn.q_proj.kernel: dimension 0: 'dp' -> None "
                          "(does not divide)"])

    def test_by_size_and_in_other_formats(self):
        self.tessera("rechunk", "saved", "small", "--chunk-bytes", "256", "--codec", "zstd:3")
        self.assertEqual(self.chunks("small")["model.layers.0.mlp.up.kernel"], [2, 64])
        for form in ("zarr2", "zarr3"):
            self.tessera("rechunk", "saved", form, "--chunk-bytes", "512", "--to", form)
            self.assertEqual(self.json("rechunk", form, f"{form}-2", "--chunk-bytes",
                                       "256")["format"], form)
            self.assertEqual(self.chunks(f"{form}-2")["model.layers.0.mlp.up.kernel"], [2, 64])
        # Files without chunks become tensorstore, as chunks need a place.
        self.assertEqual(self.json("rechunk", self.source, "made", "--chunk-bytes",
                                   "512")["format"], "tensorstore")

    def test_a_dry_run_shows_shards(self):
        out = self.tessera("rechunk", "saved", "made", "--mesh", "dp=2,tp=4", "--rules",
                           "rules.json", "--dry-run").out
        self.assertIn("cells [8,4] in shards [8,4] by rule 0", out)
        self.assertFalse((self.folder / "made").exists())

    def test_errors_say_what_to_do(self):
        def refuses(text, *words):
            self.assertIn(text, self.error("rechunk", *words))

        refuses("give --mesh and --rules, or --chunk-bytes", "saved", "x")
        refuses("--mesh needs --rules", "saved", "x", "--mesh", "tp=2")
        refuses("--rules needs --mesh", "saved", "x", "--rules", "rules.json")
        refuses("--mesh", "saved", "x", "--mesh", "tp", "--rules", "rules.json")
        refuses("no.json", "saved", "x", "--mesh", "tp=2", "--rules", "no.json")
        refuses("'dp'", "saved", "x", "--mesh", "tp=2", "--rules", "rules.json")
        refuses("safetensors files have no chunks", "saved", "x.safetensors", "--chunk-bytes", "1")
        self.tessera("rechunk", "saved", "there", "--chunk-bytes", "512")
        refuses("--overwrite", "saved", "there", "--chunk-bytes", "256")
        refuses("inside", "saved", "saved/x", "--chunk-bytes", "512")

    def test_ranks_make_what_one_makes(self):
        words = ("--to", "zarr3", "--mesh", "dp=2,tp=4", "--rules", "rules.json")
        self.tessera("rechunk", "saved", "one", *words)
        files = {p.relative_to(self.folder / "one"): p.read_bytes()
                 for p in (self.folder / "one").rglob("*") if p.is_file()}
        for count in self.numbers():
            made = self.folder / f"made{count}"
            self.ranks(count, "rechunk", "saved", made, *words)
            self.assertEqual({p.relative_to(made): p.read_bytes()
                              for p in made.rglob("*") if p.is_file()}, files)


if __name__ == "__main__":
    unittest.main()
