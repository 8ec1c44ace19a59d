"""What goes wrong by a caller's hand: arguments of the wrong kind, and functions that raise."""

import threading
import traceback
import unittest

import numpy as np

import python_case
import tessera


def tree(first=0.0, count=6):
    return {"w": np.arange(first, first + count), "s": {"b": np.full(3, first)}, "step": int(first)}


class ArgumentTest(python_case.PythonCase):
    def check(self, function, error, message):
        with self.assertRaises(error) as raised:
            function()
        self.assertIs(type(raised.exception), error)
        self.assertIn(message, str(raised.exception))

    def test_what_cannot_be_saved_is_named(self):
        looped = {}
        looped["self"] = looped
        deep = 1
        for _ in range(100_000):
            deep = [deep]
        for wrong, error, message in (
            ({"a": {"b": np.array(["x"])}}, TypeError, "a.b: an array of dtype <U1 cannot be saved"),
            ({"a": [np.array([None])]}, TypeError, "a.0: an array of dtype object cannot be saved"),
            ({"a": np.zeros(2, [("x", "f4")])}, TypeError, "a: an array of dtype"),
            (looped, ValueError, "nested too deeply, or contains itself"),
            (deep, ValueError, "nested too deeply, or contains itself"),
            ({1: np.ones(2), "1": np.ones(2)}, ValueError, "keys 1 and '1' cannot be sorted"),
            ({"a\ud800": np.ones(2)}, UnicodeEncodeError, "surrogates not allowed"),
            ({"a": np.ones(2), "b": "\ud800"}, UnicodeEncodeError, "surrogates not allowed"),
            ({"x" * 5000: np.ones(2)}, ValueError, "needs a file name of 5000 bytes"),
            (np.ones(3), ValueError, "a tree that is one array needs a prefix"),
        ):
            with self.subTest(message):
                self.check(lambda: tessera.save(self.folder / "c", wrong), error, message)
                self.assertFalse((self.folder / "c" / "tensorstore_index.json").exists())

    def test_wrong_options_of_a_save_are_named(self):
        for options, error, message in (
            ({"codec": "lzw"}, ValueError, "unknown codec 'lzw'"),
            ({"codec": 3}, TypeError, "codec: a str is expected, not int"),
            ({"format": "npz"}, ValueError, "format is 'npz'; expected"),
            ({"chunk_bytes": "1MB"}, TypeError, "chunk_bytes: an int"),
            ({"chunk_bytes": -1}, ValueError, "chunk_bytes is -1"),
            ({"chunk_bytes": 1 << 80}, TypeError, "chunk_bytes: an int of at most 64 bits"),
            ({"prefix": 3}, TypeError, "prefix: a str is expected, not int"),
            ({"side_files": {"a": "text"}}, TypeError, "side_files: bytes is expected, not str"),
            ({"side_files": {"../a": b""}}, ValueError, "side file '../a'"),
            ({"timeout": "soon"}, TypeError, "timeout: a float is expected, not str"),
            ({"timeout": 0}, ValueError, "timeout is 0 s; expected more than 0"),
            ({"commit_callback": 3}, TypeError, "commit_callback: a function is expected, not int"),
            ({"progress": 3}, TypeError, "progress is True, False or a function, not int"),
            ({"float_dtype": "float7"}, ValueError, "unknown dtype 'float7'"),
            ({"share": "yes"}, TypeError, "share: a bool is expected, not str"),
            ({"color": 1}, TypeError, "'color'"),
        ):
            with self.subTest(options):
                self.check(lambda: tessera.save(self.folder / "c", tree(), **options), error, message)
        self.check(lambda: tessera.save(3, tree()), TypeError, "a path is expected, not int")
        tessera.save(self.folder / "c", tree())
        self.assert_same_arrays(tessera.load(self.folder / "c"), tree())

    def test_wrong_options_of_a_load_are_named(self):
        tessera.save(self.folder / "c", tree())
        mesh = tessera.Mesh(["x"], [4])
        for options, error, message in (
            ({"mesh": 3}, TypeError, "mesh is a jax.sharding.Mesh or tessera.Mesh, not int"),
            ({"rules": 3}, TypeError, "rules is a list of pairs"),
            ({"rules": [("a",)]}, TypeError, "rule 0 is no pair of a pattern and a spec: ('a',)"),
            ({"rules": [(1, tessera.P())]}, TypeError, "pattern is a str or re.Pattern, not int"),
            ({"rules": [("a", 3)]}, TypeError, "a rule's spec is a PartitionSpec, not int"),
            ({"rules": [("(", tessera.P())], "mesh": mesh}, ValueError, "rule 0: pattern '('"),
            ({"rules": [("w", tessera.P())], "mesh": mesh}, ValueError, "s.b: no partition rule"),
            ({"rules": [(".*", tessera.P())]}, AssertionError, "needs a mesh"),
            ({"shardings": {"w": 3}}, TypeError, "a sharding is expected, not int"),
            ({"shardings": {"w": tessera.P("y")}, "mesh": mesh}, ValueError, "no axis 'y'"),
            ({"shardings": {"w": tessera.P("x")}, "mesh": mesh}, tessera.IndivisibleError, "w: shape"),
            ({"like": {**tree(), "extra": np.ones(1)}}, ValueError, "'extra' is missing"),
            ({"like": tree(count=7)}, ValueError, "'w' is stored as float64[6], not float64[7]"),
            ({"keys": "w"}, TypeError, "keys: a list of str is expected, not str"),
            ({"keys": ["nope"]}, KeyError, "no array 'nope'"),
            ({"match": 3}, TypeError, "match: a str is expected, not int"),
            ({"match": "("}, ValueError, "pattern '('"),
            ({"dtype": "float7"}, ValueError, "unknown dtype 'float7'"),
            ({"callback": 3}, TypeError, "callback: a function is expected, not int"),
            ({"chunk_size": "x"}, TypeError, "chunk_size: an int"),
            ({"prefix": 3}, TypeError, "prefix: a str is expected, not int"),
            ({"color": 1}, TypeError, "'color'"),
        ):
            with self.subTest(options):
                self.check(lambda: tessera.load(self.folder / "c", **options), error, message)
        self.check(lambda: tessera.load(self.folder / "d"), FileNotFoundError, "No such file")


class OwnError(Exception):
    pass


class CallbackTest(python_case.PythonCase):
    def test_what_a_commit_callback_raises_comes_out_and_the_checkpoint_is_there(self):
        error = OwnError("mine")

        def callback(report):
            raise error

        try:
            tessera.save(self.folder / "c", tree(1), commit_callback=callback)
            self.fail("nothing was raised")
        except OwnError as raised:
            self.assertIs(raised, error)
            names = [frame.name for frame in traceback.extract_tb(raised.__traceback__)]
        self.assertIn("callback", names)
        self.assert_same_arrays(tessera.load(self.folder / "c"), tree(1))
        tessera.save(self.folder / "c", tree(2))
        self.assert_same_arrays(tessera.load(self.folder / "c"), tree(2))

    def test_what_a_load_callback_raises_comes_out(self):
        tessera.save(self.folder / "c", tree(1))
        error = OwnError("mine")

        def callback(array, key):
            raise error

        with self.assertRaises(OwnError) as raised:
            tessera.load(self.folder / "c", callback=callback)
        self.assertIs(raised.exception, error)
        with self.assertRaises(OwnError):
            tessera.load(self.folder / "c", callback=callback, background=True).result()
        self.assert_same_arrays(tessera.load(self.folder / "c"), tree(1))

    def test_what_a_sharding_function_raises_comes_out(self):
        tessera.save(self.folder / "c", tree(1))

        def choose(info):
            raise OwnError(info["path"])

        with self.assertRaises(OwnError):
            tessera.load(self.folder / "c", shardings={"w": choose},
                         mesh=tessera.Mesh(["x"], [1]))

    def test_progress_that_raises_does_not_end_a_load_or_save_in_silence(self):
        def progress(done, total):
            raise OwnError("mine")

        with self.assertRaises(OwnError):
            tessera.save(self.folder / "c", tree(1), progress=progress)
        tessera.save(self.folder / "c", tree(2))
        with self.assertRaises(OwnError):
            tessera.load(self.folder / "c", progress=progress)
        self.assert_same_arrays(tessera.load(self.folder / "c"), tree(2))

    def test_a_callback_may_save_and_load_itself(self):
        seen = []

        def callback(report):
            tessera.save(self.folder / "inner", tree(5))
            seen.append(tessera.load(self.folder / "c")["step"])

        tessera.save(self.folder / "c", tree(1), commit_callback=callback)
        self.assertEqual(seen, [1])
        loaded = tessera.load(self.folder / "c",
                              callback=lambda array, key: tessera.load(self.folder / "inner")["step"])
        self.assertEqual(loaded["w"], 5)

    def test_done_callbacks_that_raise_harm_nobody(self):
        future = tessera.save(self.folder / "c", tree(1), background=True)
        called = threading.Event()
        future.add_done_callback(lambda _: 1 / 0)
        future.add_done_callback(lambda _: called.set())
        self.assertEqual(future.result(60).arrays, 2)
        self.assertTrue(called.wait(60))

    def test_the_error_of_a_background_save_is_told_by_the_next_one_as_well(self):
        def callback(report):
            raise OwnError("mine")

        saver = tessera.Saver()
        future = saver.start(self.folder / "c", tree(1), commit_callback=callback)
        with self.assertRaises(OwnError):
            future.result(60)
        with self.assertRaises(OwnError):
            saver.start(self.folder / "c", tree(2))
        saver.start(self.folder / "c", tree(3)).result(60)
        self.assert_same_arrays(tessera.load(self.folder / "c"), tree(3))


# Begins a save of 64 MiB that takes a while, since little is written at a time.
if __name__ == "__main__":
    unittest.main()
