"""Threads, memory and event loops: what runs beside what, and what is given back."""

import asyncio
import gc
import os
import threading
import time
import unittest
import weakref

import numpy as np

import python_case
import tessera


def tree(first=0.0, count=6):
    return {"w": np.arange(first, first + count), "s": {"b": np.full(3, first)}, "step": int(first)}


def resident_bytes():
    """What this process holds, without what it has offered to the system."""
    with open("/proc/self/smaps_rollup") as status:
        found = {line.split()[0]: line.split()[1] for line in list(status)[1:]}
    return (int(found["Rss:"]) - int(found["LazyFree:"])) << 10


class OwnError(Exception):
    pass


class ThreadTest(python_case.PythonCase):
    def test_threads_save_and_load_at_once(self):
        errors = []

        def work(number):
            try:
                for round in range(5):
                    path = self.folder / f"c{number}"
                    expected = tree(10 * number + round, 1000)
                    tessera.save(path, expected)
                    self.assert_same_arrays(tessera.load(path), expected)
                    self.assertEqual(tessera.open(path)["w"][3], 10 * number + round + 3)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        self.assertEqual(errors, [])

    def test_threads_that_save_to_one_place_leave_one_whole_state(self):
        errors = []

        def work(number):
            for _ in range(5):
                try:
                    tessera.save(self.folder / "c", {"a": np.full(1000, number),
                                                     "b": np.full(10, number)})
                except (OSError, ValueError, tessera.TesseraError) as error:
                    errors.append(str(error))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        loaded = tessera.load(self.folder / "c")
        self.assertEqual(set(loaded["a"].tolist()), set(loaded["b"].tolist()))

    def ticks_during(self, function):
        """How often another thread got to run, and how long that was possible."""
        stop = threading.Event()
        gaps = []

        def tick():
            last = time.monotonic()
            while not stop.is_set():
                time.sleep(0.001)
                now = time.monotonic()
                gaps.append(now - last)
                last = now

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.monotonic()
        function()
        seconds = time.monotonic() - begin
        stop.set()
        thread.join()
        return len(gaps), max(gaps), seconds

    def test_other_threads_run_during_a_save_and_a_load(self):
        state = {f"w{i}": np.random.default_rng(i).random(1 << 20) for i in range(8)}
        for name, work in (("save", lambda: tessera.save(self.folder / "c", state, codec="zstd:9")),
                           ("load", lambda: tessera.load(self.folder / "c"))):
            count, longest, seconds = self.ticks_during(work)
            self.assertGreater(count, 5, (name, longest, seconds))
            self.assertLess(longest, max(0.5, seconds / 2), (name, count, seconds))


class MemoryTest(python_case.PythonCase):
    def assert_grown_by_less(self, most, before):
        # The sanitizer keeps what was freed, to catch who uses it.
        if "libasan" not in os.environ.get("LD_PRELOAD", ""):
            self.assertLess(resident_bytes() - before, most)

    def test_views_keep_their_memory_and_it_goes_with_them(self):
        tessera.save(self.folder / "c", {"w": np.arange(1 << 22, dtype=np.float64)})
        before = resident_bytes()
        loaded = tessera.load(self.folder / "c")
        view = loaded["w"][5:10]
        del loaded
        gc.collect()
        self.assertEqual(view.tolist(), [5, 6, 7, 8, 9])
        self.assertGreater(resident_bytes() - before, 24 << 20)
        del view
        gc.collect()
        self.assert_grown_by_less(8 << 20, before)

    def test_a_tree_is_let_go_once_it_is_saved(self):
        array = np.arange(10)
        gone = weakref.ref(array)
        future = tessera.save(self.folder / "c", {"w": array}, background=True)
        future.result(60)
        del array
        gc.collect()
        self.assertIsNone(gone())

    def test_a_shared_array_lives_until_the_save_has_ended(self):
        array = np.arange(1 << 20)
        gone = weakref.ref(array)
        gate = threading.Event()
        saver = tessera.Saver()
        future = saver.start(self.folder / "c", {"w": array}, share=True,
                             progress=lambda done, total: gate.wait(60))
        del array
        gate.set()
        future.result(60)
        del future
        gc.collect()
        deadline = time.monotonic() + 10
        while gone() is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertIsNone(gone())
        self.assertEqual(tessera.load(self.folder / "c")["w"][-1], (1 << 20) - 1)

    def test_callbacks_are_let_go(self):
        class Callback:
            def __call__(self, *arguments):
                return None

        callback = Callback()
        gone = weakref.ref(callback)
        tessera.save(self.folder / "c", tree(), commit_callback=callback, progress=callback)
        tessera.load(self.folder / "c", progress=callback)
        del callback
        gc.collect()
        self.assertIsNone(gone())

    def test_two_hundred_saves_and_loads_take_no_more_memory_than_ten(self):
        state = {f"w{i}": np.full(1 << 14, i, np.float32) for i in range(16)}

        def rounds(count):
            saver = tessera.Saver()
            for i in range(count):
                saver.start(self.folder / "c", state, side_files={"note": b"x" * 1000}).result(60)
                tessera.load(self.folder / "c")
                if i % 10 == 0:
                    with self.assertRaises(ValueError):
                        tessera.save(self.folder / "c", state, codec="nonsense")
            gc.collect()

        rounds(20)
        before = resident_bytes()
        rounds(200)
        self.assert_grown_by_less(16 << 20, before)


class AsyncioTest(python_case.PythonCase):
    def test_several_futures_are_awaited_together(self):
        async def main():
            savers = [tessera.Saver() for _ in range(4)]
            futures = [saver.start(self.folder / str(i), tree(i, 1000))
                       for i, saver in enumerate(savers)]

            async def wait(future):
                return await future

            reports = await asyncio.gather(*map(wait, futures))
            loads = await asyncio.gather(*(
                wait(tessera.load(self.folder / str(i), background=True)) for i in range(4)))
            return [r.arrays for r in reports], [l["step"] for l in loads]

        self.assertEqual(asyncio.run(main()), ([2] * 4, [0, 1, 2, 3]))

    def test_a_task_that_is_cancelled_leaves_the_save_alone(self):
        async def main():
            gate = threading.Event()
            future = tessera.save(self.folder / "c", tree(1), background=True,
                                  commit_callback=lambda report: gate.wait(60) and None)

            async def wait():
                return await future

            task = asyncio.create_task(wait())
            await asyncio.sleep(0.05)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            gate.set()
            return (await future).arrays

        self.assertEqual(asyncio.run(main()), 2)
        self.assertEqual(tessera.load(self.folder / "c")["step"], 1)

    def test_a_loop_that_ends_before_the_save(self):
        gate = threading.Event()

        async def main():
            future = tessera.save(self.folder / "c", tree(1), background=True,
                                  commit_callback=lambda report: gate.wait(60) and None)
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.ensure_future(self.wait(future)), 0.05)
            return future

        future = asyncio.run(main())
        gate.set()
        self.assertEqual(future.result(60).arrays, 2)

    @staticmethod
    async def wait(future):
        return await future

    def test_what_a_save_raises_is_raised_where_it_is_awaited(self):
        def callback(report):
            raise OwnError("mine")

        async def main():
            saver = tessera.Saver()
            try:
                await saver.start(self.folder / "c", tree(1), commit_callback=callback)
            finally:
                with self.assertRaises(OwnError):
                    saver.wait_until_finished()

        with self.assertRaises(OwnError):
            asyncio.run(main())

    def test_a_save_can_be_cancelled(self):
        tessera.save(self.folder / "c", tree(1))
        gate = threading.Event()
        saver = tessera.Saver()
        future = saver.start(self.folder / "c", tree(2), progress=lambda *_: gate.wait(60))
        future.cancel()
        gate.set()
        with self.assertRaises(tessera.CancelledError):
            future.result(60)
        with self.assertRaises(tessera.CancelledError):
            saver.wait_until_finished()
        self.assertEqual(tessera.load(self.folder / "c")["step"], 1)


if __name__ == "__main__":
    unittest.main()
