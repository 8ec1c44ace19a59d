"""Checkpoints of eformer's loaded by tessera, and tessera's by eformer, in one process.

Random trees with every dtype that JAX can store, from random meshes of eight devices to random
others; what comes back is compared by SHA-256 of the elements.
"""

import pathlib
import unittest

from interop_case import MESHES, InteropTest, TreesWithPairs, peer_meshes

import eformer.serialization
import eformer.serialization.serialization as theirs
import jax
from jax.experimental.array_serialization.serialization import (
    GlobalAsyncCheckpointManager as JaxManager,
)

import tessera
import tessera.eformer.serialization
import tessera.eformer.serialization.serialization as ours
from peer_trees import arrays_of, nested

PREFIXES = ("model", "ema.fast", None)


class InteropEformerTest(InteropTest):
    def test_both_load_what_either_of_them_writes(self):
        for seed in range(6):
            trees = TreesWithPairs(seed)
            tree, prefix = trees.tree(), PREFIXES[seed % 3]
            for writer in (theirs, ours):
                folder = self.folder(f"{seed}-{writer.__name__}")
                writer.tree_serialize_leaves(str(folder), self.place(trees, tree), prefix=prefix)
                for reader in (ours, theirs):
                    mesh, shardings = self.places(trees, tree)
                    loaded = reader.tree_deserialize_leaves(
                        str(folder), mesh, prefix=prefix, shardings=shardings)
                    self.assert_same(loaded, nested(tree))
                    self.assert_placed(loaded, shardings)

    def test_rules_place_alike(self):
        for seed in range(10, 13):
            trees, folder = TreesWithPairs(seed), self.folder(seed)
            tree = trees.tree(values=False)
            writer = (theirs, ours)[seed % 2]
            writer.tree_serialize_leaves(str(folder), self.place(trees, tree), prefix="m")
            mesh, shardings = self.places(trees, tree)
            rules = [(f"^{key.replace('.', '/')}$", sharding.spec)
                     for key, sharding in shardings.items()]
            found = [reader.tree_deserialize_leaves(
                str(folder), mesh, prefix="m", partition_rules=rules, chunk_size=2)
                for reader in (ours, theirs)]
            for loaded in found:
                self.assert_same(loaded, tree)
                self.assert_placed(loaded, shardings)

    def test_load_reads_what_eformer_writes(self):
        for seed in range(20, 24):
            trees, folder = TreesWithPairs(seed), self.folder(seed)
            tree = trees.tree()
            theirs.tree_serialize_leaves(str(folder), self.place(trees, tree), prefix="model")
            self.assert_same(tessera.load(folder, prefix="model"), nested(tree))
            mesh, shardings = self.places(trees, tree)
            loaded = tessera.load(folder, prefix="model", mesh=mesh, shardings=shardings)
            self.assert_same(loaded, nested(tree))
            self.assert_placed(loaded, shardings)

    def test_eformer_reads_what_save_writes(self):
        for seed, codec in enumerate(("auto", "zstd:1", "none", "blosc-lz4:5"), 30):
            trees, folder = TreesWithPairs(seed), self.folder(seed)
            tree = trees.tree()
            tessera.save(folder, self.place(trees, tree), prefix="model", codec=codec,
                         chunk_bytes=trees.pick([64, 300, 1 << 26]))
            mesh, shardings = self.places(trees, tree)
            loaded = theirs.tree_deserialize_leaves(str(folder), mesh, prefix="model",
                                                    shardings=shardings)
            self.assert_same(loaded, nested(tree))
            self.assert_placed(loaded, shardings)

    def test_managers_read_each_other(self):
        for seed in range(40, 43):
            trees = TreesWithPairs(seed)
            tree = trees.tree(values=False)
            for writer in (eformer, tessera.eformer):
                folder = str(self.folder(f"{seed}-{writer.__name__}"))
                mesh, _ = self.places(trees, tree)
                writer.serialization.AsyncCheckpointManager().save_tree(
                    self.place(trees, tree), folder, mesh=mesh, prefix="model")
                for reader in (tessera.eformer, eformer):
                    mesh = peer_meshes.jax_mesh(MESHES[0])  # without rules there must be one axis
                    manager = reader.serialization.AsyncCheckpointManager()
                    loaded, _ = manager.load(folder, mesh, prefix="model")
                    self.assert_same(loaded, tree)

    def test_jax_reads_single_arrays_of_ours_and_we_its(self):
        for seed in range(50, 53):
            trees, folder = TreesWithPairs(seed), self.folder(seed)
            tree = trees.tree(values=False)
            keys = [key for key, _ in arrays_of(tree)]
            paths = [str(pathlib.Path(folder, "model", *key)) for key in keys]
            _, shardings = self.places(trees, tree)
            tessera.save(folder, self.place(trees, tree), prefix="model")
            loaded = JaxManager().deserialize_with_paths(
                [shardings[".".join(key)] for key in keys], paths)
            self.assert_same(loaded, [leaf for _, leaf in arrays_of(tree)])
            again = self.folder(f"{seed}-jax")
            manager = JaxManager()
            manager.serialize_with_paths(jax.tree.leaves(self.place(trees, tree)), [
                str(again.joinpath(*key)) for key in keys])
            manager.wait_until_finished()
            self.assert_same(tessera.load(again), tree)


if __name__ == "__main__":
    unittest.main()
