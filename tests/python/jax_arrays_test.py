"""Arrays of JAX, saved from and loaded to eight devices of the host."""

import dataclasses
import unittest

import python_case

jax = python_case.jax_with_devices(8)

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

import tessera
from tessera import _core, _jax

MESH = Mesh(np.array(jax.devices()).reshape(2, 4), ("dp", "tp"))


def spread(array, *spec):
    return jax.device_put(array, NamedSharding(MESH, P(*spec)))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    params: dict
    step: int


@jax.tree_util.register_pytree_node_class
class Box:
    def __init__(self, inner, label):
        self.inner, self.label = inner, label

    def tree_flatten(self):
        return (self.inner,), self.label

    @classmethod
    def tree_unflatten(cls, label, children):
        return cls(children[0], label)


class JaxArraysTest(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.w = spread(np.arange(64 * 32, dtype=np.float32).reshape(64, 32), "dp", "tp")
        self.tree = {"w": self.w, "b": spread(jnp.ones(8, jnp.bfloat16)),
                     "point": jnp.float32(3), "i4": spread(np.arange(16).reshape(4, 4).astype(
                         ml_dtypes.int4), "dp")}

    def test_another_mesh_by_rules(self):
        tessera.save(self.folder / "c", self.tree)
        mesh = Mesh(np.array(jax.devices()[::-1]).reshape(4, 2), ("x", "y"))
        loaded = tessera.load(self.folder / "c", mesh=mesh,
                              rules=[("w$", P("x", "y")), ("i4", P(None, "y")), (".*", P())])
        self.assert_same_arrays(loaded, self.tree)
        self.assertEqual(loaded["w"].sharding, NamedSharding(mesh, P("x", "y")))
        self.assertEqual(loaded["i4"].sharding, NamedSharding(mesh, P(None, "y")))

    def test_explicit_shardings_specs_and_functions(self):
        tessera.save(self.folder / "c", self.tree)
        told = []

        def choose(info):
            told.append((info["path"], info["shape"], info["dtype"]))
            return NamedSharding(MESH, P("dp"))

        device = SingleDeviceSharding(jax.devices()[3])
        loaded = tessera.load(self.folder / "c", mesh=MESH,
                              shardings={"w": P("tp"), "b": device, "i4": choose,
                                         "point": NamedSharding(MESH, P())})
        self.assert_same_arrays(loaded, self.tree)
        self.assertEqual(loaded["w"].sharding, NamedSharding(MESH, P("tp")))
        self.assertEqual(loaded["b"].sharding, device)
        self.assertEqual(told, [("i4", (4, 4), "int4")])

    def test_a_template_of_descriptors_gives_the_shardings(self):
        tessera.save(self.folder / "c", self.tree)
        like = jax.tree.map(
            lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding), self.tree)
        loaded = tessera.load(self.folder / "c", like=like)
        self.assert_same_arrays(loaded, self.tree)
        for key, array in loaded.items():
            self.assertEqual(array.sharding, self.tree[key].sharding, key)

    def test_registered_containers_by_template(self):
        state = State({"box": Box(self.w, "label")}, 3)
        tessera.save(self.folder / "c", state)
        self.assertEqual(list(tessera.open(self.folder / "c")), ["params.box.0"])
        loaded = tessera.load(self.folder / "c", like=state)
        self.assertIsInstance(loaded, State)
        self.assertEqual((loaded.params["box"].label, loaded.step), ("label", 3))
        self.assert_same_arrays(loaded.params["box"].inner, self.w)

    def test_registered_containers_without_a_template_come_as_dicts(self):
        tessera.save(self.folder / "c", State({"w": self.w}, 3))
        with self.assertWarnsRegex(UserWarning, "State"):
            loaded = tessera.load(self.folder / "c")
        self.assertEqual((list(loaded), loaded["step"]), (["params", "step"], 3))

    def test_64_bits_stay(self):
        with jax.enable_x64(True):
            wide = jnp.arange(5, dtype=jnp.int64) << 40
        tessera.save(self.folder / "c", {"i": wide, "f": np.arange(3.0) / 3})
        loaded = tessera.load(self.folder / "c", mesh=Mesh(np.array(jax.devices()), ("x",)))
        self.assertEqual((loaded["i"].dtype, loaded["f"].dtype), (np.int64, np.float64))
        self.assertEqual(int(np.asarray(loaded["i"])[4]), 4 << 40)

    def test_shards_are_saved_where_they_lie(self):
        _, _, pieces = _jax.describe(self.w, "w")
        addresses = {view.ctypes.data for _, view in pieces}
        self.assertEqual(addresses,
                         {s.data.unsafe_buffer_pointer() for s in self.w.addressable_shards})

    def test_copies_of_a_part_are_looked_at_once(self):
        _, _, pieces = _jax.describe(self.tree["b"], "b")
        self.assertEqual([device for device, _ in pieces], list(range(8)))
        self.assertEqual(len({view.ctypes.data for _, view in pieces}), 1)

    def test_loaded_shards_are_not_copied_for_jax(self):
        big = spread(np.arange(512 * 512, dtype=np.float32).reshape(512, 512), "dp", "tp")
        tessera.save(self.folder / "c", {"w": big}, codec="none")
        made = []
        original = _jax.make_array

        def spy(shape, dtype, sharding, pieces):
            array = original(shape, dtype, sharding, pieces)
            made.append(({device: view.ctypes.data for device, view in pieces},
                         {s.device.id: s.data.unsafe_buffer_pointer()
                          for s in array.addressable_shards}))
            return array

        _jax.make_array = spy
        self.addCleanup(setattr, _jax, "make_array", original)
        loaded = tessera.load(self.folder / "c", mesh=MESH, rules=[(".*", P("dp", "tp"))])
        self.assertEqual(made[0][0], made[0][1])
        self.assert_same_arrays(loaded["w"], big)

    def test_replicas_are_loaded_once(self):
        tessera.save(self.folder / "c", {"w": np.arange(1 << 16, dtype=np.float32)})
        loaded = tessera.load(self.folder / "c", mesh=MESH, rules=[(".*", P())])["w"]
        pointers = {shard.data.unsafe_buffer_pointer() for shard in loaded.addressable_shards}
        self.assertEqual((len(loaded.addressable_shards), len(pointers)), (8, 1))
        # JAX does not write to memory that it was lent.
        doubled = jax.jit(lambda a: a * 2, donate_argnums=0)(loaded)
        np.testing.assert_array_equal(np.asarray(doubled), 2 * np.arange(1 << 16, dtype=np.float32))

    def test_shardings_of_every_kind(self):
        replicated = jax.device_put(np.arange(8.0), NamedSharding(MESH, P()))
        computed = jax.jit(lambda a: (a * 2).T)(self.w)  # XLA chooses where the result lies
        tree = {"one": jax.device_put(np.ones(3), jax.devices()[5]), "replicated": replicated,
                "computed": computed, "part": spread(np.arange(16.0), ("tp", "dp"))}
        tessera.save(self.folder / "c", tree)
        self.assert_same_arrays(tessera.load(self.folder / "c"), tree)

    def test_tesseras_own_mesh(self):
        tessera.save(self.folder / "c", self.tree)
        mesh = tessera.Mesh(["a", "b"], [2, 3])
        loaded = tessera.load(self.folder / "c", mesh=mesh,
                              rules=[("w$", tessera.P("a")), (".*", tessera.P())])
        self.assertIsInstance(loaded["w"], tessera.ShardedArray)
        self.assertEqual([shard[3].shape for shard in loaded["w"].shards], [(32, 32)] * 6)
        self.assert_same_arrays(loaded, self.tree)
        tessera.save(self.folder / "d", loaded)
        self.assert_same_arrays(tessera.load(self.folder / "d"), self.tree)

    def test_callbacks_get_the_array_and_its_key(self):
        tessera.save(self.folder / "c", {"a": {"w": self.w}})
        loaded = tessera.load(self.folder / "c", mesh=MESH, rules=[(".*", P())],
                              callback=lambda array, key: (key, type(array).__name__))
        self.assertEqual(loaded, {"a": {"w": ("a.w", "ArrayImpl")}})

    def test_what_cannot_be_placed(self):
        tessera.save(self.folder / "c", self.tree)
        with self.assertRaisesRegex(ValueError, "w: no sharding is given"):
            tessera.load(self.folder / "c", mesh=MESH)
        with self.assertRaisesRegex(ValueError, "'xx'"):
            tessera.load(self.folder / "c", mesh=MESH, rules=[(".*", P("xx"))])
        with self.assertRaises(tessera.IndivisibleError):
            tessera.load(self.folder / "c", mesh=MESH, rules=[("b$", P()), (".*", P(None, "tp"))],
                         shardings={"w": P(("dp", "tp")), "i4": P(("dp", "tp"))})
        with self.assertRaisesRegex(TypeError, "mesh"):
            tessera.load(self.folder / "c", mesh="dp=2")
        with self.assertRaisesRegex(AssertionError, "mesh"):
            tessera.load(self.folder / "c", rules=[(".*", P("dp"))])

    def test_what_cannot_be_saved(self):
        with self.assertRaisesRegex(TypeError, "k: a key array"):
            tessera.save(self.folder / "c", {"k": jax.random.key(0)})
        gone = jnp.ones(3)
        gone.delete()
        with self.assertRaisesRegex(ValueError, "g: the array was deleted"):
            tessera.save(self.folder / "c", {"g": gone})
        with self.assertRaisesRegex(TypeError, "traced"):
            jax.jit(lambda a: tessera.save(self.folder / "c", {"a": a}))(self.w)

    def test_trees_are_flattened_as_jax_does(self):
        tree = {"b": [1, {"c": 2}], "a": (3, [], None),
                "s": State({"x": 4}, 5), "box": Box({"y": 6}, "label")}
        paths, structure = jax.tree_util.tree_flatten_with_path(tree)
        flat = _core.FlatTree(tree)
        self.assertEqual(flat.leaves, [leaf for _, leaf in paths])
        self.assertEqual(structure, jax.tree_util.tree_structure(flat.unflatten(flat.leaves)))


if __name__ == "__main__":
    unittest.main()
