"""Safetensors that we write, read by the `safetensors` package and by eformer; theirs, read by us.

usage: safetensors_peers_test.py CHECKPOINT_PEER

Random trees with every dtype of the format, on meshes of eight devices, and headers that are
damaged in random places, which both must judge alike.  PyTorch is Debian's, which is small and knows
no float8.  CHECKPOINT_PEER is the program of checkpoint_peer.cc.
"""

import json
import random
import sys
import unittest

import numpy as np
import safetensors
import safetensors.numpy

# Behind the packages of the environment, which are newer where both have one.  PyTorch warns of the
# newer NumPy, which it does without here.
sys.path.append("/usr/lib/python3/dist-packages")
import torch
import safetensors.torch

from peer_case import ONE_AXIS, PeersTest, jax_mesh
from peer_trees import MESHES, SAFETENSORS_CODES as CODES
from peer_trees import StorableTrees, arrays_of, bits_of, dtype_of, nested

from eformer.serialization import AsyncCheckpointManager

NAMES = {code: name for name, code in CODES.items()}
# What the package's NumPy reader knows.
NUMPY = [name for name in CODES if hasattr(np, name)]


def tree_of(flat):
    """Nested dicts of a dict with dotted keys."""
    tree = {}
    for key, leaf in flat.items():
        *parents, last = key.split(".")
        at = tree
        for name in parents:
            at = at.setdefault(name, {})
        at[last] = leaf
    return tree


def numpy_only(flat):
    return {key: leaf for key, leaf in flat.items() if leaf.dtype.name in NUMPY}


def serialized(flat, metadata=None):
    """The bytes that the package makes of any dtype."""
    flat = {key: np.ascontiguousarray(leaf).reshape(leaf.shape) for key, leaf in flat.items()}
    return bytes(safetensors.serialize(
        {key: safetensors.TensorSpec(dtype=leaf.dtype.name, shape=leaf.shape,
                                     data_ptr=leaf.ctypes.data, data_len=leaf.nbytes)
         for key, leaf in flat.items()}, metadata=metadata))


def deserialized(path):
    """What the package finds in a file, with every dtype."""
    return {key: np.frombuffer(view["data"], dtype_of(NAMES[view["dtype"]])).reshape(view["shape"])
            for key, view in safetensors.deserialize(path.read_bytes())}


def read_by_index(folder, stem="model"):
    """As transformers reads a sharded set: the index, then each file once."""
    index = json.loads((folder / f"{stem}.safetensors.index.json").read_text())
    by_file = {}
    for key, name in index["weight_map"].items():
        by_file.setdefault(name, []).append(key)
    flat = {}
    for name, keys in by_file.items():
        found = deserialized(folder / name)
        flat |= {key: found[key] for key in keys}
    return flat, index


class SafetensorsPeersTest(PeersTest):
    def assert_flat(self, found, expected, where):
        self.assertEqual(sorted(found), sorted(expected), where)
        for key, leaf in expected.items():
            self.assertEqual(found[key].dtype, leaf.dtype, (where, key))
            self.assertEqual(found[key].shape, leaf.shape, (where, key))
            self.assertEqual(bits_of(found[key]), bits_of(leaf), (where, key))
        self.arrays += len(expected)

    def save_tensors(self, trees, folder, flat, **options):
        mesh = trees.pick(MESHES)
        return self.peer.save(folder, tree_of(flat), lambda shape: trees.spec(mesh, shape),
                              mesh=mesh, safetensors=options)

    def test_we_load_what_the_package_writes(self):
        for seed in range(200, 208):
            trees, folder = StorableTrees(seed), self.peer.folder()
            folder.mkdir()
            flat = trees.flat()
            (folder / "model.safetensors").write_bytes(serialized(flat, {"format": "np"}))
            result = self.check_we_load(trees, folder, tree_of(flat))
            self.assertEqual(result, {"integrity": "none", "indexed": False})
            self.check_we_load(trees, folder / "model.safetensors", tree_of(flat))

    def test_we_load_its_numpy_files(self):
        trees, folder = StorableTrees(210), self.peer.folder()
        folder.mkdir()
        flat = numpy_only(trees.flat())
        safetensors.numpy.save_file(flat, folder / "weights.bin", {"any": "text"})
        self.check_we_load(trees, folder, tree_of(flat))

    def test_our_files_are_the_package_s_byte_for_byte(self):
        for seed in range(220, 228):
            trees, folder = StorableTrees(seed), self.peer.folder()
            flat, metadata = trees.flat(), trees.pick([{}, {"format": "pt"}, {"ä\n": "\"\\\u0001"}])
            self.save_tensors(trees, folder, flat, metadata=metadata)
            path = folder / "model.safetensors"
            self.assertEqual(path.read_bytes(), serialized(flat, metadata or None), seed)
            self.arrays += len(flat)

    def test_the_package_reads_what_we_write(self):
        for seed in range(230, 236):
            trees, folder = StorableTrees(seed), self.peer.folder()
            flat = trees.flat()
            self.save_tensors(trees, folder, flat, metadata={"format": "np", "seed": str(seed)})
            path = folder / "model.safetensors"
            self.assert_flat(deserialized(path), flat, folder)
            with safetensors.safe_open(path, "np") as opened:
                self.assertEqual(opened.metadata(), {"format": "np", "seed": str(seed)})
                found = {key: opened.get_tensor(key) for key in numpy_only(flat)}
            self.assert_flat(found, numpy_only(flat), folder)
            result = self.check_we_load(trees, folder, tree_of(flat))
            self.assertEqual(result["integrity"], "manifest")
            self.assertEqual(self.peer.run(do="verify", dir=folder)["problems"], [])

    def test_a_reader_of_indexes_reads_our_shards(self):
        for seed in range(240, 246):
            trees, folder = StorableTrees(seed), self.peer.folder()
            flat = trees.flat()
            largest = max(leaf.nbytes for leaf in flat.values())
            self.save_tensors(trees, folder, flat, shard_bytes=max(1, largest), stem="net")
            found, index = read_by_index(folder, "net")
            self.assert_flat(found, flat, folder)
            self.assertEqual(index["metadata"]["total_size"],
                             sum(leaf.nbytes for leaf in flat.values()))
            self.check_we_load(trees, folder, tree_of(flat))
            self.check_we_load(trees, folder / "net.safetensors.index.json", tree_of(flat))

    def test_we_load_shards_as_transformers_writes_them(self):
        for seed in range(250, 254):
            trees, folder = StorableTrees(seed), self.peer.folder()
            folder.mkdir()
            flat, shards = trees.flat(), 3
            files = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
            weight_map = {key: files[i % shards] for i, key in enumerate(sorted(flat))}
            for name in files:
                part = {key: flat[key] for key in flat if weight_map[key] == name}
                (folder / name).write_bytes(serialized(part, {"format": "pt"}))
            # Without the index the complete series is a set as well.
            self.check_we_load(trees, folder, tree_of(flat))
            index = {"metadata": {"total_size": sum(leaf.nbytes for leaf in flat.values())},
                     "weight_map": weight_map}
            (folder / "model.safetensors.index.json").write_text(
                json.dumps(index, indent=2, sort_keys=True) + "\n")
            self.check_we_load(trees, folder, tree_of(flat))
            self.assertEqual(self.peer.run(do="seal", dir=folder)["sealed"],
                             ["model.safetensors.index.json"])
            result = self.check_we_load(trees, folder, tree_of(flat))
            self.assertEqual(result["integrity"], "seal")

    def test_torch_reads_what_we_write(self):
        for seed in range(280, 283):
            trees, folder = StorableTrees(seed), self.peer.folder()
            flat = {key: leaf for key, leaf in trees.flat().items()
                    if hasattr(torch, leaf.dtype.name)}
            self.save_tensors(trees, folder, flat, metadata={"format": "pt"})
            found = safetensors.torch.load_file(folder / "model.safetensors")
            self.assertEqual(sorted(found), sorted(flat))
            for key, leaf in flat.items():
                self.assertEqual(found[key].dtype, getattr(torch, leaf.dtype.name), key)
                self.assertEqual(tuple(found[key].shape), leaf.shape, key)
                self.assertEqual(torch_bytes(found[key]), leaf.tobytes(), key)
            self.arrays += len(flat)

    def test_we_load_what_torch_writes(self):
        folder = self.peer.folder()
        folder.mkdir()
        tensors = {"a.half": torch.randn(3, 5).to(torch.bfloat16), "a.long": torch.arange(7),
                   "b": torch.randn(4, 4, dtype=torch.float64)}
        safetensors.torch.save_file(tensors, folder / "model.safetensors")
        flat = {key: np.frombuffer(torch_bytes(tensor), dtype_of(str(tensor.dtype).split(".")[1]))
                .reshape(tensor.shape) for key, tensor in tensors.items()}
        self.check_we_load(StorableTrees(285), folder, tree_of(flat))

    def test_eformer_reads_what_we_write(self):
        for seed in range(260, 264):
            trees, folder = StorableTrees(seed), self.peer.folder()
            flat = numpy_only(trees.flat())
            options = {} if seed % 2 else {"shard_bytes": 1 + sum(a.nbytes for a in flat.values()) // 2}
            self.save_tensors(trees, folder, flat, **options)
            manager = AsyncCheckpointManager(use_tensorstore=False, float_dtype=None)
            loaded, _ = manager.load(str(folder / "model.safetensors"), jax_mesh(ONE_AXIS))
            self.assert_same(loaded, tree_of(flat), folder)

    def test_both_judge_damaged_headers_alike(self):
        chance, folder = random.Random(270), self.peer.folder()
        folder.mkdir()
        trees = StorableTrees(270)
        files, verdicts = [], []
        for number in range(1500):
            data = bytearray(serialized(trees.flat(), {"format": "pt"}) if number % 50 == 0
                             else original)
            if number % 50 == 0:
                original = bytes(data)
            damage(data, chance)
            path = folder / f"{number}.safetensors"
            path.write_bytes(data)
            files.append(path.name)
            verdicts.append(judgement(bytes(data)))
        ours = self.peer.run(do="judge", dir=folder, files=files)["errors"]
        differing = [(path, theirs, mine) for path, theirs, mine in zip(files, verdicts, ours)
                     if (theirs is None) != (mine is None) and not stricter(mine)]
        self.assertEqual(differing, [])
        refused = sum(verdict is not None for verdict in verdicts)
        self.assertGreater(refused, 300)
        self.assertGreater(len(files) - refused, 100)

    def test_conversions_are_what_others_read(self):
        for seed in range(290, 294):
            trees, folder = StorableTrees(seed), self.peer.folder()
            folder.mkdir()
            flat = trees.flat()
            original = folder / "model.safetensors"
            original.write_bytes(serialized(flat))
            places = {name: self.peer.folder() for name in ("tensorstore", "zarr3", "shards")}
            self.peer.run(do="convert", dir=original, to=str(places["tensorstore"]),
                          format="tensorstore", prefix="model")
            self.check_eformer_loads(trees, places["tensorstore"], tree_of(flat), prefix="model")
            self.peer.run(do="convert", dir=places["tensorstore"], to=str(places["zarr3"]),
                          format="zarr3")
            self.peer.run(do="convert", dir=places["zarr3"], to=str(places["shards"]),
                          format="safetensors", shard_bytes=1000)
            found, _ = read_by_index(places["shards"])
            # One prefix alone is not part of the keys.
            self.assert_flat(found, flat, seed)
            back = self.peer.folder().with_suffix(".safetensors")
            self.peer.run(do="convert", dir=original, to=str(back), format="safetensors")
            self.assertEqual(back.read_bytes(), original.read_bytes())

    def test_kernels_are_transposed_as_numpy_does_it(self):
        trees, folder = StorableTrees(300), self.peer.folder()
        flat = {"a.kernel": trees.array("bfloat16", [5, 7]), "b.kernel": trees.array("int8", [2, 3, 4]),
                "b.bias": trees.array("float32", [6, 2])}
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(serialized(flat))
        target = self.peer.folder().with_suffix(".safetensors")
        self.peer.run(do="convert", dir=folder, to=str(target), format="safetensors",
                      transpose="kernel$")
        expected = {key: leaf.swapaxes(-1, -2).copy() if "kernel" in key else leaf
                    for key, leaf in flat.items()}
        self.assert_flat(deserialized(target), expected, folder)


def torch_bytes(tensor):
    """The elements of a tensor; without NumPy, as Debian's PyTorch knows an older one."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())


def judgement(data):
    """None, or why the package refuses the bytes."""
    try:
        safetensors.deserialize(data)
    except Exception as error:  # whatever it throws is its answer
        return str(error)
    return None


def stricter(message):
    """Whether we refuse on purpose what the package lets pass."""
    return message is not None and "stands there twice" in message


def damage(data, chance):
    """Changes a byte of the header, its length, or the end of the file."""
    length = int.from_bytes(data[:8], "little")
    for _ in range(chance.choice([1, 1, 2])):
        kind = chance.random()
        if kind < 0.1:
            data[chance.randrange(8)] ^= 1 << chance.randrange(8)
        elif kind < 0.2:
            del data[chance.randrange(len(data)):]
        elif kind < 0.25:
            data += bytes(chance.randrange(1, 9))
        elif kind < 0.6:
            at = 8 + chance.randrange(length)
            if at < len(data):
                data[at] = chance.choice(b'0123456789,:[]{}" \\e.-nFI\xc3\xff')
        else:
            digits = [i for i in range(8, min(8 + length, len(data))) if chr(data[i]).isdigit()]
            if digits:
                data[chance.choice(digits)] = chance.choice(b"0123456789")


if __name__ == "__main__":
    unittest.main()
