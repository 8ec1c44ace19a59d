"""What the tests of the Python package have in common."""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest


def jax_with_devices(count=8):
    """JAX with so many devices that are the host's.  Before anything else imports JAX."""
    assert "jax" not in sys.modules, "JAX was imported too early"
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    return jax


def digest(array):
    """SHA-256 of the elements, whatever holds them: equal for equal bytes, -0.0 and NaN as well."""
    import numpy

    array = numpy.ascontiguousarray(numpy.asarray(array))
    about = f"{array.dtype.name}{list(array.shape)}".encode()
    return hashlib.sha256(about + array.tobytes()).hexdigest()


class PythonCase(unittest.TestCase):
    """A folder for each test, and programs of their own where a process must end."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tessera-python-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_same_arrays(self, found, expected):
        """Trees of arrays with equal elements, by JAX's or tessera's key paths."""
        from tessera import _core

        found, expected = _core.FlatTree(found), _core.FlatTree(expected)
        self.assertEqual(found.keys, expected.keys)
        for key, a, b in zip(found.keys, found.leaves, expected.leaves):
            self.assertEqual(digest(a), digest(b), key)

    def program(self, text, *arguments, check=True, timeout=120, interpreter=sys.executable,
                **environment):
        """Runs Python text in a process of its own, with the same package."""
        path = os.pathsep.join(p for p in sys.path if p)
        done = subprocess.run(
            [interpreter, "-c", textwrap.dedent(text), *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
        )
        if check:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done
