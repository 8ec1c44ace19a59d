"""The end of the interpreter, interrupts and forks, while saves and loads are under way."""

import time
import unittest

import numpy as np

import python_case
import tessera


SLOW = """
    import os, sys, time
    import numpy as np, tessera
    folder = sys.argv[1]
    def big(first):
        return {f"w{i}": np.full(1 << 20, first + i, np.float64) for i in range(8)}
    tessera.save(folder, {"old": np.arange(5)}, prefix="kept")
    def slowly(done, total):
        time.sleep(0.01)
"""


class ExitTest(python_case.PythonCase):
    def run_slow(self, text, **options):
        begin = time.monotonic()
        done = self.program(SLOW + text, self.folder / "c", **options)
        self.assertLess(time.monotonic() - begin, 60)
        return done

    def check_new(self):
        loaded = tessera.load(self.folder / "c", prefix="model")
        self.assertEqual({k: (v.min(), v.max()) for k, v in loaded.items()},
                         {f"w{i}": (i, i) for i in range(8)})
        self.assertEqual(tessera.load(self.folder / "c", prefix="kept")["old"].tolist(),
                         [0, 1, 2, 3, 4])

    def test_a_program_that_ends_waits_for_its_save(self):
        done = self.run_slow("""
    tessera.save(folder, big(0), prefix="model", background=True)
    """)
        self.assertEqual(done.stderr, "")
        self.check_new()

    def test_also_with_a_future_a_saver_and_callbacks_that_nobody_awaits(self):
        done = self.run_slow("""
    saver = tessera.Saver()
    future = saver.start(folder, big(0), prefix="model", progress=slowly,
                         commit_callback=lambda report: print("committed", report.arrays))
    future.add_done_callback(lambda _: print("done"))
    """)
        self.assertEqual((done.stdout.split(), done.stderr), (["committed", "8", "done"], ""))
        self.check_new()

    def test_a_saver_that_is_dropped_ends_its_save(self):
        self.run_slow("""
    tessera.Saver().start(folder, big(0), prefix="model", progress=slowly)
    """)
        self.check_new()

    def test_an_exception_on_the_way_out_does_not_lose_the_save(self):
        done = self.run_slow("""
    tessera.save(folder, big(0), prefix="model", background=True)
    raise SystemExit(3)
    """, check=False)
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        self.check_new()

    def test_a_save_that_fails_at_the_end_is_told(self):
        done = self.run_slow("""
    def fail(report): raise ValueError("not today")
    tessera.save(folder, big(0), prefix="model", background=True, commit_callback=fail)
    """)
        self.assertEqual(done.stderr,
                         "tessera: a save that was under way at exit failed: not today\n")

    def test_a_save_that_is_cut_off_leaves_the_old_state(self):
        done = self.run_slow("""
    import threading
    def cut(done, total):
        if done > 0: os._exit(0)
    tessera.save(folder, big(0), prefix="model", background=True, progress=cut)
    time.sleep(30)
    """)
        self.assertEqual(done.stderr, "")
        self.assertEqual(tessera.load(self.folder / "c", prefix="kept")["old"].tolist(),
                         [0, 1, 2, 3, 4])
        tessera.save(self.folder / "c", {"w": np.ones(2)}, prefix="model")
        self.assertEqual(tessera.load(self.folder / "c", prefix="model")["w"].tolist(), [1, 1])

    def test_a_load_that_runs_when_the_program_ends(self):
        done = self.run_slow("""
    tessera.save(folder, big(0), prefix="model")
    future = tessera.load(folder, prefix="model", background=True)
    """)
        self.assertEqual(done.stderr, "")

    def test_threads_of_the_program_that_still_save(self):
        # A daemon thread is in the middle of a save when the interpreter goes away under it.
        done = self.run_slow("""
    import threading
    def work():
        for i in range(10_000):
            tessera.save(folder, {"w": np.full(1000, i)}, prefix="model",
                         commit_callback=lambda report: None)
    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.3)
    """)
        self.assertEqual(done.stderr, "")
        values = set(tessera.load(self.folder / "c", prefix="model")["w"].tolist())
        self.assertEqual(len(values), 1)

    def test_arrays_that_outlive_the_module(self):
        self.run_slow("""
    import builtins
    builtins.kept = tessera.load(folder, prefix="kept")
    builtins.opened = tessera.open(folder)
    """)


class InterruptTest(python_case.PythonCase):
    def interrupt(self, text, **options):
        """Runs a text that is sent Ctrl-C half a second after it says "ready"."""
        return self.program(SLOW + """
    import signal, threading
    def later(seconds=0.3):
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    def interrupted(function):
        begin = time.monotonic()
        try:
            function()
            print("no interrupt")
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - begin < 5)
    """ + text, self.folder / "c", **options).stdout.split()

    def test_ctrl_c_ends_the_wait_for_a_future(self):
        self.assertEqual(self.interrupt("""
    gate = threading.Event()
    future = tessera.save(folder, big(0), prefix="model", background=True,
                          commit_callback=lambda report: gate.wait(60) and None)
    later()
    interrupted(future.result)
    later()
    interrupted(tessera.wait_until_finished)
    gate.set()
    print(future.result(60).arrays)
    """), ["interrupted", "True", "interrupted", "True", "8"])

    def test_ctrl_c_stops_a_save(self):
        self.assertEqual(self.interrupt("""
    begun = threading.Event()
    def slow(done, total):
        begun.set()
        time.sleep(0.5)
    threading.Thread(target=lambda: (begun.wait(60), later(0))).start()
    interrupted(lambda: tessera.save(folder, big(0), prefix="model", progress=slow))
    print(tessera.load(folder, prefix="kept")["old"].tolist() == [0, 1, 2, 3, 4])
    print(tessera.save(folder, big(1), prefix="model").arrays)
    """), ["interrupted", "True", "True", "8"])

    def test_ctrl_c_stops_a_load(self):
        self.assertEqual(self.interrupt("""
    tessera.save(folder, big(0), prefix="model")
    begun = threading.Event()
    def slow(array, key):
        begun.set()
        time.sleep(0.5)
        return array
    threading.Thread(target=lambda: (begun.wait(60), later(0))).start()
    interrupted(lambda: tessera.load(folder, prefix="model", callback=slow))
    print(len(tessera.load(folder, prefix="model")))
    """), ["interrupted", "True", "8"])


class ForkTest(python_case.PythonCase):
    """A forked process starts anew; savers and futures stay with the process that made them."""

    def forked(self, text):
        return self.program(SLOW + """
    import warnings
    warnings.simplefilter("ignore")
    def in_child(function):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                function()
                code = 0
            except BaseException as error:
                print(type(error).__name__, error, flush=True)
            finally:
                sys.stdout.flush()
                os._exit(code)
        begin = time.monotonic()
        while time.monotonic() - begin < 40:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                print("child", os.waitstatus_to_exitcode(status), flush=True)
                return
            time.sleep(0.02)
        os.kill(child, 9)
        print("child hangs", flush=True)
    """ + text, self.folder / "c").stdout.splitlines()

    def test_a_child_saves_and_loads_after_its_parent_has(self):
        self.assertEqual(self.forked("""
    tessera.save(folder, big(0), prefix="model")
    def work():
        tessera.save(folder, big(5), prefix="child")
        print(len(tessera.load(folder, prefix="model")), tessera.load(folder, prefix="child")["w1"][0])
    in_child(work)
    print(tessera.save(folder, big(1), prefix="model").arrays)
    """), ["8 6.0", "child 0", "8"])

    def test_a_child_that_is_forked_while_a_save_runs(self):
        self.assertEqual(self.forked("""
    future = tessera.save(folder + "/a", big(0), background=True, progress=slowly)
    def work():
        tessera.save(folder + "/b", big(5), background=True).result()
        print(tessera.load(folder + "/b")["w1"][0])
    in_child(work)
    print(future.result().arrays, len(tessera.load(folder + "/a")))
    """), ["6.0", "child 0", "8 8"])

    def test_what_belongs_to_the_parent_says_so(self):
        self.assertEqual(self.forked("""
    saver = tessera.Saver()
    future = saver.start(folder + "/a", big(0), progress=slowly)
    opened = tessera.open(folder)
    def work():
        try:
            future.result()
        except ValueError as error:
            print(error)
        saver.start(folder + "/b", big(5)).result()
        print(opened["kept.old"][1:3].tolist(), tessera.load(folder + "/b")["w1"][0])
    in_child(work)
    print(future.result().arrays)
    """), ["this save runs in the process that was forked from, not here",
           "[1, 2] 6.0", "child 0", "8"])

    def test_a_child_that_just_ends(self):
        self.assertEqual(self.forked("""
    saver = tessera.Saver()
    future = saver.start(folder + "/a", big(0), progress=slowly)
    child = os.fork()
    if child == 0:
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), future.result().arrays)
    """), ["0 8"])

    def test_multiprocessing_by_fork(self):
        self.assertEqual(self.forked("""
    import multiprocessing
    tessera.save(folder + "/0", {"w": np.zeros(10)})
    def work(i):
        tessera.save(f"{folder}/{i}", {"w": np.full(10, i)})
        return float(tessera.load(f"{folder}/{i}")["w"].sum())
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(pool.map(work, range(1, 7)))
    """), ["[10.0, 20.0, 30.0, 40.0, 50.0, 60.0]"])


if __name__ == "__main__":
    unittest.main()
