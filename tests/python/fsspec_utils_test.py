"""fsspec_utils: local paths without fsspec, others with it, and which process is which."""

import asyncio
import sys
import unittest
from unittest import mock

import python_case
from tessera.eformer.serialization import fsspec_utils


class LocalTest(python_case.PythonCase):
    def test_files_and_folders_come_and_go(self):
        folder = f"file://{self.folder}/a/b"
        self.assertFalse(fsspec_utils.exists(folder))
        fsspec_utils.mkdirs(folder)
        fsspec_utils.mkdirs(self.folder / "a" / "b")
        self.assertTrue(fsspec_utils.exists(self.folder / "a" / "b"))
        (self.folder / "f").write_text("x")
        fsspec_utils.remove(self.folder / "f")
        with self.assertRaises(FileNotFoundError):
            fsspec_utils.remove(self.folder / "f")
        with self.assertRaisesRegex(IsADirectoryError, "recursive=True"):
            fsspec_utils.remove(self.folder / "a")
        fsspec_utils.remove(self.folder / "a", recursive=True)
        (self.folder / "g").write_text("x")
        asyncio.run(fsspec_utils.async_remove(str(self.folder / "g")))
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertNotIn("fsspec", sys.modules)

    def test_patterns_are_expanded(self):
        for name in ("a1.txt", "a2.txt", "b.log"):
            (self.folder / name).write_text("x")
        found = list(fsspec_utils.expand_glob(f"{self.folder}/*.txt"))
        self.assertEqual(found, [f"{self.folder}/a1.txt", f"{self.folder}/a2.txt"])
        self.assertEqual(list(fsspec_utils.expand_glob("x/y")), ["x/y"])
        self.assertEqual(list(fsspec_utils.expand_glob("f{1..3}")), ["f1", "f2", "f3"])

    def test_paths_are_joined_by_scheme(self):
        for lhs, rhs, joined in [("gs://b/d", "f", "gs://b/d/f"), ("/l", "gs://b/f", "gs://b/f"),
                                 ("/l", "f", "/l/f"), ("/l", "/m", "/m"),
                                 ("gs://b", "gs://c", "gs://c")]:
            self.assertEqual(fsspec_utils.join_path(lhs, rhs), joined)
        with self.assertRaisesRegex(ValueError, "gs://b.*s3://c"):
            fsspec_utils.join_path("gs://b", "s3://c")


class RemoteTest(unittest.TestCase):
    def test_other_schemes_go_through_fsspec(self):
        fsspec_utils.mkdirs("memory://base/d")
        self.assertTrue(fsspec_utils.exists("memory://base/d"))
        fsspec_utils.remove("memory://base", recursive=True)
        self.assertFalse(fsspec_utils.exists("memory://base/d"))

    def test_without_fsspec_they_are_told(self):
        with mock.patch.dict(sys.modules, {"fsspec": None, "fsspec.core": None}):
            with self.assertRaisesRegex(ImportError, "s3://b: .*fsspec"):
                fsspec_utils.exists("s3://b")


class ProcessTest(unittest.TestCase):
    def test_without_jax_there_is_one_process(self):
        self.assertEqual((fsspec_utils.jax.process_index(), fsspec_utils.jax.process_count()),
                         (0, 1))
        with self.assertRaisesRegex(AttributeError, "jax.devices"):
            fsspec_utils.jax.devices
        self.assertTrue(fsspec_utils.should_write_shared_checkpoint_files("gs://b"))

    def test_with_jax_its_word_counts(self):
        fake = mock.Mock()
        fake.process_index.return_value, fake.process_count.return_value = 2, 4
        with mock.patch.dict(sys.modules, {"jax": fake}):
            self.assertEqual(fsspec_utils.jax.process_index(), 2)
            self.assertEqual(fsspec_utils.jax.process_count(), 4)
            self.assertFalse(fsspec_utils.should_write_shared_checkpoint_files("gs://b"))
            self.assertTrue(fsspec_utils.should_write_shared_checkpoint_files("/b"))


if __name__ == "__main__":
    unittest.main()
