"""Holds the model against loads that were measured.

Usage: calibrate.py BENCH_THROTTLED_LOAD [--rounds 1] [--json FILE]

The program (throttled_load.cc) loads 256 MiB, or 64 MiB on several hosts, with tessera's loader from a store that is
as slow as it is told to be; the model gets the same numbers.  All it is told beside them is how fast this machine loads
without any throttle, which is measured first.  Prints seconds of both and their ratio; fails when a ratio is not within
0.8 and 1.25.  A round takes about 50 seconds; the fastest of several counts, so more of them help on a busy machine.
"""

import argparse
import dataclasses
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import model
from parameters import Parameters

LEAST, MOST = 0.8, 1.25
CHUNKS = 128


@dataclasses.dataclass(frozen=True)
class Point:
    """One load; bandwidths in MB/s, 0 without limit.  `place` says what each host needs."""

    latency_ms: int = 0
    total: int = 0
    host: int = 0
    in_flight: int = 16
    codec: str = "none"
    ranks: int = 1
    place: str = "whole"
    share: int = 0
    net: int = 0
    budget_mib: int = 1024

    @property
    def bytes(self):
        return 256 << 20 if self.ranks == 1 else 64 << 20

    @property
    def folder(self):
        return f"{self.codec}{self.bytes >> 20}"


# One host: what a load is made of, each alone, then together.
ONE_HOST = [
    Point(latency_ms=50, in_flight=4),
    Point(latency_ms=50, in_flight=16),
    Point(latency_ms=20, in_flight=1),
    Point(latency_ms=5, host=400),
    Point(latency_ms=20, host=400),
    Point(latency_ms=50, host=100),
    Point(latency_ms=50, host=400, in_flight=8),
    Point(latency_ms=100, host=800, in_flight=64),
    Point(latency_ms=50, host=200, in_flight=64, codec="zstd"),
    Point(latency_ms=20, host=100, in_flight=8, codec="zstd"),
]
# Several: threads of one machine, so less is loaded, and slowly enough for its cores not to matter.
MORE_HOSTS = [
    Point(latency_ms=50, host=50, ranks=2),
    Point(latency_ms=50, host=50, total=100, ranks=4),
    Point(latency_ms=50, host=50, ranks=4, place="columns"),
    Point(latency_ms=50, host=50, ranks=2, share=1, net=50),
    Point(latency_ms=50, host=50, ranks=4, share=1, net=50),
    Point(latency_ms=50, host=50, total=50, ranks=4, share=1, net=100),
    Point(latency_ms=50, host=50, ranks=4, share=1, net=50, budget_mib=32),
    Point(latency_ms=50, host=50, ranks=4, share=1, net=50, budget_mib=8),
    Point(latency_ms=50, host=25, ranks=4, share=1, net=50, place="rows"),
    Point(latency_ms=50, host=25, ranks=4, share=1, net=25, place="columns"),
]


def ask(words):
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def measure(program, folder, point, rounds):
    """The fastest of the rounds: what else the machine does only adds to it."""
    words = [program, "load", f"dir={folder}/{point.folder}", f"latency_ms={point.latency_ms}", "jitter=0.5",
             f"total_mb_s={point.total}", f"host_mb_s={point.host}", f"in_flight={point.in_flight}",
             f"ranks={point.ranks}", f"place={point.place}", f"share={point.share}", f"net_mb_s={point.net}",
             f"budget_mib={point.budget_mib}"]
    return min((ask(words) for _ in range(rounds)), key=lambda load: load["seconds"])


def parameters_of(point, speeds, ratios):
    """Hosts that are threads share the speed of one machine."""
    def limit(megabytes):
        return megabytes * 1e6 if megabytes else math.inf

    cores = os.cpu_count()
    return Parameters(
        hosts=point.ranks, bytes=point.bytes, chunk=point.bytes / CHUNKS, ratio=ratios[point.codec],
        model_hosts=1 if point.place == "whole" else point.ranks,
        amplification=point.ranks if point.place == "columns" else 1,
        store_total=limit(point.total), store_host=limit(point.host), latency=point.latency_ms / 1e3,
        in_flight=point.in_flight, net=limit(point.net), net_latency=0.0, memory=point.budget_mib << 20,
        decode=speeds[point.codec] / point.ranks, cores=cores, copy=speeds["none"] / point.ranks)


def text_of(point):
    parts = [f"{point.latency_ms} ms"]
    parts += [f"{point.host} MB/s" if point.host else "no limit"]
    parts += [f"{point.total} in all"] if point.total else []
    parts += [f"{point.in_flight} at once", point.codec]
    if point.ranks > 1:
        parts += [point.place]
        parts += [f"budget {point.budget_mib} MiB"] if point.budget_mib != Point.budget_mib else []
        parts += [f"net {point.net} MB/s"] if point.net else []
    return ", ".join(parts)


def run(options, folder):
    ratios, speeds = {}, {}
    for point in (Point(codec="none"), Point(codec="zstd"), Point(ranks=2)):
        sizes = ask([options.program, "make", f"dir={folder}/{point.folder}", f"mib={point.bytes >> 20}",
                     f"chunk_kib={(point.bytes >> 10) // CHUNKS}", f"codec={point.codec}"])
        if point.ranks == 1:
            ratios[point.codec] = sizes["bytes"] / sizes["stored_bytes"]
            alone = measure(options.program, folder, point, 2 * options.rounds + 1)
            speeds[point.codec] = point.bytes / alone["seconds"]
            print(f"without throttle, {point.codec}: {speeds[point.codec] / 1e9:.2f} GB/s", flush=True)
    rows = []
    print("| hosts | way | load | measured | model | ratio |\n| ---: | --- | --- | ---: | ---: | ---: |")
    for point in ONE_HOST + MORE_HOSTS:
        way = "rounds" if point.share else "per-host"
        measured = measure(options.program, folder, point, options.rounds)
        told = model.simulate(parameters_of(point, speeds, ratios), way)
        ratio = measured["seconds"] / told["seconds"]
        rows.append({**dataclasses.asdict(point), "way": way, "measured": measured, "model": told, "ratio": ratio})
        print(f"| {point.ranks} | {way} | {text_of(point)} | {measured['seconds']:.2f} s | {told['seconds']:.2f} s | "
              f"{ratio:.2f} |", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = run(options, folder)
    ratios = [row["ratio"] for row in rows]
    print(f"measured to model: {min(ratios):.2f} to {max(ratios):.2f}, median {statistics.median(ratios):.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    sys.exit(0 if LEAST <= min(ratios) and max(ratios) <= MOST else 1)


if __name__ == "__main__":
    main()
