"""Runs tessera, its peers and the machine's limits on the same work, in turns.

usage: tools/bench [--quick] [--only RE] [--list] [--rounds N] [--dir DIR] [--disk DIR] [--out DIR]

Each side of a case is a process of its own; a round runs all sides, one after the other, and the next
round begins with another side.  Medians and extremes of the rounds go to bench/results.json and
bench/results.md, the chart to docs/speed.svg; with --quick or --only to build/bench/ instead, as a part
is no result to keep.  What two sides load is compared by hash, and what we write is read by a peer.
Exit status 1 when bytes differ, 0 otherwise; bars that are missed are listed at the end.
"""

import argparse
import pathlib
import platform
import re
import shutil
import signal
import sys
import tempfile
import time

from suite import cases, chart, measure, report

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small data; some cases, or those of --only")
    parser.add_argument("--only", default="", help="cases whose name holds this pattern")
    parser.add_argument("--list", action="store_true", help="prints the cases and stops")
    parser.add_argument("--rounds", type=int, help="5 unless given, 3 with --quick")
    parser.add_argument("--dir", type=pathlib.Path, help="for data; /dev/shm unless given")
    parser.add_argument("--disk", type=pathlib.Path, default=ROOT / "build",
                        help="for the data of cold reads, which must be on a drive")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--out", type=pathlib.Path, help="folder for results, table and chart")
    return parser.parse_args(words)


def chosen(arguments):
    scale = cases.QUICK if arguments.quick else cases.FULL
    wanted = [case for case in cases.all_cases(scale)
              if re.search(arguments.only, case.name)
              and (case.quick or arguments.only or not arguments.quick)]
    if not measure.may_drop_caches():
        wanted = [case for case in wanted if not case.cold]
    return scale, wanted


def run_cases(wanted, made, rounds, scratch, keep):
    """Rows of all cases; data is dropped once no later case needs it.  keep(rows) is called after
    each case, so that a run that is stopped leaves what it has."""
    rows = []
    for i, case in enumerate(wanted):
        needs = measure.data_of(case)
        paths = {**made.need(needs), "out": scratch / "out", "file": scratch / "out.safetensors"}
        # A curve has many points, so each needs fewer rounds.
        turns = max(1, rounds - 1) if case.growth else rounds
        sides = measure.measure(case, made.programs, paths, turns)
        for row in report.rows_of(case, sides):
            rows.append(row)
            print(report.text_line(row), flush=True)
        keep(rows)
        later = set().union(*(measure.data_of(other) for other in wanted[i + 1:]), set())
        made.drop(set(made.paths) - (later | ({"jax"} if "ours" in later else set())))
    return rows


def write_results(rows, folder, picture):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(report.results_json(rows))
    (folder / "results.md").write_text(report.table(rows))
    picture.write_text(chart.draw(rows))


def main(words):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # who reads the list may have read enough
    arguments = arguments_of(words)
    scale, wanted = chosen(arguments)
    if arguments.list:
        for case in wanted:
            print(f"{case.name:<28} {case.title} [{', '.join(case.peers) or 'no peer'}]")
        return 0
    if not wanted:
        print(f"no case holds {arguments.only!r}; see --list", file=sys.stderr)
        return 2
    from suite import datasets  # which imports the peers; --list and --help do without
    start = time.monotonic()
    parent = arguments.dir or (pathlib.Path("/dev/shm") if pathlib.Path("/dev/shm").is_dir() else None)
    programs = measure.Programs(arguments.build)
    disk = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=arguments.disk))
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="tessera-bench-", dir=parent))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of the finally below
    partial = arguments.quick or arguments.only
    folder = arguments.out or (ROOT / "build" / "bench" if partial else ROOT / "bench")
    picture = (folder if partial or arguments.out else ROOT / "docs") / "speed.svg"
    try:
        made = datasets.Datasets(scratch, disk, scale, programs)
        rows = run_cases(wanted, made, arguments.rounds or (3 if arguments.quick else 5), scratch,
                         lambda rows: write_results(rows, folder, picture))
    except measure.WrongBytes as error:
        print(f"wrong bytes: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(scratch)
        shutil.rmtree(disk)
    print(f"\nwrote {folder / 'results.json'}, {folder / 'results.md'}, {picture}")
    for line in report.missed(rows):
        print(f"bar missed: {line}")
    print(f"{len(rows)} rows in {time.monotonic() - start:.0f} s on {platform.machine()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
