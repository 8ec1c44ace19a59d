#!/usr/bin/env python3
"""Checkpoints that are loaded by other numbers of processes than saved them, and saves that lose a
rank.

usage: checkpoint_ranks_test.py PROGRAM MPIRUN NUMPROC_FLAG
"""
import os
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, *LAUNCHER = sys.argv[1:]
RANKS = 4
# A deadline of 3 s, time to look for the missing rank, the end of MPI; rest for slow machines.
LIMIT_S = 40


def run(ranks, *arguments, **environment):
    result = subprocess.run([*LAUNCHER, str(ranks), PROGRAM, *arguments], capture_output=True,
                            text=True, timeout=100, env={**os.environ, **environment}, check=False)
    return result


class CheckpointRanksTest(unittest.TestCase):

    def setUp(self):
        self.parent = tempfile.TemporaryDirectory()
        self.folder = os.path.join(self.parent.name, "checkpoint")

    def tearDown(self):
        self.assertEqual(os.listdir(self.parent.name), ["checkpoint"])
        self.parent.cleanup()

    def hashes(self, ranks, *arguments):
        result = run(ranks, *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = [line for line in result.stdout.splitlines() if not line.startswith("rank ")]
        self.assertEqual(len(lines), 4, result.stdout)
        return lines

    def save(self, generation):
        return self.hashes(RANKS, "save", self.folder, str(generation))

    def load(self, ranks):
        return self.hashes(ranks, "load", self.folder)

    def own_files(self):
        """Everything but manifests that is in our folder."""
        own = os.path.join(self.folder, ".tessera")
        return [os.path.join(parent, name) for parent, _, names in os.walk(own) for name in names
                if os.path.basename(parent) != "manifests"]

    def test_four_processes_save_and_one_three_or_four_load(self):
        saved = self.save(1)
        for ranks in (1, 3, 4):
            self.assertEqual(self.load(ranks), saved)

    def lose(self, rank):
        saved = self.save(1)
        begin = time.monotonic()
        result = run(RANKS, "save", self.folder, "2", str(rank), OMPI_MCA_orte_enable_recovery="1")
        seconds = time.monotonic() - begin
        others = [line for line in result.stdout.splitlines() if line.startswith("rank ")]
        self.assertEqual(len(others), RANKS - 1, result.stdout + result.stderr)
        for line in others:
            self.assertIn("DEADLINE_EXCEEDED", line)
            self.assertIn(f"rank {rank} did not come", line)
        self.assertLess(seconds, LIMIT_S)
        self.assertEqual(self.load(1), saved)
        following = self.save(3)
        self.assertNotEqual(following, saved)
        self.assertEqual(self.load(3), following)
        self.assertEqual(self.own_files(), [])

    def test_a_save_that_loses_a_rank_leaves_the_one_before(self):
        self.lose(RANKS - 1)

    def test_a_save_that_loses_the_rank_that_commits_leaves_the_one_before(self):
        self.lose(0)

    def test_mpirun_ends_the_program_and_the_one_before_is_left(self):
        saved = self.save(1)
        result = run(RANKS, "save", self.folder, "2", "2")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("rank 2", result.stderr)
        self.assertEqual(self.load(1), saved)
        following = self.save(3)
        self.assertEqual(self.load(4), following)
        self.assertEqual(self.own_files(), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
