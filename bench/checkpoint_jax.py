"""Saves and loads one state with JAX + TensorStore and with tessera, in turns.

usage: checkpoint_jax.py BUILD_FOLDER [--dir DIR] [--rounds N] [--mib N] [--small N] [--only RE]

The state is bfloat16 weights of --mib MiB on 8 virtual devices, split by rows, and --small arrays of
4 KiB.  JAX makes and saves it; tessera loads that, so both save and load the same bytes.  Each case
runs in rounds, JAX and tessera one after the other; medians are printed with peak memory beside
state and result and bytes on disk, and next to them what the machine can do: a copy of the state,
and libzstd alone on all cores.  Loads are the first of a new process, on both sides, from the page
cache; saves go on in a process that has saved before.  Exit status 1 when a bar of the table below
is missed.
"""

import argparse
import json
import os
import pathlib
import re
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
from jax.experimental.array_serialization import serialization  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

# Case: what JAX does; what tessera does; JAX's time over ours must be at least this.
CASES = {
    "blocked, zstd": ("blocked", ("save", "zstd", "blocked_s"), 5.0),
    "save, zstd": ("save", ("save", "zstd", "seconds"), 1.15),
    "save, auto": ("save", ("save", "auto", "seconds"), 3.0),
    "load, zstd": ("load rows", ("load", "zstd", "rows"), 1.5),
    "load on columns, zstd": ("load columns", ("load", "zstd", "columns"), 3.0),
    "load, auto": ("load rows", ("load", "auto", "rows"), 5.0),
    "load on columns, auto": ("load columns", ("load", "auto", "columns"), 3.0),
    "small, save": ("small save", ("save small", "zstd", "seconds"), 3.0),
    "small, load": ("small load", ("load small", "zstd", "whole"), 3.0),
}


def reset_peak():
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def peak_mib():
    """Of resident memory since reset_peak."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024


def resident_mib():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def disk_mib(folder):
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 2**20


class Jax:
    """The peer: GlobalAsyncCheckpointManager, as eformer uses it."""

    def __init__(self, folder, mib, small):
        self.folder = folder
        mesh = Mesh(np.array(jax.devices()), ("x",))
        self.rows = NamedSharding(mesh, P("x"))
        self.columns = NamedSharding(mesh, P(None, "x"))
        self.whole = NamedSharding(mesh, P())
        random = np.random.default_rng(1)
        weights = [(random.standard_normal((4096, 8192), dtype=np.float32) * np.float32(0.02))
                   .astype(ml_dtypes.bfloat16) for _ in range(mib // 64)]
        self.large = [jax.device_put(w, self.rows) for w in weights]
        self.small = [jax.device_put(random.standard_normal(1024, dtype=np.float32), self.whole)
                      for _ in range(small)]
        jax.block_until_ready((self.large, self.small))

    def paths(self, name, count):
        return [str(self.folder / name / f"layer{i}" / "kernel") for i in range(count)]

    def save(self, name, arrays):
        shutil.rmtree(self.folder / name, ignore_errors=True)
        manager = serialization.GlobalAsyncCheckpointManager()
        start = time.perf_counter()
        manager.serialize_with_paths(arrays, self.paths(name, len(arrays)),
                                     on_commit_callback=lambda: None)
        blocked = time.perf_counter() - start
        manager.wait_until_finished()
        return blocked, time.perf_counter() - start

    def load(self, name, count, sharding):
        manager = serialization.GlobalAsyncCheckpointManager()
        loaded = manager.deserialize_with_paths([sharding] * count, self.paths(name, count))
        jax.block_until_ready(loaded)
        return loaded

    def run(self, what):
        """Seconds, and MiB of peak memory beside state and result."""
        if "load" in what:
            return self.load_afresh(what)
        before = resident_mib()
        reset_peak()
        if what == "small save":
            seconds = self.save("jax_small", self.small)[1]
        else:
            blocked, total = self.save("jax", self.large)
            seconds = blocked if what == "blocked" else total
        return seconds, peak_mib() - before

    def load_afresh(self, what):
        """In a process of its own, as a restart does: TensorStore keeps up to 10 GB of decoded
        chunks in memory, so that in this process it would load what it had not to decode."""
        name, arrays = ("jax_small", self.small) if what == "small load" else ("jax", self.large)
        ran = subprocess.run([sys.executable, __file__, "--peer-load", what, "--dir", self.folder,
                              "--count", str(len(arrays)), name], check=True, capture_output=True,
                             text=True)
        seconds, mib = map(float, ran.stdout.split())
        return seconds, mib - sum(a.nbytes for a in arrays) / 2**20


class Tessera:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def run(self, *words):
        ran = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True)
        if ran.returncode != 0:
            raise RuntimeError(ran.stderr)
        return json.loads(ran.stdout)

    def case(self, do, codec, what):
        """Seconds, MiB of peak memory beside the state, bytes on disk."""
        small = do.endswith("small")
        state = self.folder / ("jax_small" if small else "jax")
        mine = self.folder / f"tessera_{codec}{'_small' if small else ''}"
        if do.startswith("save"):
            result = self.run("save", state, mine, codec, 2)
            return result[what], result["beside_mib"], result["stored_bytes"] / 2**20
        if not mine.exists():
            self.run("save", state, mine, codec, 1)
        result = self.run("load", mine, what, 1)
        return result["first_s"], result["beside_mib"], result["bytes_read"] / 2**20


def peer_load(what, folder, name, count):
    """Seconds and MiB of one load by JAX in this process."""
    peer = Jax(folder, 0, 0)
    sharding = {"load rows": peer.rows, "load columns": peer.columns}.get(what, peer.whole)
    peer.load(".warm", 0, sharding)
    before = resident_mib()
    reset_peak()
    start = time.perf_counter()
    peer.load(name, count, sharding)
    print(time.perf_counter() - start, peak_mib() - before)


def check_equal(peer, folder):
    """JAX reads from tessera's files what it had saved."""
    for codec in ("zstd", "auto"):
        if not (folder / f"tessera_{codec}").exists():
            continue
        loaded = peer.load(f"tessera_{codec}", len(peer.large), peer.columns)
        for mine, theirs in zip(loaded, peer.large):
            assert (np.asarray(mine).view(np.uint16) == np.asarray(theirs).view(np.uint16)).all()


def run(arguments, folder):
    peer = Jax(folder, arguments.mib, arguments.small)
    mine = Tessera(pathlib.Path(arguments.build) / "bench" / "bench_checkpoint", folder)
    peer.run("save")
    if arguments.small:
        peer.run("small save")
    cases = {name: case for name, case in CASES.items()
             if re.search(arguments.only, name) and (arguments.small or "small" not in name)}
    ours, theirs = {}, {}
    limits = []
    for _ in range(arguments.rounds):
        for name, (peer_does, we_do, _) in cases.items():
            theirs.setdefault(name, []).append(peer.run(peer_does))
            ours.setdefault(name, []).append(mine.case(*we_do))
        limits.append(mine.run("limits", folder / "jax", 1))
    check_equal(peer, folder)
    median = lambda rows, at: statistics.median(row[at] for row in rows)  # noqa: E731
    limit = {key: statistics.median(row[key] for row in limits)
             for key in ("memcpy_s", "decode_s", "pread_s")}
    print(f"state {limits[0]['bytes'] / 2**30:.2f} GiB; a copy of it {limit['memcpy_s']:.3f} s, "
          f"libzstd alone on JAX's chunks {limit['decode_s']:.3f} s, reading them "
          f"{limit['pread_s']:.3f} s; JAX stores {disk_mib(folder / 'jax'):.0f} MiB\n")
    print("| case | tessera s | JAX s | ratio | bar | tessera MiB beside | JAX MiB beside "
          "| MiB on disk |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    ok = True
    for name, (_, _, bar) in cases.items():
        a, b = median(ours[name], 0), median(theirs[name], 0)
        ok &= b / a >= bar
        print(f"| {name} | {a:.3f} | {b:.3f} | {b / a:.2f} | {bar}{'' if b / a >= bar else ' **missed**'} "
              f"| {max(row[1] for row in ours[name]):.0f} | {max(row[1] for row in theirs[name]):.0f} "
              f"| {median(ours[name], 2):.0f} |")
    if "blocked, zstd" in cases:
        blocked = median(ours["blocked, zstd"], 0)
        print(f"\nblocked time is {blocked / limit['memcpy_s']:.2f} of a copy of the state")
    return 0 if ok else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="a build folder, with the program in bench/")
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--small", type=int, default=20000)
    parser.add_argument("--only", default="", help="cases whose name holds this pattern")
    parser.add_argument("--peer-load", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer_load:
        return peer_load(arguments.peer_load, arguments.dir, arguments.build, arguments.count)
    if arguments.dir is not None:
        arguments.dir.mkdir(parents=True, exist_ok=True)
        return run(arguments, arguments.dir.resolve())
    with tempfile.TemporaryDirectory() as folder:
        return run(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
