"""The package where JAX is not installed: NumPy arrays and tessera's own meshes."""

import textwrap
import unittest

import python_case

# JAX cannot be imported in these programs, as if it were not installed.
WITHOUT_JAX = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib"):
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Refuse())
import numpy as np
import tessera
from tessera import P, Mesh, NamedSharding
from tessera.eformer.escale.partition import constraints as c
from tessera.eformer.serialization import sharding_utils as s, utils as u
mesh = Mesh(("dp", "tp"), (2, 4))

def raises(error, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except error as caught:
        return str(caught)
    raise AssertionError(f"no {error.__name__}")
"""


class NoJaxTest(python_case.PythonCase):
    def run_without_jax(self, text):
        self.program(WITHOUT_JAX + textwrap.dedent(text) + "\nassert 'jax' not in sys.modules\n",
                     self.folder)

    def test_meshes_and_axes(self):
        self.run_without_jax("""
            assert c.get_incontext_mesh(False) == Mesh()
            assert "no mesh" in raises(AssertionError, c.get_incontext_mesh)
            with mesh:
                assert c.get_incontext_mesh() == mesh
                assert c.get_mesh_axis_names() == ["dp", "tp"]
                assert c.get_mesh_axis_size(("dp", "tp")) == 8
                assert c.get_axes_size_in_mesh(["dp", "tp"]) == 8
                assert c.names_in_current_mesh("dp") and not c.names_in_current_mesh("x")
                assert c.get_submesh_device_index(("tp", "dp"), device=6) == 5
            with mesh.at(6):
                assert c.get_submesh_device_index(("dp", "tp")) == 6
            raises(KeyError, c.get_axes_size_in_mesh, "x", mesh)
        """)

    def test_specs_and_rules(self):
        self.run_without_jax("""
            sharding, changes = c.get_corrected_named_sharding(
                (6, 16), P("tp", "dp"), mesh=mesh, return_corrections=True)
            assert sharding == NamedSharding(mesh, P(None, "dp")) and len(changes) == 1
            tree = {"w": np.zeros((8, 16)), "n": 3, "l": [np.zeros(4)]}
            specs = c.match_partition_rules([("w", P("dp", "tp")), (".*", P("tp"))], tree)
            assert specs == {"w": P("dp", "tp"), "n": P(), "l": [P("tp")]}, specs
            found = c.analyze_sharding_strategy(tree, specs, mesh)
            assert found["memory_per_device"][0] == 8 * 16 + 8, found
            assert c.create_pattern_based_partition_spec("w->dp.tp")("w") == P("dp", "tp")
            assert c.get_names_from_partition_spec(specs) == ["dp", "tp"]
            assert c.PartitionSpec is P and c.MIN_SHARDING_SIZE == 16384
        """)

    def test_arrays_are_placed_moved_and_gathered(self):
        self.run_without_jax("""
            values = np.arange(128.0).reshape(8, 16)
            shard, gather = c.make_shard_and_gather_fns({"w": P("dp", "tp")}, mesh)
            placed = shard["w"](values)
            values[0, 0] = 5  # the placed array has its own memory
            assert isinstance(placed, tessera.ShardedArray)
            assert placed.sharding == NamedSharding(mesh, P("dp", "tp"))
            assert [shard[0] for shard in placed.shards] == list(range(8))
            assert np.asarray(placed)[0, 0] == 0 and gather["w"](placed).sum() == 8128
            assert c.extract_shardings({"a": placed}) == {"a": placed.sharding}
            assert c.get_partition_spec({"a": placed, "n": 1}) == {"a": P("dp", "tp"), "n": P()}
            moved = u.reshard(placed, NamedSharding(mesh, P("tp")))
            assert moved.sharding.spec == P("tp", None), moved
            one = u.reshard(moved, tessera.SingleDeviceSharding(0))
            assert len(one.shards) == 1
            half = Mesh(("x",), (4,), device_ids=[10, 11, 12, 13])
            other = u.reshard(one, NamedSharding(half, P("x")))
            assert np.array_equal(np.asarray(other), np.arange(128.0).reshape(8, 16))
            with mesh:
                assert c.with_sharding_constraint({"a": other}, P("tp"))["a"].sharding.mesh == mesh
            whole = s.make_itsharded({"a": other}, mesh)["a"]
            assert whole.sharding == NamedSharding(mesh, P()) and len(whole.shards) == 8
            assert u.to_host(whole, "bf16", mesh, False).dtype.name == "bfloat16"
            raises(tessera.IndivisibleError, shard["w"], np.zeros((7, 16)))
        """)

    def test_trees_of_shardings(self):
        self.run_without_jax("""
            folder = sys.argv[1]
            tree = {"a": np.arange(8), "b": {"c": np.zeros((4, 2), np.float32)}}
            tessera.save(folder + "/c", tree)
            shardings = s.create_sharding_tree_from_index(folder + "/c", mesh,
                                                          default_sharding=P("tp"))
            assert s.validate_sharding_tree(shardings, tree)
            placed = s.apply_sharding_tree(tree, shardings)
            assert placed["b"]["c"].sharding.shard_shape((4, 2)) == (1, 2)
            loaded = tessera.load(folder + "/c", mesh=mesh, shardings=shardings)
            assert np.array_equal(np.asarray(loaded["a"]), tree["a"])
            default = s.apply_sharding_tree({"a": tree["a"]}, {"a": None})
            assert default["a"].sharding == tessera.SingleDeviceSharding(0)
        """)

    def test_sizes_names_and_flat_states(self):
        self.run_without_jax("""
            import ml_dtypes
            assert u.estimate_array_nbytes(np.zeros(5, ml_dtypes.int4)) == 3
            assert [u.estimate_array_nbytes(n) for n in (1, 1.0, True)] == [4, 4, 1]
            assert u.estimate_available_memory() >= 104857600
            assert u.shard_filename("m", 1, 4) == "m-00001-of-00004.safetensors"
            assert u.flatten_for_broadcast({"a": {"b": 1}}) == {"a.b": 1}
            assert [len(p) for p in u.chunk_tensor_by_memory(np.zeros(10, "f4"), 16)] == [4, 3, 3]
            assert np.array_equal(u.broadcast_tensor(np.arange(3), 100), np.arange(3))
            assert u.apply_gather_functions({"a": 1}, {"a": abs}, False, False) == {"a": 1}
        """)

    def test_importing_the_package_imports_neither_jax_nor_numpy(self):
        done = self.program("""
            import sys, tessera
            print(sorted({"jax", "numpy", "fsspec", "tqdm"} & set(sys.modules)))
        """)
        self.assertEqual(done.stdout.strip(), "[]")


if __name__ == "__main__":
    unittest.main()
