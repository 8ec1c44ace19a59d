"""A program that saves by a manager is killed at any moment: the old save or the new one is there."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import python_case
from tessera.eformer.serialization import AsyncCheckpointManager, Checkpointer

SAVER = """
    import sys
    import numpy as np
    from tessera.eformer.serialization import AsyncCheckpointManager
    manager = AsyncCheckpointManager()
    begin = int(sys.argv[2])
    for value in range(begin, begin + 100000):
        # Structure, values, shapes and metadata change from one save to the next.
        tree = {"w": np.full((value % 7 + 1, 20000), value), "value": value,
                "l": [np.full(3, value)] * (value % 3)}
        manager.save_pytree(tree, sys.argv[1], prefix="model", extras={"value": value})
        print(value, flush=True)
"""

RUN = """
    import sys
    import datetime
    import numpy as np
    from tessera.eformer.serialization import Checkpointer, CheckpointInterval
    clock = [datetime.datetime(2026, 1, 1)]
    run = Checkpointer(sys.argv[1], datetime.timedelta(seconds=1), [CheckpointInterval(10)],
                       dt_now_injection=lambda: clock[0])
    for step in range(int(sys.argv[2]), 100000):
        clock[0] += datetime.timedelta(seconds=1)
        run.on_step(None, {"w": np.full((step % 7 + 1, 2000), step)}, step=step)
        print(step, flush=True)
"""


class CrashTest(python_case.PythonCase):
    def killed(self, text, *arguments, seconds):
        """Runs a program until it is killed; the last number that it told, or None."""
        path = os.pathsep.join(p for p in sys.path if p)
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True)
        first = process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        lines = process.communicate(timeout=60)[0].splitlines()
        self.assertEqual(process.returncode, -signal.SIGKILL)
        return int(lines[-1]) if lines else int(first)

    def test_a_manager_leaves_one_save_or_the_next(self):
        chance = random.Random(5)
        manager, folder, last = AsyncCheckpointManager(), self.folder / "c", 0
        for _ in range(8):
            last = self.killed(SAVER, folder, last, seconds=chance.uniform(0, 0.08))
            tree, extras = manager.load_pytree(folder, None, prefix="model")
            value = tree["value"]
            self.assertIn(value, (last, last + 1))
            self.assertEqual(extras, {"value": value})
            self.assertEqual(tree["w"].shape, (value % 7 + 1, 20000))
            self.assertTrue((tree["w"] == value).all())
            self.assertEqual([part.tolist() for part in tree["l"]], [[value] * 3] * (value % 3))
            _, metadata = manager.load(folder, None, prefix="model")
            self.assertEqual(metadata["custom_metadata"], {"value": value})

    def test_a_run_finds_its_latest_step_again(self):
        chance = random.Random(7)
        folder, last = self.folder / "runs", 1
        for _ in range(6):
            last = self.killed(RUN, folder, last, seconds=chance.uniform(0, 0.15))
            tree, about = Checkpointer(str(folder), None, []).load_checkpoint(None)
            step = about["custom_metadata"]["step"]
            self.assertIn(step, (last, last + 1))
            self.assertEqual(tree["w"].shape, (step % 7 + 1, 2000))
            self.assertTrue((tree["w"] == step).all())


if __name__ == "__main__":
    unittest.main()
