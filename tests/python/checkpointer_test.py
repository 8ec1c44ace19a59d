"""Checkpointer: policies, temporary steps, the latest one, and what is left of a crash."""

import datetime as dt
import json
import os
import unittest
from unittest import mock

import numpy as np

import python_case
from tessera.eformer.serialization import Checkpointer, CheckpointInterval
from tessera.eformer.serialization.checkpointer import find_latest_checkpoint

TREE = {"w": np.arange(4.0)}


class Clock:
    def __init__(self):
        self.now = dt.datetime(2026, 1, 1)

    def __call__(self):
        return self.now

    def wait(self, **time):
        self.now += dt.timedelta(**time)


class CheckpointerCase(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.base = self.folder / "runs"
        self.clock = Clock()

    def run_with(self, *policies, minutes=None, **more):
        interval = None if minutes is None else dt.timedelta(minutes=minutes)
        return Checkpointer(str(self.base), interval, policies, dt_now_injection=self.clock, **more)

    def steps(self):
        if not self.base.exists():
            return {}
        return {path.name: self.metadata(path.name)["is_temporary"]
                for path in sorted(self.base.iterdir()) if (path / "metadata.json").exists()}

    def metadata(self, name):
        return json.loads((self.base / name / "metadata.json").read_text())

    def write_metadata(self, name, **fields):
        (self.base / name).mkdir(parents=True, exist_ok=True)
        (self.base / name / "metadata.json").write_text(json.dumps(fields))


class PolicyTest(CheckpointerCase):
    def test_contradicting_policies_are_refused(self):
        for policies, message in [
            ([CheckpointInterval(1), CheckpointInterval(2)], r"\[0\]: only the last"),
            ([CheckpointInterval(1, 10), CheckpointInterval(2, 10)], r"\[1\]: until is 10"),
            ([CheckpointInterval(0)], r"\[0\]: every is 0"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                self.run_with(*policies)
        with self.assertRaisesRegex(ValueError, "save_interval"):
            self.run_with(minutes=0)
        with self.assertRaisesRegex(TypeError, "save_interval: expected a timedelta, found int"):
            Checkpointer(str(self.base), 5, [])

    def test_steps_of_the_policies_are_kept(self):
        run = self.run_with(CheckpointInterval(2, 4), CheckpointInterval(5))
        for step in range(12):
            run.on_step(None, TREE, step=step)
        self.assertEqual(self.steps(), {"run-10": False, "run-2": False, "run-4": False,
                                        "run-5": False})
        self.assertEqual(self.metadata("run-4")["step"], 4)

    def test_force_saves_for_good_and_a_step_is_saved_once(self):
        run = self.run_with()
        run.on_step(None, TREE, step=0)
        self.assertEqual(self.steps(), {})
        run.on_step(None, TREE, force=True, step=0)
        run.on_step(None, TREE, force=True, step=3)
        with mock.patch.object(run._manager, "save_tree", side_effect=AssertionError):
            run.on_step(None, TREE, step=3)
        self.assertEqual(self.steps(), {"run-0": False, "run-3": False})

    def test_nothing_to_save_is_an_error_and_no_step(self):
        run = self.run_with(CheckpointInterval(1))
        with self.assertRaisesRegex(ValueError, "step 1"):
            run.on_step(None, step=1)
        self.assertEqual((self.steps(), run._last_save_step), ({}, 0))

    def test_extras_and_step_are_in_the_metadata(self):
        run = self.run_with(CheckpointInterval(1))
        extras = {"loss": 1.5}
        run.on_step(None, TREE, step=1, extras=extras)
        self.assertEqual(extras, {"loss": 1.5})
        tree, metadata = run.load_checkpoint(None)
        np.testing.assert_array_equal(tree["w"], TREE["w"])
        self.assertEqual(metadata["custom_metadata"],
                         {"loss": 1.5, "step": 1, "is_temporary": False})


class TemporaryTest(CheckpointerCase):
    def test_time_makes_temporary_steps_that_go_with_the_next(self):
        run = self.run_with(CheckpointInterval(10), minutes=5)
        for step in range(1, 11):
            self.clock.wait(minutes=2)
            run.on_step(None, TREE, step=step)
            run.wait_until_finished()
            expected = {3: {"run-3": True}, 6: {"run-6": True}, 9: {"run-9": True},
                        10: {"run-10": False}}.get(step)
            if expected is not None:
                self.assertEqual(self.steps(), expected)
        self.assertEqual([path.name for path in self.base.iterdir()], ["run-10"])

    def test_callbacks_alone_restart_the_clock_too(self):
        run = self.run_with(minutes=5)
        calls = []
        for step in range(1, 7):
            self.clock.wait(minutes=2)
            run.on_step("mesh", step=step, extras={"a": 1}, true_callbacks=[
                lambda name, mesh, about: calls.append((name, mesh, about))])
        run.wait_until_finished()
        self.assertEqual(calls, [
            (f"run-{step}", "mesh", {"step": step, "is_temporary": True, "a": 1})
            for step in (3, 6)])

    def test_a_step_is_complete_when_all_callbacks_have_returned(self):
        run = self.run_with(CheckpointInterval(1))

        def fail(name, mesh, about):
            self.assertTrue((self.base / name / "tensorstore_index.json").exists())
            self.assertEqual(self.steps(), {})
            raise LookupError("of the callback")

        with self.assertRaisesRegex(LookupError, "of the callback"):
            run.on_step(None, TREE, step=1, true_callbacks=[fail])
        self.assertEqual((self.steps(), run._last_save_step), ({}, 0))

    def test_temporary_steps_of_earlier_runs_go_too(self):
        for step in (1, 2):
            self.run_with().save_pytree(TREE, "m", step=step, temporary=True)
        self.run_with().save_pytree(TREE, "m", step=3)
        run = self.run_with(CheckpointInterval(1), delete_old_temp_checkpoints=False)
        run.on_step(None, TREE, step=4)
        run.wait_until_finished()
        self.assertEqual(len(self.steps()), 4)
        run = self.run_with(CheckpointInterval(1))
        self.assertEqual(len(self.steps()), 4)
        run.on_step(None, TREE, step=5)
        run.wait_until_finished()
        self.assertEqual(sorted(self.steps()), ["run-3", "run-4", "run-5"])

    def test_a_step_that_was_made_permanent_meanwhile_stays(self):
        run = self.run_with(minutes=5)
        self.clock.wait(minutes=6)
        run.on_step(None, TREE, step=1)
        self.write_metadata("run-1", step=1, timestamp="2026-01-01T00:00:00", is_temporary=False)
        run.on_step(None, TREE, force=True, step=2)
        run.wait_until_finished()
        self.assertEqual(self.steps(), {"run-1": False, "run-2": False})

    def test_a_deletion_that_was_interrupted_is_ended_by_the_next_run(self):
        self.run_with().save_pytree(TREE, "m", step=1, temporary=True)
        with mock.patch("shutil.rmtree", side_effect=OSError("pulled the plug")):
            with self.assertLogs("tessera.eformer.serialization._step_deleter", "ERROR"):
                run = self.run_with()
                run.on_step(None, TREE, force=True, step=2)
                run.wait_until_finished()
        self.assertTrue((self.base / "run-1").exists())
        self.assertEqual(find_latest_checkpoint(str(self.base)), str(self.base / "run-2"))
        self.run_with().wait_until_finished()
        self.assertFalse((self.base / "run-1").exists())

    def test_a_save_that_fails_leaves_the_step_before(self):
        run = self.run_with(CheckpointInterval(1))
        run.on_step(None, TREE, step=1)
        with self.assertRaisesRegex(TypeError, "w"):
            run.on_step(None, {"w": np.array([object()])}, step=2)
        self.assertEqual((self.steps(), run._last_save_step), ({"run-1": False}, 1))
        self.assertEqual(find_latest_checkpoint(str(self.base)), str(self.base / "run-1"))


    def test_a_step_that_is_half_deleted_can_be_saved_again(self):
        run = self.run_with(CheckpointInterval(1))
        run.on_step(None, {"w": np.zeros((1, 20))}, step=2)
        mark = self.base / "run-2" / ".tessera" / "step.json"
        mark.write_text('{"schema": 1, "state": "deleting"}')  # as an interrupted deletion leaves it
        for name in ("metadata.json", "tensorstore_index.json"):
            (self.base / "run-2" / name).unlink()
        again = self.run_with(CheckpointInterval(1))
        again.on_step(None, {"w": np.ones((3, 20))}, step=2)
        tree, about = again.load_checkpoint(None)
        self.assertEqual((tree["w"].shape, about["custom_metadata"]["step"]), ((3, 20), 2))


class FindLatestTest(CheckpointerCase):
    def latest(self):
        found = find_latest_checkpoint(str(self.base))
        return None if found is None else os.path.relpath(found, self.base)

    def test_the_latest_time_wins_then_the_step(self):
        self.assertIsNone(self.latest())
        self.write_metadata("run-9", step=9, timestamp="2026-01-01T00:00:00+00:00")
        self.write_metadata("run-3", step=3, timestamp="2026-01-02T00:00:00+00:00")
        self.write_metadata("run-2", step=2, timestamp="2026-01-02T00:00:00+00:00")
        self.assertEqual(self.latest(), "run-3")
        self.write_metadata("run-4", step=4, timestamp="2026-01-02T01:00:00+02:00")
        self.assertEqual(self.latest(), "run-3")

    def test_times_without_a_zone_are_local_ones(self):
        early, late = dt.datetime(2026, 1, 1, 12), dt.datetime(2026, 1, 1, 13)
        utc = early.astimezone(dt.timezone.utc)
        self.write_metadata("run-1", step=1, timestamp=late.isoformat())
        self.write_metadata("run-2", step=2, timestamp=utc.isoformat())
        self.assertEqual(self.latest(), "run-1")

    def test_the_time_is_written_as_eformer_can_compare_it_and_in_utc(self):
        self.run_with().save_pytree(TREE, "m", step=1)
        about = self.metadata("run-1")
        local = dt.datetime.fromisoformat(about["timestamp"])
        utc = dt.datetime.fromisoformat(about["timestamp_utc"])
        self.assertEqual((local.tzinfo, utc.tzinfo), (None, dt.timezone.utc))
        self.assertEqual(local.astimezone(dt.timezone.utc), utc)
        self.assertLess(abs(dt.datetime.now(dt.timezone.utc) - utc), dt.timedelta(minutes=5))

    def test_the_time_in_utc_counts(self):
        self.write_metadata("run-1", step=1, timestamp="2026-10-25T02:30:00",
                            timestamp_utc="2026-10-25T01:30:00+00:00")
        self.write_metadata("run-2", step=2, timestamp="2026-10-25T02:45:00",
                            timestamp_utc="2026-10-25T00:45:00+00:00")
        self.assertEqual(self.latest(), "run-1")

    def test_metadata_that_cannot_be_read_comes_last(self):
        (self.base / "run-5").mkdir(parents=True)
        (self.base / "run-5/metadata.json").write_text("{")
        (self.base / "run-6").mkdir()
        with self.assertLogs("tessera.eformer.serialization._runs", "WARNING"):
            self.assertEqual(self.latest(), "run-5")
        self.write_metadata("other", step=1, timestamp="1999-01-01T00:00:00")
        with self.assertLogs("tessera.eformer.serialization._runs", "WARNING"):
            self.assertEqual(self.latest(), "other")

    def test_the_base_itself_may_be_one(self):
        self.write_metadata(".", step=1, timestamp="2026-01-01T00:00:00")
        self.assertEqual(self.latest(), ".")


class SaveAndLoadTest(CheckpointerCase):
    def test_structured_trees_of_several_prefixes(self):
        run = self.run_with()
        for prefix in ("model", "opt"):
            run.save_checkpoint({"l": [np.full(2, len(prefix)), 3]}, "run-8", prefix=prefix,
                                structured=True, extras={"of": prefix})
        self.assertEqual(self.metadata("run-8")["step"], 8)
        tree, extras = run.load_checkpoint(None, prefix="opt", structured=True)
        self.assertEqual((tree["l"][0][0], tree["l"][1], extras), (3, 3, {"of": "opt", "step": 8}))
        tree, _ = run.load_checkpoint(None, prefix="model")
        self.assertEqual(tree["l"]["0"][0], 5)
        for call in (lambda: run.save_checkpoint(TREE, "x", structured=True),
                     lambda: run.load_checkpoint(None, structured=True)):
            with self.assertRaisesRegex(ValueError, "needs a prefix"):
                call()

    def test_callbacks_of_a_save_see_it_complete(self):
        run = self.run_with()
        seen = []
        run.save_checkpoint(TREE, "run-2", dtype="bf16", is_temporary=True,
                            commit_callback=lambda: seen.append(self.steps()))
        self.assertEqual(seen, [{"run-2": True}])
        tree, _ = run.load_checkpoint(None, path=str(self.base / "run-2"), discover_latest=False)
        self.assertEqual(str(tree["w"].dtype), "bfloat16")

    def test_pytrees_and_where_they_go(self):
        run = self.run_with()
        self.assertEqual(run.save_pytree(TREE, "m", step=3), str(self.base / "run-3"))
        self.assertEqual(run.save_pytree(TREE, "m", step=4, destination="x"), str(self.base / "x"))
        self.assertEqual(run.save_pytree(TREE, "m", destination="y"), str(self.base / "y"))
        self.assertEqual(run.save_pytree(TREE, "m"), str(self.base))
        self.assertEqual(self.steps(), {"run-3": False, "x": False})
        with self.assertRaisesRegex(ValueError, "prefix"):
            run.save_pytree(TREE, "")

    def test_pytrees_come_back_with_what_was_kept(self):
        run = self.run_with()
        run.save_pytree({"l": [np.arange(2), "x"]}, "m", step=3, extras={"a": 1})
        tree, about = run.load_pytree(None, prefix="m", load_treedef=True)
        self.assertEqual(tree["l"][1], "x")
        self.assertEqual((about["a"], about["step"], about["is_temporary"]), (1, 3, False))
        tree, about = run.load_pytree(None, prefix="m", dtype="bf16", chunk_size=1)
        self.assertEqual((list(tree["l"]), about["custom_metadata"]), (["0"], {"a": 1, "step": 3}))
        tree, _ = run.load_pytree(None, prefix="m", load_treedef=True,
                                  template={"l": [np.zeros(2), ""]})
        self.assertEqual(tree["l"][0][1], 1)

    def test_without_a_checkpoint_who_asks_for_it_gets_none(self):
        run = self.run_with()
        self.assertEqual(run.load_pytree(None, prefix="m", discover_raise=False), (None, {}))
        for call in (lambda: run.load_pytree(None, prefix="m"), lambda: run.load_checkpoint(None)):
            with self.assertRaisesRegex(FileNotFoundError, "runs: there is no checkpoint"):
                call()


if __name__ == "__main__":
    unittest.main()
