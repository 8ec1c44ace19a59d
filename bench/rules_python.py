"""Times Python's `re` on the names and rules that bench_rules wrote, in the same form.

Usage: bench_rules FOLDER > FOLDER/ours.jsonl; python3 rules_python.py FOLDER

Prints one JSON line per number of names.  If FOLDER/ours.jsonl is there, each line says how many
times faster RuleMatcher was, and the program fails if the two chose different rules.
"""

import json
import pathlib
import re
import sys
import time

SIZES = (10_000, 20_000, 50_000, 100_000)
RUNS = 3


def sum_of_first_matches(compiled, names):
    total = 0
    for name in names:
        for index, pattern in enumerate(compiled):
            if pattern.search(name):
                total += index
                break
    return total


def best_time(work):
    best = None
    for _ in range(RUNS):
        start = time.perf_counter()
        result = work()
        taken = time.perf_counter() - start
        best = taken if best is None else min(best, taken)
    return best, result


def ours(folder):
    path = folder / "ours.jsonl"
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {(line["case"], line["names"]): line for line in lines}


def main():
    folder = pathlib.Path(sys.argv[1])
    compiled = [re.compile(rule) for rule in (folder / "rules.txt").read_text().splitlines()]
    all_names = (folder / "names.txt").read_text().splitlines()
    measured = ours(folder)
    for size in SIZES:
        names = all_names[:size]
        seconds, total = best_time(lambda: sum_of_first_matches(compiled, names))
        report = {"case": "python_re", "names": size, "rules": len(compiled),
                  "seconds": round(seconds, 6), "index_sum": total}
        for case in ("loop_over_regexes", "first_match", "first_matches"):
            line = measured.get((case, size))
            if line is None:
                continue
            if line["index_sum"] != total:
                sys.exit(f"{case} chose other rules: {line['index_sum']} against {total}")
            report[f"times_slower_than_{case}"] = round(seconds / line["seconds"], 1)
        print(json.dumps(report))


if __name__ == "__main__":
    main()
