"""tessera info: totals, metadata and who vouches."""
import json
import unittest

import cli_case


class InfoTest(cli_case.CliCase):
    def test_json_adds_up_per_dtype_and_prefix(self):
        info = self.json("info", cli_case.GOLDENS / "eformer-prefixes" / "ckpt")
        self.assertEqual(list(info)[:8], ["format", "arrays", "nbytes", "stored_bytes", "dtypes",
                                          "prefixes", "metadata", "sealed"])
        self.assertEqual(info["arrays"], 19)
        self.assertFalse(info["sealed"])
        for groups in (info["dtypes"], info["prefixes"]):
            for total in ("arrays", "nbytes", "stored_bytes"):
                self.assertEqual(sum(group[total] for group in groups.values()), info[total])
        self.assertEqual(set(info["prefixes"]), {"model", "optimizer"})

    def test_headers_of_files_are_metadata(self):
        path = self.safetensors_file(metadata={"format": "pt", "note": "größe"})
        self.assertEqual(self.json("info", path)["metadata"], {"format": "pt", "note": "größe"})
        text = self.tessera("info", path).out
        self.assertIn("größe", text)
        self.assertIn("nobody vouches for the bytes; tessera seal would", text)

    def test_documents_of_a_step_are_metadata(self):
        folder = cli_case.GOLDENS / "eformer-async-manager" / "ckpt"
        written = json.loads((folder / "checkpoint_metadata.json").read_text())
        self.assertEqual(self.json("info", folder)["metadata"]["checkpoint_metadata.json"], written)

    def test_golden_sets_add_up(self):
        for name, folder, expected in cli_case.golden_sets():
            with self.subTest(name):
                ran = self.run_tessera("info", folder / "ckpt", "--json")
                if ran.code == 0:
                    self.assertEqual(ran.json()["arrays"], len(expected["arrays"]))


class VersionTest(cli_case.CliCase):
    def test_names_formats_and_codecs(self):
        facts = self.json("version")
        self.assertRegex(facts["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(facts["read"], ["tensorstore", "safetensors", "zarr"])
        self.assertEqual(self.tessera("--version").lines()[0], f"tessera {facts['version']}")


if __name__ == "__main__":
    unittest.main()
