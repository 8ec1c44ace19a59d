#!/usr/bin/env python3
"""Kills a program that saves with SIGKILL, at random times, and looks at what is left.

usage: kill_test.py PROGRAM [--long | --kills N] [--seed S]

--long kills 500 times instead of 50.  The commit cases take turns: a new checkpoint, a further
prefix, a prefix that is written over.
"""
import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile
import time

CASES = ("new checkpoint", "further prefix", "overwrite", "overwrite of the second prefix")
LIMIT_S = 120  # of anything that must end by itself


class Failure(Exception):
    pass


class Saver:
    """The program, and what it has said so far."""

    def __init__(self, program, folder, first):
        self.started, self.committed = {}, {}
        self.process = subprocess.Popen([program, "save", folder, str(first)],
                                        stdout=subprocess.PIPE, text=True)

    def take(self, line):
        word, generation, prefix = line.split()
        {"start": self.started, "committed": self.committed}[word][prefix] = int(generation)
        return word, int(generation)

    def wait_for(self, word, generation):
        for line in self.process.stdout:
            if self.take(line) == (word, generation):
                return
        raise Failure(f"the saver ended with {self.process.wait()}")

    def kill(self):
        self.process.kill()
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.take(line)
        self.process.wait()


def leftovers(folder):
    """Files that no reader needs."""
    left = []
    for parent, folders, files in os.walk(folder):
        below = os.path.relpath(parent, folder)
        empty = not folders and not files
        if empty or ".tessera-tmp-" in " ".join(files):
            left.append(f"{below}: {files}")
        if below.startswith(".tessera") and below not in (".tessera", ".tessera/manifests"):
            left.append(below)
        if below == ".tessera" and files:
            left.append(f"{below}: {files}")
    return left


def check(program, folder, next_generation, saver, before):
    result = subprocess.run([program, "check", folder, str(next_generation)], text=True,
                            capture_output=True, timeout=LIMIT_S, check=False)
    if result.returncode != 0:
        raise Failure(result.stdout + result.stderr)
    found = {}
    for line in result.stdout.splitlines():
        _, generation, prefix = line.split()
        found[prefix] = int(generation)
    for prefix in set(saver.started) | set(before):
        oldest = saver.committed.get(prefix, before.get(prefix, 0))
        newest = saver.started.get(prefix, oldest)
        if not oldest <= found.get(prefix, 0) <= newest:
            raise Failure(f"prefix {prefix}: found {found}, committed {saver.committed} after "
                          f"{before}, begun {saver.started}")
    left = leftovers(folder)
    if left:
        raise Failure(f"left over: {left}")
    return found


class Pace:
    """How long saves take, so that kills fall into all parts of one."""

    def __init__(self):
        self.seconds = collections.deque([0.1], maxlen=20)

    def some_time(self, generator):
        return generator.uniform(0, 1.3 * sum(self.seconds) / len(self.seconds))


def kill_once(program, case, pace, generator, tally):
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, "checkpoint")
        saver = Saver(program, folder, 1)
        target = case + 1  # the generation that it is to die in
        saver.wait_for("start", target)
        if generator.random() < 0.1:  # how long one takes now
            begin = time.monotonic()
            saver.wait_for("committed", target)
            pace.seconds.append(time.monotonic() - begin)
            target += 2
            saver.wait_for("start", target)
        time.sleep(pace.some_time(generator))
        saver.kill()
        before = {}
        for _ in range(2):  # what the first check saves is killed and checked once more
            newest = max(saver.started.values())
            next_generation = newest + 2  # of the same prefix
            found = check(program, folder, next_generation, saver, before)
            tally[outcome(found, saver, newest)] += 1
            before = {**found, prefix_of(next_generation): next_generation}
            if os.listdir(parent) != ["checkpoint"]:
                raise Failure(f"written outside: {os.listdir(parent)}")
            if generator.random() < 0.7:
                return
            saver = Saver(program, folder, next_generation + 2)
            saver.wait_for("start", next_generation + 2)
            saver.kill()


def prefix_of(generation):
    return "tx" if generation % 2 == 0 else "model"


def outcome(found, saver, newest):
    prefix = prefix_of(newest)
    if saver.committed.get(prefix) == newest:
        return "between saves"
    return "new state" if found.get(prefix) == newest else "old state"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--long", action="store_const", const=500, dest="kills")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    pace = Pace()
    tallies = {case: collections.Counter() for case in CASES}
    for kill in range(arguments.kills):
        case = kill % len(CASES)
        try:
            kill_once(arguments.program, case, pace, generator, tallies[CASES[case]])
        except Failure as failure:
            print(f"kill {kill} ({CASES[case]}), seed {arguments.seed}: {failure}")
            return 1
    for case, tally in tallies.items():
        print(f"{case}: {dict(tally)}")
    print(f"{arguments.kills} kills; a save takes {sum(pace.seconds) / len(pace.seconds):.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
