"""Eight devices of the host and the meshes that the tests of shardings use.

Imported before anything else imports JAX.
"""

import python_case

jax = python_case.jax_with_devices(8)

import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import tessera

DEVICES = np.array(jax.devices())
M24 = Mesh(DEVICES.reshape(2, 4), ("dp", "tp"))
M18 = Mesh(DEVICES.reshape(1, 8), ("dp", "tp"))
OWN24 = tessera.Mesh(("dp", "tp"), (2, 4))
F32 = np.float32


def on(array, *spec, mesh=M24):
    return jax.device_put(array, NamedSharding(mesh, P(*spec)))


def zeros(*shape):
    return np.zeros(shape, F32)
