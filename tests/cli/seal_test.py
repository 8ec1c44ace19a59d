"""tessera seal: vouches for what others made, and never for what is damaged."""
import shutil
import unittest

import cli_case


class SealTest(cli_case.CliCase):
    def copy(self, name):
        shutil.copytree(cli_case.GOLDENS / name / "ckpt", self.folder / name)
        return self.folder / name

    def files(self, folder):
        return {p: p.read_bytes() for p in sorted(folder.rglob("*"))
                if p.is_file() and ".tessera" not in p.parts}

    def test_a_sealed_checkpoint_is_sealed_and_otherwise_as_it_was(self):
        for name in ("eformer-prefixes", "zarr3-all", "safetensors-hf-sharded"):
            with self.subTest(name):
                folder = self.copy(name)
                before = self.files(folder)
                report = self.json("seal", folder)
                self.assertEqual(list(report)[:2], ["chunks", "bytes"])
                self.assertGreater(report["chunks"], 0)
                self.assertEqual(self.files(folder), before)
                self.assertTrue(self.json("info", folder)["sealed"])
                verified = self.json("verify", folder)
                self.assertEqual(verified["vouched"]["nobody"], 0)
                self.assertEqual(verified["checked"]["chunks"], report["chunks"])

    def test_text_names_what_was_sealed(self):
        line = self.tessera("seal", self.copy("eformer-prefixes")).lines()[0]
        self.assertRegex(line, r"^sealed 'model', 'optimizer': \d+ chunks, [\d.]+ KiB$")
        self.assertRegex(self.tessera("seal", self.safetensors_file()).out,
                         r"^sealed 'model.safetensors': \d+ chunks, ")

    def test_a_manifest_that_holds_stays(self):
        self.tessera("convert", self.safetensors_file(), "saved", "--to", "tensorstore")
        report = self.json("seal", "saved")
        self.assertEqual((report["chunks"], report["sealed"], report["had_manifest"]),
                         (0, [], [""]))
        self.assertEqual(self.tessera("seal", "saved").out,
                         "the manifest of the save holds for the arrays; nothing was written "
                         "there\n")

    def test_what_is_damaged_is_not_sealed(self):
        folder = self.copy("eformer-single")
        chunk = next(p for p in sorted(folder.rglob("0.0")) if p.is_file())
        chunk.write_bytes(b"no")
        self.assertIn(str(chunk.relative_to(folder)), self.error("seal", folder))
        self.assertFalse((folder / ".tessera" / "seals").exists())

    def test_errors(self):
        self.assertIn("nowhere", self.error("seal", "nowhere"))
        self.assertIn("CKPT", self.error("seal"))


if __name__ == "__main__":
    unittest.main()
