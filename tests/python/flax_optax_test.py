"""The states of flax and optax: registered containers and named tuples, as programs have them."""

import unittest

import python_case

jax = python_case.jax_with_devices(8)

import flax.core
import flax.struct
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from flax.training import train_state
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import tessera

MESH = Mesh(np.array(jax.devices()).reshape(2, 4), ("dp", "tp"))


def make_state():
    params = flax.core.freeze({"dense": {
        "kernel": jax.device_put(np.arange(32, dtype=np.float32).reshape(8, 4),
                                 NamedSharding(MESH, P("dp", "tp"))),
        "bias": jax.device_put(jnp.zeros(4, jnp.bfloat16), NamedSharding(MESH, P()))}})
    chain = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    return train_state.TrainState.create(apply_fn=None, params=params, tx=chain)


class FlaxOptaxTest(python_case.PythonCase):
    def test_a_train_state_comes_back_as_itself(self):
        state = make_state()
        report = tessera.save(self.folder / "c", state)
        self.assertEqual(report.lost, [])
        self.assertIn("opt_state.1.0.mu.dense.kernel", tessera.open(self.folder / "c"))
        loaded = tessera.load(self.folder / "c", like=state)
        self.assertEqual(jax.tree.structure(loaded), jax.tree.structure(state))
        self.assert_same_arrays(loaded, state)
        self.assertEqual(loaded.params["dense"]["kernel"].sharding,
                         state.params["dense"]["kernel"].sharding)

    def test_without_a_template_named_tuples_are_made_again(self):
        state = make_state().opt_state
        tessera.save(self.folder / "c", {"opt": state})
        with self.assertWarnsRegex(UserWarning, "FrozenDict"):
            loaded = tessera.load(self.folder / "c")["opt"]
        self.assertIsInstance(loaded[0], optax.EmptyState)
        self.assertIsInstance(loaded[1][0], optax.ScaleByAdamState)

    def test_an_nnx_state(self):
        model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
        state = nnx.state(model)
        tessera.save(self.folder / "c", state)
        self.assertEqual(sorted(tessera.open(self.folder / "c")), ["bias.value", "kernel.value"])
        self.assert_same_arrays(tessera.load(self.folder / "c", like=state), state)


if __name__ == "__main__":
    unittest.main()
