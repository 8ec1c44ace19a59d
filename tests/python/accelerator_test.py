"""Arrays on an accelerator, of JAX and torch.  Run by hand where there is one:

    PYTHONPATH=build/release/python python3 tests/python/accelerator_test.py

The last test prints how fast 4 GiB go; TMPDIR says where to.
"""

import time
import unittest

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import torch
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import python_case
import tessera


class AcceleratorTest(python_case.PythonCase):
    def setUp(self):
        super().setUp()
        self.device = jax.devices()[0]
        self.assertNotEqual(self.device.platform, "cpu", "there is no accelerator here")
        self.mesh = Mesh(np.array(jax.devices()[:1]), ("x",))

    def test_jax_arrays_go_to_and_fro(self):
        tree = {"w": jnp.arange(1 << 20, dtype=jnp.float32).reshape(1024, 1024),
                "b": jnp.ones((64, 3), jnp.bfloat16), "f8": jnp.ones(16, jnp.float8_e4m3fn),
                "host": np.arange(5), "step": jnp.int32(3)}
        tessera.save(self.folder / "c", tree)
        loaded = tessera.load(self.folder / "c", mesh=self.mesh, rules=[(".*", P())])
        self.assert_same_arrays(loaded, tree)
        self.assertEqual(loaded["w"].devices(), {self.device})
        like = jax.tree.map(
            lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=NamedSharding(self.mesh, P())),
            {"w": tree["w"], "b": tree["b"]})
        self.assert_same_arrays(tessera.load(self.folder / "c", like=like),
                                {"w": tree["w"], "b": tree["b"]})

    def test_arrays_in_pinned_host_memory(self):
        pinned = NamedSharding(self.mesh, P(), memory_kind="pinned_host")
        array = jax.device_put(np.arange(4096.0, dtype=np.float32), pinned)
        tessera.save(self.folder / "c", {"w": array})
        loaded = tessera.load(self.folder / "c", shardings={"w": pinned})["w"]
        self.assert_same_arrays(loaded, array)
        self.assertEqual(loaded.sharding.memory_kind, "pinned_host")

    def test_a_background_save_survives_donation(self):
        array = jnp.arange(1 << 22, dtype=jnp.float32)
        expected = np.array(array)
        future = tessera.save(self.folder / "c", {"w": array}, background=True)
        jax.jit(lambda a: a * 0, donate_argnums=0)(array).block_until_ready()
        future.result(60)
        self.assert_same_arrays(tessera.load(self.folder / "c")["w"], expected)

    def test_torch_tensors_of_every_8_bit_float(self):
        names = [name for name in dir(torch) if name.startswith("float8_")]
        self.assertIn("float8_e4m3fn", names)
        raw = torch.arange(256, dtype=torch.uint8)
        for place in ("cpu", "cuda"):
            tree = {name: raw.view(getattr(torch, name)).to(place) for name in names}
            tree["bfloat16"] = torch.ones(4, dtype=torch.bfloat16, device=place)
            tree["bool"] = torch.tensor([True, False], device=place)
            tessera.save(self.folder / place, tree)
            expected = {name: np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name))
                        for name in names}
            expected.update(bfloat16=np.ones(4, ml_dtypes.bfloat16), bool=np.array([True, False]))
            self.assert_same_arrays(tessera.load(self.folder / place), expected)

    def test_speed_of_4_gib(self):
        tree = {str(i): jax.device_put(jnp.full((1 << 28,), i, jnp.bfloat16)) for i in range(8)}
        jax.block_until_ready(tree)
        for _ in range(3):
            start = time.perf_counter()
            future = tessera.save(self.folder / "c", tree, codec="none", background=True)
            blocked = time.perf_counter() - start
            report = future.result()
            saved = time.perf_counter() - start
            start = time.perf_counter()
            loaded = tessera.load(self.folder / "c", mesh=self.mesh)
            jax.block_until_ready(loaded)
            print(f"save {saved:.2f} s, of which the caller waits {blocked:.2f} s; "
                  f"load {report.nbytes / (time.perf_counter() - start) / 1e9:.1f} GB/s")
            del loaded


if __name__ == "__main__":
    unittest.main()
