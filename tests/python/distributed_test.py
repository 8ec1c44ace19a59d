"""Saves and loads by several JAX processes, which meet through jax.distributed."""

import threading
import unittest

import ml_dtypes
import numpy as np

import distributed_case
import tessera
from tessera import _core

# A model's state, the same in every process; {0} is what the checkpoint's numbers begin with.
STATE = """
    def state(first=0):
        return {
            "both": np.arange(first, first + 16 * 24, dtype=np.float32).reshape(16, 24),
            "rows": np.arange(first, first + 64, dtype=np.int64).reshape(16, 4),
            "columns": (np.arange(first, first + 48) / 7).astype(ml_dtypes.bfloat16).reshape(3, 16),
            "copied": np.arange(first, first + 9, dtype=np.float64),
            "crossed": np.arange(first, first + 256, dtype=np.int16).reshape(16, 16),
            "scalar": np.float32(first + 0.5),
        }

    SPECS = {"both": P("dp", "tp"), "rows": P("dp"), "columns": P(None, "tp"), "copied": P(),
             "crossed": P(("tp", "dp"), None), "scalar": P()}

    def placed(values, mesh, specs=None):
        return {k: spread(v, mesh, (specs or SPECS)[k]) for k, v in values.items()}

    def differing(loaded, expected):
        return [k for k in expected if not here(loaded[k])(expected[k])]
"""


def state(first=0):
    names = {"np": np, "ml_dtypes": ml_dtypes}
    text = STATE[: STATE.index("    SPECS")]
    exec("if True:\n" + text, names)
    return names["state"](first)


class SaveTest(distributed_case.DistributedCase):
    def check_against_one_process(self, checkpoint, expected, **options):
        alone = self.folder / "alone"
        tessera.save(alone, expected, **options)
        self.assertEqual(self.cli("hash", checkpoint), self.cli("hash", alone))
        verified = self.cli("verify", checkpoint)
        self.assertEqual((verified["ok"], verified["problems"]), (True, []))
        self.assertEqual(tessera.open(checkpoint).prefixes, tessera.open(alone).prefixes)
        self.assert_same_arrays(tessera.load(checkpoint), expected)

    def save_and_load(self, count, save_sizes, load_sizes):
        told = self.processes(STATE + f"""
    values = state()
    report = tessera.save(folder + "/c", {{**placed(values, mesh{save_sizes}), "step": 7}})
    other = mesh{load_sizes}
    moved = {{"both": P("tp", "dp"), "rows": P(None, "tp"), "columns": P(), "copied": P(),
             "crossed": P("dp", "tp"), "scalar": P()}}
    loaded = tessera.load(
        folder + "/c", mesh=other, shardings={{k: NamedSharding(other, s) for k, s in moved.items()}})
    specs = [k for k, s in moved.items() if loaded[k].sharding != NamedSharding(other, s)]
    tell(report.arrays, report.nbytes, loaded["step"], differing(loaded, values), specs)
    """, count)
        expected = state()
        nbytes = sum(v.nbytes for v in expected.values())
        self.assertEqual(told, [[[len(expected), nbytes, 7, [], []]]] * count)
        self.check_against_one_process(self.folder / "c", {**expected, "step": 7})

    def test_two_processes_save_one_checkpoint_and_load_it_elsewhere(self):
        self.save_and_load(2, "(2, 2)", "(4, 1)")

    def test_four_processes_save_one_checkpoint_and_load_it_elsewhere(self):
        self.save_and_load(4, "(2, 4)", "(8, 1)")

    def test_rules_and_another_prefix(self):
        told = self.processes(STATE + """
    first, second = state(0), state(1000)
    here_mesh = mesh(2, 2)
    tessera.save(folder + "/c", placed(first, here_mesh), prefix="model")
    tessera.save(folder + "/c", placed(second, here_mesh), prefix="tx")
    loaded = tessera.load(folder + "/c", prefix="tx", mesh=mesh(1, 4),
                          rules=[("both|crossed", P("tp")), (".*", P())])
    tell(differing(loaded, second), [list(loaded[k].sharding.spec) for k in ("both", "rows")])
    loaded = tessera.load(folder + "/c", prefix="model", like=placed(second, here_mesh))
    tell(differing(loaded, first))
    """, 2)
        self.assertEqual(told, [[[[], [["tp"], []]], [[]]]] * 2)
        self.assertEqual(sorted(tessera.open(self.folder / "c").prefixes), ["model", "tx"])
        self.assertTrue(self.cli("verify", self.folder / "c")["ok"])

    def test_background_saves_follow_each_other_and_end_with_the_program(self):
        self.processes(STATE + """
    here_mesh = mesh(2, 2)
    saver = tessera.Saver()
    for first in range(5):
        saver.start(folder + "/c", placed(state(first), here_mesh))
    future = tessera.save(folder + "/d", placed(state(9), here_mesh), background=True)
    """, 2)
        self.assert_same_arrays(tessera.load(self.folder / "c"), state(4))
        self.assert_same_arrays(tessera.load(self.folder / "d"), state(9))

    def test_arrays_of_one_process_and_values_of_the_host(self):
        # What every process has alike is written once.
        told = self.processes(STATE + """
    tree = {"host": np.arange(10), "local": jax.numpy.ones(4) if rank < 0 else np.ones(4),
            "spread": spread(np.arange(8), mesh(4, names=("x",)), P("x"))}
    tessera.save(folder + "/c", tree)
    loaded = tessera.load(folder + "/c")
    tell(*[loaded[k].tolist() for k in sorted(tree)])
    """, 2)
        expected = [list(range(10)), [1.0] * 4, list(range(8))]
        self.assertEqual(told, [[expected]] * 2)

    def test_eformer_serialization(self):
        told = self.processes(STATE + """
    from tessera.eformer.serialization import serialization
    values = state()
    here_mesh = mesh(2, 2)
    serialization.tree_serialize_leaves(folder + "/c", placed(values, here_mesh), prefix="model")
    loaded = serialization.tree_deserialize_leaves(
        folder + "/c", mesh(4, 1), prefix="model",
        partition_rules=[("both", P("tp", "dp")), (".*", P())])
    tell(differing(loaded, values), list(loaded["both"].sharding.spec))
    """, 2)
        self.assertEqual(told, [[[[], ["tp", "dp"]]]] * 2)
        self.assertTrue(self.cli("verify", self.folder / "c")["ok"])


class FailureTest(distributed_case.DistributedCase):
    def test_a_process_that_dies_in_a_save_is_named_and_the_checkpoint_stays(self):
        told = self.processes(STATE + """
    here_mesh = mesh(2, 2)
    tessera.save(folder + "/c", placed(state(0), here_mesh))
    if rank == 1:
        from tessera import _core
        # The save begins on all, and then this process is gone without a word.
        _core.Saver.start = lambda *args: os._exit(0)
    tell(outcome(lambda: tessera.save(folder + "/c", placed(state(5), here_mesh), timeout=3)))
    tell(round(seconds) <= 6)
    end(1)
    """, 2)
        self.assertEqual(len(told[0]), 2)
        self.assertRegex(told[0][0][0], r"^TimeoutError: .*: rank 1 did not come within 3 s$")
        self.assertEqual(told[0][1], [True])
        self.assert_same_arrays(tessera.load(self.folder / "c"), state(0))
        self.assertTrue(self.cli("verify", self.folder / "c")["ok"])

    def test_a_process_that_dies_while_chunks_are_written(self):
        told = self.processes(STATE + """
    here_mesh = mesh(4, 2)
    tessera.save(folder + "/c", placed(state(0), here_mesh))
    def progress(done, total):
        if rank == 2 and done > 0:
            os._exit(0)
    tell(outcome(lambda: tessera.save(folder + "/c", placed(state(5), here_mesh), timeout=3,
                                      progress=progress)))
    end(2)
    """, 4)
        for rank in (0, 1, 3):
            self.assertRegex(told[rank][0][0], r"^TimeoutError: .*rank 2 did not come within 3 s$")
        self.assert_same_arrays(tessera.load(self.folder / "c"), state(0))
        self.assertTrue(self.cli("verify", self.folder / "c")["ok"])

    def test_a_callback_that_raises_fails_the_save_everywhere(self):
        told = self.processes(STATE + """
    here_mesh = mesh(2, 2)
    def callback(report):
        raise LookupError("no room on the board")
    tell(outcome(lambda: tessera.save(folder + "/c", placed(state(0), here_mesh),
                                      commit_callback=callback)))
    tell(outcome(lambda: tessera.save(folder + "/c", placed(state(1), here_mesh))))
    """, 2)
        self.assertEqual(told[0][0], ["LookupError: no room on the board"])
        self.assertRegex(told[1][0][0],
                         "(?s)^TesseraError: .* its commit_callback failed: .*LookupError: no room on the board")
        self.assertEqual([t[1] for t in told], [["fine"]] * 2)
        self.assert_same_arrays(tessera.load(self.folder / "c"), state(1))

    def test_other_trees_on_other_processes_are_the_same_error_on_all(self):
        told = self.processes(STATE + """
    here_mesh = mesh(2, 2)
    values = state()
    if rank == 1:
        values["extra"] = np.arange(4)
        SPECS["extra"] = P()
    tell(outcome(lambda: tessera.save(folder + "/c", placed(values, here_mesh))))
    values.pop("extra", None)
    tell(outcome(lambda: tessera.save(folder + "/c", placed(values, here_mesh))))
    """, 2)
        error = ("ValueError: rank 1 would save other arrays than rank 0: all ranks must give the "
                 "same tree of the same shapes, dtypes and shardings")
        self.assertEqual(told, [[[error], ["fine"]]] * 2)

    def test_a_leaf_that_one_process_cannot_save_is_told_to_the_others(self):
        told = self.processes(STATE + """
    here_mesh = mesh(2, 2)
    tree = {**placed(state(), here_mesh), "odd": np.array(["text"]) if rank == 1 else np.arange(2)}
    tell(outcome(lambda: tessera.save(folder + "/c", tree)))
    tell(seconds < 10)
    tree["odd"] = np.arange(2)
    tell(outcome(lambda: tessera.save(folder + "/c", tree)))
    """, 2)
        reason = "TypeError: odd: an array of dtype <U4 cannot be saved"
        self.assertEqual(told[1][0], [reason])
        self.assertEqual(told[0][0], [f"TesseraError: rank 1: {reason}"])
        self.assertEqual([t[1:] for t in told], [[[True], ["fine"]]] * 2)

    def test_a_save_that_is_cancelled_on_one_process_ends_on_all(self):
        told = self.processes(STATE + """
    here_mesh = mesh(2, 2)
    tessera.save(folder + "/c", placed(state(0), here_mesh))
    def progress(done, total):
        if rank == 1 and done == total:
            time.sleep(3)
    future = tessera.save(folder + "/c", placed(state(1), here_mesh), background=True,
                          progress=progress)
    if rank == 0:
        future.cancel()
    tell(outcome(future.result))
    tell(outcome(lambda: tessera.save(folder + "/c", placed(state(2), here_mesh))))
    """, 2)
        self.assertRegex(told[0][0][0], "^CancelledError: .*stopped")
        self.assertRegex(told[1][0][0], "^CancelledError: rank 0: .*stopped")
        self.assertEqual([t[1] for t in told], [["fine"]] * 2)
        self.assert_same_arrays(tessera.load(self.folder / "c"), state(2))

    def test_without_a_client_the_error_says_what_to_do(self):
        done = self.program("""
            import sys, types
            import tessera
            from tessera import _distributed, _jax
            _jax.process_count = lambda: 2
            _jax.distributed_client = lambda: None
            try:
                tessera.save(sys.argv[1], {"a": 1})
            except ValueError as error:
                print(error)
            """, self.folder / "c")
        self.assertEqual(done.stdout.strip(),
                         "there are 2 JAX processes, but jax.distributed is not initialized, so that "
                         "they cannot speak to each other; call jax.distributed.initialize() first")


class FakeClient:
    """The methods of JAX's client, over a dict of this process."""

    def __init__(self):
        self.values = {}
        self.changed = threading.Condition()
        self.broken = None

    def _check(self):
        if self.broken is not None:
            raise self.broken

    def key_value_set_bytes(self, key, value, allow_overwrite=False):
        with self.changed:
            self._check()
            if key in self.values:
                raise RuntimeError(f"ALREADY_EXISTS: key {key} already exists.")
            self.values[key] = value
            self.changed.notify_all()

    def blocking_key_value_get_bytes(self, key, timeout_in_ms):
        with self.changed:
            self.changed.wait_for(lambda: self.broken or key in self.values, timeout_in_ms / 1000)
            self._check()
            if key not in self.values:
                raise RuntimeError(f"DEADLINE_EXCEEDED: GetKeyValue() timed out with key: {key}")
            return self.values[key]

    def key_value_dir_get_bytes(self, key):
        with self.changed:
            self._check()
            return [(k, v) for k, v in self.values.items() if k.startswith(key)]

    def key_value_delete(self, key):
        with self.changed:
            self._check()
            for k in [k for k in self.values if k == key or k.startswith(key + "/")]:
                del self.values[k]


class CommTest(unittest.TestCase):
    def ranks(self, count, body, client=None):
        """What body(comm) gave or raised, for every rank on a thread of its own."""
        client = client or FakeClient()
        results = [None] * count

        def run(rank):
            comm = _core.Comm(client, rank, count, "session")
            try:
                results[rank] = body(comm)
            except BaseException as error:
                results[rank] = error

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        return results, client

    def test_every_process_hears_all(self):
        def body(comm):
            comm.barrier()
            return (comm.rank, comm.size, comm.all_gather(bytes([comm.rank]) * 3),
                    comm.broadcast(b"from %d" % comm.rank, root=2))

        results, client = self.ranks(3, body)
        everything = [b"\0\0\0", b"\1\1\1", b"\2\2\2"]
        self.assertEqual(results, [(r, 3, everything, b"from 2") for r in range(3)])
        self.assertEqual(client.values, {})

    def test_large_values_go_in_parts(self):
        largest = []

        class Client(FakeClient):
            def key_value_set_bytes(self, key, value, allow_overwrite=False):
                largest.append(len(value))
                super().key_value_set_bytes(key, value)

        value = bytes(range(256)) * 20_000
        results, _ = self.ranks(2, lambda comm: comm.broadcast(value, 0) == value, Client())
        self.assertEqual(results, [True, True])
        self.assertEqual(max(largest), 1 << 20)

    def test_an_error_of_one_is_the_error_of_all(self):
        def body(comm):
            comm.agree("the disk is full" if comm.rank == 1 else None)

        results, _ = self.ranks(2, body)
        self.assertEqual([(type(e), str(e)) for e in results],
                         [(ValueError, "rank 1: the disk is full")] * 2)

    def test_who_does_not_come_is_named(self):
        def body(comm):
            if comm.rank != 1:
                comm.barrier(timeout=0.3)

        results, _ = self.ranks(3, body)
        for rank in (0, 2):
            # It left before the others gave up, or they gave up on it.
            self.assertRegex(str(results[rank]), "rank 1")

    def test_an_abort_is_told_with_its_reason(self):
        def body(comm):
            if comm.rank == 0:
                comm.abort("out of paper")
            else:
                comm.barrier()

        results, _ = self.ranks(2, body)
        self.assertIsNone(results[0])
        self.assertEqual((type(results[1]), str(results[1])),
                         (tessera.TesseraError, "rank 0: out of paper"))

    def test_an_error_of_the_client_ends_the_call(self):
        client = FakeClient()
        client.broken = RuntimeError("UNAVAILABLE: connection refused")
        comm = _core.Comm(client, 0, 2, "session")
        with self.assertRaisesRegex(tessera.TesseraError, "UNAVAILABLE: connection refused"):
            comm.barrier()
        with self.assertRaisesRegex(ValueError, "the comm is broken since an earlier call"):
            comm.barrier()

    def test_something_else_than_bytes_is_an_error(self):
        class Client(FakeClient):
            def blocking_key_value_get_bytes(self, key, timeout_in_ms):
                return "text"

        with self.assertRaisesRegex(tessera.TesseraError, "something else than bytes"):
            _core.Comm(Client(), 0, 2, "session").barrier()

    def test_ctrl_c_comes_out_as_itself(self):
        class Client(FakeClient):
            def blocking_key_value_get_bytes(self, key, timeout_in_ms):
                raise KeyboardInterrupt

        client = Client()
        with self.assertRaises(KeyboardInterrupt):
            _core.Comm(client, 0, 2, "session").barrier()
        self.assertIn("session/gone/0", client.values)

    def test_wrong_arguments_are_refused(self):
        with self.assertRaisesRegex(ValueError, "rank 2 is none of 2 ranks"):
            _core.Comm(FakeClient(), 2, 2, "session")
        with self.assertRaisesRegex(ValueError, "does not end with a slash"):
            _core.Comm(FakeClient(), 0, 2, "session/")


if __name__ == "__main__":
    unittest.main()
