"""Which process writes the files that all share, on local paths and on remote ones.

The writer, the paths and the number of the process are made up: nothing leaves this program.
"""

import datetime as dt
import json
import unittest
from unittest import mock

import numpy as np

import python_case
from tessera.eformer.serialization import async_manager, checkpointer, fsspec_utils, serialization

REMOTE = "gs://bucket/run"


class MemoryPath:
    """A path whose files lie in a dict."""

    def __init__(self, path, files, folders):
        self.path, self.files, self.folders = str(path), files, folders

    def __truediv__(self, name):
        return MemoryPath(f"{self.path.rstrip('/')}/{name}", self.files, self.folders)

    def __str__(self):
        return self.path

    def exists(self):
        return self.path in self.files

    def read_text(self):
        return self.files[self.path]

    def write_text(self, text):
        self.files[self.path] = text

    def mkdir(self, parents=True, exist_ok=True):
        self.folders.append(self.path)


class Writer:
    """A writer that is not tessera's; it keeps what it was told."""

    def __init__(self):
        self.saved, self.waits = [], 0

    def serialize_with_paths(self, arrays, paths, on_commit_callback=None):
        self.saved.append((list(arrays), list(paths)))
        on_commit_callback()

    def wait_until_finished(self):
        self.waits += 1


class SharedWritesCase(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.files, self.folders, self.events = {}, [], []

    def replace(self, module, name, value):
        patch = mock.patch.object(module, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def as_process(self, number, module):
        self.replace(fsspec_utils.jax, "process_index", lambda: number)
        self.replace(module, "ePath", lambda path: MemoryPath(path, self.files, self.folders))


class IndexTest(SharedWritesCase):
    def save(self, folder, process, **more):
        self.as_process(process, serialization)
        writer = Writer()
        committed = []
        serialization.tree_serialize_leaves(
            folder, {"b": np.arange(4), "a": {"w": np.ones((2, 3)), "n": None, "s": 3}}, writer,
            prefix="model", commit_callback=lambda: committed.append(True), **more)
        self.assertEqual(committed, [True])
        (arrays, paths), = writer.saved
        self.assertEqual(paths, [f"{folder}/model/a/w", f"{folder}/model/b"])
        self.assertEqual([array.shape for array in arrays], [(2, 3), (4,)])
        self.assertEqual(writer.waits, 0)
        return self.files.get(f"{folder}/tensorstore_index.json")

    def test_on_remote_storage_process_1_leaves_the_index_alone(self):
        self.assertIsNone(self.save(REMOTE, 1))
        self.assertEqual((self.files, self.folders), ({}, []))

    def test_on_remote_storage_process_0_writes_it(self):
        index = json.loads(self.save(REMOTE, 0))
        self.assertEqual(index["format"], "tensorstore")
        self.assertEqual(index["prefixes"]["model"], [
            {"path": "model/a/w", "shape": [2, 3], "dtype": "float64"},
            {"path": "model/b", "shape": [4], "dtype": "int64"}])

    def test_on_a_local_path_every_process_writes_it(self):
        self.assertIsNotNone(self.save("/local/run", 1))

    def test_without_write_index_nobody_does(self):
        self.assertIsNone(self.save("/local/run", 0, write_index=False))

    def test_other_prefixes_and_other_programs_fields_stay(self):
        self.files[f"{REMOTE}/tensorstore_index.json"] = json.dumps({
            "format": "tensorstore", "version": "9", "arrays": [], "more": 1,
            "prefixes": {"opt": [{"path": "opt/x", "shape": [], "dtype": "int8"}], "model": []},
            "tessera": {"schema": 1, "prefixes": {"opt": {"nbytes": 1}, "model": {"nbytes": 2}}}})
        index = json.loads(self.save(REMOTE, 0))
        self.assertEqual((index["version"], index["more"], index["arrays"]), ("9", 1, []))
        self.assertEqual(sorted(index["prefixes"]), ["model", "opt"])
        self.assertEqual(len(index["prefixes"]["model"]), 2)
        # What was noted of the list before does not hold for this one.
        self.assertEqual(index["tessera"]["prefixes"], {"opt": {"nbytes": 1}})

    def test_keys_neither_meet_nor_leave_the_folder(self):
        self.as_process(0, serialization)
        writer = Writer()
        serialization.tree_serialize_leaves(
            REMOTE, {"a.b": np.ones(1), "a": {"b": np.ones(2)}, "../x": np.ones(3)}, writer)
        paths = [path.removeprefix(REMOTE + "/") for path in writer.saved[0][1]]
        self.assertEqual(paths, ["%2E%2E%2Fx", "a/b", "a%2Eb"])
        index = json.loads(self.files[f"{REMOTE}/tensorstore_index.json"])
        self.assertEqual([record.get("key") for record in index["arrays"]],
                         [["../x"], None, ["a.b"]])


class ForeignLoadTest(SharedWritesCase):
    """What a writer that is not tessera's is asked for, by an index that anybody may have made."""

    def load(self, **index):
        self.as_process(0, serialization)
        self.files[f"{REMOTE}/tensorstore_index.json"] = json.dumps(
            {"format": "tensorstore", **index})
        writer = Writer()
        writer.deserialize_with_paths = lambda shardings, paths: [
            np.full(2, number) for number, _ in enumerate(paths)]
        return serialization.tree_deserialize_leaves(REMOTE, None, writer, prefix="m")

    def test_arrays_are_nested_by_their_keys(self):
        records = [{"path": "m/a%2Eb", "shape": [2], "dtype": "int64", "key": ["m", "a.b"]},
                   {"path": "m/c/0", "shape": [2], "dtype": "int64"}]
        found = self.load(prefixes={"m": records})
        self.assertEqual((list(found), list(found["c"])), (["a", "c"], ["0"]))

    def test_an_index_that_is_none_is_refused(self):
        for index, message in [
            ({"prefixes": []}, "prefixes: expected an object, found list"),
            ({"prefixes": {"m": 3}}, "expected a list of arrays, found int"),
            ({"prefixes": {"m": [3]}}, "array 0 has no path"),
            ({"prefixes": {"m": [{"path": "m/../../x", "shape": []}]}}, "leads out"),
            ({"prefixes": {"m": [{"path": "/x", "shape": []}]}}, "leads out"),
            ({"prefixes": {"x": []}}, r"no prefix 'm'; known are \['x'\]"),
            ({"format": "zarr"}, "expected the format 'tensorstore', found 'zarr'"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                self.load(**index)

    def test_no_index_is_an_error(self):
        self.as_process(0, serialization)
        with self.assertRaisesRegex(FileNotFoundError, "tensorstore_index.json"):
            serialization.tree_deserialize_leaves(REMOTE, None, Writer(), prefix="m")


class ManagerTest(SharedWritesCase):
    """AsyncCheckpointManager with a writer and a serializer that are made up."""

    def manager(self, process):
        self.as_process(process, async_manager)
        self.replace(async_manager, "tree_serialize_leaves", self.serialize)
        self.replace(async_manager, "_sync_remote_checkpoint_visibility",
                     lambda path, *, scope: self.events.append(("sync", str(path), scope)))
        manager = async_manager.AsyncCheckpointManager(use_tensorstore=True)
        manager._global_manager = self.writer = Writer()
        return manager

    def serialize(self, **arguments):
        self.events.append(("save", arguments["write_index"]))
        if arguments["write_index"]:
            self.files[f"{REMOTE}/tensorstore_index.json"] = json.dumps({
                "format": "tensorstore",
                "prefixes": {"model": [{"path": "model/w", "shape": [4], "dtype": "int64"}]}})

    def test_process_1_of_a_structured_save_only_saves_arrays(self):
        path = self.manager(1).save_pytree({"w": np.arange(4)}, REMOTE, prefix="model")
        self.assertEqual(path, REMOTE)
        self.assertEqual(self.events, [("save", False), ("sync", REMOTE, "save-pytree:model")])
        self.assertEqual((self.writer.waits, self.files, self.folders), (1, {}, []))

    def test_process_0_writes_structure_and_metadata_through_paths(self):
        self.manager(0).save_pytree({"w": np.arange(4), "n": 3}, REMOTE, prefix="model",
                                    extras={"step": 3})
        self.assertEqual(self.events, [("save", True), ("sync", REMOTE, "save-pytree:model")])
        self.assertEqual((self.writer.waits, self.folders), (1, [REMOTE]))
        structure = json.loads(self.files[f"{REMOTE}/model_structure.json"])
        self.assertEqual((structure["prefix"], structure["array_relpaths"], structure["extras"]),
                         ("model", ["model/w"], {"step": 3}))
        metadata = json.loads(self.files[f"{REMOTE}/checkpoint_metadata.json"])
        self.assertEqual(metadata["custom_metadata"], {"step": 3})

    def test_an_index_of_other_arrays_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "index and tree differ in model.other, model.w"):
            self.manager(0).save_pytree({"other": np.arange(4)}, REMOTE, prefix="model")

    def test_callers_hear_of_a_save_after_all_processes_can_see_it(self):
        for process in (1, 0):
            self.files.clear()
            self.events.clear()
            path = self.manager(process).save_tree(
                tree={"w": np.arange(4)}, path=REMOTE, mesh=object(), metadata={"step": 4},
                callback=lambda path: self.events.append(("callback", path)))
            self.assertEqual(path, REMOTE)
            self.assertEqual(self.events, [("save", process == 0),
                                           ("sync", REMOTE, "save-tree:root"),
                                           ("callback", REMOTE)])
            written = f"{REMOTE}/checkpoint_metadata.json" in self.files
            self.assertEqual(written, process == 0)


class CheckpointerTest(SharedWritesCase):
    def saved_folders(self, base, process):
        saved = mock.Mock()
        made = []
        self.replace(fsspec_utils, "mkdirs", made.append)
        self.replace(fsspec_utils.jax, "process_index", lambda: process)
        self.replace(checkpointer, "_write_checkpoint_metadata", mock.Mock())
        # Only what a save needs.
        run = object.__new__(checkpointer.Checkpointer)
        run.base_path, run._manager = base, saved
        run._dt_now_injection = lambda: dt.datetime(2026, 1, 1)
        run._last_save_time, run._last_save_step = run._dt_now_injection(), 0
        extras = {"loss": 1.0}
        path = run.save_pytree(tree={"w": np.arange(2)}, prefix="model", step=7, extras=extras)
        self.assertEqual(path, f"{base}/run-7")
        self.assertEqual(extras, {"loss": 1.0})
        arguments = saved.save_pytree.call_args.kwargs
        self.assertEqual((arguments["path"], arguments["prefix"], arguments["extras"]),
                         (path, "model", {"loss": 1.0, "step": 7}))
        return made

    def test_folders_on_remote_storage_are_made_by_process_0(self):
        self.assertEqual(self.saved_folders("gs://bucket/runs", 1), [])
        self.assertEqual(self.saved_folders("gs://bucket/runs", 0), ["gs://bucket/runs/run-7"])

    def test_local_folders_are_made_by_every_process(self):
        self.assertEqual(self.saved_folders("/local/runs", 1), ["/local/runs/run-7"])


class RemoteTest(python_case.PythonCase):
    def test_without_jax_remote_storage_is_refused_by_name(self):
        with self.assertRaisesRegex(NotImplementedError, "gs://b/c: tessera saves to local paths"):
            serialization.tree_serialize_leaves("gs://b/c", {"w": np.ones(2)})

    def test_visibility_is_waited_for_only_by_several_processes_on_remote_storage(self):
        async_manager._sync_remote_checkpoint_visibility("/local", scope="x")
        async_manager._sync_remote_checkpoint_visibility(REMOTE, scope="x")


if __name__ == "__main__":
    unittest.main()
