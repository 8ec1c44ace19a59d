"""What pip installs: the module, its types, the command, and nothing of the C++ library."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys
import unittest

import python_case

import tessera

DISTRIBUTION = importlib.metadata.distribution("tessera")
FILES = [str(path) for path in DISTRIBUTION.files]


class PackageTest(python_case.PythonCase):
    def test_one_version_is_told_by_all(self):
        self.assertEqual(tessera.__version__, DISTRIBUTION.version)
        told = subprocess.run([os.environ["TESSERA_PROGRAM"], "--version"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.assertIn(DISTRIBUTION.version, told)

    def test_the_installed_package_is_the_one_tested(self):
        self.assertTrue(pathlib.Path(tessera.__file__).is_relative_to(sys.prefix), tessera.__file__)

    def test_what_it_needs_is_named(self):
        needs = DISTRIBUTION.requires
        self.assertEqual([need for need in needs if "extra" not in need],
                         ["numpy>=1.26", "ml_dtypes>=0.5"])
        self.assertEqual(DISTRIBUTION.metadata.get_all("Provides-Extra"), ["jax", "tqdm"])
        self.assertEqual(DISTRIBUTION.metadata["Requires-Python"], ">=3.10")

    def test_types_come_with_it(self):
        self.assertIn("tessera/py.typed", FILES)
        self.assertIn("tessera/_core.pyi", FILES)
        stub = (pathlib.Path(tessera.__file__).parent / "_core.pyi").read_text()
        for name in ("class Mesh", "class PartitionSpec", "class ShardedArray", "class Saver"):
            self.assertIn(name, stub)

    def test_nothing_of_the_library_comes_with_it(self):
        self.assertEqual([f for f in FILES if f.endswith((".h", ".a", ".cc", ".cmake", ".pc"))], [])
        outside = [f for f in FILES if not f.startswith(("tessera/", "tessera-"))]
        self.assertEqual({pathlib.Path(f).name for f in outside} - {"libtessera_mpi.so"},
                         {"tessera"})

    def test_importing_is_quick_and_brings_nothing_large(self):
        done = self.program("""
            import sys, time
            start = time.perf_counter()
            import tessera
            print(time.perf_counter() - start)
            print(*[name for name in ("jax", "fsspec", "tqdm", "torch") if name in sys.modules])
            """)
        seconds, modules = done.stdout.split("\n")[:2]
        self.assertEqual(modules, "")
        self.assertLess(float(seconds), 1)  # docs/performance.md has what a quiet machine takes


if __name__ == "__main__":
    unittest.main()
