#!/usr/bin/env python3
"""Flattening a tree of a million leaves with JAX: the peer of bench_flatten.cc, case by case."""

import json
import sys
import time

from jax import tree_util

LAYERS, BLOCKS, PARAMS = 1000, 25, 40


def model():
    def block(value):
        return {f"param_{k:02}": value for k in range(PARAMS)}

    def layer(value):
        return {f"block_{j:02}": block(value) for j in range(BLOCKS)}

    return {"params": {"layers": {f"layer_{i:03}": layer(i) for i in range(LAYERS)}}}


def measure(name, rounds, run, count):
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
        assert count(result) == LAYERS * BLOCKS * PARAMS
        del result
    seconds.sort()
    print(json.dumps({
        "case": name,
        "side": "jax",
        "leaves": LAYERS * BLOCKS * PARAMS,
        "rounds": rounds,
        "best_s": round(seconds[0], 4),
        "median_s": round(seconds[len(seconds) // 2], 4),
    }), flush=True)


def dotted_paths(tree):
    # Every entry of this tree is a text key, so no keystr, which is slower, is needed.
    leaves, _ = tree_util.tree_flatten_with_path(tree)
    return [".".join([entry.key for entry in path]) for path, _ in leaves]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    tree = model()
    measure("flatten", rounds, lambda: tree_util.tree_flatten(tree), lambda r: len(r[0]))
    measure("flatten_with_path", rounds, lambda: tree_util.tree_flatten_with_path(tree),
            lambda r: len(r[0]))
    measure("dotted_paths", rounds, lambda: dotted_paths(tree), len)


if __name__ == "__main__":
    main()
