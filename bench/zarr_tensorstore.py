"""Reads and writes one gigabyte of bfloat16 with TensorStore and with tessera, in turns.

usage: zarr_tensorstore.py BUILD_FOLDER [--dir DIR] [--rounds N] [--rows N]

Makes the arrays with TensorStore in DIR (a temporary folder unless given), then runs every case in
rounds, TensorStore and tessera one after the other, and prints the medians: tessera's speed over
TensorStore's, and over the machine's own limit (libzstd alone, pread alone, on all cores).  All
files are in the page cache, and destinations have been written to before, unless a case says
fresh; what is written is not waited for on the disk, but in the case that
says so.  Exit status 1 when a bar of the table below is missed.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import ml_dtypes
import numpy as np
import tensorstore as ts

COLUMNS = 32768
# Case: TensorStore must be beaten by this, the limit must be reached to this part of it.
BARS = {
    "Read/zstd_rows": ("LimitZstdDecode", 1.15, 0.9),
    "Read/zstd_tiles": ("LimitZstdDecode", 1.15, None),
    "Read/plain_rows": ("LimitPread", 2.0, 0.85),
    "Read/plain_tiles": ("LimitPread", 1.0, None),
    "Read/zstd_fresh": ("LimitZstdDecode", 1.0, None),
    "Read/plain_fresh": ("LimitPread", 1.0, None),
    "Read/zstd_sixteenth": ("LimitZstdDecode", 1.0, None),
    "Write/zstd_rows": ("LimitZstdEncode", 1.15, 0.9),
    "Write/zstd_tiles": ("LimitZstdEncode", 1.15, None),
    "Write/plain_rows": ("LimitPwrite", 1.0, None),
    "Write/zstd_rows_synced": ("LimitZstdEncode", 1.0, None),
}


def kvstore(path, sync):
    return {"driver": "file", "path": str(path) + "/", "file_io_sync": sync}


def metadata(name, rows):
    chunks = [256, COLUMNS] if name.endswith("rows") else [2048, 4096]
    compressor = {"id": "zstd", "level": 1} if name.startswith("zstd") else None
    return {"shape": [rows, COLUMNS], "chunks": chunks, "dtype": "bfloat16",
            "compressor": compressor, "fill_value": None, "order": "C"}


def make(folder, rows):
    weights = np.empty((rows, COLUMNS), dtype=ml_dtypes.bfloat16)
    random = np.random.default_rng(1)
    for row in range(0, rows, 256):
        block = random.standard_normal((min(256, rows - row), COLUMNS), dtype=np.float32)
        weights[row:row + 256] = block * np.float32(0.02)
    for name in ("zstd_rows", "zstd_tiles", "plain_rows", "plain_tiles"):
        path = folder / name
        array = ts.open({"driver": "zarr", "kvstore": kvstore(path, False),
                         "metadata": metadata(name, rows)}, create=True, delete_existing=True).result()
        array.write(weights).result()
    return weights


def peer_seconds(case, folder, weights):
    """What TensorStore takes for a case."""
    do, name = case.split("/")
    rows = weights.shape[0]
    if do == "Read":
        kind, part = name.split("_")
        stored = folder / f"{kind}_{'tiles' if part == 'tiles' else 'rows'}"
        array = ts.open({"driver": "zarr", "kvstore": kvstore(stored, False)}).result()
        if part == "sixteenth":
            array = array[:, COLUMNS // 2:COLUMNS // 2 + COLUMNS // 16]
        memory = np.ones(array.shape, dtype=ml_dtypes.bfloat16)
        start = time.perf_counter()
        if part == "fresh":
            memory = array.read().result()
        else:
            ts.array(memory).write(array).result()
        seconds = time.perf_counter() - start
        wanted = weights[:, COLUMNS // 2:COLUMNS // 2 + COLUMNS // 16] if part == "sixteenth" else weights
        assert (memory[::97].view(np.uint16) == wanted[::97].view(np.uint16)).all()
        return seconds
    subprocess.run(["rm", "-rf", folder / "written_by_peer"], check=True)
    sync = name.endswith("_synced")
    start = time.perf_counter()
    array = ts.open({"driver": "zarr", "kvstore": kvstore(folder / "written_by_peer", sync),
                     "metadata": metadata(name.replace("_synced", ""), rows)}, create=True).result()
    array.write(weights).result()
    return time.perf_counter() - start


def our_result(case, program, folder):
    ran = subprocess.run([program, f"--benchmark_filter=^{case}(/|$)", "--benchmark_format=json"],
                         env={**os.environ, "TESSERA_BENCH_DIR": str(folder)}, check=True,
                         capture_output=True, text=True)
    result = json.loads(ran.stdout)["benchmarks"][0]
    return result["real_time"] / 1e3, result["beside_mib"]


def check_equal(folder, weights):
    """The last thing tessera wrote is what was to be written."""
    array = ts.open({"driver": "zarr", "kvstore": kvstore(folder / "written", False)}).result()
    assert (array.read().result().view(np.uint16) == weights.view(np.uint16)).all()


def run(arguments, folder):
    weights = make(folder, arguments.rows)
    program = arguments.build / "bench" / "bench_zarr"
    ours, peer, limits, beside = {}, {}, {}, {}
    for _ in range(arguments.rounds):
        for case, (limit, _, _) in BARS.items():
            peer.setdefault(case, []).append(peer_seconds(case, folder, weights))
            seconds, mib = our_result(case, program, folder)
            ours.setdefault(case, []).append(seconds)
            beside[case] = max(beside.get(case, 0), mib)
            limits.setdefault(case, []).append(our_result(limit, program, folder)[0])
    check_equal(folder, weights)
    ok = True
    print("| case | tessera s | TensorStore s | ratio | of limit | beside MiB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case, (limit, least_ratio, least_of_limit) in BARS.items():
        mine, theirs, best = (statistics.median(x[case]) for x in (ours, peer, limits))
        ratio, of_limit = theirs / mine, best / mine
        met = ratio >= least_ratio and (least_of_limit is None or of_limit >= least_of_limit)
        ok &= met
        print(f"| {case} | {mine:.3f} | {theirs:.3f} | {ratio:.2f} | {of_limit:.2f} of {limit} "
              f"| {beside[case]:.0f} |{'' if met else ' **missed**'}")
    return 0 if ok else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=16384, help="of 64 KiB each")
    arguments = parser.parse_args()
    if arguments.dir is not None:
        arguments.dir.mkdir(parents=True, exist_ok=True)
        return run(arguments, arguments.dir)
    with tempfile.TemporaryDirectory() as folder:
        return run(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
