"""Managers and checkpointers held against eformer's own, both ways, with eight devices."""

import collections
import dataclasses
import importlib
import inspect
import operator
import pathlib
import sys
import unittest
import warnings

import python_case

jax = python_case.jax_with_devices(8)

import jax.numpy as jnp
import numpy as np
from jax.experimental.array_serialization.serialization import (
    GlobalAsyncCheckpointManager as JaxManager,
)
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import eformer.serialization as theirs
import tessera.eformer.serialization as ours
from eformer.serialization.checkpointer import find_latest_checkpoint as their_latest
from tessera.eformer.serialization.checkpointer import find_latest_checkpoint

sys.path.append(str(pathlib.Path(__file__).parents[1] / "peers"))
from peer_trees import MESHES, RandomTrees, difference, nested

jax.config.update("jax_enable_x64", True)

Moments = collections.namedtuple("Moments", "mu nu")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Record:
    w: object
    b: object


def mesh_of(axes):
    return Mesh(np.array(jax.devices()).reshape([size for _, size in axes]),
                [name for name, _ in axes])


ONE_AXIS = mesh_of(MESHES[0])


class InteropCase(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.ours = ours.AsyncCheckpointManager()
        self.theirs = theirs.AsyncCheckpointManager()

    def on_devices(self, trees, tree):
        """The same tree with JAX arrays under random shardings."""
        axes = trees.pick(MESHES)
        mesh = mesh_of(axes)

        def place(leaf):
            if not isinstance(leaf, np.ndarray):
                return leaf
            spec = [tuple(e) if isinstance(e, list) else e for e in trees.spec(axes, leaf.shape)]
            return jax.device_put(leaf, NamedSharding(mesh, P(*spec)))

        return jax.tree.map(place, tree)

    def assert_same(self, found, expected):
        self.assertIsNone(difference(found, expected))

    def random_tree(self, seed):
        trees = RandomTrees(seed)
        tree = {"at": trees.array("float32", [8, 4]), "tree": trees.tree()}
        return trees, tree, self.on_devices(trees, tree)


class PytreeTest(InteropCase):
    def test_eformer_loads_what_we_save(self):
        for seed in range(6):
            _, tree, placed = self.random_tree(seed)
            folder = self.folder / str(seed)
            self.ours.save_pytree(placed, folder, prefix="model", extras={"seed": seed})
            found, extras = self.theirs.load_pytree(str(folder), ONE_AXIS, prefix="model")
            self.assertEqual(jax.tree.structure(found), jax.tree.structure(tree))
            self.assert_same(found, tree)
            self.assertEqual(extras, {"seed": seed})
            found, metadata = self.theirs.load(str(folder), ONE_AXIS, prefix="model")
            self.assert_same(found, nested(tree))
            self.assertEqual(metadata["custom_metadata"], {"seed": seed})

    def test_we_load_what_eformer_saves(self):
        for seed in range(6):
            trees, tree, placed = self.random_tree(100 + seed)
            folder = self.folder / str(seed)
            self.theirs.save_pytree(placed, str(folder), ONE_AXIS, prefix="model",
                                    extras={"seed": seed})
            mesh = mesh_of(trees.pick(MESHES))
            found, extras = self.ours.load_pytree(folder, mesh, prefix="model")
            self.assertEqual(jax.tree.structure(found), jax.tree.structure(tree))
            self.assert_same(found, tree)
            self.assertEqual(extras, {"seed": seed})
            found, _ = self.ours.load_pytree(folder, mesh, prefix="model", template=placed)
            self.assert_same(found, tree)
            for leaf, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(placed)):
                if isinstance(leaf, jax.Array):
                    self.assertEqual(leaf.sharding, wanted.sharding)
            found, _ = self.ours.load(folder, ONE_AXIS, prefix="model")
            self.assert_same(found, nested(tree))

    def test_both_fill_a_folder_together(self):
        tree = {"w": jnp.arange(8.0), "n": 3}
        self.theirs.save_pytree(tree, str(self.folder), ONE_AXIS, prefix="a")
        self.ours.save_pytree(tree, self.folder, prefix="b")
        self.theirs.save_pytree(tree, str(self.folder), ONE_AXIS, prefix="c")
        for prefix in "abc":
            for manager in (self.ours, self.theirs):
                found, _ = manager.load_pytree(str(self.folder), ONE_AXIS, prefix=prefix)
                self.assert_same(found, tree)

    def test_containers_of_registered_types(self):
        tree = {"m": Moments(jnp.ones(3), (jnp.zeros(2),)), "r": Record(jnp.ones(2), jnp.ones(4)),
                "d": collections.defaultdict(list, k=jnp.ones(1)),
                "o": collections.OrderedDict(z=jnp.ones(1), a=jnp.ones(2))}
        self.ours.save_pytree(tree, self.folder / "ours", prefix="m")
        found, _ = self.theirs.load_pytree(str(self.folder / "ours"), ONE_AXIS, prefix="m")
        self.assertEqual(jax.tree.structure(found), jax.tree.structure(tree))
        self.theirs.save_pytree(tree, str(self.folder / "theirs"), ONE_AXIS, prefix="m")
        for name in ("ours", "theirs"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, _ = self.ours.load_pytree(self.folder / name, ONE_AXIS, prefix="m")
            self.assertIsInstance(found["m"], Moments)
            self.assertEqual([leaf.shape for leaf in jax.tree.leaves(found["o"])], [(1,), (2,)])
            found, _ = self.ours.load_pytree(self.folder / name, ONE_AXIS, prefix="m",
                                             template=tree)
            self.assertEqual(jax.tree.structure(found), jax.tree.structure(tree))

    def test_trees_without_structure(self):
        tree = {"l": [jnp.arange(8.0), {"w": jnp.ones((8, 2))}]}
        self.ours.save_tree(tree, self.folder, ONE_AXIS, metadata={"step": 3})
        found, metadata = self.theirs.load(str(self.folder), ONE_AXIS)
        self.assert_same(found, nested(tree))
        self.assertEqual(metadata["custom_metadata"], {"step": 3})

    def test_without_jax_the_structure_is_the_same(self):
        self.program("""
            import sys
            import numpy as np
            from tessera.eformer.serialization import AsyncCheckpointManager
            tree = {"l": [np.arange(8.0), {"w": np.ones((8, 2))}, None, "x", (3, 0.5)], "e": {}}
            AsyncCheckpointManager().save_pytree(tree, sys.argv[1], prefix="m")
            assert "jax" not in sys.modules
        """, self.folder)
        tree = {"l": [np.arange(8.0), {"w": np.ones((8, 2))}, None, "x", (3, 0.5)], "e": {}}
        found, _ = self.theirs.load_pytree(str(self.folder), ONE_AXIS, prefix="m")
        self.assertEqual(jax.tree.structure(found), jax.tree.structure(tree))
        self.assert_same(found, tree)


class JaxManagerTest(InteropCase):
    """JAX's own writer in our functions, as programs may have set it."""

    def setUp(self):
        super().setUp()
        self.ours._global_manager = JaxManager()
        self.tree = {"a": {"w": jnp.arange(16.0).reshape(8, 2)}, "n": np.arange(3), "s": 3}

    def test_it_writes_what_all_can_load(self):
        self.ours.save_pytree(self.tree, self.folder, prefix="m", extras={"k": 1})
        self.assertFalse((self.folder / ".tessera").exists())
        for manager in (self.ours, self.theirs, ours.AsyncCheckpointManager()):
            found, extras = manager.load_pytree(str(self.folder), ONE_AXIS, prefix="m")
            self.assert_same(found, self.tree)
            self.assertEqual(extras, {"k": 1})
        found, _ = self.ours.load(self.folder, ONE_AXIS, prefix="m", chunk_size=1, dtype="bf16",
                                  partition_rules=[("w", P("d")), (".*", P())])
        self.assertEqual((found["a"]["w"].sharding.spec, str(found["a"]["w"].dtype)),
                         (P("d"), "bfloat16"))

    def test_it_may_replace_what_tessera_wrote(self):
        ours.AsyncCheckpointManager().save_pytree({"old": np.ones(5)}, self.folder, prefix="m")
        self.ours.save_pytree(self.tree, self.folder, prefix="m")
        found, _ = ours.AsyncCheckpointManager().load_pytree(self.folder, ONE_AXIS, prefix="m")
        self.assert_same(found, self.tree)

    def test_keys_without_a_sharding_are_all_named(self):
        self.ours.save_tree(self.tree, self.folder)
        with self.assertRaisesRegex(ValueError, r"no sharding for a\.w, n on a mesh"):
            self.ours.load(self.folder, mesh_of(MESHES[1]))


class CheckpointerTest(InteropCase):
    def checkpointer(self, module):
        return module.Checkpointer(str(self.folder), None, [module.CheckpointInterval(1)])

    def test_each_finds_and_loads_the_latest_step_of_the_other(self):
        order = [(1, ours), (2, theirs), (3, ours), (4, theirs)]
        for step, module in order:
            tree = {"w": jnp.full(8, step), "n": [step]}
            path = self.checkpointer(module).save_pytree(tree, "model", step=step, mesh=ONE_AXIS)
            for find in (find_latest_checkpoint, their_latest):
                self.assertEqual(find(str(self.folder)), path)
            for other in (ours, theirs):
                found, about = self.checkpointer(other).load_pytree(ONE_AXIS, prefix="model",
                                                                    load_treedef=True)
                self.assertEqual((int(found["w"][0]), found["n"], about["step"]),
                                 (step, [step], step))

    def test_steps_by_policy_are_found_by_eformer(self):
        run = self.checkpointer(ours)
        for step in range(3):
            run.on_step(ONE_AXIS, {"w": jnp.full(8, step)}, step=step)
        self.assertEqual(their_latest(str(self.folder)), str(self.folder / "run-2"))
        found, _ = self.checkpointer(theirs).load_checkpoint(ONE_AXIS)
        self.assertEqual(int(found["w"][0]), 2)

    def test_temporary_steps_of_eformer_go(self):
        self.checkpointer(theirs).save_pytree({"w": jnp.ones(8)}, "m", step=1, temporary=True,
                                              mesh=ONE_AXIS)
        run = self.checkpointer(ours)
        run.on_step(ONE_AXIS, {"w": jnp.ones(8)}, step=2)
        run.wait_until_finished()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["run-2"])


def parameters(function):
    """Names, kinds and which may be left out."""
    return [(p.name, p.kind, p.default is p.empty)
            for p in inspect.signature(function).parameters.values()]


def public_names(module):
    """(name, function) of the functions and methods that a module defines."""
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__ or name.startswith("_"):
            continue
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            for method, function in inspect.getmembers(value, inspect.isroutine):
                if not method.startswith("_") or method == "__init__":
                    yield f"{name}.{method}", function


class SignaturesTest(unittest.TestCase):
    def test_everything_public_takes_what_it_takes_there(self):
        checked = 0
        for name in ("paths", "serialization.serialization", "serialization.async_manager",
                     "serialization.base_manager", "serialization.checkpointer",
                     "serialization.fsspec_utils"):
            module = importlib.import_module(f"tessera.eformer.{name}")
            for path, function in public_names(importlib.import_module(f"eformer.{name}")):
                found = operator.attrgetter(path)(module)
                self.assertEqual(parameters(found), parameters(function), f"{name}.{path}")
                checked += 1
        self.assertGreater(checked, 100)


class JaxArraysTest(InteropCase):
    def test_loads_without_a_mesh_give_arrays_of_jax(self):
        self.ours.save_tree({"w": np.arange(3, dtype=np.float32)}, self.folder)
        found = ours.tree_deserialize_leaves(self.folder, None)
        self.assertIsInstance(found["w"], jax.Array)

    def test_checksums_are_compared(self):
        manager = ours.AsyncCheckpointManager(enable_validation=True)
        sharding = NamedSharding(ONE_AXIS, P("d"))
        manager.save_tree({"w": jax.device_put(np.arange(8.0), sharding)}, self.folder)
        found, _ = manager.load(self.folder, ONE_AXIS, shardings={"w": sharding})
        self.assertEqual(found["w"].sharding, sharding)

    def test_safetensors_from_shards(self):
        sharding = NamedSharding(ONE_AXIS, P("d"))
        tree = {"w": jax.device_put(np.arange(16, dtype=np.float32), sharding)}
        path = ours.CheckpointManager.save_checkpoint(tree, self.folder / "m.safetensors",
                                                      ONE_AXIS, float_dtype=jnp.float32)
        found, _ = ours.CheckpointManager.load_checkpoint(
            path, {"w": lambda array: jax.device_put(array, sharding)})
        self.assertEqual(found["w"].sharding, sharding)
        self.assert_same(found, tree)
        found, _ = theirs.CheckpointManager.load_checkpoint(path)
        self.assert_same(found, tree)


if __name__ == "__main__":
    unittest.main()
