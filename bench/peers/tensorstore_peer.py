"""The peer TensorStore: zarr v2 arrays read, written, converted to safetensors, and hashed.

Verbs zarr_read, zarr_write, convert, hash: README.md.  All arrays are opened and read at once,
futures first, so that TensorStore has all the work to spread over its threads.
"""

import concurrent.futures
import hashlib
import os

import safetensors.numpy
import tensorstore as ts

import peer


def context(threads):
    if threads == 0:
        return ts.Context()
    return ts.Context({"data_copy_concurrency": {"limit": threads},
                       "file_io_concurrency": {"limit": max(4, threads)}})


def kvstore(folder, name, sync=False):
    return {"driver": "file", "path": f"{folder}/{name}/", "file_io_sync": sync}


def read_all(folder, names, with_context):
    opened = [ts.open({"driver": "zarr", "kvstore": kvstore(folder, name)}, read=True, open=True,
                      context=with_context) for name in names]
    reads = [future.result().read() for future in opened]
    return {name: future.result() for name, future in zip(names, reads)}


def zarr_read(arguments):
    folder = arguments.path("dir")
    names = peer.array_names(folder)
    with_context = context(arguments.threads())
    return peer.Work(run=lambda: read_all(folder, names, with_context),
                     payload=peer.total_bytes, elements=peer.in_order)


def zarr_write(arguments):
    source, target = arguments.path("from"), arguments.path("to")
    codec = arguments.text("codec", of=("zstd", "none"))
    sync = arguments.text("sync", "0", of=("0", "1")) == "1"
    with_context = context(arguments.threads())
    names = peer.array_names(source)
    arrays = read_all(source, names, with_context)
    specs = {}
    for name in names:
        metadata = peer.metadata_of(source, name)
        metadata["compressor"] = {"id": "zstd", "level": 1} if codec == "zstd" else None
        specs[name] = {"driver": "zarr", "kvstore": kvstore(target, name, sync),
                       "metadata": metadata}

    def write():
        opened = [ts.open(specs[name], create=True, open=False, context=with_context)
                  for name in names]
        # The arrays stay as they are, so that TensorStore need not copy them before it encodes.
        writes = [future.result().write(arrays[name], can_reference_source_data_indefinitely=True)
                  for name, future in zip(names, opened)]
        for future in writes:
            future.result()

    return peer.Work(run=write, payload=lambda _: peer.total_bytes(arrays),
                     before=lambda: peer.remove(target))


def convert(arguments):
    source, target = arguments.path("from"), arguments.path("to")
    with_context = context(arguments.threads())
    names = peer.array_names(source)

    def run():
        arrays = read_all(source, names, with_context)
        safetensors.numpy.save_file(arrays, target)
        return peer.total_bytes(arrays)

    return peer.Work(run=run, payload=lambda total: total, before=lambda: peer.remove(target))


def hash_arrays(arguments):
    folder = arguments.path("dir")
    names = peer.array_names(folder)
    threads = arguments.threads()
    with_context = context(threads)

    def one(future):
        array = future.result().read().result()
        return hashlib.sha256(peer.bytes_of(array)).hexdigest(), array.nbytes

    def run():
        opened = [ts.open({"driver": "zarr", "kvstore": kvstore(folder, name)}, read=True,
                          open=True, context=with_context) for name in names]
        # hashlib lets other threads run while it hashes, as TensorStore does while it reads.
        with concurrent.futures.ThreadPoolExecutor(threads or os.cpu_count()) as pool:
            return list(pool.map(one, opened))

    return peer.Work(run=run, payload=lambda found: sum(size for _, size in found),
                     elements=lambda found: (text.encode() for text, _ in found))


if __name__ == "__main__":
    peer.main({"zarr_read": zarr_read, "zarr_write": zarr_write, "convert": convert,
               "hash": hash_arrays})
