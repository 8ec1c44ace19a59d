"""Random trees of arrays for tests that hold checkpoints of two programs against each other.

Trees are made of dicts, lists, tuples, None, plain values and NumPy arrays.  checkpoint_peer.cc
tells how its jobs write them down.
"""

import itertools
import json
import math
import os
import pathlib
import subprocess
import tempfile

import ml_dtypes
import numpy as np

# All that JAX can write to zarr v2; TensorStore has no uint4, uint2, float8_e4m3 or float6 there.
NUMPY_DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
    "float32", "float64", "complex64", "complex128",
]
ML_DTYPES = [
    "bfloat16", "float8_e3m4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4", "int2",
]
DTYPES = NUMPY_DTYPES + ML_DTYPES
BITS = {"bool": 1, "float4_e2m1fn": 4, "int4": 4, "int2": 2}

# The codes of safetensors that NumPy and ml_dtypes have a whole-byte type for.
SAFETENSORS_CODES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "float8_e5m2": "F8_E5M2",
    "float8_e4m3fn": "F8_E4M3", "float8_e8m0fnu": "F8_E8M0", "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ", "int16": "I16", "uint16": "U16", "float16": "F16",
    "bfloat16": "BF16", "int32": "I32", "uint32": "U32", "float32": "F32", "complex64": "C64",
    "float64": "F64", "int64": "I64", "uint64": "U64",
}

# Axes and sizes of the meshes of eight devices.
MESHES = [
    [("d", 8)], [("x", 2), ("y", 4)], [("x", 4), ("y", 2)], [("x", 1), ("y", 8)],
    [("x", 2), ("y", 2), ("z", 2)],
]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name) if name in ML_DTYPES else name)


def bits_of(array):
    """The elements' bytes, without what stands above the bits of small types."""
    data = np.frombuffer(np.asarray(array).tobytes(), np.uint8)
    return (data & ((1 << BITS.get(array.dtype.name, 8)) - 1)).tobytes()


class RandomTrees:
    """Trees from a seed; the dtypes take turns, so that a few trees have all of them."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.dtypes = itertools.cycle(self.random.permutation(DTYPES))

    def pick(self, options):
        return options[self.random.integers(len(options))]

    def array(self, name=None, shape=None):
        """Any bits that are a value; a third of the elements, or all of them, zero."""
        name = name or next(self.dtypes)
        if shape is None:
            rank = self.pick([0, 1, 2, 2, 3])
            shape = [self.pick([1, 2, 3, 4, 8, 8, 16, 24]) for _ in range(rank)]
            if shape and self.random.random() < 0.04:
                shape[-1] = 0
        dtype = dtype_of(name)
        data = self.random.integers(0, 256, size=(*shape, dtype.itemsize), dtype=np.uint8)
        data[self.random.random(shape) < self.pick([0.3, 0.3, 0.3, 2])] = 0
        data &= (1 << BITS.get(name, 8)) - 1
        return data.view(dtype).reshape(shape)

    def scalar(self):
        return self.pick([True, False, 0, -7, 2**53 + 1, 0.1, -0.0, 1e300, "", "text", "ä\n\"",
                          1 - 2j])

    def tree(self, depth=3, values=True):
        """With lists, tuples, None and plain values, or a dict of dicts and arrays."""
        kind = self.pick(["dict", "dict", "list", "tuple"]) if values and depth < 3 else "dict"
        children = [self.child(depth - 1, values) for _ in range(self.pick([3, 4]))]
        if kind == "list":
            return children
        if kind == "tuple":
            return tuple(children)
        if values and self.random.random() < 0.2:
            return dict(zip([3, 10, 2, -1], children))
        return dict(zip(self.random.permutation(["w", "b", "layers", "mu_2", "Ω", "0"]).tolist(),
                        children))

    def child(self, depth, values):
        chance = self.random.random()
        if depth > 0 and chance < 0.5:
            return self.tree(depth, values)
        if values and chance < 0.65:
            return self.pick([None, {}, [], (), self.scalar(), self.scalar()])
        return self.array()

    def spec(self, mesh, shape):
        """For each dimension None, an axis or a list of axes that divide it."""
        free = [axis for axis in mesh if axis[1] > 1 or self.random.random() < 0.5]
        self.random.shuffle(free)
        free, spec = [(name, int(size)) for name, size in free], []
        for length in shape:
            taken = []
            while free and self.random.random() < 0.7:
                if length % math.prod([free[0][1], *[size for _, size in taken]]):
                    break
                taken.append(free.pop(0))
            names = [name for name, _ in taken]
            spec.append(names if len(names) > 1 else names[0] if names else None)
        while spec and spec[-1] is None and self.random.random() < 0.5:
            spec.pop()
        return spec


class StorableTrees(RandomTrees):
    """Trees of what safetensors can hold: dicts and arrays."""

    def array(self, name=None, shape=None):
        while name is None or name not in SAFETENSORS_CODES:
            name = next(self.dtypes)
        return super().array(name, shape)

    def flat(self):
        return {".".join(key): leaf for key, leaf in arrays_of(self.tree(values=False))}


def leaves_of(tree, key=()):
    """(components, leaf) of each leaf that is not None, in JAX's order."""
    if isinstance(tree, dict):
        children = [(str(name), tree[name]) for name in sorted(tree)]
    elif isinstance(tree, (list, tuple)):
        names = getattr(tree, "_fields", range(len(tree)))
        children = [(str(name), child) for name, child in zip(names, tree)]
    else:
        return [] if tree is None else [(key, tree)]
    return [leaf for name, child in children for leaf in leaves_of(child, (*key, name))]


def arrays_of(tree):
    return [(key, leaf) for key, leaf in leaves_of(tree) if hasattr(leaf, "dtype")]


def nested(tree):
    """What is left of a tree in an index: dicts by the text of the keys, arrays at their leaves."""
    result = {}
    for key, leaf in arrays_of(tree):
        at = result
        for name in key[:-1]:
            at = at.setdefault(name, {})
        at[key[-1]] = leaf
    return result


def difference(found, expected, where=""):
    """The first place where two trees differ in types or values; None where they do not."""
    if hasattr(expected, "dtype"):
        same = (hasattr(found, "dtype") and found.dtype == expected.dtype
                and found.shape == expected.shape and bits_of(found) == bits_of(expected))
        return None if same else f"{where}: found {found!r}, expected {expected!r}"
    if type(found) is not type(expected):
        return f"{where}: found {found!r}, expected {expected!r}"
    if isinstance(expected, dict):
        if set(found) != set(expected):
            return f"{where}: found keys {list(found)}, expected {list(expected)}"
        pairs = [(key, found[key], expected[key]) for key in expected]
    elif isinstance(expected, (list, tuple)):
        if len(found) != len(expected):
            return f"{where}: found {len(found)} children, expected {len(expected)}"
        pairs = [(i, *pair) for i, pair in enumerate(zip(found, expected))]
    else:
        return None if repr(found) == repr(expected) else f"{where}: {found!r}, not {expected!r}"
    found_differences = (difference(a, b, f"{where}/{key}") for key, a, b in pairs)
    return next((text for text in found_differences if text), None)


class Peer:
    """The program of checkpoint_peer.cc and a folder for all that a test writes."""

    def __init__(self, program, test):
        # JAX syncs every file, which a drive takes its time for; these few megabytes fit in memory.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        keep = tempfile.TemporaryDirectory(dir=memory)
        test.addCleanup(keep.cleanup)
        self.program, self.test, self.root = program, test, pathlib.Path(keep.name)
        self.names = itertools.count()

    def folder(self):
        return self.root / f"{next(self.names)}"

    def run(self, **job):
        """The result of one job; an AssertionError where it failed."""
        result = self.attempt(**job)
        if "error" in result:
            raise AssertionError(f"{job['do']} {job['dir']}: {result['error']}")
        return result

    def refuses(self, code, *words, **job):
        error = self.attempt(**job).get("error")
        self.test.assertIsNotNone(error, f"{job['do']} {job['dir']} was not refused")
        self.test.assertEqual(error["code"], code, error)
        for word in words:
            self.test.assertIn(word, error["message"])

    def attempt(self, **job):
        jobs, results = self.root / "jobs.json", self.root / "results.json"
        jobs.write_text(json.dumps([{**job, "dir": str(job["dir"])}]))
        ran = subprocess.run([self.program, str(jobs), str(results)], capture_output=True,
                             text=True, check=False)
        if ran.returncode != 0:
            raise AssertionError(ran.stderr[-4000:])
        return json.loads(results.read_text())[0]

    def save(self, folder, tree, specs=None, **more):
        """Saves `tree`; specs: a function from a shape to the spec on the mesh."""
        data = self.folder()
        data.mkdir()
        return self.run(do="save", dir=folder, tree=self.to_json(tree, specs, data), **more)

    def to_json(self, tree, specs, data):
        if tree is None:
            return None
        if isinstance(tree, dict):
            items = tree.items()
            return {"dict": [[key, self.to_json(child, specs, data)] for key, child in items]}
        if isinstance(tree, (list, tuple)):
            return {type(tree).__name__: [self.to_json(child, specs, data) for child in tree]}
        if isinstance(tree, complex):
            return {"complex": [tree.real, tree.imag]}
        if not isinstance(tree, np.ndarray):
            return {"scalar": tree}
        file = data / str(next(self.names))
        file.write_bytes(tree.tobytes())
        about = {"dtype": tree.dtype.name, "shape": tree.shape, "data": str(file)}
        return {"array": {**about, "spec": specs(tree.shape)} if specs else about}

    def load(self, folder, **more):
        """(the tree, the specs of its arrays by key, the rest of the result)."""
        result = self.run(do="load", dir=folder, out=str(self.folder()), **more)
        specs = {}
        tree = self.from_json(result.pop("tree"), specs, ())
        return tree, specs, result

    def from_json(self, json_tree, specs, key):
        if json_tree is None:
            return None
        kind, body = next(iter(json_tree.items()))
        if kind == "dict":
            return {name: self.from_json(child, specs, (*key, str(name))) for name, child in body}
        if kind in ("list", "tuple"):
            children = [self.from_json(child, specs, (*key, str(i)))
                        for i, child in enumerate(body)]
            return children if kind == "list" else tuple(children)
        if kind == "array":
            specs[key] = body["spec"]
            data = np.fromfile(body["data"], np.uint8)
            return data.view(dtype_of(body["dtype"])).reshape(body["shape"])
        return complex(*body) if kind == "complex" else body
