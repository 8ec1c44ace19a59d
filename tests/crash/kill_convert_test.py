#!/usr/bin/env python3
"""Kills a program that converts with SIGKILL, at random times, and goes on with what is left.

usage: kill_convert_test.py PROGRAM [--long | --kills N] [--seed S]

--long kills 400 times instead of 40.  Formats take turns, and so do new destinations and ones that
are written over.  After each kill the destination is what it was or the new one, whole; in the end
it is the new one, nothing else is left, and some runs went on where others were killed.
"""
import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile
import time

FORMATS = ("tensorstore", "safetensors", "file.safetensors", "zarr2", "zarr3")
LIMIT_S = 120  # of anything that must end by itself


class Failure(Exception):
    pass


def run(program, *arguments):
    result = subprocess.run([program, *arguments], text=True, capture_output=True, timeout=LIMIT_S,
                            check=False)
    if result.returncode != 0:
        raise Failure(f"{arguments}: {result.stdout}{result.stderr}")
    return result.stdout.strip()


class Converter:
    """Conversions of one kind, killed again and again until one ends."""

    def __init__(self, program, folder, tally, generator):
        self.program, self.tally, self.generator = program, tally, generator
        self.folder = folder
        self.sources = [os.path.join(folder, "old"), os.path.join(folder, "new")]
        for seed, source in enumerate(self.sources):
            run(program, "make", source, str(seed))
        self.old, self.new = (run(program, "digest", source) for source in self.sources)
        self.seconds = {}

    def convert(self, source, made, form):
        return [self.program, "convert", source, made, form]

    def kill_some(self, case, overwrite):
        form = FORMATS[case % len(FORMATS)]
        work = os.path.join(self.folder, "work")
        os.mkdir(work)
        made = os.path.join(work, form)
        form = form.split(".")[-1]
        begin = time.monotonic()
        run(*self.convert(self.sources[0], made, form))
        self.seconds[form] = time.monotonic() - begin
        if not overwrite:
            subprocess.run(["rm", "-rf", made], check=True)
        kills = 0
        while True:
            ended, resumed = self.kill_once(made, form, patience=1 + kills / 4)
            found = run(self.program, "digest", made)
            if found not in (self.new, self.old if overwrite else "none") or (
                    ended and found != self.new):
                raise Failure(f"{form}: found {found}, new is {self.new}, ended: {ended}")
            if ended:
                self.tally["went on" if resumed else "began anew"] += 1
                break
            self.tally["killed, " + ("new" if found == self.new else "old") + " seen"] += 1
            kills += 1
            if found == self.new:  # what is left is for the next one to clean up
                run(*self.convert(self.sources[1], made, form))
                break
        if os.listdir(work) != [os.path.basename(made)]:
            raise Failure(f"left over: {os.listdir(work)}")
        subprocess.run(["rm", "-rf", work], check=True)
        return kills

    def kill_once(self, made, form, patience):
        """Whether the program ended before it was killed, and went on with what was there."""
        process = subprocess.Popen(self.convert(self.sources[1], made, form),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(
                timeout=self.generator.uniform(0, patience * self.seconds[form]))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return False, False
        if process.returncode != 0:
            raise Failure(f"{form}: ended with {process.returncode}: {err}")
        return True, not out.startswith("resumed 0 ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--long", action="store_const", const=400, dest="kills")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    tally = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        converter = Converter(arguments.program, folder, tally, generator)
        kills = case = 0
        while kills < arguments.kills:
            try:
                kills += converter.kill_some(case, overwrite=case // len(FORMATS) % 2 == 1)
            except Failure as failure:
                print(f"case {case}, seed {arguments.seed}: {failure}")
                return 1
            case += 1
    print(f"{kills} kills: {dict(tally)}")
    if not tally["went on"]:
        print(f"seed {arguments.seed}: no run went on where another was killed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
