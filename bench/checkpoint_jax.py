"""Saves and loads one state with JAX + TensorStore and with tessera, in turns.

usage: checkpoint_jax.py BUILD_FOLDER [--dir DIR] [--rounds N] [--mib N] [--small N] [--only RE]

The state is bfloat16 weights of --mib MiB on 8 virtual devices, split by rows, and --small arrays of
4 KiB.  JAX makes and saves it; tessera loads that, so both save and load the same bytes.  Each case
runs in rounds, JAX and tessera one after the other; medians are printed with peak memory beside the
state and bytes on disk, and next to them what the machine can do: a copy of the state, and libzstd
alone on all cores.  Exit status 1 when a bar of the table below is missed.
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

# Case: what JAX does, what the program does (its command line after the folders), least ratio.
CASES = {
    "blocked": ("blocked", "save --codec zstd", 5.0),
    "save, zstd": ("save", "save --codec zstd", 1.15),
    "save, auto": ("save", "save --codec auto", 3.0),
    "load, zstd": ("load rows", "load --codec zstd --to rows", 1.5),
    "load on columns, zstd": ("load columns", "load --codec zstd --to columns", 3.0),
    "load, auto": ("load rows", "load --codec auto --to rows", 5.0),
    "small, save": ("small save", "save --small", 3.0),
    "small, load": ("small load", "load --small", 3.0),
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
                   .astype(ml_dtypes.bfloat16) for _ in range(max(1, mib // 64))]
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
        start = time.perf_counter()
        loaded = manager.deserialize_with_paths([sharding] * count, self.paths(name, count))
        jax.block_until_ready(loaded)
        return time.perf_counter() - start, loaded

    def run(self, what):
        """Seconds, and MiB of peak memory beside the state."""
        before = resident_mib()
        reset_peak()
        if what in ("blocked", "save"):
            blocked, total = self.save("jax", self.large)
            seconds = blocked if what == "blocked" else total
        elif what == "small save":
            seconds = self.save("jax_small", self.small)[1]
        elif what == "small load":
            seconds, _ = self.load("jax_small", len(self.small), self.whole)
        else:
            sharding = self.rows if what == "load rows" else self.columns
            seconds, _ = self.load("jax", len(self.large), sharding)
        return seconds, peak_mib() - before
