"""Managers and checkpointers in several JAX processes."""

import json
import unittest

import numpy as np

import distributed_case
import tessera

STATE = """
    from tessera.eformer.serialization import (
        AsyncCheckpointManager, CheckpointInterval, CheckpointManager, Checkpointer)
    import datetime

    expected = {"w": np.arange(32.0).reshape(8, 4), "b": np.arange(8, dtype=np.int32)}

    def tree(mesh, add=0):
        return {"layer": {"w": spread(expected["w"] + add, mesh, P("dp", "tp")),
                          "b": spread(expected["b"], mesh, P())}, "step": add, "l": [None, "x"]}

    def same(found, add=0):
        return here(found["layer"]["w"])(expected["w"] + add) and here(found["layer"]["b"])(
            expected["b"])
"""


class DistributedManagersTest(distributed_case.DistributedCase):
    def test_a_manager_saves_and_loads_what_processes_share(self):
        told = self.processes(STATE + """
    manager = AsyncCheckpointManager(enable_validation=True)
    manager.save_pytree(tree(mesh(2, 2)), folder + "/p", prefix="model", extras={"a": 1})
    found, extras = manager.load_pytree(folder + "/p", mesh(4, 1), prefix="model")
    tell(same(found), found["l"], extras)
    manager.save_tree(tree(mesh(2, 2)), folder + "/t", metadata={"b": 2})
    found, metadata = manager.load(folder + "/t", mesh(1, 4), validate=True,
                                   partition_rules=[("w", P("tp")), (".*", P())])
    tell(same(found), str(found["layer"]["w"].sharding.spec), metadata["custom_metadata"],
         sorted(metadata["checksum"]))
    path = CheckpointManager.save_checkpoint(tree(mesh(2, 2)), folder + "/m.safetensors", None,
                                             float_dtype="float64")
    found, _ = CheckpointManager.load_checkpoint(path)
    tell(np.asarray(found["layer"]["w"]).tolist() == expected["w"].tolist())
    """, 2)
        self.assertEqual(told, [[
            [True, [None, "x"], {"a": 1}],
            [True, "P('tp',)", {"b": 2}, ["layer.b", "layer.w"]],
            [True]]] * 2)
        loaded = tessera.load(self.folder / "p", prefix="model")
        np.testing.assert_array_equal(loaded["layer"]["w"], np.arange(32.0).reshape(8, 4))

    def test_process_0_decides_when_a_step_is_saved(self):
        told = self.processes(STATE + """
    # Only the clock of process 0 says that it is time.
    ticks = iter(range(0, 10000, 400))
    def now():
        return datetime.datetime(2026, 1, 1) + datetime.timedelta(
            seconds=next(ticks) if rank == 0 else 0)
    run = Checkpointer(folder + "/runs", datetime.timedelta(minutes=20), [CheckpointInterval(5)],
                       dt_now_injection=now)
    for step in range(8):
        run.on_step(mesh(2, 2), tree(mesh(2, 2), step), step=step)
    run.wait_until_finished()
    found, about = run.load_checkpoint(mesh(4, 1), partition_rules=[(".*", P())])
    last = about["custom_metadata"]["step"]
    tell(last, same(found, last))
    tell(run.save_pytree(tree(mesh(2, 2)), "model", step=9)[len(folder):])
    found, about = run.load_pytree(mesh(2, 2), prefix="model", load_treedef=True)
    tell(same(found), about["step"])
    """, 2)
        self.assertEqual(told[0], told[1])
        (last, same), (path,), (same_again, step) = told[0]
        self.assertTrue(same and same_again)
        self.assertEqual((path, step), ("/runs/run-9", 9))
        kept = {folder.name: json.loads((folder / "metadata.json").read_text())["is_temporary"]
                for folder in (self.folder / "runs").iterdir()}
        self.assertEqual(kept.pop("run-9"), False)
        self.assertEqual(kept.pop("run-5"), False)
        self.assertIn(kept, [{}, {f"run-{last}": True}])

    def test_an_error_of_one_process_is_everybodys(self):
        told = self.processes(STATE + """
    manager = AsyncCheckpointManager()
    bad = tree(mesh(2, 2))
    if rank == 1:
        bad["layer"]["extra"] = np.ones(3)
    def save():
        manager.save_pytree(bad, folder + "/p", prefix="model")
    tell(outcome(save).partition(":")[0])
    """, 2)
        self.assertNotIn([["fine"]], told)
        self.assertFalse((self.folder / "p" / "tensorstore_index.json").exists())


if __name__ == "__main__":
    unittest.main()
