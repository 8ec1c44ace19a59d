"""tessera convert: every format from every other, and what stops it half-way."""
import hashlib
import os
import signal
import subprocess
import time
import unittest

import numpy as np
import safetensors.numpy

import cli_case
import ranks_case

FORMATS = ("tensorstore", "safetensors", "zarr2", "zarr3")


def tree(folder):
    """The hash of every file below a folder, by path."""
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


class ConvertTest(ranks_case.RanksCase):
    def names(self):
        return sorted(p.name for p in self.folder.iterdir())

    def test_every_format_becomes_every_other(self):
        source = self.safetensors_file("source.safetensors")
        expected = self.tessera("hash", source).out
        for first in FORMATS:
            report = self.json("convert", source, first, "--to", first)
            self.assertEqual(list(report)[:3], ["arrays", "nbytes", "seconds"])
            self.assertEqual(report["arrays"], len(cli_case.model()))
            self.assertEqual(report["format"], first)
            for second in FORMATS:
                made = f"{first}-{second}"
                self.tessera("convert", first, made, "--to", second)
                self.assertEqual(self.tessera("hash", made).out, expected, made)
                self.assertEqual(self.json("verify", made)["vouched"]["nobody"], 0)

    def test_text_tells_what_was_made(self):
        self.safetensors_file()
        out = self.tessera("convert", "model.safetensors", "made", "--to", "zarr3").out
        self.assertRegex(out, r"^converted 86 arrays, [\d.]+ KiB, to zarr3 at made in [\d.]+ s; "
                              r"read back and compared\n$")
        out = self.tessera("convert", "model.safetensors", "made2", "--no-verify").out
        self.assertIn("to safetensors at made2", out)
        self.assertIn("; not read back", out)

    def test_the_ending_or_the_source_tells_the_format(self):
        source = self.safetensors_file("source.safetensors")
        self.tessera("convert", source, "made", "--to", "zarr2")
        self.assertEqual(self.json("convert", "made", "made.safetensors")["format"], "safetensors")
        self.assertTrue((self.folder / "made.safetensors").is_file())
        self.assertEqual(self.json("convert", "made", "same")["format"], "zarr2")
        self.assertIn("--to zarr2 or --to zarr3", self.error("convert", "made", "x.zarr"))

    def test_renames_casts_transposes_and_selects(self):
        source = self.safetensors_file()
        self.tessera("convert", source, "out.safetensors", "--dtype", "float32",
                     "--match", r"layers\.[01]\.", "--rename", r"^model\.=>",
                     "--rename", "kernel$=>weight", "--transpose", "up.kernel$",
                     "--transpose", "down.kernel=1,0", "--metadata", "format=pt")
        made = safetensors.numpy.load_file(self.folder / "out.safetensors")
        arrays = cli_case.model()
        self.assertEqual(len(made), 14)
        for name in ("up", "down"):
            np.testing.assert_array_equal(
                made[f"layers.1.mlp.{name}.weight"],
                arrays[f"model.layers.1.mlp.{name}.kernel"].T.astype(np.float32))
        np.testing.assert_array_equal(made["layers.0.attn.q_proj.weight"],
                                      arrays["model.layers.0.attn.q_proj.kernel"]
                                      .astype(np.float32))
        self.assertEqual(self.json("info", "out.safetensors")["metadata"], {"format": "pt"})

    def test_shards_codecs_chunks_and_prefixes(self):
        source = self.safetensors_file()
        self.tessera("convert", source, "shards", "--to", "safetensors", "--shard-size", "20KiB",
                     "--stem", "weights")
        self.assertIn("weights.safetensors.index.json", os.listdir(self.folder / "shards"))
        self.tessera("convert", source, "made", "--to", "tensorstore", "--to-prefix", "model",
                     "--rename", r"^model\.=>", "--codec", "blosc-zstd:3", "--chunk-bytes", "1KiB")
        listing = self.json("ls", "made", "--prefix", "model")
        array = next(a for a in listing["arrays"] if a["key"] == "embed.embedding")
        self.assertEqual((array["codec"], array["chunk_shape"]), ("blosc", [32, 16]))
        # One prefix is kept out of the keys.
        self.tessera("convert", "made", "back.safetensors", "--prefix", "model",
                     "--rename", "^=>model.")
        self.assertEqual(self.tessera("hash", "back.safetensors").out,
                         self.tessera("hash", source).out)

    def test_a_dry_run_writes_nothing(self):
        source = self.safetensors_file()
        out = self.tessera("convert", source, "made", "--to", "zarr3", "--dry-run").out
        self.assertTrue(out.startswith("to zarr3: 86 arrays, "))
        self.assertIn("model.norm.scale -> model.norm.scale float32[16] at model/norm/scale", out)
        plan = self.json("convert", source, "made", "--to", "zarr3", "--dry-run")
        self.assertEqual((plan["format"], len(plan["arrays"])), ("zarr3", 86))
        self.assertEqual(self.names(), ["model.safetensors"])

    def test_an_existing_destination_is_refused_or_replaced(self):
        source = self.safetensors_file()
        self.tessera("convert", source, "made", "--to", "zarr3")
        before = tree(self.folder / "made")
        line = self.error("convert", source, "made", "--to", "zarr2")
        self.assertIn("made", line)
        self.assertIn("--overwrite", line)
        self.assertEqual(tree(self.folder / "made"), before)
        self.assertEqual(self.json("convert", source, "made", "--to", "zarr2",
                                   "--overwrite")["format"], "zarr2")
        self.assertEqual(self.names(), ["made", "model.safetensors"])
        (self.folder / "notes").mkdir()
        self.write("notes/todo.txt", "keep me")
        self.assertIn("notes", self.error("convert", source, "notes", "--overwrite"))
        self.assertEqual((self.folder / "notes/todo.txt").read_text(), "keep me")

    def test_errors_say_what_to_do(self):
        source = self.safetensors_file()
        self.tessera("convert", source, "folder", "--to", "zarr3")

        def refuses(text, *words):
            self.assertIn(text, self.error("convert", *words))

        refuses("--to 'zarr4': expected one of tensorstore, safetensors, zarr2, zarr3", source, "x", "--to", "zarr4")
        refuses("--codec: unknown codec 'zst'; did you mean 'zstd'?", source, "x", "--to", "zarr3",
                "--codec", "zst")
        refuses("--codec is for tensorstore, zarr2 and zarr3; the destination is safetensors",
                source, "x", "--codec", "zstd")
        refuses("--shard-size is for safetensors", source, "x", "--to", "zarr3", "--shard-size",
                "5GB")
        refuses("--to-prefix is for tensorstore", source, "x", "--to", "zarr3", "--to-prefix", "m")
        refuses("no array of the source is selected", source, "x", "--match", "nothing")
        refuses("'('", source, "x", "--match", "(")
        refuses("expected 'RE=>TEXT'", source, "x", "--rename", "a=b")
        refuses("--dtype", source, "x", "--dtype", "float31")
        refuses("is no floating-point type", source, "x", "--dtype", "int8")
        refuses("--memory", source, "x", "--memory", "much")
        refuses("--memory is 0", source, "x", "--memory", "0")
        refuses("several arrays would get one key", source, "x", "--rename", ".*=>same")
        refuses("inside", "folder", "folder/x")
        refuses("nowhere", "nowhere", "x")
        refuses("DST", source)
        self.assertEqual(self.names(), ["folder", "model.safetensors"])

    def test_ranks_make_what_one_makes(self):
        source = self.safetensors_file()
        self.tessera("convert", source, "one", "--to", "zarr3", "--chunk-bytes", "512")
        for count in self.numbers():
            made = f"made{count}"
            report = self.ranks(count, "convert", source, made, "--to", "zarr3", "--chunk-bytes",
                                "512", "--json").json()
            self.assertEqual(report["arrays"], 86)
            self.assertEqual(tree(self.folder / made), tree(self.folder / "one"))
            ran = self.ranks(count, "convert", source, made, "--to", "zarr3", code=2)
            self.assertEqual(ran.err.count("tessera: "), 1, ran.err)


class InterruptTest(ranks_case.RanksCase):
    """A conversion that takes some seconds, as its codec is slow."""
    WORDS = ("source.safetensors", "made", "--to", "zarr2", "--codec", "bz2:9", "--memory", "64MiB")

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(0)
        self.safetensors_file("source.safetensors", {
            f"w{i}": random.integers(0, 64, 1 << 20, np.uint8).reshape(1 << 10, 1 << 10)
            for i in range(40)})
        self.staging = self.folder / ".made.tessera-convert"

    def begin(self, *before):
        """Starts it, and waits until something of it is done."""
        process = subprocess.Popen(
            [*before, cli_case.PROGRAM, "convert", *self.WORDS], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            journals = list(self.staging.glob("journal/*"))
            if sum(j.read_bytes().count(b"\n") for j in journals) > 6:
                return process
            time.sleep(0.01)
        self.fail(f"it ended before it could be stopped: {process.communicate()}")

    def expect_resumed(self):
        self.assertFalse((self.folder / "made").exists())
        self.assertIn("made", self.error("verify", "made"))
        report = self.json("convert", *self.WORDS)
        self.assertGreater(report["resumed_arrays"], 0)
        self.assertEqual(report["resumed_arrays"] + report["copied_arrays"], 40)
        self.assertFalse(self.staging.exists())
        self.tessera("convert", "source.safetensors", "whole", *self.WORDS[2:], "--no-verify")
        self.assertEqual(tree(self.folder / "made"), tree(self.folder / "whole"))

    def test_ctrl_c_leaves_nothing_that_looks_whole_and_a_second_run_resumes(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (2, ""), err)
        last = err.splitlines()[-1]
        self.assertTrue(last.startswith("tessera: interrupted; 'made' was not made; the same "
                                        "command goes on with what is in "), err)
        self.assertIn(".made.tessera-convert", last)
        self.expect_resumed()

    def test_a_kill_is_resumed_as_well(self):
        process = self.begin()
        process.kill()
        process.communicate(timeout=60)
        self.expect_resumed()

    def test_ranks_that_are_interrupted_are_resumed_by_one(self):
        for count in self.numbers()[:1]:
            process = self.begin(*ranks_case.MPIRUN, str(count))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
            self.expect_resumed()


if __name__ == "__main__":
    unittest.main()
