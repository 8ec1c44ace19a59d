"""What the runners of recorded cases share: reports, outcomes, and objects of JAX and tessera."""

import collections
import json

import python_case

jax = python_case.jax_with_devices(16)

import numpy as np
from jax.sharding import Mesh as JaxMesh
from jax.sharding import NamedSharding as JaxNamedSharding
from jax.sharding import PartitionSpec as JaxSpec

import tessera
from tessera import _core

# The exceptions that the original's stand for, where they are not the same.
OURS = {
    "IndivisibleError": tessera.IndivisibleError,
    "DuplicateSpecError": tessera.DuplicateAxisError,
    "NameError": KeyError,
    "KeyError": KeyError,
    "AssertionError": AssertionError,
    "FileNotFoundError": FileNotFoundError,
    "TypeError": (TypeError, ValueError),
}


class Report:
    """What agreed, what we decided to do otherwise, what failed."""

    def __init__(self):
        self.passed = 0
        self.differs = collections.Counter()
        self.failures = []

    def check(self, agrees, case, why):
        if agrees:
            self.passed += 1
        else:
            self.failures.append(f"{why}\n  in {json.dumps(case)[:500]}")

    def summary(self, group):
        ids = ", ".join(f"{name} {count}" for name, count in sorted(self.differs.items()))
        return (f"{group}: {self.passed} passed, {len(self.failures)} failed, "
                f"{sum(self.differs.values())} differ" + (f" ({ids})" if ids else ""))


def outcome(function, *arguments, **options):
    """(result, None) or (None, error)."""
    try:
        return function(*arguments, **options), None
    except (ValueError, TypeError, KeyError, AssertionError, FileNotFoundError) as error:
        return None, error


def is_error(error, expected):
    return "error" in expected and isinstance(error, OURS.get(expected["error"], ValueError))


class Jax:
    """JAX's objects, on devices of the host."""

    spec_class = JaxSpec

    @staticmethod
    def has(mesh):
        return all(device < len(jax.devices()) for device in mesh["device_ids"])

    @staticmethod
    def mesh(mesh):
        devices = np.array([jax.devices()[device] for device in mesh["device_ids"]])
        return JaxMesh(devices.reshape(mesh["sizes"]), mesh["axes"])

    @staticmethod
    def array(shape):
        return jax.device_put(np.zeros(shape, np.float32), jax.devices()[0])

    @staticmethod
    def placement(mesh, spec, shape):
        """Shard shape, whether replicated, and the boxes, by tessera from JAX's objects."""
        sharding = _core.NamedSharding(mesh, spec)
        return sharding, JaxNamedSharding(mesh, spec)


class Own:
    """tessera's objects."""

    spec_class = tessera.PartitionSpec

    @staticmethod
    def has(mesh):
        return True

    @staticmethod
    def mesh(mesh):
        return tessera.Mesh(mesh["axes"], mesh["sizes"], mesh["device_ids"])

    @staticmethod
    def array(shape):
        return _core.place(np.zeros(shape, np.float32), tessera.SingleDeviceSharding(0))

    @staticmethod
    def placement(mesh, spec, shape):
        return tessera.NamedSharding(mesh, spec), None


KINDS = (Jax, Own)


def spec_of(kind, value):
    return kind.spec_class(*(tuple(entry) if isinstance(entry, list) else entry
                             for entry in value))


def json_of(spec):
    return [list(entry) if isinstance(entry, tuple) else entry for entry in spec]
