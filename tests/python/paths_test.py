"""tessera.eformer.paths: local paths, Google's by a client that is made up, arrays and dicts."""

import os
import pathlib
import pickle
import sys
import unittest
from unittest import mock

import ml_dtypes
import numpy as np

import python_case
from tessera.eformer import paths
from tessera.eformer.paths import GCSPath, LocalPath, MLUtilPath, PathManager, ePath


class NotFound(Exception):
    code = 404


class FakeBlob:
    def __init__(self, bucket, name):
        self.bucket, self.name = bucket, name
        self.updated = self.time_created = None
        self.etag, self.content_type, self.generation = "e", "t", 1

    def exists(self):
        return self.name in self.bucket.objects

    def upload_from_string(self, data, content_type):
        self.bucket.objects[self.name] = data.encode() if isinstance(data, str) else data

    def download_as_bytes(self):
        if not self.exists():
            raise NotFound(self.name)
        return self.bucket.objects[self.name]

    def delete(self):
        del self.bucket.objects[self.name]

    def reload(self):
        self.size = len(self.bucket.objects[self.name])


class FakePage(list):
    prefixes = ()


class FakeBucket:
    """A bucket in memory; also the client, as there is only one bucket."""

    def __init__(self):
        self.objects = {}

    def bucket(self, name):
        assert name == "bucket"
        return self

    def blob(self, name):
        return FakeBlob(self, name)

    def exists(self):
        return True

    def list_blobs(self, bucket=None, prefix="", delimiter=None, max_results=None):
        names = sorted(name for name in self.objects if name.startswith(prefix))
        if delimiter is None:
            return [FakeBlob(self, name) for name in names[:max_results]]
        page = FakePage(FakeBlob(self, n) for n in names if "/" not in n[len(prefix):])
        page.prefixes = sorted({prefix + n[len(prefix):].split("/")[0] + "/" for n in names
                                if "/" in n[len(prefix):]})
        return mock.Mock(pages=[page])


class ProtocolTest(unittest.TestCase):
    def test_schemes_tell_where_a_path_points(self):
        for path, protocol in [("/a/b", "file"), ("a", "file"), ("file:///a", "file"),
                               ("gs://b/c", "gs"), ("s3://b/c", "s3"), ("c:\\x", "file"),
                               (pathlib.Path("/x"), "file"), (LocalPath("gs://x"), "file"),
                               (GCSPath("gs://b/c"), "gs")]:
            self.assertEqual(paths.path_protocol(path), protocol, path)
            self.assertEqual(paths.is_remote_path(path), protocol != "file", path)
            self.assertEqual(paths.is_local_path(path), protocol == "file", path)

    def test_the_manager_makes_the_path_that_fits(self):
        client = object()
        manager = PathManager(gcs_client=client)
        self.assertIsInstance(manager("/x"), LocalPath)
        self.assertIsInstance(manager(pathlib.Path("x")), LocalPath)
        self.assertEqual(str(manager("file:///x/y")), "/x/y")
        self.assertIs(manager("gs://b/c").client, client)

    def test_paths_of_google_need_no_client_to_be_put_together(self):
        self.assertEqual(str(ePath("gs://b/c") / "d"), "gs://b/c/d")
        self.assertNotIn("google.cloud.storage", sys.modules)
        with mock.patch.dict(sys.modules, {"google.cloud": None}):
            with self.assertRaisesRegex(ImportError, "google-cloud-storage"):
                ePath("gs://b/c").exists()


class LocalPathTest(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.base = LocalPath(self.folder)

    def test_files_are_written_with_the_folders_above(self):
        path = self.base / "a" / "b.txt"
        self.assertFalse(path.exists())
        path.write_text("hä")
        self.assertEqual((path.read_text(), path.read_bytes()), ("hä", "hä".encode()))
        self.assertTrue(path.is_file() and path.parent.is_dir() and not path.is_dir())
        self.assertEqual(path.stat()["size"], 3)
        path.write_text("hä", encoding="latin-1")
        self.assertEqual(path.read_bytes(), b"h\xe4")

    def test_a_file_is_replaced_in_one_step(self):
        path = self.base / "f"
        path.write_bytes(b"old")
        os.chmod(path, 0o640)
        with mock.patch("os.replace", side_effect=OSError("full")):
            with self.assertRaisesRegex(OSError, "full"):
                path.write_bytes(b"new")
        self.assertEqual(path.read_bytes(), b"old")
        path.write_bytes(b"new")
        self.assertEqual(path.read_bytes(), b"new")
        self.assertEqual(path.stat()["mode"] & 0o777, 0o640)
        self.assertEqual([item.name for item in self.base.iterdir()], ["f"])

    def test_writing_to_a_link_writes_to_what_it_points_to(self):
        (self.base / "to").write_text("old")
        os.symlink(self.folder / "to", self.folder / "link")
        (self.base / "link").write_text("new")
        self.assertEqual((self.base / "to").read_text(), "new")
        self.assertTrue(os.path.islink(self.folder / "link"))

    def test_a_folder_is_no_file(self):
        with self.assertRaises(IsADirectoryError):
            self.base.write_text("x")
        with self.assertRaises(FileNotFoundError):
            (self.base / "none").read_text()

    def test_listing_and_patterns(self):
        for name in ("a.txt", "b.log", "sub/c.txt"):
            (self.base / name).write_text("x")
        self.assertEqual({p.name for p in self.base.iterdir()}, {"a.txt", "b.log", "sub"})
        self.assertEqual({p.name for p in self.base.glob("*.txt")}, {"a.txt"})
        self.assertEqual({p.name for p in self.base.glob("**/*.txt")}, {"c.txt"})
        self.assertEqual({p.name for p in self.base.glob("**/*.txt", recursive=True)},
                         {"a.txt", "c.txt"})
        self.assertEqual(list((self.base / "a.txt").iterdir()), [])

    def test_names_and_parts(self):
        path = LocalPath("/data/model.tar.gz")
        self.assertEqual((path.name, path.suffix, path.stem(), path.suffixes()),
                         ("model.tar.gz", ".gz", "model.tar", [".tar", ".gz"]))
        self.assertEqual(path.parts(), ("/", "data", "model.tar.gz"))
        self.assertEqual([str(path.with_name("x")), str(path.with_suffix(".y")),
                          str(path.with_stem("z")), path.as_posix()],
                         ["/data/x", "/data/model.tar.y", "/data/z.gz", "/data/model.tar.gz"])
        self.assertEqual(str(path.relative_to(LocalPath("/data"))), "model.tar.gz")
        with self.assertRaises(ValueError):
            path.relative_to("/other")
        self.assertEqual((path, repr(path)), (LocalPath("/data/model.tar.gz"),
                                              "LocalPath('/data/model.tar.gz')"))
        self.assertTrue(path.is_absolute() and LocalPath("x").resolve().is_absolute())

    def test_moving_and_removing(self):
        path = self.base / "a"
        path.write_text("x")
        moved = path.rename(self.base / "b")
        self.assertEqual((path.exists(), moved.read_text()), (False, "x"))
        moved.unlink()
        moved.unlink(missing_ok=True)
        with self.assertRaises(FileNotFoundError):
            moved.unlink()
        (self.base / "d").mkdir()
        with self.assertRaises(FileExistsError):
            (self.base / "d").mkdir(exist_ok=False)
        (self.base / "d").rmdir()
        self.assertEqual(list(self.base.iterdir()), [])


class GcsPathTest(unittest.TestCase):
    def setUp(self):
        self.client = FakeBucket()
        self.root = GCSPath("gs://bucket/run", self.client)

    def test_objects_are_written_read_and_removed(self):
        path = self.root / "a.json"
        self.assertFalse(path.exists())
        with self.assertRaisesRegex(FileNotFoundError, "gs://bucket/run/a.json"):
            path.read_text()
        path.write_text("hä")
        self.assertEqual((path.read_text(), path.stat()["size"]), ("hä", 3))
        self.assertTrue(path.is_file() and self.root.is_dir())
        moved = path.rename(self.root / "b.json")
        self.assertEqual((moved.read_text(), path.exists()), ("hä", False))
        moved.unlink()
        moved.unlink(missing_ok=True)
        with self.assertRaises(FileNotFoundError):
            moved.unlink()

    def test_folders_are_what_names_make(self):
        self.root.mkdir()
        self.assertEqual(list(self.client.objects), ["run/.keep"])
        (self.root / "sub" / "x.txt").write_text("x")
        (self.root / "y.txt").write_text("y")
        self.assertEqual([p.name for p in self.root.iterdir()], [".keep", "y.txt", "sub"])
        self.assertEqual([p.name for p in self.root.glob("*.txt")], ["y.txt"])
        self.assertEqual([p.name for p in self.root.glob("*/x.txt")], ["x.txt"])
        self.assertEqual([p.name for p in self.root.glob("**/*.txt", recursive=True)],
                         ["x.txt", "y.txt"])
        with self.assertRaisesRegex(OSError, "not empty"):
            self.root.rmdir()
        with self.assertRaises(FileExistsError):
            self.root.mkdir(exist_ok=False)

    def test_names_and_parts(self):
        path = GCSPath("gs://bucket/a/b.tar.gz", self.client)
        self.assertEqual((path.name, path.suffix, path.stem(), path.suffixes()),
                         ("b.tar.gz", ".gz", "b.tar", [".tar", ".gz"]))
        self.assertEqual(path.parts(), ("gs://", "bucket", "a", "b.tar.gz"))
        self.assertEqual(str(path.parent), "gs://bucket/a/")
        self.assertEqual(str(path.with_suffix(".x")), "gs://bucket/a/b.tar.x")
        self.assertEqual(str(path.relative_to(GCSPath("gs://bucket/a"))), "gs://bucket/b.tar.gz")
        bucket = GCSPath("gs://bucket", self.client)
        self.assertEqual((bucket.name, bucket.blob), ("bucket", None))
        with self.assertRaisesRegex(ValueError, "bucket"):
            bucket.write_text("x")
        with self.assertRaisesRegex(ValueError, "gs://"):
            GCSPath("/local")


class ArraysAndDictsTest(python_case.PythonCase):
    def test_arrays_come_back_from_npy_files(self):
        manager, path = MLUtilPath(), self.folder / "a.npy"
        manager.save_jax_array(np.arange(6).reshape(2, 3), path)
        np.testing.assert_array_equal(manager.load_jax_array(str(path)), [[0, 1, 2], [3, 4, 5]])
        with self.assertRaisesRegex(ValueError, "bfloat16"):
            manager.save_jax_array(np.ones(2, ml_dtypes.bfloat16), path)
        with self.assertRaises(FileNotFoundError):
            manager.load_jax_array(self.folder / "none.npy")

    def test_dicts_come_back_from_json_with_arrays_as_lists(self):
        manager, path = MLUtilPath(), self.folder / "d.json"
        manager.save_dict({"a": np.arange(3), "b": (1, np.float32(2)), "c": {"d": "x"}}, path)
        self.assertEqual(manager.load_dict(path),
                         {"a": [0, 1, 2], "b": [1, 2.0], "c": {"d": "x"}})
        path.write_text("[1]")
        with self.assertRaisesRegex(ValueError, "expected a JSON object, found list"):
            manager.load_dict(path)
        with self.assertRaisesRegex(TypeError, "object"):
            manager.save_dict({"a": object()}, path)

    def test_pickles_are_neither_written_nor_loaded(self):
        manager, path = MLUtilPath(), self.folder / "a.pkl"
        path.write_bytes(pickle.dumps(np.arange(3)))
        for call in (lambda: manager.save_jax_array(np.arange(3), path, format="pickle"),
                     lambda: manager.load_jax_array(path, format="pickle"),
                     lambda: manager.save_dict({}, path, "pickle"),
                     lambda: manager.load_dict(path, "pickle")):
            with self.assertRaisesRegex(ValueError, "'pickle' is refused"):
                call()
        with self.assertRaisesRegex(ValueError, "unsupported format 'yaml'; expected 'json'"):
            manager.load_dict(path, "yaml")
        objects = self.folder / "objects.npy"
        np.save(objects, np.array([object()], dtype=object), allow_pickle=True)
        with self.assertRaisesRegex(ValueError, "allow_pickle"):
            manager.load_jax_array(objects)

    def test_trees_are_copied_also_to_other_storage(self):
        (self.folder / "src/sub").mkdir(parents=True)
        (self.folder / "src/sub/f").write_text("x")
        client = FakeBucket()
        manager = MLUtilPath(gcs_client=client)
        manager.copy_tree(str(self.folder / "src"), "gs://bucket/dst")
        self.assertEqual(client.objects["dst/sub/f"], b"x")
        manager.copy_tree(self.folder / "src", self.folder / "dst")
        self.assertEqual((self.folder / "dst/sub/f").read_text(), "x")
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            manager.copy_tree(self.folder / "nowhere", self.folder / "dst")


if __name__ == "__main__":
    unittest.main()
