"""The peers of tools/bench, and the makers of its data, on small data.

usage: build/bench-venv/bin/python tests/bench/peers_test.py

Not in ctest: the peers are only installed where somebody benchmarks.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import ml_dtypes
import numcodecs
import numpy as np
import xxhash

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
from suite import data  # noqa: E402  (found by the line above)
from suite.weights import weights  # noqa: E402

MIB = 1 << 20
VERBS = {
    "jax": {"ckpt_load", "ckpt_save", "reshard", "make_checkpoint", "make_checkpoint_small"},
    "python": {"hash", "index_open", "rules"},
    "safetensors": {"st_load", "st_open", "st_save"},
    "tensorstore": {"convert", "hash", "zarr_read", "zarr_write"},
    "zarrs": {"zarr_read", "zarr_write"},
}


def start(peer, verb, *words, **arguments):
    words = [*words, *(f"{name.rstrip('_')}={value}" for name, value in arguments.items())]
    return subprocess.run([sys.executable, BENCH / "peers" / f"{peer}_peer.py", verb, *words],
                          capture_output=True, text=True)


def digest(arrays):
    """Written out again here, so that it is not checked by itself."""
    return xxhash.xxh3_64(b"".join(arrays[name].tobytes() for name in sorted(arrays))).hexdigest()


class PeerCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)

    def run_peer(self, peer, verb, **arguments):
        """The fields of the one line."""
        ran = start(peer, verb, **arguments)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.count("\n"), 1, ran.stdout)
        line = json.loads(ran.stdout)
        self.assertGreater(line["seconds"], 0)
        self.assertGreaterEqual(line["peak_mib"], 0)
        self.assertGreater(line["bytes"], 0)
        return line

    def check_loaded(self, line, wanted):
        """The arrays, and their memory in the peak; the system counts in steps of up to 1 MiB."""
        size = sum(array.nbytes for array in wanted.values())
        self.assertEqual(line["digest"], digest(wanted))
        self.assertEqual(line["bytes"], size)
        if size >= 8 * MIB:
            self.assertGreater(line["peak_mib"], 0.9 * size / MIB)


class CommandLineTest(PeerCase):
    def test_unknown_verb_exits_with_3_and_names_those_there_are(self):
        for peer, verbs in VERBS.items():
            ran = start(peer, "no_such_verb")
            self.assertEqual(ran.returncode, 3, peer)
            self.assertEqual(ran.stdout, "")
            named = re.search(r"verbs are (.*);", ran.stderr).group(1)
            self.assertEqual(set(named.split(", ")), verbs)

    def test_wrong_arguments_are_told(self):
        for words, told in ((["names=x", "rules=x"], "No such file"),
                            ([], "argument names= is missing"), (["x"], "expected name=value"),
                            (["digest=2"], "digest is one of 0, 1"),
                            (["warm=-1"], "warm is a number from 0 up")):
            ran = start("python", "rules", *words)
            self.assertNotIn(ran.returncode, (0, 3))
            self.assertIn(told, ran.stderr)
        file = data.st_small(self.folder / "arguments", count=1)
        ran = start("safetensors", "st_open", f"file={file}", "threads=1")
        self.assertIn("unknown argument threads=", ran.stderr)
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))


class ZarrTest(PeerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        bf16, f32 = weights("bfloat16"), weights("float32")
        cls.wanted = {
            "big": {"weights": bf16.array((1280, 8192), 0)},
            "tiles": {"weights": bf16.array((320, 32768), 0)},
            "medium": {f"layer{i}/kernel": bf16.array((53, 8192), i) for i in range(12)},
            "small": {f"layer{i}/bias": f32.array((1024,), i) for i in range(120)},
        }
        data.zarr_big(cls.folder / "big", 20 * MIB, "zstd")
        data.zarr_tiles(cls.folder / "tiles", 20 * MIB, "none")
        data.zarr_medium(cls.folder / "medium", 10 * MIB, count=12)
        data.zarr_small(cls.folder / "small", count=120, codec="zstd")

    def test_metadata_is_that_of_the_cases(self):
        def metadata(name):
            return json.loads((self.folder / name / ".zarray").read_text())
        zstd = {"id": "zstd", "level": 1}
        for name, shape, chunks, dtype, codec in (
                ("big/weights", [1280, 8192], [1024, 8192], "bfloat16", zstd),
                ("tiles/weights", [320, 32768], [1024, 8192], "bfloat16", None),
                ("medium/layer11/kernel", [53, 8192], [53, 8192], "bfloat16", zstd),
                ("small/layer119/bias", [1024], [1024], "<f4", zstd)):
            found = metadata(name)
            self.assertEqual((found["shape"], found["chunks"], found["dtype"],
                              found["compressor"], found["dimension_separator"]),
                             (shape, chunks, dtype, codec, "."))

    def test_readers_agree_with_each_other_and_the_data(self):
        for name, wanted in self.wanted.items():
            for peer in ("tensorstore", "zarrs"):
                with self.subTest(name=name, peer=peer):
                    self.check_loaded(self.run_peer(peer, "zarr_read", dir=self.folder / name),
                                      wanted)

    def test_warm_threads_and_digest_are_taken(self):
        for peer in ("tensorstore", "zarrs"):
            line = self.run_peer(peer, "zarr_read", dir=self.folder / "medium", warm=2, threads=1)
            self.check_loaded(line, self.wanted["medium"])
            line = self.run_peer(peer, "zarr_read", dir=self.folder / "small", digest=0)
            self.assertNotIn("digest", line)

    def check_written(self, writer, reader, name, **arguments):
        target = self.folder / f"{writer}_{name}"
        line = self.run_peer(writer, "zarr_write", from_=self.folder / name, to=target, warm=1,
                             **arguments)
        self.assertNotIn("digest", line)
        self.assertEqual(line["bytes"], sum(a.nbytes for a in self.wanted[name].values()))
        self.check_loaded(self.run_peer(reader, "zarr_read", dir=target), self.wanted[name])
        array = next(iter(self.wanted[name]))
        metadata, origin = (json.loads((folder / array / ".zarray").read_text())
                            for folder in (target, self.folder / name))
        self.assertEqual(metadata["chunks"], origin["chunks"])
        return metadata["compressor"]

    def test_writers_are_read_by_the_other(self):
        for writer, reader in (("tensorstore", "zarrs"), ("zarrs", "tensorstore")):
            with self.subTest(writer=writer):
                self.assertIsNone(self.check_written(writer, reader, "medium", codec="none",
                                                     sync=1))
                self.assertEqual(self.check_written(writer, reader, "tiles", codec="zstd"),
                                 {"id": "zstd", "level": 1})
                self.check_written(writer, reader, "small", codec="zstd", threads=1)

    def test_converted_is_read_by_safetensors(self):
        target = self.folder / "converted.safetensors"
        self.run_peer("tensorstore", "convert", from_=self.folder / "medium", to=target)
        self.check_loaded(self.run_peer("safetensors", "st_load", file=target),
                          self.wanted["medium"])

    def test_hashes(self):
        for name in ("big", "tiles", "small"):
            wanted = self.wanted[name]
            text = "".join(hashlib.sha256(wanted[key].tobytes()).hexdigest()
                           for key in sorted(wanted))
            for peer in ("tensorstore", "python"):
                line = self.run_peer(peer, "hash", dir=self.folder / name)
                self.assertEqual(line["digest"], xxhash.xxh3_64(text.encode()).hexdigest())


class JaxTest(PeerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.large = data.jax_checkpoint(cls.folder / "large", 10 * MIB, devices=4)
        cls.small = data.jax_checkpoint_small(cls.folder / "small", count=30, devices=2)
        cls.large_wanted = {"layer0/kernel": weights("bfloat16").array((640, 8192), 0)}
        cls.small_wanted = {f"layer{i}/bias": weights("float32").array((1024,), i)
                            for i in range(30)}

    def test_chunks_are_shards(self):
        for name, chunks in (("large/layer0/kernel", [160, 8192]), ("small/layer0/bias", [1024])):
            metadata = json.loads((self.folder / name / ".zarray").read_text())
            self.assertEqual(metadata["chunks"], chunks)
            self.assertEqual(metadata["compressor"]["id"], "zstd")

    def test_loads_agree_with_the_data_and_with_tensorstore(self):
        for mesh, devices in (("rows", 4), ("columns", 8), ("whole", 2)):
            line = self.run_peer("jax", "ckpt_load", dir=self.large, mesh=mesh, devices=devices,
                                 warm=1)
            self.check_loaded(line, self.large_wanted)
        line = self.run_peer("jax", "ckpt_load", dir=self.small, mesh="rows", threads=1)
        self.check_loaded(line, self.small_wanted)
        self.check_loaded(self.run_peer("tensorstore", "zarr_read", dir=self.large),
                          self.large_wanted)
        self.check_loaded(self.run_peer("zarrs", "zarr_read", dir=self.small), self.small_wanted)

    def test_saves_are_read_by_tensorstore(self):
        target = self.folder / "saved"
        stored = {}
        for codec, sync in (("zstd", 1), ("auto", 0), ("none", 1)):
            line = self.run_peer("jax", "ckpt_save", from_=self.large, to=target, codec=codec,
                                 devices=4, sync=sync, warm=1)
            self.assertGreater(line["blocked_s"], 0)
            self.assertLessEqual(line["blocked_s"], line["seconds"])
            stored[codec] = line["stored_bytes"]
            self.check_loaded(self.run_peer("tensorstore", "zarr_read", dir=target),
                              self.large_wanted)
        self.assertEqual(stored["zstd"], stored["auto"])
        self.assertLess(stored["zstd"], 10 * MIB)
        self.assertGreater(stored["none"], 10 * MIB)

    def test_reshards(self):
        for dtype, rows in (("float32", 64), ("bfloat16", 128)):
            at = np.indices((rows, 32768))
            wanted = ((7 * at[0] + at[1]) % 251).astype(
                ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
            line = self.run_peer("jax", "reshard", bytes=8 * MIB, dtype=dtype, devices=4, warm=1)
            self.check_loaded(line, {"array": wanted})


class SafetensorsTest(PeerCase):
    def test_loads_opens_and_saves(self):
        for file, shape, count in (
                (data.st_large(self.folder / "large", 10 * MIB), (640, 8192), 1),
                (data.st_small(self.folder / "small", count=300), (2048,), 300)):
            wanted = {f"model.layers.{i}.weight": weights("float16").array(shape, i)
                      for i in range(count)}
            saved = self.folder / "saved"
            for backend in ("mmap", "pread"):
                self.check_loaded(self.run_peer("safetensors", "st_load", file=file,
                                                backend=backend), wanted)
            self.assertEqual(self.run_peer("safetensors", "st_open", file=file)["arrays"], count)
            line = self.run_peer("safetensors", "st_save", from_=file, to=saved, sync=1)
            self.assertEqual(line["bytes"], sum(array.nbytes for array in wanted.values()))
            self.assertEqual(saved.read_bytes(), file.read_bytes())


class PythonTest(PeerCase):
    def test_rules(self):
        folder = data.rules_files(self.folder / "rules", keys=1500)
        names = (folder / "names.txt").read_text().splitlines()
        rules = json.loads((folder / "rules.json").read_text())
        self.assertEqual((len(names), len(set(names)), len(rules)), (1500, 1500, 40))
        first = [next(i for i, (rule, _) in enumerate(rules) if re.search(rule, name))
                 for name in names]
        self.assertGreater(len(set(first)), 5)
        line = self.run_peer("python", "rules", names=folder / "names.txt",
                             rules=folder / "rules.json")
        text = "\n".join(map(str, first))
        self.assertEqual(line["digest"], xxhash.xxh3_64(text.encode()).hexdigest())

    def test_index(self):
        def entries(prefix, count):
            return [{"path": f"{prefix}layer/{i}", "shape": [4, 4], "dtype": "float32"}
                    for i in range(count)]
        index = {"format": "tensorstore", "version": "1",
                 "prefixes": {"model": entries("model/", 300)}, "arrays": entries("", 200)}
        (self.folder / "tensorstore_index.json").write_text(json.dumps(index, indent=2))
        self.assertEqual(self.run_peer("python", "index_open", dir=self.folder)["arrays"], 500)
        (self.folder / "tensorstore_index.json").write_text('{"format": "other"}')
        ran = start("python", "index_open", f"dir={self.folder}")
        self.assertIn("format is other", ran.stderr)


class DataTest(PeerCase):
    def test_is_made_once_and_again_for_other_parameters(self):
        file = self.folder / "file"
        data.st_small(file, count=20)
        first, made = file.read_bytes(), file.stat().st_mtime_ns
        data.st_small(file, count=20)
        self.assertEqual(file.stat().st_mtime_ns, made)
        data.st_small(file, count=21)
        self.assertGreater(len(file.read_bytes()), len(first))
        data.st_small(file, count=20)
        self.assertEqual(file.read_bytes(), first)
        # What was not finished has no note.
        (self.folder / "file.made.json").unlink()
        file.write_bytes(b"half")
        data.st_small(file, count=20)
        self.assertEqual(file.read_bytes(), first)

    def test_weights_compress_like_drawn_numbers(self):
        drawn = (np.random.default_rng(7).standard_normal(4 * MIB, dtype=np.float32)
                 * np.float32(0.02))
        zstd = numcodecs.Zstd(level=1)
        for dtype in ("bfloat16", "float32", "float16"):
            size = len(zstd.encode(drawn.astype(dtype).view(np.uint8)))
            for piece in (0, 5, 1000):
                made = weights(dtype).array((4 * MIB,), piece)
                self.assertAlmostEqual(len(zstd.encode(made.view(np.uint8))) / size, 1, delta=0.01)

    def test_pieces_differ(self):
        pieces = [weights("float32").array((1024,), i).tobytes() for i in range(20000)]
        self.assertEqual(len(set(pieces)), 20000)


if __name__ == "__main__":
    unittest.main()
