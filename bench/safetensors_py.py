"""Loads and saves one safetensors file with the Python package and with tessera, in turns.

usage: safetensors_py.py BUILD_FOLDER [--dir DIR] [--rounds N] [--mib N] [--small N] [--only RE]

The file holds float16 weights of --mib MiB in tensors of 64 MiB.  A second one holds --small tensors
of 4 KiB.  Each case runs in rounds, the package and tessera one after the other, each in a process
of its own that has done it once before, from the page cache; medians are printed, with a copy of as
many bytes into fresh memory beside them.  After a load one byte of every page is looked at, within
the time.  The package does not sync what it saves, so that "save" is without on both sides; "save,
durable" shows what waiting for the disk adds.  Exit status 1 when a bar of the table below is missed.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import safetensors.numpy

# Case: what the package does, what tessera does; the package's time over ours must be at least this.
CASES = {
    "load": ("load", "load", 1.5),
    "load, mapped": ("load", "map", None),
    "save": ("save", "save-kernel", 1.5),
    "save, durable": ("save", "save", None),
    "open": ("open", "open", None),
    "load, small tensors": ("load small", "load", 1.5),
    "save, small tensors": ("save small", "save-kernel", 1.5),
}


def touch(tensors):
    """One byte of every page."""
    return sum(int(t.reshape(-1).view(np.uint8)[::4096].sum(dtype=np.uint64))
               for t in tensors.values())


def peer(what, source, target):
    """Seconds of the second time."""
    tensors = safetensors.numpy.load_file(source) if what.startswith("save") else None
    for _ in range(2):
        start = time.perf_counter()
        if what.startswith("save"):
            safetensors.numpy.save_file(tensors, target)
        elif what == "open":
            with safetensors.safe_open(source, "np") as file:
                file.keys()
        else:
            touch(safetensors.numpy.load_file(source))
        seconds = time.perf_counter() - start
    print(seconds)


def run_peer(what, source, target):
    ran = subprocess.run([sys.executable, __file__, "--peer", what, source, target], check=True,
                         capture_output=True, text=True)
    return float(ran.stdout)


def run_tessera(program, what, source, target):
    files = [source, target] if what.startswith("save") else [source]
    ran = subprocess.run([program, what, *files, "2"], check=True, capture_output=True, text=True)
    return json.loads(ran.stdout)["seconds"][-1]


def make(path, count, shape):
    random = np.random.default_rng(1)
    weights = {f"model.layers.{i}.weight": (random.standard_normal(shape, dtype=np.float32) * 0.02)
               .astype(np.float16) for i in range(count)}
    safetensors.numpy.save_file(weights, path)


def copy_seconds(mib):
    source = np.ones(mib << 20, np.uint8)
    start = time.perf_counter()
    source.copy()
    return time.perf_counter() - start


def check_same(source, target):
    """What tessera has saved is what the package would have."""
    if pathlib.Path(source).read_bytes() != pathlib.Path(target).read_bytes():
        raise RuntimeError(f"{target} is not {source}")


def measure(name, rounds, folder, program):
    theirs, ours, _ = CASES[name]
    source = folder / ("small.safetensors" if "small" in theirs else "large.safetensors")
    target = folder / "saved.safetensors"
    times = ([], [])
    for _ in range(rounds):
        times[0].append(run_peer(theirs.split()[0], source, target))
        times[1].append(run_tessera(program, ours, source, target))
        if ours.startswith("save"):
            check_same(source, target)
        target.unlink(missing_ok=True)
    return [statistics.median(t) for t in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--small", type=int, default=10000)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    program = args.build / "bench" / "bench_safetensors"
    missed = []
    with tempfile.TemporaryDirectory(dir=args.dir) as name:
        folder = pathlib.Path(name)
        make(folder / "large.safetensors", args.mib // 64, (4096, 8192))
        make(folder / "small.safetensors", args.small, (2048,))
        print(f"copy of {args.mib} MiB: {copy_seconds(args.mib):.3f} s")
        print(f"{'case':22} {'package s':>10} {'tessera s':>10} {'ratio':>6} {'bar':>5}")
        for case, (_, _, bar) in CASES.items():
            if not re.search(args.only, case):
                continue
            theirs, ours = measure(case, args.rounds, folder, program)
            print(f"{case:22} {theirs:10.4f} {ours:10.4f} {theirs / ours:6.2f} {bar or '':>5}")
            if bar is not None and theirs / ours < bar:
                missed.append(case)
    for case in missed:
        print(f"missed: {case}")
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(*sys.argv[2:5])
    else:
        sys.exit(main())
