"""eformer's serialization.sharding_utils: trees of shardings."""

import json
import logging
import unittest

import python_case

jax = python_case.jax_with_devices(8)

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

import tessera
from tessera.eformer.serialization import sharding_utils as s

M24 = Mesh(np.array(jax.devices()).reshape(2, 4), ("dp", "tp"))
OWN24 = tessera.Mesh(("dp", "tp"), (2, 4))
F32 = np.float32
NS = NamedSharding


def zeros(*shape):
    return np.zeros(shape, F32)


class FromIndexTest(python_case.PythonCase):
    def write_index(self, **members):
        index = {"format": "tensorstore", "version": "0.1.0", **members}
        (self.folder / "tensorstore_index.json").write_text(json.dumps(index))
        return self.folder

    def model(self):
        return self.write_index(prefixes={"model": [
            {"path": "model/emb/w", "shape": [8, 4], "dtype": "float32"},
            {"path": "model/b", "shape": [4], "dtype": "float32"}]})

    def test_arrays_are_replicated_on_the_mesh(self):
        whole = NS(M24, P())
        self.assertEqual(s.create_sharding_tree_from_index(self.model(), M24, "model"),
                         {"emb": {"w": whole}, "b": whole})
        whole = tessera.NamedSharding(OWN24, tessera.P())
        self.assertEqual(s.create_sharding_tree_from_index(str(self.folder), OWN24),
                         {"emb": {"w": whole}, "b": whole})

    def test_without_a_mesh_there_is_none(self):
        self.assertEqual(s.create_sharding_tree_from_index(self.model()),
                         {"emb": {"w": None}, "b": None})

    def test_a_default_is_a_spec_a_sharding_or_a_function(self):
        make = s.create_sharding_tree_from_index
        spec = make(self.model(), M24, default_sharding=P("tp"))
        self.assertEqual(spec["b"], NS(M24, P("tp")))
        one = SingleDeviceSharding(jax.devices()[3])
        self.assertIs(make(self.folder, default_sharding=one)["emb"]["w"], one)

        def choose(info):
            self.assertEqual(sorted(info), ["dtype", "path", "shape"])
            return NS(M24, P("dp", None)) if "emb" in info["path"] else None

        self.assertEqual(make(self.folder, M24, default_sharding=choose),
                         {"emb": {"w": NS(M24, P("dp", None))}, "b": None})

    def test_what_does_not_fit_a_recorded_shape_is_refused(self):
        with self.assertRaisesRegex(tessera.IndivisibleError, "^model/b: "):
            s.create_sharding_tree_from_index(self.model(), M24, default_sharding=P(("dp", "tp")))
        with self.assertRaisesRegex(ValueError, "^model/b: "):
            s.create_sharding_tree_from_index(self.folder, M24, default_sharding=P(None, "tp"))
        with self.assertRaisesRegex(ValueError, "needs a mesh"):
            s.create_sharding_tree_from_index(self.folder, default_sharding=P("tp"))
        with self.assertRaises(TypeError):
            s.create_sharding_tree_from_index(self.folder, M24, default_sharding=3)

    def test_prefixes_are_chosen_and_checked(self):
        with self.assertRaisesRegex(ValueError, "model"):
            s.create_sharding_tree_from_index(self.model(), M24, "other")
        self.write_index(prefixes={"a": [], "b": []})
        with self.assertRaisesRegex(ValueError, "a.*b"):
            s.create_sharding_tree_from_index(self.folder, M24)
        with self.assertRaisesRegex(ValueError, "zip"):
            s.create_sharding_tree_from_index(self.write_index(format="zip"), M24)

    def test_no_index_is_a_missing_file_or_an_empty_tree(self):
        with self.assertRaises(FileNotFoundError):
            s.create_sharding_tree_from_index(self.folder, M24)
        with self.assertLogs(s.logger, logging.WARNING):
            self.assertEqual(
                s.create_sharding_tree_from_index(self.folder, M24, allow_missing=True), {})

    def test_the_error_of_a_function_comes_out(self):
        def broken(info):
            raise ZeroDivisionError(info["path"])

        with self.assertRaisesRegex(ZeroDivisionError, "model/emb/w"):
            s.create_sharding_tree_from_index(self.model(), default_sharding=broken)

    def test_hostile_indexes_are_refused(self):
        deep = "/".join(["a"] * 20000)
        self.write_index(arrays=[{"path": deep, "shape": [4], "dtype": "float32"}])
        with self.assertRaisesRegex(ValueError, "deeper than 1000"):
            s.create_sharding_tree_from_index(self.folder, M24)
        arrays = [{"path": path, "shape": [4], "dtype": "float32"} for path in ("a", "a/b")]
        self.write_index(arrays=arrays)
        with self.assertRaisesRegex(ValueError, "a/b"):
            s.create_sharding_tree_from_index(self.folder, M24)
        (self.folder / "tensorstore_index.json").write_text("[" * 100000)
        with self.assertRaises(ValueError):
            s.create_sharding_tree_from_index(self.folder, M24)

    def test_a_checkpoint_of_ours(self):
        tree = {"a": [zeros(8, 4), zeros(4)], "b": zeros(8)}
        tessera.save(self.folder / "c", tree)
        shardings = s.create_sharding_tree_from_index(self.folder / "c", M24,
                                                      default_sharding=P("tp"))
        self.assertEqual(shardings["a"]["0"], NS(M24, P("tp")))
        self.assertEqual(list(shardings), ["a", "b"])


class ApplyTest(unittest.TestCase):
    def test_arrays_are_placed_as_told(self):
        shardings = {"w": NS(M24, P("dp")), "spec": P("tp"), "none": None,
                     "choose": lambda array: NS(M24, P("tp")),
                     "make": lambda array: jax.device_put(array, jax.devices()[2])}
        arrays = {name: zeros(8) for name in shardings}
        placed = s.apply_sharding_tree(arrays, shardings, M24)
        self.assertEqual(placed["w"].sharding, NS(M24, P("dp")))
        self.assertEqual(placed["spec"].sharding, NS(M24, P("tp")))
        self.assertEqual(placed["none"].sharding, NS(M24, P()))
        self.assertEqual(placed["choose"].sharding, NS(M24, P("tp")))
        self.assertEqual(placed["make"].sharding, SingleDeviceSharding(jax.devices()[2]))

    def test_without_a_mesh_the_default_is_the_first_local_device(self):
        placed = s.apply_sharding_tree({"b": zeros(8)}, {"b": None})
        self.assertEqual(placed["b"].sharding, SingleDeviceSharding(jax.devices()[0]))

    def test_what_is_no_array_stays_and_so_does_the_order(self):
        arrays = {"z": 3, "t": "text", "n": None, "a": [zeros(8), (zeros(4),)]}
        whole = NS(M24, P())
        placed = s.apply_sharding_tree(
            arrays, {"z": whole, "t": whole, "n": None, "a": [whole, (None,)]}, M24)
        self.assertEqual(list(placed), ["z", "t", "n", "a"])
        self.assertEqual((placed["z"], placed["t"], placed["n"]), (3, "text", None))
        self.assertIsInstance(placed["a"][1], tuple)
        self.assertEqual(placed["a"][0].sharding, whole)

    def test_no_sharding_tree_and_other_structures_change_nothing(self):
        arrays = {"b": zeros(8)}
        self.assertIs(s.apply_sharding_tree(arrays, None), arrays)
        with self.assertLogs(s.logger, logging.WARNING) as logs:
            self.assertIs(s.apply_sharding_tree(arrays, {"c": NS(M24, P())}), arrays)
        self.assertIn("nothing is placed", logs.output[0])

    def test_the_error_of_a_leaf_names_it(self):
        shardings = {"a": NS(M24, P("dp")), "b": NS(M24, P("dp"))}
        with self.assertRaisesRegex(tessera.IndivisibleError, "^b: .*size 7"):
            s.apply_sharding_tree({"a": zeros(8), "b": zeros(7)}, shardings)
        with self.assertRaisesRegex(TypeError, "^a: "):
            s.apply_sharding_tree({"a": zeros(8)}, {"a": 3})
        with self.assertRaisesRegex(AssertionError, "^a: .*no mesh"):
            s.apply_sharding_tree({"a": zeros(8)}, {"a": P("dp")})

    def test_bare_arrays_and_bare_shardings(self):
        self.assertEqual(s.apply_sharding_tree(zeros(8), NS(M24, P("tp"))).sharding.spec, P("tp"))

    def test_meshes_of_tessera(self):
        placed = s.apply_sharding_tree({"a": np.arange(8)}, {"a": tessera.P("tp")}, OWN24)
        self.assertEqual(placed["a"].sharding, tessera.NamedSharding(OWN24, tessera.P("tp")))
        np.testing.assert_array_equal(placed["a"], np.arange(8))


class ItshardedTest(unittest.TestCase):
    def test_device_arrays_are_replicated_and_all_else_stays(self):
        one = jax.device_put(np.arange(8, dtype=F32), jax.devices()[0])
        host = zeros(2)
        tree = {"a": one, "c": 3, "d": host, "e": None, "t": "text"}
        made = s.make_itsharded(tree, M24)
        self.assertEqual(made["a"].sharding, NS(M24, P()))
        self.assertEqual([shard.replica_id for shard in made["a"].addressable_shards],
                         list(range(8)))
        np.testing.assert_array_equal(made["a"], one)
        self.assertIs(made["d"], host)
        self.assertEqual((made["c"], made["e"], made["t"]), (3, None, "text"))

    def test_a_mesh_is_needed_for_arrays_only(self):
        self.assertEqual(s.make_itsharded({"c": 3}, None), {"c": 3})
        with self.assertRaises(AssertionError):
            s.make_itsharded({"a": jnp.zeros(2)}, None)

    def test_inside_of_jit(self):
        made = jax.jit(lambda x: s.make_itsharded({"x": x}, M24)["x"])(jnp.zeros(8))
        self.assertTrue(made.sharding.is_fully_replicated)


class ValidateTest(unittest.TestCase):
    def test_structures_are_compared_and_values_are_not(self):
        whole = NS(M24, P())
        same = s.validate_sharding_tree
        self.assertTrue(same({"a": 1, "b": 2}, {"b": 9, "a": 8}))
        self.assertTrue(same({}, {}))
        self.assertTrue(same({"a": P("x")}, {"a": zeros(2)}))
        self.assertFalse(same({"a": [1, 2]}, {"a": (1, 2)}))
        self.assertFalse(same({"a": {}}, {"a": None}))
        self.assertTrue(same({"a": whole}, {"a": None}))
        self.assertFalse(same({"a": whole}, {"a": None}, null_is_leaf=False))

    def test_trees_that_cannot_be_taken_apart_are_not_the_same(self):
        with self.assertLogs(s.logger, logging.WARNING):
            self.assertFalse(s.validate_sharding_tree({1: 0, "a": 0}, {}))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
