"""Runs bench_ours and bench_limits on small data and holds what they print against NumPy.

TESSERA_BENCH_PROGRAMS names the folder of the two programs.  Without the package xxhash digests are
held against those of other verbs over the same arrays.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import ml_dtypes
import numpy as np
import safetensors.numpy
import tensorstore as ts

try:
    import xxhash
except ImportError:
    xxhash = None

PROGRAMS = pathlib.Path(os.environ["TESSERA_BENCH_PROGRAMS"])
MIB = 1 << 20
ZSTD = {"id": "zstd", "level": 1}


def digest_of(parts):
    """What a digest must be; None when it cannot be told here."""
    if xxhash is None:
        return None
    total = xxhash.xxh3_64()
    for part in parts:
        total.update(part if isinstance(part, bytes) else part.tobytes())
    return total.hexdigest()


def in_order(arrays):
    return [arrays[name] for name in sorted(arrays)]


def write_zarr(folder, arrays, chunks, compressor):
    for name, array in arrays.items():
        named = "bfloat16" if array.dtype == ml_dtypes.bfloat16 else array.dtype.str
        spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{folder}/{name}/"},
                "metadata": {"shape": array.shape, "chunks": chunks[:array.ndim], "dtype": named,
                             "compressor": compressor}}
        ts.open(spec, create=True).result().write(array).result()


def read_zarr(folder, names):
    return {name: ts.open({"driver": "zarr", "kvstore": {"driver": "file",
                                                         "path": f"{folder}/{name}/"}})
            .result().read().result() for name in names}


class BenchCase(unittest.TestCase):
    """A folder with `one`, an array of 8 MiB, and `many`, arrays of other shapes."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        random = np.random.default_rng(1)

        def weights(*shape):
            return random.standard_normal(shape, dtype=np.float32) * np.float32(0.02)

        cls.one = {"kernel": weights(1024, 4096).astype(ml_dtypes.bfloat16)}
        cls.many = {}
        for i in range(12):
            cls.many[f"layer{i}/kernel"] = weights(128, 256).astype(ml_dtypes.bfloat16)
            cls.many[f"layer{i}/bias"] = weights(256)
        write_zarr(cls.folder / "one", cls.one, [256, 4096], ZSTD)
        write_zarr(cls.folder / "many", cls.many, [96, 256], ZSTD)
        cls.many_bytes = sum(array.nbytes for array in cls.many.values())

    def call(self, program, verb, **arguments):
        words = [f"{name}={value}" for name, value in arguments.items()]
        return subprocess.run([PROGRAMS / program, verb, *words], capture_output=True, text=True,
                              cwd=self.folder)

    def run_verb(self, program, verb, **arguments):
        """The members of the line, of which those that all verbs have are looked at."""
        ran = self.call(program, verb, **arguments)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.count("\n"), 1, ran.stdout)
        line = json.loads(ran.stdout)
        self.assertEqual(list(line)[:3], ["seconds", "peak_mib", "bytes"])
        self.assertGreater(line["seconds"], 0)
        self.assertGreaterEqual(line["peak_mib"], 0)
        return line

    def ours(self, verb, **arguments):
        return self.run_verb("bench_ours", verb, **arguments)

    def limit(self, verb, **arguments):
        return self.run_verb("bench_limits", verb, **arguments)

    def assert_digest(self, line, parts):
        self.assertRegex(line["digest"], "^[0-9a-f]{16}$")
        expected = digest_of(parts)
        if expected is not None:
            self.assertEqual(line["digest"], expected)

    def assert_fails(self, ran, code, *texts):
        self.assertEqual(ran.returncode, code, ran.stderr)
        self.assertEqual(ran.stdout, "")
        for text in texts:
            self.assertIn(text, ran.stderr)


class ZarrTest(BenchCase):
    def test_reads_one_array_into_fresh_memory(self):
        line = self.ours("zarr_read", dir="one")
        self.assertEqual(line["bytes"], 8 * MIB)
        self.assertGreaterEqual(line["peak_mib"], 7.5)
        self.assert_digest(line, in_order(self.one))

    def test_reads_many_arrays_in_the_order_of_their_names(self):
        line = self.ours("zarr_read", dir="many")
        self.assertEqual((line["bytes"], line["arrays"]), (self.many_bytes, len(self.many)))
        self.assert_digest(line, in_order(self.many))

    def test_neither_warm_rounds_nor_threads_change_the_result(self):
        line = self.ours("zarr_read", dir="one", warm=2, threads=1)
        self.assertEqual(line["digest"], self.ours("zarr_read", dir="one")["digest"])
        self.assertGreaterEqual(line["peak_mib"], 7.5)
        self.assertNotEqual(line["digest"], self.ours("zarr_read", dir="many")["digest"])

    def test_a_digest_can_be_left_out(self):
        self.assertNotIn("digest", self.ours("zarr_read", dir="one", digest=0))
        self.assertNotIn("digest", self.ours("ckpt_load", dir="many", digest=0))

    def test_writes_what_tensorstore_reads_in_the_same_chunks(self):
        for codec, sync, source in (("zstd", 0, self.many), ("none", 1, self.many),
                                    ("none", 0, self.one)):
            name = "one" if source is self.one else "many"
            line = self.ours("zarr_write", **{"from": name}, to="written", codec=codec, sync=sync,
                             warm=1)
            self.assertEqual(line["bytes"], sum(array.nbytes for array in source.values()))
            self.assertNotIn("digest", line)
            for key, array in read_zarr(self.folder / "written", source).items():
                np.testing.assert_array_equal(array, source[key])
                made, like = (json.loads((self.folder / root / key / ".zarray").read_text())
                              for root in ("written", name))
                self.assertEqual(made["chunks"], like["chunks"])
                self.assertEqual(made["compressor"], ZSTD if codec == "zstd" else None)
            self.assertEqual(self.ours("zarr_read", dir="written")["digest"],
                             self.ours("zarr_read", dir=name)["digest"])


class CheckpointTest(BenchCase):
    def test_every_mesh_gives_the_same_arrays(self):
        for mesh in ("rows", "columns", "whole"):
            line = self.ours("ckpt_load", dir="many", mesh=mesh, devices=8)
            self.assertEqual(line["bytes"], self.many_bytes)
            self.assert_digest(line, in_order(self.many))
            self.assertEqual(line["digest"], self.ours("zarr_read", dir="many")["digest"])

    def test_what_was_saved_is_loaded_on_another_mesh(self):
        for codec in ("zstd", "auto", "none"):
            line = self.ours("ckpt_save", **{"from": "many"}, to="saved", codec=codec, devices=4)
            self.assertEqual(line["bytes"], self.many_bytes)
            self.assertTrue(0 < line["blocked_s"] <= line["seconds"])
            if codec == "none":
                self.assertEqual(line["stored_bytes"], self.many_bytes)
            else:
                self.assertLess(line["stored_bytes"], self.many_bytes)
            loaded = self.ours("ckpt_load", dir="saved", mesh="columns", devices=8)
            self.assertEqual(loaded["digest"], self.ours("zarr_read", dir="many")["digest"])

    def test_an_array_that_cannot_be_split_is_an_error(self):
        ran = self.call("bench_ours", "ckpt_load", dir="many", mesh="rows", devices=256)
        self.assert_fails(ran, 1, "layer0.kernel", "does not split evenly by 256")

    def test_resharding_keeps_every_element(self):
        for dtype in (np.float32, ml_dtypes.bfloat16):
            named = np.dtype(dtype).name
            rows = 8 * MIB // 32768 // np.dtype(dtype).itemsize
            elements = (7 * np.arange(rows)[:, None] + np.arange(32768)) % 251
            line = self.ours("reshard", bytes=8 * MIB, dtype=named, devices=8)
            self.assertEqual(line["bytes"], 8 * MIB)
            self.assert_digest(line, [elements.astype(dtype)])
            # On one device nothing moves.
            still = self.ours("reshard", bytes=8 * MIB, dtype=named, devices=1)
            self.assertEqual(line["digest"], still["digest"])


class SafetensorsTest(BenchCase):
    def test_a_converted_folder_is_one_file_of_the_same_arrays(self):
        line = self.ours("convert", **{"from": "many"}, to="made.safetensors", warm=1)
        self.assertEqual((line["bytes"], line["arrays"]), (self.many_bytes, len(self.many)))
        for name, array in safetensors.numpy.load_file(self.folder / "made.safetensors").items():
            np.testing.assert_array_equal(array, self.many[name.replace(".", "/")])
        loaded = self.ours("st_load", file="made.safetensors")
        self.assertEqual(loaded["bytes"], self.many_bytes)
        self.assert_digest(loaded, in_order(self.many))
        self.assertEqual(loaded["digest"], self.ours("zarr_read", dir="many")["digest"])

    def test_a_file_is_opened_and_saved(self):
        tensors = {name.replace("/", "."): array for name, array in self.many.items()}
        safetensors.numpy.save_file(tensors, self.folder / "theirs.safetensors")
        header = (self.folder / "theirs.safetensors").read_bytes()[:8]
        line = self.ours("st_open", file="theirs.safetensors")
        self.assertEqual(line["arrays"], len(tensors))
        self.assertEqual(line["bytes"], 8 + int.from_bytes(header, "little"))
        for sync in (0, 1):
            self.ours("st_save", **{"from": "theirs.safetensors"}, to="ours.safetensors", sync=sync)
            self.assertEqual((self.folder / "ours.safetensors").read_bytes(),
                             (self.folder / "theirs.safetensors").read_bytes())


class InspectTest(BenchCase):
    def test_an_index_that_was_made_can_be_opened_and_verified(self):
        made = self.ours("make_index", dir="indexed", arrays=123)
        self.assertEqual((made["bytes"], made["arrays"]), (123 * 64, 123))
        index = self.folder / "indexed" / "tensorstore_index.json"
        opened = self.ours("index_open", dir="indexed")
        self.assertEqual((opened["arrays"], opened["bytes"]), (123, index.stat().st_size))
        verified = self.ours("verify", dir="indexed")
        self.assertEqual((verified["arrays"], verified["unsealed_arrays"]), (123, 0))
        loaded = self.ours("ckpt_load", dir="indexed", mesh="whole", devices=1)
        self.assertEqual(loaded["bytes"], 123 * 64)

    def test_damage_behind_a_seal_is_found(self):
        shutil.copytree(self.folder / "many", self.folder / "sealed")
        self.assertEqual(self.ours("verify", dir="sealed")["unsealed_arrays"], len(self.many))
        self.assertGreater(self.ours("seal", dir="sealed")["chunks"], len(self.many))
        self.assertEqual(self.ours("verify", dir="sealed")["unsealed_arrays"], 0)
        chunk = self.folder / "sealed" / "layer3" / "kernel" / "0.0"
        stored = bytearray(chunk.read_bytes())
        stored[-1] ^= 1
        chunk.write_bytes(stored)
        self.assert_fails(self.call("bench_ours", "verify", dir="sealed"), 1, "layer3/kernel/0.0")

    def test_hashes_do_not_depend_on_how_arrays_are_stored(self):
        line = self.ours("hash", dir="many")
        self.assertEqual(line["bytes"], self.many_bytes)
        self.assert_digest(line, [hashlib.sha256(array.tobytes()).hexdigest().encode()
                                  for array in in_order(self.many)])
        self.ours("ckpt_save", **{"from": "many"}, to="again", codec="none")
        self.assertEqual(self.ours("hash", dir="again")["digest"], line["digest"])

    def write_rules(self, name, patterns):
        (self.folder / name).write_text(json.dumps([[pattern, []] for pattern in patterns]))

    def test_the_first_rule_of_each_name_counts(self):
        names = [f"model/layers/{i}/{leaf}" for i in range(50) for leaf in
                 ("self_attn/q_proj/kernel", "norm/scale", "mlp/bias", "other")]
        (self.folder / "names").write_text("\n".join(names) + "\n")
        patterns = [r"(q|k)_proj/kernel$", r"norm", r"layers/1\d/.*bias", r".*"]
        self.write_rules("rules", patterns)
        line = self.ours("rules", names="names", rules="rules")
        self.assertEqual((line["names"], line["rules"]), (200, 4))
        first = [next(i for i, pattern in enumerate(patterns) if re.search(pattern, name))
                 for name in names]
        self.assert_digest(line, ["\n".join(map(str, first)).encode()])
        self.write_rules("same", [r"q_proj/k", r"norm/scale", r"/1[0-9]/mlp/bias", r"o"])
        self.assertEqual(self.ours("rules", names="names", rules="same")["digest"], line["digest"])
        self.write_rules("other", patterns[::-1])
        self.assertNotEqual(self.ours("rules", names="names", rules="other")["digest"],
                            line["digest"])
        self.write_rules("short", patterns[:1])
        ran = self.call("bench_ours", "rules", names="names", rules="short")
        self.assert_fails(ran, 1, "no rule for model/layers/0/norm/scale")


class LimitsTest(BenchCase):
    def test_a_copy_into_fresh_memory_takes_that_memory(self):
        line = self.limit("memcpy", bytes=16 * MIB, fresh=1)
        self.assertEqual(line["bytes"], 16 * MIB)
        self.assertGreaterEqual(line["peak_mib"], 15.5)
        self.assertLess(self.limit("memcpy", bytes=16 * MIB, threads=1)["peak_mib"], 8)

    def test_memory_is_hashed(self):
        self.assertEqual(self.limit("sha256", bytes=5 * MIB, warm=1)["bytes"], 5 * MIB)

    def test_files_are_read_and_written(self):
        files = [file for file in (self.folder / "many").rglob("*") if file.is_file()]
        total = sum(file.stat().st_size for file in files)
        for verb in ("pread", "readfiles"):
            line = self.limit(verb, dir="many")
            self.assertEqual((line["bytes"], line["files"]), (total, len(files)))
        chunk = self.folder / "one" / "kernel" / "0.0"
        line = self.limit("pread", file="one/kernel/0.0", fresh=0)
        self.assertEqual(line["bytes"], chunk.stat().st_size)
        (self.folder / "target").mkdir()
        for count in (1, 8):
            line = self.limit("pwrite", bytes=16 * MIB, files=count, to="target", warm=1)
            self.assertEqual((line["bytes"], line["files"]), (16 * MIB, count))
        self.assertEqual(list((self.folder / "target").iterdir()), [])

    def test_chunks_are_decoded_and_encoded_by_libzstd_alone(self):
        stored = sum(file.stat().st_size for file in (self.folder / "one" / "kernel").glob("[0-9]*"))
        for fresh in (0, 1):
            line = self.limit("unzstd", dir="one", fresh=fresh)
            self.assertEqual((line["bytes"], line["chunks"], line["stored_bytes"]),
                             (8 * MIB, 4, stored))
        line = self.limit("zstd", dir="one", level=1)
        self.assertEqual((line["bytes"], line["chunks"]), (8 * MIB, 4))
        # Another version of the library may differ by a little.
        self.assertAlmostEqual(line["stored_bytes"] / stored, 1, delta=0.02)


class ErrorsTest(BenchCase):
    def test_an_unknown_verb_exits_3_with_those_there_are(self):
        self.assert_fails(self.call("bench_ours", "nonsense"), 3, "nonsense", "zarr_read",
                          "make_index")
        self.assert_fails(self.call("bench_limits", "zarr_read"), 3, "unzstd", "pwrite")

    def test_a_missing_folder_is_named(self):
        missing = str(self.folder / "nowhere")
        for verb in ("zarr_read", "ckpt_load", "verify", "hash", "seal", "index_open"):
            self.assert_fails(self.call("bench_ours", verb, dir=missing), 1, missing)
        for verb in ("zarr_write", "ckpt_save", "st_save", "convert"):
            ran = self.call("bench_ours", verb, **{"from": missing}, to="x.safetensors")
            self.assert_fails(ran, 1, missing)
        for verb in ("st_load", "st_open"):
            self.assert_fails(self.call("bench_ours", verb, file=missing), 1, missing)
        for verb in ("pread", "readfiles", "unzstd", "zstd"):
            self.assert_fails(self.call("bench_limits", verb, dir=missing), 1, missing)

    def test_arguments_are_checked(self):
        self.assert_fails(self.call("bench_ours", "zarr_read"), 1, "dir= is missing")
        self.assert_fails(self.call("bench_ours", "zarr_read", dir="one", codec="zstd"), 1,
                          "no argument codec=")
        self.assert_fails(self.call("bench_ours", "zarr_read", dir="one", warm="often"), 1, "often")
        self.assert_fails(self.call("bench_ours", "ckpt_load", dir="many", mesh="tiles"), 1, "tiles",
                          "rows, columns, whole")
        self.assert_fails(self.call("bench_limits", "memcpy", bytes=MIB, threads=0), 1, "threads=0")


if __name__ == "__main__":
    unittest.main()
