"""Safetensors that tessera writes, read by the `safetensors` package and eformer; theirs, read by us."""

import unittest

from interop_case import MESHES, InteropTest, peer_meshes

import safetensors.numpy
from eformer.serialization import AsyncCheckpointManager
from peer_trees import StorableTrees, nested

import numpy as np
import tessera


class InteropSafetensorsTest(InteropTest):
    def tree(self, trees, numpy_only):
        """Of dtypes that both sides know: the package reads into NumPy's own types and bfloat16."""
        tree = {}
        while len(tree) < 8:
            array = trees.array()
            if not numpy_only or hasattr(np, array.dtype.name) or array.dtype.name == "bfloat16":
                tree[f"layers/{len(tree)}" if len(tree) % 3 else f"w{len(tree)}"] = array
        return tree

    def test_the_package_reads_what_we_write(self):
        for seed in range(4):
            trees, folder = StorableTrees(seed), self.folder(seed)
            tree = self.tree(trees, numpy_only=True)
            more = {"shard_bytes": 2000} if seed % 2 else {}
            tessera.save(folder, self.place(trees, tree), format="safetensors", **more)
            found = {}
            for file in folder.glob("*.safetensors"):
                found.update(safetensors.numpy.load_file(file))
            self.assert_same(found, tree)

    def test_we_read_what_the_package_writes(self):
        for seed in range(10, 14):
            trees, file = StorableTrees(seed), self.root / f"{seed}.safetensors"
            tree = self.tree(trees, numpy_only=True)
            safetensors.numpy.save_file(tree, file)
            self.assert_same(tessera.load(file), tree)
            mesh, shardings = self.places(trees, tree)
            loaded = tessera.load(file, mesh=mesh, shardings=shardings)
            self.assert_same(loaded, tree)
            self.assert_placed(loaded, shardings)

    def test_every_dtype_comes_back_from_our_own_files(self):
        for seed in range(20, 24):
            trees, folder = StorableTrees(seed), self.folder(seed)
            tree = trees.tree(values=False)
            tessera.save(folder, self.place(trees, tree), format="safetensors")
            mesh, shardings = self.places(trees, tree)
            loaded = tessera.load(folder, mesh=mesh, shardings=shardings)
            self.assert_same(nested(loaded), nested(tree))

    def test_eformer_reads_what_we_write(self):
        for seed in range(30, 33):
            trees, folder = StorableTrees(seed), self.folder(seed)
            tree = self.tree(trees, numpy_only=True)
            tessera.save(folder, self.place(trees, tree), format="safetensors")
            file = next(folder.glob("*.safetensors"))
            loaded, _ = AsyncCheckpointManager().load(str(file), peer_meshes.jax_mesh(MESHES[0]))
            self.assert_same(nested(loaded), nested(tree))


if __name__ == "__main__":
    unittest.main()
