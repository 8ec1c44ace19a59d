"""tessera.open: arrays that are read when they are indexed."""

import unittest

import numpy as np

import python_case
import tessera


class OpenTest(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.array = np.arange(4 * 5 * 6).reshape(4, 5, 6)
        tessera.save(self.folder / "c", {"a": {"b": self.array}, "point": np.array(2.5)},
                     chunk_bytes=240)
        self.checkpoint = tessera.open(self.folder / "c")

    def test_it_is_a_mapping_of_what_is_stored(self):
        self.assertEqual(list(self.checkpoint), ["a.b", "point"])
        self.assertEqual(len(self.checkpoint), 2)
        self.assertIn("a.b", self.checkpoint)
        self.assertNotIn("a", self.checkpoint)
        lazy = self.checkpoint["a.b"]
        self.assertEqual((lazy.shape, lazy.dtype, lazy.ndim, lazy.size, lazy.nbytes, len(lazy)),
                         ((4, 5, 6), np.dtype("int64"), 3, 120, 960, 4))
        self.assertEqual(repr(lazy), "<LazyArray 'a.b' int64[4, 5, 6]>")
        self.assertEqual((self.checkpoint.format, self.checkpoint.sealed), ("tensorstore", True))

    def test_shapes_are_known_without_a_read(self):
        for chunk in (self.folder / "c" / "a" / "b").glob("[0-9]*"):
            chunk.unlink()
        checkpoint = tessera.open(self.folder / "c")
        self.assertEqual(checkpoint["a.b"].shape, (4, 5, 6))
        with self.assertRaises(tessera.DataLossError):
            checkpoint["a.b"][0]

    def test_indices_mean_what_they_mean_to_numpy(self):
        lazy = self.checkpoint["a.b"]
        for index in (0, -1, slice(None), slice(1, 3), (slice(None), 2), (..., -1), (0, 1, 2),
                      (slice(None, None, 2), slice(4, 0, -2), slice(-3, None)), slice(3, 1),
                      (1, ...), (), np.int64(2), slice(10, 20), (slice(None, None, -1),)):
            found = lazy[index]
            np.testing.assert_array_equal(found, self.array[index])
            self.assertEqual(np.shape(found), self.array[index].shape, index)
        self.assertEqual(self.checkpoint["point"][()], 2.5)

    def test_the_whole_array_is_one_of_numpys(self):
        np.testing.assert_array_equal(np.asarray(self.checkpoint["a.b"]), self.array)
        self.assertEqual(np.asarray(self.checkpoint["a.b"], np.float32).dtype, np.float32)

    def test_bad_indices(self):
        lazy = self.checkpoint["a.b"]
        for index, error in ((4, IndexError), (-5, IndexError), ((0, 0, 0, 0), IndexError),
                             ((..., ...), IndexError), ("x", TypeError), ([0, 1], TypeError),
                             (True, TypeError), (None, TypeError), (1.0, TypeError)):
            with self.assertRaises(error, msg=repr(index)):
                lazy[index]
        with self.assertRaises(ValueError):
            lazy[:: 0]

    def test_an_unknown_key_names_the_nearest(self):
        with self.assertRaisesRegex(KeyError, "'a.b'"):
            self.checkpoint["a.bb"]


if __name__ == "__main__":
    unittest.main()
