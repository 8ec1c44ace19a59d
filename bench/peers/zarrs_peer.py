"""The peer zarrs: zarr-python, whose chunks are read and written by the Rust crate of that name.

Verbs zarr_read and zarr_write: README.md.  zarr-python serves zarr v2 through zarrs, but
neither of them knows bfloat16 there; the elements' bits go through both as uint16, and what is
written is "<u2" in its metadata.  The option `strict` makes sure that zarrs never hands a chunk to
zarr-python's own codecs.
"""

import asyncio
import concurrent.futures

import numcodecs
import zarr.api.asynchronous
from zarr import AsyncArray
from zarr.dtype import DataTypeValidationError, UInt16, data_type_registry
from zarr.storage import LocalStore, StorePath

import peer


class BFloat16AsUInt16(UInt16):
    """Matches the name that TensorStore and JAX write, and stands for uint16."""

    @classmethod
    def _from_json_v2(cls, data):
        if data["name"] == "bfloat16":
            return UInt16()
        raise DataTypeValidationError(f"not bfloat16: {data}")

    @classmethod
    def from_native_dtype(cls, dtype):
        raise DataTypeValidationError(f"{dtype} is for the types of zarr-python")


def set_up(threads):
    """An event loop; all arrays at once are coroutines in it, which is quicker here than threads
    that open and read one after the other, and than one array at a time."""
    data_type_registry.register("bfloat16", BFloat16AsUInt16)
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline",
                     "codec_pipeline.strict": True,
                     # Looking whether a chunk is all fill value costs time.
                     "array.write_empty_chunks": True,
                     "threading.max_workers": threads or None})
    loop = asyncio.new_event_loop()
    if threads:
        loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(threads))
    return loop


async def together(do, names):
    return dict(zip(names, await asyncio.gather(*map(do, names))))


def read_all(loop, folder, names):
    store = LocalStore(folder, read_only=True)

    async def read(name):
        array = await AsyncArray.open(StorePath(store, name), zarr_format=2)
        return await array.getitem(...)

    return loop.run_until_complete(together(read, names))


def zarr_read(arguments):
    folder = arguments.path("dir")
    names = peer.array_names(folder)
    loop = set_up(arguments.threads())
    return peer.Work(run=lambda: read_all(loop, folder, names), payload=peer.total_bytes,
                     elements=peer.in_order)


def zarr_write(arguments):
    source, target = arguments.path("from"), arguments.path("to")
    codec = arguments.text("codec", of=("zstd", "none"))
    sync = arguments.text("sync", "0", of=("0", "1")) == "1"
    names = peer.array_names(source)
    loop = set_up(arguments.threads())
    arrays = read_all(loop, source, names)
    chunks = {name: tuple(peer.metadata_of(source, name)["chunks"]) for name in names}
    compressor = numcodecs.Zstd(level=1) if codec == "zstd" else None

    async def write_one(store, name):
        array = await zarr.api.asynchronous.create_array(
            store, name=name, shape=arrays[name].shape, dtype=arrays[name].dtype,
            chunks=chunks[name], compressors=compressor, filters=None, order="C", fill_value=None,
            zarr_format=2, chunk_key_encoding={"name": "v2", "separator": "."})
        await array.setitem(..., arrays[name])

    def write():
        store = LocalStore(target)
        loop.run_until_complete(together(lambda name: write_one(store, name), names))
        if sync:
            peer.sync_below(target)

    return peer.Work(run=write, payload=lambda _: peer.total_bytes(arrays),
                     before=lambda: peer.remove(target))


if __name__ == "__main__":
    peer.main({"zarr_read": zarr_read, "zarr_write": zarr_write})
