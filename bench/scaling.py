"""How whole loads and saves scale with cores: tessera, the machine's limits, and peers on all cores.

usage: build/bench-venv/bin/python bench/scaling.py [--build DIR] [--dir DIR] [--bytes N] [--threads 1,2,4]
                                                    [--rounds N] [--json FILE]

Each measurement is a process of its own, confined to as many cores as it has threads; rounds go over
all sides in turns, and medians are printed in GB/s of elements.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

from suite import data, measure
from suite.cases import Work

LOAD = {"mesh": "rows", "devices": "8"}
CASES = {
    "load, zstd": (Work("ckpt_load", {"dir": "{zstd}", **LOAD}), Work("unzstd", {"dir": "{zstd}"})),
    "load, plain": (Work("ckpt_load", {"dir": "{plain}", **LOAD}), Work("pread", {"dir": "{plain}"})),
    "load, plain, not checked": (Work("ckpt_load", {"dir": "{plain}", **LOAD, "verify": "0"}),
                                 Work("pread", {"dir": "{plain}"})),
    "load, safetensors": (Work("st_load", {"file": "{tensors}"}), Work("pread", {"file": "{tensors}"})),
    "save, zstd": (Work("ckpt_save", {"from": "{plain}", "to": "{out}", "codec": "zstd", "devices": "8",
                                      "warm": "1"}), Work("zstd", {"dir": "{zstd}", "level": "1"})),
    "save, plain": (Work("ckpt_save", {"from": "{plain}", "to": "{out}", "codec": "none",
                                       "devices": "8", "warm": "1"}),
                    Work("pwrite", {"bytes": "{bytes}", "to": "{out}", "files": "512"})),
}
PEERS = {
    "load, zstd": ("jax", Work("ckpt_load", {"dir": "{zstd}", **LOAD})),
    "load, plain": ("jax", Work("ckpt_load", {"dir": "{plain}", **LOAD})),
    "load, safetensors": ("safetensors", Work("st_load", {"file": "{tensors}"})),
    "save, zstd": ("jax", Work("ckpt_save", {"from": "{zstd}", "to": "{out}", "codec": "zstd",
                                             "devices": "8", "warm": "1"})),
}


def arguments_of(words):
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=root / "build" / "release")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/dev/shm"))
    parser.add_argument("--bytes", type=int, default=6_000_000_000)
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args(words)


def make(folder, size, programs):
    """The same state as JAX saves it, as we do without compression, and one safetensors file."""
    paths = {"zstd": folder / "zstd", "plain": folder / "plain", "tensors": folder / "tensors",
             "out": folder / "out", "file": folder / "out.safetensors"}
    size = size >> 26 << 26  # whole arrays of 64 MiB
    data.jax_checkpoint(paths["zstd"], size)
    data.st_large(paths["tensors"], size)
    programs.run("ours", Work("ckpt_save", {"from": "{zstd}", "to": "{plain}", "codec": "none",
                                            "devices": "8"}), paths)
    return {**paths, "bytes": str(size)}


def run_on(cores, programs, program, work, paths):
    """GB/s of one process that may use the first `cores` cores."""
    mine = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, mine[:cores])
    try:
        # Ours and the limits count the cores they may use.
        more = {"threads": str(cores)} if program == "jax" else {}
        told = programs.run(program, work, paths, digest="0", **more)
    finally:
        os.sched_setaffinity(0, mine)
    measure.remove_written(paths)
    return int(paths["bytes"]) / told["seconds"] / 1e9


def rows_of(cores, rounds, programs, paths, with_peers):
    """Of each case the medians of ours, the limit and, on all cores, the peer."""
    speeds = {}
    for _ in range(rounds):
        for name, (ours, limit) in CASES.items():
            speeds.setdefault((name, "ours"), []).append(run_on(cores, programs, "ours", ours, paths))
            speeds.setdefault((name, "limit"), []).append(run_on(cores, programs, "limit", limit, paths))
            if with_peers and name in PEERS:
                peer, work = PEERS[name]
                speeds.setdefault((name, peer), []).append(run_on(cores, programs, peer, work, paths))
    return [{"case": name, "side": side, "threads": cores, "gb_s": round(statistics.median(taken), 3),
             "spread": [round(min(taken), 3), round(max(taken), 3)]}
            for (name, side), taken in speeds.items()]


def table(rows, threads):
    found = {(row["case"], row["side"], row["threads"]): row["gb_s"] for row in rows}
    lines = ["| GB/s | " + " | ".join(f"{count} thread{'s'[:count - 1]}" for count in threads) + " |",
             "|" + " --- |" * (len(threads) + 1)]
    for case, side in dict.fromkeys((row["case"], row["side"]) for row in rows):
        cells = [f"{found[case, side, count]:.2f}" if (case, side, count) in found else ""
                 for count in threads]
        lines.append(f"| {case}: {side} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(words):
    arguments = arguments_of(words)
    threads = [int(word) for word in arguments.threads.split(",")]
    programs = measure.Programs(arguments.build)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-scaling-", dir=arguments.dir))
    rows = []
    try:
        paths = make(folder, arguments.bytes, programs)
        for count in threads:
            rows += rows_of(count, arguments.rounds, programs, paths, count == max(threads))
            print(table(rows, threads), flush=True)
    finally:
        shutil.rmtree(folder)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
