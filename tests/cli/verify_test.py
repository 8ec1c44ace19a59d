"""tessera verify: what is whole, what is damaged, and who says so."""
import shutil
import unittest

import cli_case
import ranks_case


def flip(path, at=-1):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


class VerifyTest(ranks_case.RanksCase):
    def saved(self):
        """A checkpoint with a manifest."""
        self.tessera("convert", self.safetensors_file("source.safetensors"), "saved",
                     "--to", "tensorstore", "--chunk-bytes", "1KiB")
        return self.folder / "saved"

    def sealed(self):
        path = self.safetensors_file()
        self.tessera("seal", path)
        return path

    def test_what_a_save_vouches_for_is_ok(self):
        report = self.json("verify", self.saved())
        self.assertEqual(list(report)[:3], ["ok", "checked", "problems"])
        self.assertEqual(list(report["checked"]), ["arrays", "chunks", "bytes"])
        count = len(cli_case.model())
        self.assertTrue(report["ok"])
        self.assertEqual(report["checked"]["arrays"], count)
        self.assertGreater(report["checked"]["chunks"], count)
        self.assertEqual(report["vouched"], {"manifest": count, "seal": 0, "nobody": 0})
        lines = self.tessera("verify", "saved").lines()
        self.assertRegex(lines[0], rf"^ok: {count} arrays, \d+ chunks, [\d.]+ KiB read$")
        self.assertEqual(lines[1], f"vouched for: {count} arrays by the manifest of the save")

    def test_damaged_chunks_are_named_and_the_code_is_1(self):
        saved = self.saved()
        flip(saved / "model/norm/scale/0")
        (saved / "model/layers/3/mlp/up/kernel/1.0").unlink()
        report = self.json("verify", saved, code=1)
        self.assertFalse(report["ok"])
        self.assertEqual([(p["key"], p["file"]) for p in report["problems"]],
                         [("model.layers.3.mlp.up.kernel", "model/layers/3/mlp/up/kernel/1.0"),
                          ("model.norm.scale", "model/norm/scale/0")])
        self.assertRegex(report["problems"][0]["problem"], r"^missing; it had \d+ bytes$")
        lines = self.tessera("verify", saved, code=1).lines()
        self.assertTrue(lines[0].startswith(
            "damaged  model.layers.3.mlp.up.kernel  model/layers/3/mlp/up/kernel/1.0: missing;"))
        self.assertTrue(lines[1].startswith(
            "damaged  model.norm.scale  model/norm/scale/0: its bytes have changed"))
        self.assertTrue(lines[2].startswith("2 problems: "))
        # Names and sizes do not tell of a flipped bit.
        self.assertEqual(len(self.json("verify", saved, "--quick", code=1)["problems"]), 1)
        self.assertIn("names and sizes only", self.tessera("verify", saved, "--quick", code=1).out)

    def test_a_seal_vouches_for_a_file(self):
        path = self.sealed()
        count = len(cli_case.model())
        self.assertEqual(self.json("verify", path)["vouched"],
                         {"manifest": 0, "seal": count, "nobody": 0})
        flip(path)
        problem = self.json("verify", path, code=1)["problems"][0]
        self.assertEqual(problem["file"], "model.safetensors")
        self.assertRegex(problem["problem"], r"^bytes \[\d+, \d+\): its bytes have changed")

    def test_nobody_vouches_for_what_others_made(self):
        for name in ("eformer-prefixes", "zarr3-all", "safetensors-hf-sharded", "eformer-single"):
            with self.subTest(name):
                folder = cli_case.GOLDENS / name / "ckpt"
                report = self.json("verify", folder)
                self.assertEqual(report["vouched"]["nobody"], report["checked"]["arrays"])
                self.assertIn("by nobody: all that can be told", self.tessera("verify", folder).out)

    def test_unsealed_chunks_that_do_not_decode_are_found(self):
        shutil.copytree(cli_case.GOLDENS / "eformer-single" / "ckpt", self.folder / "copy")
        chunk = next(p for p in sorted((self.folder / "copy").rglob("0.0")) if p.is_file())
        chunk.write_bytes(b"no")
        report = self.json("verify", "copy", code=1)
        self.assertEqual([p["file"] for p in report["problems"]],
                         [str(chunk.relative_to(self.folder / "copy"))])

    def test_errors(self):
        self.assertIn("nowhere", self.error("verify", "nowhere"))
        (self.folder / "empty").mkdir()
        self.assertIn("empty", self.error("verify", "empty"))
        self.assertIn("--quik", self.error("verify", "x", "--quik"))
        self.assertIn("CKPT", self.error("verify"))

    def test_ranks_report_what_one_does(self):
        saved = self.saved()
        (saved / "model/layers/3/mlp/up/kernel/1.0").unlink()
        for layer in range(5):
            flip(saved / f"model/layers/{layer}/norm/scale/0")
        file = self.sealed()
        flip(file)
        for path in (saved, file):
            alone = self.tessera("verify", path, code=1).out
            for count in self.numbers():
                self.assertEqual(self.ranks(count, "verify", path, code=1).out, alone)
        for count in self.numbers():
            ran = self.ranks(count, "verify", "nowhere", code=2)
            self.assertEqual(ran.err.count("tessera: "), 1, ran.err)
            ran = self.ranks(count, "verify", "--nonsense", code=2)
            self.assertEqual(ran.err.count("tessera: "), 1, ran.err)


class NoModuleTest(cli_case.CliCase):
    def test_several_processes_without_mpi_are_refused(self):
        alone = self.folder / "bin" / "tessera"
        alone.parent.mkdir()
        shutil.copy(cli_case.PROGRAM, alone)
        for variables in ({"OMPI_COMM_WORLD_SIZE": "4"}, {"PMI_SIZE": "2"}):
            line = self.error("verify", "x", program=[str(alone)], env=variables)
            self.assertIn("what speaks MPI cannot be loaded (there is neither", line)
            self.assertIn("libtessera_mpi.so", line)
        # The first one speaks for all.
        ran = self.run_tessera("verify", "x", program=[str(alone)],
                               env={"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2"})
        self.assertEqual((ran.code, ran.out, ran.err), (2, "", ""))
        self.assertIn("nowhere", self.error("verify", "nowhere", program=[str(alone)],
                                            env={"OMPI_COMM_WORLD_SIZE": "1"}))


if __name__ == "__main__":
    unittest.main()
