"""Arrays put on specs that fit them, on meshes of JAX and of tessera."""

import unittest

import python_case
from mesh_case import DEVICES, F32, M18, M24, OWN24, jax, on, zeros
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

import tessera
from tessera.eformer.escale.partition import constraints as c


class CorrectionTest(unittest.TestCase):
    CASES = (
        ((8, 16), P("dp"), P("dp", None)),
        ((6, 16), P("tp", "dp"), P(None, "dp")),
        ((12, 16), P(("dp", "tp")), P()),
        ((8, 16), P(("dp", "xx"), "tp"), P(None, "tp")),
        ((8,), P("dp", "tp"), P("dp")),
        ((), P("dp"), P()),
        ((0, 16), P("dp", "tp"), P("dp", "tp")),
        ((7, 8), P("dp", "dp"), P(None, "dp")),
    )

    def test_specs_are_fitted_to_shapes(self):
        for shape, spec, fitted in self.CASES:
            with self.subTest(shape=shape, spec=spec), M24:
                sharding = c.get_corrected_named_sharding(shape, spec)
                self.assertEqual(sharding, NamedSharding(M24, fitted))

    def test_the_same_on_meshes_of_tessera(self):
        for shape, spec, fitted in self.CASES:
            sharding = c.get_corrected_named_sharding(shape, tessera.P(*spec), mesh=OWN24)
            self.assertEqual(sharding, tessera.NamedSharding(OWN24, tessera.P(*fitted)))

    def test_axes_of_size_one_stay(self):
        sharding = c.get_corrected_named_sharding((7, 8), P("dp", "tp"), mesh=M18)
        self.assertEqual(sharding.spec, P("dp", "tp"))

    def test_an_axis_that_survives_twice_is_refused(self):
        with self.assertRaises(tessera.DuplicateAxisError):
            c.get_corrected_named_sharding((8, 8), P("dp", "dp"), mesh=M24)

    def test_changes_are_told(self):
        _, changes = c.get_corrected_named_sharding((6, 16), P("tp", "x"), mesh=M24,
                                                    return_corrections=True)
        self.assertEqual([tuple(change) for change in changes],
                         [(0, "tp", None, "does not divide", ""),
                          (1, "x", None, "unknown axis", "")])

    def test_part_of_a_tuple_is_kept_on_request(self):
        sharding = c.get_corrected_named_sharding((6, 4), P(("dp", "tp")), mesh=M24,
                                                  keep_partial=True)
        self.assertEqual(sharding.spec, P("dp", None))

    def test_without_a_mesh(self):
        with self.assertRaises(AssertionError):
            c.get_corrected_named_sharding((8,), P("dp"))
        with self.assertWarnsRegex(UserWarning, "no mesh"):
            sharding = c.get_corrected_named_sharding((8,), P("dp"), False)
        self.assertTrue(sharding.mesh.empty)
        self.assertEqual(sharding.spec, P())


class ConstraintTest(unittest.TestCase):
    def test_an_array_moves_to_the_fitted_spec(self):
        with M24:
            for shape, spec, placed in (((8, 16), P("dp"), P("dp")), ((6,), P("tp"), P()),
                                        ((8,), P("dp", "tp", "xx"), P("dp"))):
                array = c.with_sharding_constraint(jnp.zeros(shape), spec)
                self.assertTrue(array.sharding.is_equivalent_to(NamedSharding(M24, placed),
                                                                len(shape)), array.sharding)

    def test_inside_of_jit_it_is_a_constraint(self):
        @jax.jit
        def double(x):
            return c.with_sharding_constraint({"x": x * 2, "n": 3}, P("tp", "dp"))["x"]

        for enter in (M24, jax.set_mesh(M24)):
            with enter:
                array = double(jnp.ones((8, 16)))
            self.assertEqual(array.sharding.shard_shape((8, 16)), (2, 8))

    def test_inside_of_other_functions_of_jax(self):
        def double(x):
            return c.with_sharding_constraint(x * 2, P("dp"))

        ones = jnp.ones((8, 16))
        with M24:
            for function, x in ((jax.jit(jax.grad(lambda x: double(x).sum())), ones),
                                (jax.vmap(double), ones[None]), (jax.checkpoint(double), ones),
                                (jax.jit(jax.vmap(double)), ones[None])):
                np.testing.assert_array_equal(function(x), np.full(x.shape, 2.0))
            summed = jax.lax.scan(lambda carry, x: (double(carry + x), None), ones, ones[None])[0]
        np.testing.assert_array_equal(summed, np.full((8, 16), 4.0))

    def test_inside_of_shard_map_the_axes_that_are_left_are_used(self):
        def body(x):
            return c.with_sharding_constraint(x * 2, P(None, "tp"))

        mapped = jax.jit(jax.shard_map(body, mesh=M24, in_specs=P("dp"), out_specs=P("dp"),
                                       axis_names={"dp"}))
        with M24:
            self.assertEqual(mapped(jnp.ones((8, 16))).sharding.spec, P("dp", "tp"))

    def test_axes_that_jax_follows_in_its_types(self):
        mesh = jax.make_mesh((2, 4), ("dp", "tp"), (jax.sharding.AxisType.Explicit,) * 2)
        for sharding in (P("dp"), NamedSharding(mesh, P("dp"))):
            with jax.set_mesh(mesh):
                double = jax.jit(lambda x: c.with_sharding_constraint(x * 2, sharding))
                self.assertEqual(double(jnp.ones((8, 16))).sharding.spec, P("dp", None))
                eager = c.with_sharding_constraint(jnp.ones((8, 16)), sharding)
                self.assertEqual(eager.sharding.spec, P("dp", None))

    def test_a_tree_is_fitted_leaf_by_leaf(self):
        tree = {"a": jnp.zeros((8, 16)), "b": [jnp.zeros(6), 3, "s", None], "h": zeros(8)}
        with M24:
            result, changes = c.with_sharding_constraint(tree, P("tp"), return_corrections=True)
        self.assertEqual(result["a"].sharding.shard_shape((8, 16)), (2, 16))
        self.assertTrue(result["b"][0].sharding.is_fully_replicated)
        self.assertEqual(result["b"][1:], [3, "s", None])
        self.assertIs(result["h"], tree["h"])
        self.assertEqual([(change.key, change.reason) for change in changes],
                         [("b.0", "does not divide")])

    def test_an_empty_spec_replicates_or_leaves(self):
        array = on(zeros(8, 16), "dp")
        with M24:
            self.assertTrue(c.with_sharding_constraint(array, P()).sharding.is_fully_replicated)
            self.assertIs(c.with_sharding_constraint(array, P(), empty_spec="leave"), array)

    def test_without_a_mesh_a_spec_does_nothing(self):
        array = jnp.zeros(6)
        self.assertIs(c.with_sharding_constraint(array, P("tp")), array)

    def test_a_named_sharding_brings_its_mesh(self):
        array = c.with_sharding_constraint(jnp.zeros((8, 7)), NamedSharding(M24, P("dp", "tp")))
        self.assertEqual(array.sharding.shard_shape((8, 7)), (4, 7))

    def test_arrays_come_from_any_devices(self):
        array = jax.device_put(zeros(8), SingleDeviceSharding(jax.devices()[7]))
        half = Mesh(DEVICES[:4], ("x",))
        with half:
            self.assertEqual(c.with_sharding_constraint(array, P("x")).sharding.mesh, half)

    def test_host_arrays_are_placed_on_request(self):
        with M24:
            self.assertIsInstance(c.with_sharding_constraint(zeros(8), P("dp")), np.ndarray)
            placed = c.with_sharding_constraint(zeros(8), P("dp"), place_host=True)
        self.assertEqual(placed.sharding, NamedSharding(M24, P("dp")))

    def test_another_kind_of_sharding_is_a_type_error_for_trees_too(self):
        for arr in (jnp.zeros(8), {"a": jnp.zeros(8)}, 3):
            with self.assertRaisesRegex(TypeError, "not tuple"):
                c.with_sharding_constraint(arr, ("dp",))

    def test_the_error_of_a_leaf_names_it(self):
        with M24, self.assertRaisesRegex(tessera.DuplicateAxisError, "^a.b: "):
            c.with_sharding_constraint({"a": {"b": jnp.zeros((8, 8))}}, P("dp", "dp"))

    def test_arrays_of_tessera(self):
        placed = c.with_sharding_constraint(np.arange(8.0), tessera.P("dp"), mesh=OWN24,
                                            place_host=True)
        self.assertIsInstance(placed, tessera.ShardedArray)
        moved = c.with_sharding_constraint(placed, tessera.P("tp"), mesh=OWN24)
        self.assertEqual(moved.sharding, tessera.NamedSharding(OWN24, tessera.P("tp")))
        np.testing.assert_array_equal(moved, np.arange(8.0))

    def test_corrections_are_warned_of_when_the_environment_asks(self):
        text = """
            import warnings, tessera
            from tessera.eformer.escale.partition import constraints as c
            assert c.LOG_SHARDING_MOVE
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                mesh = tessera.Mesh(("dp",), (2,))
                c.get_corrected_named_sharding((7,), tessera.P("dp"), mesh=mesh)
            assert "does not divide" in str(seen[0].message), seen
        """
        case = python_case.PythonCase()
        case.program(text, LOG_SHARDING_MOVE="Yes")


class ShardAndGatherTest(unittest.TestCase):
    def test_each_spec_has_its_functions_and_none_stays(self):
        shard, gather = c.make_shard_and_gather_fns(
            {"w": P("dp", "tp"), "b": P(), "n": None}, M24)
        self.assertIsNone(shard["n"])
        self.assertIsNone(gather["n"])
        for value in (jnp.arange(128.0).reshape(8, 16), np.arange(128, dtype=F32).reshape(8, 16)):
            placed = shard["w"](value)
            self.assertEqual(placed.sharding, NamedSharding(M24, P("dp", "tp")))
            gathered = gather["w"](placed)
            self.assertIsInstance(gathered, np.ndarray)
            np.testing.assert_array_equal(gathered, np.asarray(value))
        self.assertTrue(shard["b"](zeros(3)).sharding.is_fully_replicated)
        self.assertEqual(gather["b"](3.5), 3.5)

    def test_the_mesh_in_scope_is_taken(self):
        with M24:
            shard, _ = c.make_shard_and_gather_fns({"w": P("dp")})
        self.assertEqual(shard["w"](zeros(8)).sharding.mesh, M24)
        with self.assertRaises(AssertionError):
            c.make_shard_and_gather_fns({"w": P("dp")})

    def test_what_does_not_divide_is_an_error_or_corrected(self):
        shard, _ = c.make_shard_and_gather_fns({"w": P("dp", "tp")}, M24)
        with self.assertRaisesRegex(tessera.IndivisibleError, "w: .*dimension 0 of size 7"):
            shard["w"](zeros(7, 16))
        shard, _ = c.make_shard_and_gather_fns({"w": P("dp", "tp")}, M24, auto_correct=True)
        self.assertEqual(shard["w"](zeros(7, 16)).sharding, NamedSharding(M24, P(None, "tp")))

    def test_specs_are_cut_to_the_rank(self):
        shard, _ = c.make_shard_and_gather_fns({"w": P("dp", "tp")}, M24)
        self.assertEqual(shard["w"](zeros(8)).sharding.spec, P("dp"))
        self.assertTrue(shard["w"](F32(1)).sharding.is_fully_replicated)

    def test_bad_specs_are_refused_when_the_functions_are_made(self):
        for spec, error in ((P("x"), ValueError), (P("dp", "dp"), tessera.DuplicateAxisError),
                            (P(P.UNCONSTRAINED), NotImplementedError), ("dp", TypeError)):
            with self.assertRaises(error) as raised:
                c.make_shard_and_gather_fns({"a": {"w": spec}}, M24)
            self.assertIn("a.w", str(raised.exception))

    def test_64_bits_stay(self):
        shard, gather = c.make_shard_and_gather_fns({"w": P("dp")}, M24)
        placed = shard["w"](np.arange(8))
        self.assertEqual(placed.dtype, np.int64)
        self.assertEqual(gather["w"](placed).dtype, np.int64)

    def test_placed_arrays_have_memory_of_their_own(self):
        for mesh, spec in ((M24, P("dp")), (M24, P()), (OWN24, tessera.P("dp"))):
            shard, _ = c.make_shard_and_gather_fns({"w": spec}, mesh)
            for dtype in (np.float32, np.int64):
                values = np.zeros((1 << 16) + 64, dtype)  # JAX looks at what begins at 64 bytes
                values = values[-values.ctypes.data % 64 // values.itemsize:][:1 << 16]
                placed = shard["w"](values)
                values[:] = 7
                self.assertFalse(np.asarray(placed).any())

    def test_text_is_no_array(self):
        shard, gather = c.make_shard_and_gather_fns({"w": P("dp")}, M24)
        for function in (shard["w"], gather["w"]):
            with self.assertRaisesRegex(TypeError, "not str"):
                function("text")

    def test_inside_of_jit(self):
        shard, _ = c.make_shard_and_gather_fns({"w": P("tp")}, M24)
        placed = jax.jit(lambda x: shard["w"](x))(jnp.zeros(8))
        self.assertEqual(placed.sharding.shard_shape((8,)), (2,))
        with self.assertRaises(tessera.IndivisibleError):
            jax.jit(lambda x: shard["w"](x))(jnp.zeros(7))


class ModuleTest(unittest.TestCase):
    def test_names_that_programs_import(self):
        from tessera.eformer.escale import lax_reshard, match_partition_rules
        from tessera.eformer.escale.partition import with_sharding_constraint
        from tessera.eformer.escale.partition.constraints import AxisType  # noqa: F401

        self.assertIs(lax_reshard, with_sharding_constraint)
        self.assertIs(match_partition_rules, c.match_partition_rules)
        self.assertIs(c.PartitionSpec, P)
        self.assertEqual((c.MIN_SHARDING_SIZE, c.LOG_SHARDING_MOVE), (16384, False))

    def test_bad_text_in_the_environment_is_named(self):
        text = "from tessera.eformer.escale.partition import constraints as c; c.MIN_SHARDING_SIZE"
        ran = python_case.PythonCase().program(text, check=False, MIN_SHARDING_SIZE="many")
        self.assertIn("ValueError: MIN_SHARDING_SIZE", ran.stderr)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # JAX wants set_mesh in place of `with mesh:`
