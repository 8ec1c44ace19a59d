"""Runs tessera and its Python peers on the same work, one after the other, and prints the ratios.

Usage: side_by_side.py BUILD_FOLDER [--only rules|flatten|reshard]

  rules    the first of 40 rules for up to 100,000 keys, beside Python's `re`
  flatten  a tree of 1,000,000 leaves with key paths, beside JAX (left out, and said so, when this
           Python has no jax)

  reshard  2 GiB from rows to columns over 8 host devices, beside this machine's strided copy
           (takes 9 GiB of memory); tools/bench has JAX beside it

Fails when a bar is missed: rules 20 times faster than `re` and linear in keys, flattening with paths
at least as fast as JAX, resharding at 0.6 of the strided copy.
"""

import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LEAST_RULES_RATIO = 20
# Ten times the keys may cost this many times the time; 10 is exactly linear, the rest is noise.
MOST_GROWTH = 20
LEAST_OF_COPY = 0.6


def json_lines(command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def compare_rules(bench):
    with tempfile.TemporaryDirectory() as folder:
        ours = json_lines([bench / "bench_rules", folder])
        text = "".join(json.dumps(line) + "\n" for line in ours)
        (pathlib.Path(folder) / "ours.jsonl").write_text(text)
        peers = json_lines([sys.executable, HERE / "rules_python.py", folder])
    seconds = {line["names"]: line["seconds"] for line in ours if line["case"] == "first_match"}
    ok = True
    for line in peers:
        one = line["times_slower_than_first_match"]
        many = line["times_slower_than_first_matches"]
        print(f"rules    {line['names']:>9,} keys  re {line['seconds']:.3f} s  "
              f"tessera {seconds[line['names']]:.4f} s ({one:.0f}x; all threads {many:.0f}x)")
        ok &= one >= LEAST_RULES_RATIO
    growth = seconds[100_000] / seconds[10_000]
    print(f"rules    10 times the keys take {growth:.1f} times as long")
    return ok and growth <= MOST_GROWTH


def compare_flatten(bench):
    if importlib.util.find_spec("jax") is None:
        print("flatten  left out: this Python has no jax (run tools/setup and use build/venv/bin/python)")
        return True
    ours = {line["case"]: line["median_s"] for line in json_lines([bench / "bench_flatten"])}
    peer = {
        line["case"]: line["median_s"]
        for line in json_lines([sys.executable, HERE / "flatten_jax.py"])
    }
    for case, seconds in ours.items():
        print(f"flatten  {case:<18} JAX {peer[case]:.3f} s  tessera {seconds:.3f} s "
              f"({peer[case] / seconds:.1f}x)")
    return ours["flatten_with_path"] <= peer["flatten_with_path"]


def compare_reshard(bench):
    ok = True
    ours = json_lines([bench / "bench_reshard"])
    for line in ours:
        print(f"reshard  {line['case']:<12} {line['dtype']:<8} {line['bytes'] >> 20:>5} MiB "
              f"{line['devices']:>3} devices  {line['seconds']:.3f} s "
              f"({line['of_copy']:.2f} of the copy; {line['fresh_s']:.3f} s with fresh memory)")
        ok &= line["case"] != "same_devices" or line["of_copy"] >= LEAST_OF_COPY
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", choices=["rules", "flatten", "reshard"])
    arguments = parser.parse_args()
    bench = arguments.build / "bench"
    compare = {"rules": compare_rules, "flatten": compare_flatten, "reshard": compare_reshard}
    ok = True
    for name, run in compare.items():
        if arguments.only in (None, name):
            ok &= run(bench)
    if not ok:
        print("a bar is missed")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
