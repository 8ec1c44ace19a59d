"""The peer safetensors: the package's own functions for NumPy.

Verbs st_load, st_open, st_save: README.md.  It works on one thread.
"""

import os

import ml_dtypes  # noqa: F401  (NumPy then knows bfloat16 by name)
import numpy as np
import safetensors
import safetensors.numpy

import peer

PAGE = 4096


def header_bytes(file):
    with open(file, "rb") as opened:
        return 8 + int.from_bytes(opened.read(8), "little")


def look_at_pages(tensors):
    """One byte of each; where a tensor is no more than a page, any element of it will do."""
    for tensor in tensors.values():
        if tensor.nbytes <= PAGE:
            tensor.item(0)
        else:
            tensor.reshape(-1).view(np.uint8)[::PAGE].max()


def st_load(arguments):
    """backend: the package's own is mmap; pread is quicker where tensors are small."""
    file = arguments.path("file")
    backend = arguments.text("backend", "mmap", of=("mmap", "pread"))

    def load():
        tensors = safetensors.numpy.load_file(file, backend=backend)
        look_at_pages(tensors)
        return tensors

    return peer.Work(run=load, payload=peer.total_bytes, elements=peer.in_order)


def st_open(arguments):
    file = arguments.path("file")

    def read_header():
        found = {}
        with safetensors.safe_open(file, framework="np") as opened:
            for name in opened.keys():
                tensor = opened.get_slice(name)
                found[name] = (tensor.get_shape(), tensor.get_dtype())
        return found

    return peer.Work(run=read_header, payload=lambda _: header_bytes(file),
                     more=lambda found: {"arrays": len(found)})


def st_save(arguments):
    source, target = arguments.path("from"), arguments.path("to")
    sync = arguments.text("sync", "0", of=("0", "1")) == "1"
    tensors = safetensors.numpy.load_file(source)

    def save():
        safetensors.numpy.save_file(tensors, target)
        if sync:
            handle = os.open(target, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)

    return peer.Work(run=save, payload=lambda _: peer.total_bytes(tensors),
                     before=lambda: peer.remove(target))


if __name__ == "__main__":
    peer.main({"st_load": st_load, "st_open": st_open, "st_save": st_save})
