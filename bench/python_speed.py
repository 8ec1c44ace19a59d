"""Saves and loads one state with eformer and with tessera.eformer, in turns.

usage: python_speed.py [--dir DIR] [--rounds N] [--mib N] [--program BENCH_OURS]

The state is --mib MiB, half bfloat16 weights and half float32 moments, split by rows over 8 virtual
devices.  Both sides save and load the same jax.Arrays by the same functions, and saves by both are
in one process; eformer's go through JAX and TensorStore, whose codec is zstd 1.  A load is the first
of a new process, on both sides, without the time to start it: TensorStore keeps decoded chunks, so
that in a process which has saved or loaded them it would not read at all.  Files are in the page
cache.  With --program the same save and load are also done by the C++ library alone, in turns with
the package in this process; what the package takes longer is its overhead.  Medians are printed with
the least and the most; exit status 1 when a bar is missed or an element differs.
"""

import argparse
import gc
import hashlib
import json
import logging
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

DEVICES = 8
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402  (the flags above come first)
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from eformer.serialization import serialization as eformer  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

import tessera  # noqa: E402
from tessera.eformer.serialization import serialization as ours  # noqa: E402

MESH = Mesh(np.array(jax.devices()), ("x",))
ROWS = NamedSharding(MESH, P("x"))
RULES = [(".*", P("x"))]
# Case: eformer's time over ours must be at least this.
BARS = {"save, default codec": 3.0, "load, default codec": 5.0, "save, zstd 1": 1.15,
        "load, zstd 1": 1.5}
OVERHEAD_BAR, IMPORT_BAR = 0.05, 0.050


def make_state(mib):
    random = np.random.default_rng(1)

    def array(rows, dtype):
        values = random.standard_normal((rows, 8192), dtype=np.float32) * np.float32(0.02)
        return jax.device_put(values.astype(dtype), ROWS)

    count = max(1, mib // 256)
    state = {f"layer{i}": {"kernel": array(8192, ml_dtypes.bfloat16), "mu": array(4096, np.float32)}
             for i in range(count)}
    return jax.block_until_ready(state)


def digests(tree):
    """By shards, which NumPy can look at without a copy that JAX would keep."""
    def digest(leaf):
        total = hashlib.sha256()
        for shard in sorted(leaf.addressable_shards, key=lambda shard: shard.index[0].start or 0):
            total.update(np.asarray(shard.data).view(np.uint8))
        return total.hexdigest()
    return [digest(leaf) for leaf in jax.tree.leaves(tree)]


def mib_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20


def seconds(run):
    gc.collect()  # only then JAX gives the memory of arrays back that nobody has any more
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def load(module, folder):
    return jax.block_until_ready(
        module.tree_deserialize_leaves(str(folder), MESH, partition_rules=RULES))


def load_and_tell(name, folder, check):
    """What a process does that was started for one load."""
    jax.block_until_ready(jax.device_put(np.zeros(DEVICES), ROWS))
    taken, loaded = seconds(lambda: load({"eformer": eformer, "ours": ours}[name], folder))
    print(json.dumps([taken, digests(loaded) if check else None]))


class Writers:
    """Saves by each of three ways to a folder of its own, and loads of these."""

    def __init__(self, root, state):
        self.root, self.state, self.expected = pathlib.Path(root), state, digests(state)
        self.same = True

    def remove(self, writer):
        shutil.rmtree(self.root / writer, ignore_errors=True)

    def save(self, writer):
        folder = self.root / writer
        self.remove(writer)
        ways = {
            "eformer": lambda: eformer.tree_serialize_leaves(str(folder), self.state),
            "ours": lambda: ours.tree_serialize_leaves(str(folder), self.state),
            "zstd": lambda: tessera.save(folder, self.state, codec="zstd:1", share=True),
        }
        return seconds(ways[writer])[0]

    def load(self, reader, writer, check=False):
        ran = subprocess.run([sys.executable, __file__, "--load", reader, self.root / writer,
                              *["check"] * check], check=True, stdout=subprocess.PIPE)
        taken, found = json.loads(ran.stdout.splitlines()[-1])
        if check and found != self.expected:
            print(f"{reader} loaded other elements from {writer}'s checkpoint")
            self.same = False
        return taken


def run_rounds(writers, rounds):
    """{case: ([eformer's seconds], [ours])}; the first round only warms up and checks."""
    times = {case: ([], []) for case in BARS}
    for turn in range(rounds + 1):
        saved = {"zstd": writers.save("zstd")}
        if turn == 0:
            writers.load("eformer", "zstd", check=True)
        writers.remove("zstd")  # files may be in memory, too
        saved |= {writer: writers.save(writer) for writer in ("eformer", "ours")}
        pairs = [("eformer", "eformer"), ("ours", "ours"), ("ours", "eformer")]
        if turn == 0:
            for pair in [*pairs, ("eformer", "ours")]:
                writers.load(*pair, check=True)
            continue
        theirs, default, zstd = (writers.load(*pair) for pair in pairs)
        for case, them, us in (("save, default codec", saved["eformer"], saved["ours"]),
                               ("save, zstd 1", saved["eformer"], saved["zstd"]),
                               ("load, default codec", theirs, default),
                               ("load, zstd 1", theirs, zstd)):
            times[case][0].append(them)
            times[case][1].append(us)
    return times


def told(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f}-{max(values):.3f})"


def compare(times):
    met = True
    for case, (theirs, ours_) in times.items():
        ratio = statistics.median(theirs) / statistics.median(ours_)
        met &= ratio >= BARS[case]
        print(f"{case}: eformer {told(theirs)} s, tessera {told(ours_)} s, {ratio:.2f}x "
              f"(bar {BARS[case]}x)", flush=True)
    return met


def measure_overhead(program, writers, rounds):
    """The package's and the C++ library's times of the same save and load, in turns."""
    root, met = writers.root, True
    times = {"save": ([], []), "load": ([], [])}

    def library(*words):
        ran = subprocess.run([program, *words, "devices=8", "warm=1", "digest=0"], check=True,
                             stdout=subprocess.PIPE)
        return json.loads(ran.stdout)["seconds"]

    def package_save(folder):
        shutil.rmtree(folder, ignore_errors=True)  # as the library's program does, untimed
        return seconds(lambda: tessera.save(folder, writers.state))[0]

    copies = [root / "package", root / "library"]
    for _ in range(rounds):
        # With the tree copied first: the library's program does so.
        package = [package_save(copies[0]) for _ in range(3)][1:]
        times["save"][0].append(statistics.median(package))
        times["save"][1].append(library("ckpt_save", f"from={root / 'ours'}",
                                        f"to={copies[1]}", "codec=auto"))
        for copy in copies:
            shutil.rmtree(copy)
        loads = [seconds(lambda: load(ours, root / "ours"))[0] for _ in range(4)][2:]
        times["load"][0].append(statistics.median(loads))
        times["load"][1].append(library("ckpt_load", f"dir={root / 'ours'}", "mesh=rows"))
    for case, (package, alone) in times.items():
        overhead = statistics.median(package) / statistics.median(alone) - 1
        met &= overhead <= OVERHEAD_BAR
        print(f"{case} from Python {told(package)} s, from C++ {told(alone)} s, {overhead:+.1%} "
              f"(bar {OVERHEAD_BAR:+.0%})")
    return met


def measure_import(rounds=15):
    """Of a new process that has NumPy already, and of one that has nothing."""
    program = ("import time; {}; start = time.perf_counter(); import tessera; "
               "print(time.perf_counter() - start)")
    taken = {}
    for had, before in (("NumPy", "import numpy, ml_dtypes"), ("nothing", "pass")):
        taken[had] = [float(subprocess.run([sys.executable, "-c", program.format(before)],
                                           check=True, stdout=subprocess.PIPE).stdout)
                      for _ in range(rounds)]
        print(f"import tessera where {had} was imported: {told(taken[had])} s "
              f"(bar {IMPORT_BAR} s)")
    return statistics.median(taken["nothing"]) < IMPORT_BAR


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--program")
    parser.add_argument("--load", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    logging.disable(logging.INFO)
    if arguments.load:
        load_and_tell(arguments.load[0], arguments.load[1], len(arguments.load) > 2)
        return
    met = measure_import()
    state = make_state(arguments.mib)
    with tempfile.TemporaryDirectory(dir=arguments.dir) as root:
        writers = Writers(root, state)
        met &= compare(run_rounds(writers, arguments.rounds))
        total = sum(leaf.nbytes for leaf in jax.tree.leaves(state)) / 2**20
        sizes = [f"{writer} {mib_of(writers.root / writer):.0f}"
                 for writer in ("eformer", "ours")]
        print(f"MiB of the state {total:.0f}, of files: {', '.join(sizes)}", flush=True)
        writers.remove("eformer")
        if arguments.program:
            met &= measure_overhead(arguments.program, writers, arguments.rounds)
    print("wrong elements" if not writers.same else "bars met" if met else "a bar was missed")
    sys.exit(0 if met and writers.same else 1)


if __name__ == "__main__":
    main()
