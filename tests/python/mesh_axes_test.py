"""eformer's questions about meshes: outside of JAX's functions and inside of them."""

import threading
import unittest

from mesh_case import M18, M24, OWN24, jax, zeros
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

import tessera
from tessera.eformer.escale.partition import constraints as c


class MeshTest(unittest.TestCase):
    def test_the_innermost_mesh_is_current_and_the_outer_one_comes_back(self):
        with M24:
            with M18:
                self.assertEqual(c.get_incontext_mesh(), M18)
            self.assertEqual(c.get_incontext_mesh(), M24)

    def test_without_a_mesh_there_is_an_assertion_error_or_the_empty_mesh(self):
        with self.assertRaisesRegex(AssertionError, "no mesh was given and none is in scope"):
            c.get_incontext_mesh()
        self.assertTrue(c.get_incontext_mesh(raise_error=False).empty)
        self.assertIsInstance(c.get_incontext_mesh(False), Mesh)

    def test_set_mesh_counts_as_well(self):
        with jax.set_mesh(M24):
            self.assertEqual(c.get_incontext_mesh(), M24)
            self.assertEqual(c.get_axes_size_in_mesh(("dp", "tp")), 8)

    def test_an_abstract_mesh_has_axes(self):
        with jax.sharding.use_abstract_mesh(M24.abstract_mesh):
            self.assertEqual(c.get_mesh_axis_names(), ["dp", "tp"])
            self.assertEqual(c.get_mesh_axis_size("tp"), 4)

    def test_a_mesh_of_tessera_is_current_inside_its_with_block_only(self):
        with OWN24 as entered:
            self.assertEqual(entered, OWN24)
            self.assertEqual(c.get_incontext_mesh(), OWN24)
            self.assertEqual(c.get_mesh_axis_size(["dp", "tp"]), 8)
        with self.assertRaises(AssertionError):
            c.get_incontext_mesh()

    def test_other_threads_see_no_mesh(self):
        seen = []
        with OWN24, M24:
            thread = threading.Thread(target=lambda: seen.append(c.get_incontext_mesh(False).empty))
            thread.start()
            thread.join()
        self.assertEqual(seen, [True])

    def test_axis_sizes_are_multiplied(self):
        for mesh in (M24, OWN24):
            sizes = [c.get_axes_size_in_mesh(axes, mesh)
                     for axes in ("tp", ("dp", "tp"), (), ["dp", "dp"])]
            self.assertEqual(sizes, [4, 8, 1, 4])

    def test_an_unknown_axis_is_a_key_error_and_another_type_a_type_error(self):
        with self.assertRaisesRegex(KeyError, "x"):
            c.get_axes_size_in_mesh("x", M24)
        for wrong in (None, {"dp"}, 5):
            with self.assertRaises(TypeError):
                c.get_axes_size_in_mesh(wrong, M24)
            with self.assertRaises(TypeError):
                c.get_mesh_axis_size(wrong)
            with self.assertRaises(TypeError):
                c.get_submesh_device_index(wrong)

    def test_a_mesh_of_another_type_is_a_type_error(self):
        with self.assertRaisesRegex(TypeError, "not dict"):
            c.get_mesh_axis_names({"dp": 2})

    def test_names_in_the_current_mesh(self):
        self.assertTrue(c.names_in_current_mesh())
        self.assertFalse(c.names_in_current_mesh("dp"))
        with M24:
            self.assertTrue(c.names_in_current_mesh("dp", "tp"))
            self.assertFalse(c.names_in_current_mesh("dp", "x"))

    def test_axis_names_of_the_empty_mesh(self):
        self.assertEqual(c.get_mesh_axis_names(tessera.Mesh()), [])
        self.assertEqual(c.get_mesh_axis_names(c.get_incontext_mesh(False)), [])


class PerDeviceTest(unittest.TestCase):
    def test_inside_of_shard_map_the_device_that_runs_is_meant(self):
        def body(x):
            sizes = c.get_mesh_axis_size("tp"), c.get_mesh_axis_size(("dp", "tp"))
            self.assertEqual(sizes, (4, 8))
            return x + c.get_submesh_device_index(("tp", "dp"))

        whole = P(("dp", "tp"))
        mapped = jax.jit(jax.shard_map(body, mesh=M24, in_specs=whole, out_specs=whole))
        np.testing.assert_array_equal(mapped(np.zeros(8, np.int32)), [0, 2, 4, 6, 1, 3, 5, 7])

    def test_inside_of_vmap_its_axis_is_meant(self):
        scale = jax.vmap(lambda x: x * c.get_mesh_axis_size("batch"), axis_name="batch")
        sizes = scale(jnp.ones(3))
        np.testing.assert_array_equal(sizes, [3, 3, 3])

    def test_elsewhere_the_device_is_given(self):
        for mesh in (M24, OWN24):
            index = [c.get_submesh_device_index(axes, device=6, mesh=mesh)
                     for axes in ("tp", "dp", ("dp", "tp"), ("tp", "dp"), ())]
            self.assertEqual(index, [2, 1, 6, 5, 0])
        self.assertEqual(c.get_submesh_device_index("tp", device=jax.devices()[6], mesh=M24), 2)

    def test_a_block_of_tessera_makes_a_device_the_current_one(self):
        with OWN24.at(6):
            self.assertEqual(c.get_submesh_device_index(("tp", "dp")), 5)
        with self.assertRaises(AssertionError):
            c.get_submesh_device_index("tp")

    def test_a_repeated_axis_is_refused(self):
        with self.assertRaises(tessera.DuplicateAxisError):
            c.get_submesh_device_index(("dp", "dp"), device=0, mesh=M24)

        def body(x):
            with self.assertRaises(tessera.DuplicateAxisError):
                c.get_submesh_device_index(("dp", "dp"))
            return x

        jax.shard_map(body, mesh=M24, in_specs=P("dp"), out_specs=P("dp"))(zeros(2))

    def test_an_unknown_axis_or_device_is_a_key_error(self):
        with self.assertRaisesRegex(KeyError, "'x'"):
            c.get_submesh_device_index("x", device=0, mesh=M24)
        with self.assertRaisesRegex(KeyError, "99"):
            c.get_submesh_device_index("tp", device=99, mesh=M24)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # JAX wants set_mesh in place of `with mesh:`
