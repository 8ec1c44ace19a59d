"""The peer Python: what one writes with `re`, `json`, `hashlib` and NumPy.

Verbs rules, index_open, hash: README.md.
"""

import concurrent.futures
import hashlib
import itertools
import json
import math
import os
import re

import ml_dtypes
import numcodecs
import numpy as np

import peer


def rules(arguments):
    """Patterns are compiled before: a program does that once, and matches many trees."""
    names_file = arguments.path("names")
    names = names_file.read_text().splitlines()
    patterns = [regex for regex, _ in json.loads(arguments.path("rules").read_text())]
    searches = [re.compile(regex).search for regex in patterns]

    def first_matches():
        found = []
        for name in names:
            for index, search in enumerate(searches):
                if search(name):
                    found.append(index)
                    break
            else:
                raise ValueError(f"no rule for {name}")
        return found

    return peer.Work(run=first_matches, payload=lambda _: names_file.stat().st_size,
                     elements=lambda found: ["\n".join(map(str, found)).encode()],
                     more=lambda found: {"names": len(found), "rules": len(patterns)})


def index_open(arguments):
    """As eformer reads it: the lists of all prefixes and the one without."""
    file = arguments.path("dir") / "tensorstore_index.json"

    def read():
        index = json.loads(file.read_text())
        if index.get("format") != "tensorstore":
            raise ValueError(f"{file}: format is {index.get('format')}")
        found = {}
        for infos in [*index.get("prefixes", {}).values(), index.get("arrays", [])]:
            for info in infos:
                found[info["path"].replace("/", ".")] = (tuple(info["shape"]), info["dtype"])
        return found

    return peer.Work(run=read, payload=lambda _: file.stat().st_size,
                     more=lambda found: {"arrays": len(found)})


def read_array(folder):
    """One zarr v2 array, with NumPy and numcodecs."""
    metadata = json.loads((folder / ".zarray").read_bytes())
    named = metadata["dtype"]
    dtype = np.dtype(ml_dtypes.bfloat16 if named == "bfloat16" else named)
    shape, chunks = metadata["shape"], metadata["chunks"]
    decode = numcodecs.get_codec(metadata["compressor"]).decode if metadata["compressor"] else bytes
    if metadata["order"] != "C" or metadata["filters"]:
        raise ValueError(f"{folder}: neither order F nor filters are read here")
    if shape == chunks:
        return np.frombuffer(decode(chunk_bytes(folder, metadata, [0] * len(shape))),
                             dtype).reshape(shape)
    result = np.empty(shape, dtype)
    grid = (range(math.ceil(size / chunk)) for size, chunk in zip(shape, chunks))
    for at in itertools.product(*grid):
        chunk = np.frombuffer(decode(chunk_bytes(folder, metadata, at)), dtype).reshape(chunks)
        place = tuple(slice(i * n, min((i + 1) * n, size))
                      for i, n, size in zip(at, chunks, shape))
        result[place] = chunk[tuple(slice(0, p.stop - p.start) for p in place)]
    return result


def chunk_bytes(folder, metadata, at):
    key = metadata.get("dimension_separator", ".").join(map(str, at)) or "0"
    return (folder / key).read_bytes()


def hash_arrays(arguments):
    """An array is hashed by one thread; zstd and SHA-256 let the other threads run."""
    folder = arguments.path("dir")
    names = peer.array_names(folder)
    threads = arguments.threads() or os.cpu_count()

    def one(name):
        array = read_array(folder / name)
        return hashlib.sha256(peer.bytes_of(array)).hexdigest(), array.nbytes

    def run():
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return list(pool.map(one, names))

    return peer.Work(run=run, payload=lambda found: sum(size for _, size in found),
                     elements=lambda found: (text.encode() for text, _ in found))


if __name__ == "__main__":
    peer.main({"rules": rules, "index_open": index_open, "hash": hash_arrays})
