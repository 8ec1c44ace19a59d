"""eformer's serialization.utils: moving arrays, sizes, names of shards, and flat states."""

import logging
import pathlib
import unittest
from unittest import mock

import python_case

jax = python_case.jax_with_devices(8)

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

import tessera
from tessera import _core
from tessera.eformer.serialization import utils

M24 = Mesh(np.array(jax.devices()).reshape(2, 4), ("dp", "tp"))
OWN24 = tessera.Mesh(("dp", "tp"), (2, 4))
F32 = np.float32


def on(array, *spec):
    return jax.device_put(array, NamedSharding(M24, P(*spec)))


class MovingTest(unittest.TestCase):
    def test_reshard_fits_the_spec_and_replicates_by_an_empty_one(self):
        array = jnp.arange(7 * 16.0).reshape(7, 16)
        moved = utils.reshard(array, NamedSharding(M24, P("dp", "tp")))
        self.assertEqual(moved.sharding, NamedSharding(M24, P(None, "tp")))
        whole = utils.reshard(moved, NamedSharding(M24, P()))
        self.assertTrue(whole.sharding.is_fully_replicated)
        np.testing.assert_array_equal(whole, array)

    def test_reshard_takes_a_spec_of_the_mesh_in_scope_and_single_devices(self):
        array = jnp.zeros((8, 16))
        with M24:
            self.assertEqual(utils.reshard(array, P("dp", "tp")).sharding.spec, P("dp", "tp"))
        one = SingleDeviceSharding(jax.devices()[5])
        self.assertEqual(utils.reshard(on(np.zeros(8), "dp"), one).sharding, one)
        with self.assertRaisesRegex(TypeError, "not str"):
            utils.reshard(array, "dp")

    def test_reshard_is_a_constraint_inside_of_jit(self):
        moved = jax.jit(lambda x: utils.reshard(x, NamedSharding(M24, P("tp"))))(jnp.zeros(8))
        self.assertEqual(moved.sharding.shard_shape((8,)), (2,))

    def test_to_host_brings_the_whole_array_and_casts_floats(self):
        values = np.arange(8, dtype=F32) / 3
        host = utils.to_host(on(values, "dp"), None, M24, False)
        self.assertIsInstance(host, np.ndarray)
        np.testing.assert_array_equal(host, values)
        for name in ("bf16", "bfloat16", jnp.bfloat16, ml_dtypes.bfloat16):
            host = utils.to_host(on(values, "dp"), name, M24, True)
            self.assertEqual(host.tobytes(), values.astype(ml_dtypes.bfloat16).tobytes())

    def test_to_host_casts_8_bit_floats_and_no_integers(self):
        eight = on(np.arange(8).astype(ml_dtypes.float8_e4m3fn), "tp")
        self.assertEqual(utils.to_host(eight, "float32", M24, False).dtype, F32)
        whole = on(np.arange(8, dtype=np.int32), "dp")
        self.assertEqual(utils.to_host(whole, "bf16", M24, False).dtype, np.int32)

    def test_to_host_takes_host_arrays_and_numbers(self):
        self.assertEqual(utils.to_host(np.ones(3), "f32", M24, False).dtype, F32)
        self.assertEqual(utils.to_host(3, None, M24, False), 3)

    def test_to_host_refuses_other_dtypes(self):
        for dtype in ("int32", np.int8, "complex64"):
            with self.assertRaisesRegex(ValueError, "floating"):
                utils.to_host(jnp.ones(3), dtype, M24, False)
        with self.assertRaises(ValueError):
            utils.to_host(jnp.ones(3), "nothing", M24, False)

    def test_to_host_of_a_traced_value_is_a_type_error(self):
        with self.assertRaisesRegex(TypeError, "outside of jit"):
            jax.jit(lambda x: utils.to_host(x, None, M24, False))(jnp.ones(3))

    def test_every_dtype_comes_to_the_host_bit_for_bit(self):
        random = np.random.default_rng(0)
        for name in ("bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32",
                     "complex64", "float8_e5m2", "float8_e4m3fn", "int4"):
            dtype = np.dtype(getattr(ml_dtypes, name, name))
            values = random.integers(0, 2, (8, 4)).astype(dtype)
            host = utils.to_host(on(values, "tp", "dp"), None, M24, False)
            self.assertEqual(python_case.digest(host), python_case.digest(values), name)

    def test_broadcast_in_one_process_gives_the_same_bytes(self):
        values = np.array([-0.0, np.nan, 1.5, 2], F32)
        for tensor in (values, on(values, "tp")):
            sent = utils.broadcast_tensor(tensor, 8)
            self.assertEqual(python_case.digest(sent), python_case.digest(values))
        placed = utils.broadcast_tensor(values, 1000, NamedSharding(M24, P("tp")))
        self.assertEqual(placed.sharding, NamedSharding(M24, P("tp")))
        with self.assertRaises(tessera.IndivisibleError):
            utils.broadcast_tensor(np.zeros(7, F32), 1000, NamedSharding(M24, P("tp")))
        with self.assertRaisesRegex(ValueError, "positive"):
            utils.broadcast_tensor(values, 0)

    def test_chunks_are_balanced(self):
        def lengths(tensor, limit):
            return [len(chunk) for chunk in utils.chunk_tensor_by_memory(tensor, limit)]

        tensor = np.arange(10, dtype=F32)
        self.assertEqual(lengths(tensor, 40), [10])
        self.assertEqual(lengths(tensor, 16), [4, 3, 3])
        self.assertEqual(lengths(jnp.arange(11.0), 16), [4, 4, 3])
        np.testing.assert_array_equal(
            np.concatenate(utils.chunk_tensor_by_memory(tensor, 16)), tensor)
        with self.assertLogs(utils.logger, logging.WARNING):
            self.assertEqual(lengths(np.zeros((2, 100), F32), 100), [1, 1])
        scalar = F32(3)
        self.assertIs(utils.chunk_tensor_by_memory(scalar, 16)[0], scalar)
        with self.assertRaises(ValueError):
            utils.chunk_tensor_by_memory(tensor, 0)


class SizesTest(unittest.TestCase):
    def test_bytes_of_arrays_and_numbers(self):
        nbytes = utils.estimate_array_nbytes
        self.assertEqual(nbytes(np.zeros((2, 3), F32)), 24)
        self.assertEqual(nbytes(jnp.zeros((2, 3), jnp.bfloat16)), 12)
        self.assertEqual(nbytes(jax.ShapeDtypeStruct((0, 4), F32)), 0)
        self.assertEqual([nbytes(number) for number in (1, 1.5, True, 1j)], [4, 4, 1, 8])
        five = np.zeros(5, ml_dtypes.int4)
        self.assertEqual((nbytes(five), nbytes(five, storage="padded")), (3, 5))
        for wrong in ("text", None, jax.random.key(0)):
            with self.assertRaises(TypeError):
                nbytes(wrong)
        with self.assertRaisesRegex(ValueError, "storage"):
            nbytes(five, storage="loose")

    def test_available_memory_is_half_of_what_the_host_has(self):
        with mock.patch.object(_core, "available_host_memory", lambda: 1 << 30):
            self.assertEqual(utils.estimate_available_memory(), 1 << 29)
            stats = [(1 << 30, 0)]
            with mock.patch.object(utils, "_device_memory", lambda: stats):
                self.assertEqual(utils.estimate_available_memory(), 429496729)
                stats[0] = (1 << 30, (1 << 30) - (200 << 20))
                self.assertEqual(utils.estimate_available_memory(), 200 << 20)
        with mock.patch.object(_core, "available_host_memory", lambda: 1000):
            self.assertEqual(utils.estimate_available_memory(), 104857600)
        self.assertGreaterEqual(utils.estimate_available_memory(), 104857600)

    def test_keys_are_grouped_in_order(self):
        def group(limit, **sizes):
            state = {key: np.zeros(size, np.uint8) for key, size in sizes.items()}
            return utils.group_keys_by_shard_size(state, limit)

        self.assertEqual(group(16, a=8, b=8, c=8), [["a", "b"], ["c"]])
        self.assertEqual(group(7, a=8, b=8, c=8), [["a"], ["b"], ["c"]])
        self.assertEqual(group(16, a=4, big=100, c=4, d=12), [["a"], ["big"], ["c", "d"]])
        self.assertEqual(group(16), [])
        with self.assertRaises(ValueError):
            group(0, a=1)

    def test_keys_of_one_parent_stay_together(self):
        def layout(limit, sizes, **options):
            state = {key: np.zeros(size, np.uint8) for key, size in sizes.items()}
            return utils.optimize_shard_layout(state, limit, **options)

        self.assertEqual(layout(20, {"l.a": 10, "l.b": 10, "l.c": 10, "m.x": 5}),
                         [["l.a", "l.b"], ["l.c", "m.x"]])
        layers = {"layers.10.w": 4, "layers.2.w": 4, "layers.1.w": 4}
        self.assertEqual(layout(4, layers), [["layers.1.w"], ["layers.2.w"], ["layers.10.w"]])
        self.assertEqual(layout(4, layers, order="codepoint"),
                         [["layers.1.w"], ["layers.10.w"], ["layers.2.w"]])


class NamesTest(unittest.TestCase):
    def test_stems(self):
        stem = utils.derive_base_prefix_from_path
        self.assertEqual(stem("/x/model.safetensors"), "/x/model")
        self.assertEqual(stem(pathlib.PurePosixPath("/x/model-00001-of-00004")), "/x/model")
        self.assertEqual(stem("m-100000-of-100001.safetensors"), "m")
        self.assertEqual(stem(utils.index_filename("/c/m")), "/c/m")
        self.assertEqual(stem(utils.shard_filename("/c/m", 12, 345)), "/c/m")

    def test_shard_numbers_are_checked(self):
        for index, total in ((0, 4), (5, 4), (-1, 4)):
            with self.assertRaises(ValueError):
                utils.shard_filename("m", index, total)

    def test_paths_of_google_cloud(self):
        class GCSPath:
            pass

        answers = [utils.is_gcs_path(path) for path in
                   ("gs://b/c", "gs://", "GS://b", "gs:/b", "", None, pathlib.Path("gs://b"),
                    GCSPath())]
        self.assertEqual(answers, [True, True, False, False, False, False, False, True])
        self.assertEqual(utils.parse_gcs_path("gs://bucket/p/f"), ("bucket", "p/f"))
        self.assertEqual(utils.parse_gcs_path("gs://b//a"), ("b", "/a"))
        for wrong in ("s3://b/c", "gs://", "gs:///a"):
            with self.assertRaises(ValueError):
                utils.parse_gcs_path(wrong)


class Tensors:
    """A manager that has some."""

    def __init__(self, **tensors):
        self.tensors = tensors

    def get_tensor(self, key):
        return self.tensors[key]


class FlatStatesTest(unittest.TestCase):
    def test_one_array_is_placed_passed_on_and_cast(self):
        values = np.arange(8, dtype=F32)
        calls = []

        def note(tensor, key):
            calls.append((key, tensor.sharding))
            return tensor

        shard = {"w": lambda tensor: on(tensor, "dp")}
        key, tensor, mismatch = utils.read_process_array(
            "w", shard, False, Tensors(w=values), note, "bf16")
        self.assertEqual((key, tensor.dtype, mismatch), ("w", jnp.bfloat16, 0))
        self.assertEqual(calls, [("w", NamedSharding(M24, P("dp")))])

    def test_a_key_without_a_function_is_counted_or_refused(self):
        manager = Tensors(w=np.zeros(2))
        self.assertEqual(utils.read_process_array("w", {"x": abs}, True, manager)[2], 1)
        self.assertEqual(utils.read_process_array("w", None, False, manager)[2], 0)
        self.assertEqual(utils.read_process_array("w", {}, False, manager)[2], 0)
        with self.assertRaisesRegex(KeyError, "no shard function for 'w'") as raised:
            utils.read_process_array("w", {"x": abs}, False, manager)
        self.assertIsNone(raised.exception.__cause__)

    def test_the_error_of_a_function_is_no_mismatch(self):
        def broken(tensor):
            raise KeyError("inside")

        with self.assertRaisesRegex(KeyError, "inside"):
            utils.read_process_array("w", {"w": broken}, True, Tensors(w=np.zeros(2)))

    def test_only_wide_floats_are_cast(self):
        for dtype in (ml_dtypes.float8_e5m2, np.int32, np.bool_):
            kept = utils.read_process_array("w", None, True, Tensors(w=np.zeros(2, dtype)),
                                            dtype="bf16")[1]
            self.assertEqual(kept.dtype, dtype)
        with self.assertRaisesRegex(ValueError, "no-such"):
            utils.read_process_array("w", None, True, Tensors(w=np.zeros(2)), dtype="no-such")

    def test_arrays_of_tessera_are_cast_where_they_are(self):
        placed = _core.place(np.arange(8, dtype=F32), tessera.NamedSharding(OWN24, tessera.P("tp")))
        cast = utils.read_process_array("w", None, True, Tensors(w=placed), dtype="bf16")[1]
        self.assertEqual((cast.dtype, cast.sharding), (ml_dtypes.bfloat16, placed.sharding))

    def test_gather_functions_are_found_however_they_are_nested(self):
        state = {"a.w": 1, "b": 2}
        double, triple = lambda x: x * 2, lambda x: x * 3
        for functions in ({"a": {"w": double}, "b": triple}, {"a.w": double, "b": triple},
                          {("a", "w"): double, ("b",): triple}):
            found = utils.apply_gather_functions(state, functions, False, False)
            self.assertEqual(found, {"a.w": 2, "b": 6})
        with self.assertRaisesRegex(KeyError, "'b'"):
            utils.apply_gather_functions(state, {"a.w": double}, False, False)
        self.assertEqual(utils.apply_gather_functions(state, {"a.w": double}, True, True,
                                                      return_mismatches=True),
                         ({"a.w": 2, "b": 2}, 1))

    def test_gathering_by_a_truth_value(self):
        state = {"w": on(np.arange(8, dtype=F32), "dp"), "n": 3}
        gathered = utils.apply_gather_functions(state, True, True, False)
        self.assertIsInstance(gathered["w"], np.ndarray)
        self.assertEqual(gathered["n"], 3)
        for nothing in (False, None):
            self.assertEqual(utils.apply_gather_functions(state, nothing, False, False), state)

    def test_states_are_flattened(self):
        flat = utils.flatten_for_broadcast
        self.assertEqual(flat({"a": {"b": 1, "c": {}}, "d": 2}), {"a.b": 1, "d": 2})
        self.assertEqual(flat({1: {"x": 2}, "a": [1, {"b": 2}], "n": None}),
                         {"1.x": 2, "a": [1, {"b": 2}], "n": None})
        self.assertEqual(flat({("a", "b"): 1}), {"a.b": 1})
        self.assertEqual(flat({"z": {"y": 1, "x": {"w": 2}}, "a": 3}),
                         {"z.y": 1, "z.x.w": 2, "a": 3})
        self.assertEqual(list(flat({"z": {"y": 1, "x": 2}, "a": 3})), ["z.y", "z.x", "a"])
        self.assertEqual(flat({"a": {"c": {}}}, keep_empty_nodes=True), {"a.c": {}})
        self.assertEqual(flat({}), {})
        for clash in ({"a": {"b": 1}, "a.b": 2}, {1: 2, "1": 3}):
            with self.assertRaisesRegex(ValueError, "two values"):
                flat(clash)
        with self.assertRaises(TypeError):
            flat([1])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
