"""Makes the data of the cases, with the peers' own writers: the same bytes each time.

Each function makes its folder or file and notes what it made in NAME.made.json beside it (not
inside, where readers of whole folders would meet it); it does nothing where that note is there with
the same parameters.  Runs with the Python of build/bench-venv.  All give the path that was made.
"""

import collections
import json
import pathlib
import shutil
import subprocess
import sys

import ml_dtypes  # noqa: F401  (NumPy then knows bfloat16 by name)
import numpy as np
import safetensors.numpy
import tensorstore as ts

from .keys import keys as make_keys, rules as make_rules
from .weights import weights

PEERS = pathlib.Path(__file__).resolve().parent.parent / "peers"
# Raised when other bytes are made from the same parameters.
VERSION = 1
MIB = 1 << 20
COLUMNS = 8192
TILE = (1024, COLUMNS)  # 16 MiB of bfloat16
# Writes under way at once; they hold 64 MiB each where arrays are large.
IN_FLIGHT = 4
SMALL_IN_FLIGHT = 256


def _once(path, make, **parameters):
    """Calls make(path) unless the note beside `path` says that it has been done."""
    path = pathlib.Path(path).resolve()
    note = path.with_name(path.name + ".made.json")
    wanted = {"maker": make.__name__, "version": VERSION, **parameters}
    if path.exists() and note.exists() and json.loads(note.read_text()) == wanted:
        return path
    note.unlink(missing_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    note.write_text(json.dumps(wanted))
    return path


def _create(folder, name, shape, chunks, dtype, codec):
    compressor = {"zstd": {"id": "zstd", "level": 1}, "none": None}[codec]
    named = "bfloat16" if dtype == "bfloat16" else np.dtype(dtype).str
    return ts.open({"driver": "zarr",
                    "kvstore": {"driver": "file", "path": f"{folder}/{name}/",
                                "file_io_sync": False},
                    "metadata": {"shape": list(shape), "chunks": list(chunks), "dtype": named,
                                 "compressor": compressor, "fill_value": None, "order": "C",
                                 "filters": None, "dimension_separator": "."}},
                   create=True, open=False)


class _Writes:
    """Futures of writes, of which at most `most` are under way."""

    def __init__(self, most):
        self._most = most
        self._futures = collections.deque()

    def add(self, future):
        self._futures.append(future)
        if len(self._futures) >= self._most:
            self._futures.popleft().result()

    def wait(self):
        for future in self._futures:
            future.result()


def _write_large(folder, size, columns, codec):
    """One array `weights` of [rows, columns] in chunks of TILE, written by bands of 64 MiB."""
    rows = size // (2 * columns)
    if rows == 0:
        raise ValueError(f"{size} bytes are less than a row of {columns} bfloat16")
    target = _create(folder, "weights", (rows, columns), TILE, "bfloat16", codec).result()
    band = 64 * MIB // (2 * columns)
    writes = _Writes(IN_FLIGHT)
    for i, at in enumerate(range(0, rows, band)):
        values = weights("bfloat16").array((min(band, rows - at), columns), i)
        writes.add(target[at:at + len(values)].write(values))
    writes.wait()


def _write_many(folder, count, leaf, shape, dtype, codec, in_flight):
    """`count` arrays layer{i}/{leaf} of one chunk each."""
    writes = _Writes(in_flight)
    opened = collections.deque()
    for i in range(count + in_flight):
        if i < count:
            opened.append(_create(folder, f"layer{i}/{leaf}", shape, shape, dtype, codec))
        if i >= in_flight and opened:
            values = weights(dtype).array(shape, i - in_flight)
            writes.add(opened.popleft().result().write(values))
    writes.wait()


def zarr_big(dir, bytes, codec):
    """One bfloat16 array [rows, 8192] of `bytes` bytes; chunks of 16 MiB are whole rows."""
    def big(folder):
        _write_large(folder, bytes, COLUMNS, codec)
    return _once(dir, big, bytes=bytes, codec=codec)


def zarr_tiles(dir, bytes, codec):
    """One bfloat16 array [rows, 32768]; chunks of 16 MiB are [1024, 8192]."""
    def tiles(folder):
        _write_large(folder, bytes, 4 * COLUMNS, codec)
    return _once(dir, tiles, bytes=bytes, codec=codec)


def zarr_medium(dir, bytes, count=300, codec="zstd"):
    """`count` bfloat16 arrays [rows, 8192] of together `bytes` bytes, less what is no whole row."""
    def medium(folder):
        rows = max(1, bytes // count // (2 * COLUMNS))
        _write_many(folder, count, "kernel", (rows, COLUMNS), "bfloat16", codec, IN_FLIGHT)
    return _once(dir, medium, bytes=bytes, count=count, codec=codec)


def zarr_small(dir, count=20000, codec="zstd"):
    """`count` float32 arrays of 4 KiB."""
    def small(folder):
        _write_many(folder, count, "bias", (1024,), "float32", codec, SMALL_IN_FLIGHT)
    return _once(dir, small, count=count, codec=codec)


def _by_jax(verb, folder, **arguments):
    words = [f"{name}={value}" for name, value in arguments.items()]
    subprocess.run([sys.executable, PEERS / "jax_peer.py", verb, f"dir={folder}", *words],
                   check=True, stdout=subprocess.DEVNULL)


def jax_checkpoint(dir, bytes, devices=8):
    """bfloat16 arrays layer{i}/kernel of 64 MiB, split by rows, as JAX saves them."""
    def checkpoint(folder):
        _by_jax("make_checkpoint", folder, bytes=bytes, devices=devices)
    return _once(dir, checkpoint, bytes=bytes, devices=devices)


def jax_checkpoint_small(dir, count=20000, devices=8):
    """float32 arrays layer{i}/bias of 4 KiB, whole on every device, as JAX saves them."""
    def checkpoint_small(folder):
        _by_jax("make_checkpoint_small", folder, count=count, devices=devices)
    return _once(dir, checkpoint_small, count=count, devices=devices)


def _save_tensors(path, count, shape):
    tensors = {f"model.layers.{i}.weight": weights("float16").array(shape, i)
               for i in range(count)}
    safetensors.numpy.save_file(tensors, path)


def st_large(file, bytes):
    """A safetensors file of float16 tensors of 64 MiB (one smaller one if `bytes` is less)."""
    def large(path):
        rows = min(4096, bytes // (2 * COLUMNS))
        _save_tensors(path, max(1, bytes // (64 * MIB)), (rows, COLUMNS))
    return _once(file, large, bytes=bytes)


def st_small(file, count=20000):
    """A safetensors file of float16 tensors of 4 KiB."""
    def small_tensors(path):
        _save_tensors(path, count, (2048,))
    return _once(file, small_tensors, count=count)


def rules_files(dir, keys=100_000):
    """A folder with names.txt, one key a line, and rules.json, 40 of [regex, spec]."""
    def rules_folder(folder):
        folder.mkdir()
        (folder / "names.txt").write_text("".join(f"{key}\n" for key in make_keys(keys)))
        (folder / "rules.json").write_text(json.dumps(make_rules(), indent=1))
    return _once(dir, rules_folder, keys=keys)
