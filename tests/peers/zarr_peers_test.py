"""Arrays that we write, read by TensorStore and zarr-python; arrays that they write, read by us.

usage: zarr_peers_test.py ZARR_PEER

Every dtype, codec and order that both sides know, in zarr v2 and v3.  ZARR_PEER is the program of
zarr_peer.cc.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ml_dtypes
import numcodecs
import numpy as np
import tensorstore as ts
import zarr
import zarr.codecs as zc

PEER = sys.argv.pop()
SHAPE, CHUNKS = (5, 7), (4, 3)
RANDOM = np.random.default_rng(7)

# Our name, and how v2 writes it.
NUMPY_DTYPES = {
    "bool": "|b1", "int8": "|i1", "uint8": "|u1", "int16": "<i2", "uint16": "<u2",
    "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8", "float16": "<f2",
    "float32": "<f4", "float64": "<f8", "complex64": "<c8", "complex128": "<c16",
}
ML_DTYPES = [
    "bfloat16", "float8_e3m4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4", "int2",
]
V2_DTYPES = {**NUMPY_DTYPES, **{name: name for name in ML_DTYPES}}
BITS = {"bool": 1, "float4_e2m1fn": 4, "int4": 4, "int2": 2}


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name) if name in ML_DTYPES else name)


def elements(name, shape=SHAPE):
    """Any bits that are a value; a third of them zero, for compressors to find."""
    dtype = dtype_of(name)
    data = RANDOM.integers(0, 256, size=(*shape, dtype.itemsize), dtype=np.uint8)
    data[RANDOM.random(shape) < 0.3] = 0
    if name in BITS:
        data &= (1 << BITS[name]) - 1
    return data.view(dtype).reshape(shape)


def blosc_v2(cname, shuffle):
    return {"id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}


def v2_compressors():
    yield None
    for level in (-5, 1, 9):
        yield {"id": "zstd", "level": level}
    for codec in ("zlib", "gzip", "bz2"):
        yield {"id": codec, "level": 3}
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle in (-1, 0, 1, 2):
            yield blosc_v2(cname, shuffle)


def v2_document(name, compressor, order, big=False, separator="."):
    dtype = V2_DTYPES[name].replace("<", ">") if big else V2_DTYPES[name]
    return {"zarr_format": 2, "shape": SHAPE, "chunks": CHUNKS, "dtype": dtype,
            "compressor": compressor, "fill_value": None, "filters": None, "order": order,
            "dimension_separator": separator}


def bytes_codec(name, endian="little"):
    if dtype_of(name).itemsize == 1:
        return {"name": "bytes"}
    return {"name": "bytes", "configuration": {"endian": endian}}


def v3_chains(name):
    """Chains of codecs, by a short name."""
    little, big = bytes_codec(name), bytes_codec(name, "big")
    size = dtype_of(name).itemsize
    crc = {"name": "crc32c"}
    gzip = {"name": "gzip", "configuration": {"level": 4}}
    def zstd(checksum):
        return {"name": "zstd", "configuration": {"level": 2, "checksum": checksum}}
    def blosc(cname, shuffle):
        return {"name": "blosc", "configuration": {"cname": cname, "clevel": 5, "shuffle": shuffle,
                                                   "typesize": size, "blocksize": 0}}
    def shard(inner, chunks, location, *before):
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, crc]
        return [*before, {"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunks, "codecs": inner, "index_codecs": index,
            "index_location": location}}]
    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    yield "plain", [little]
    yield "big", [big]
    yield "crc", [little, crc]
    yield "gzip", [little, gzip]
    yield "zstd", [little, zstd(False)]
    yield "zstd_checksum", [big, zstd(True)]
    yield "zstd_crc", [little, zstd(True), crc]
    yield "transpose", [transpose, little, zstd(False)]
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
            yield f"blosc_{cname}_{shuffle}", [little, blosc(cname, shuffle)]
    yield "shard_end", shard([little, gzip], [2, 3], "end")
    yield "shard_start", shard([big, crc], [4, 1], "start")
    yield "shard_transposed", shard([little], [1, 2], "end", transpose)
    yield "shard_nested", shard(shard([little, zstd(False)], [1, 1], "start"), [2, 3], "end")


def v3_document(name, codecs, keys="default", separator="/"):
    complex_zero, zero = [0.0, 0.0], 0
    fill = {"bool": False, "complex64": complex_zero, "complex128": complex_zero}.get(name, zero)
    if name.startswith(("float", "bfloat")):
        fill = 0.0
    return {"zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": CHUNKS}},
            "chunk_key_encoding": {"name": keys, "configuration": {"separator": separator}},
            "fill_value": fill, "codecs": codecs}


def documents(dtypes):
    """(label, dtype name, document) of both versions."""
    for name in dtypes:
        for i, (compressor, order) in enumerate(itertools.product(v2_compressors(), "CF")):
            yield f"v2_{name}_{i}", name, v2_document(name, compressor, order)
        yield f"v2_{name}_slash", name, v2_document(name, None, "C", separator="/")
        if V2_DTYPES[name].startswith("<"):
            yield f"v2_{name}_big", name, v2_document(name, {"id": "zstd", "level": 1}, "F", True)
        for label, codecs in v3_chains(name):
            yield f"v3_{name}_{label}", name, v3_document(name, codecs)
        yield f"v3_{name}_dots", name, v3_document(name, [bytes_codec(name)], separator=".")
        yield f"v3_{name}_v2keys", name, v3_document(name, [bytes_codec(name)], "v2", ".")


def zarr_python_documents():
    """Those that zarr-python has: it checks the shape of inner chunks before it transposes, and
    cannot make shards within shards."""
    for label, name, document in documents(NUMPY_DTYPES):
        if not label.endswith(("shard_transposed", "shard_nested")):
            yield label, name, document


class Folder:
    """One temporary folder with arrays, their elements and the jobs of our program."""

    def __init__(self, test):
        keep = tempfile.TemporaryDirectory()
        test.addCleanup(keep.cleanup)
        self.root = pathlib.Path(keep.name)
        (self.root / "data").mkdir()
        self.jobs = []

    def job(self, do, label, **more):
        data = self.root / "data" / label
        self.jobs.append({"do": do, "root": str(self.root / "arrays"), "path": label,
                          "data": str(data), **more})
        return data

    def run(self):
        path = self.root / "jobs.json"
        path.write_text(json.dumps(self.jobs))
        ran = subprocess.run([PEER, str(path)], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise AssertionError(ran.stderr[-4000:])
        self.jobs = []

    def array(self, label):
        return str(self.root / "arrays" / label)


def ts_open(path, document, **options):
    spec = {"driver": "zarr" if document["zarr_format"] == 2 else "zarr3",
            "kvstore": {"driver": "file", "path": path + "/", "file_io_sync": False}}
    if options.get("create"):
        spec["metadata"] = document
    return ts.open(spec, **options)


def zarr_python_codecs(codecs):
    """zarr-python's codec objects of a v3 chain, as (filters, serializer, compressors)."""
    made = {"filters": [], "serializer": None, "compressors": []}
    for codec in codecs:
        name, settings = codec["name"], codec.get("configuration", {})
        if name == "transpose":
            made["filters"].append(zc.TransposeCodec(order=tuple(settings["order"])))
        elif name == "bytes":
            made["serializer"] = zc.BytesCodec(endian=settings.get("endian"))
        elif name == "sharding_indexed":
            made["serializer"] = zc.ShardingCodec.from_dict(codec)
        else:
            kinds = {"gzip": zc.GzipCodec, "zstd": zc.ZstdCodec, "blosc": zc.BloscCodec,
                     "crc32c": zc.Crc32cCodec}
            made["compressors"].append(kinds[name](**settings))
    return made


def zarr_python_create(path, document):
    if document["zarr_format"] == 2:
        compressor = document["compressor"]
        return zarr.create_array(
            path, shape=SHAPE, chunks=CHUNKS, dtype=document["dtype"], zarr_format=2,
            compressors=numcodecs.get_codec(compressor) if compressor else None, filters=None,
            order=document["order"], fill_value=None,
            chunk_key_encoding={"name": "v2", "separator": document["dimension_separator"]})
    keys = document["chunk_key_encoding"]
    return zarr.create_array(
        path, shape=SHAPE, chunks=CHUNKS, dtype=document["data_type"], zarr_format=3,
        fill_value=0, **zarr_python_codecs(document["codecs"]),
        chunk_key_encoding={"name": keys["name"], **keys["configuration"]})


class ZarrPeersTest(unittest.TestCase):
    def written_by_us(self, cases):
        folder, wanted = Folder(self), {}
        for label, name, document in cases:
            wanted[label] = (document, elements(name))
            data = folder.job("write", label, metadata=json.dumps(document))
            data.write_bytes(wanted[label][1].tobytes())
        folder.run()
        return folder, wanted

    def check_read_by_us(self, folder, wanted):
        for label in wanted:
            folder.job("read", label)
        folder.run()
        for label, (_, values) in wanted.items():
            self.assertEqual((folder.root / "data" / label).read_bytes(), values.tobytes(), label)
        print(f"{self.id()}: {len(wanted)} arrays")

    def test_tensorstore_reads_what_we_write(self):
        folder, wanted = self.written_by_us(documents(V2_DTYPES))
        reads = {label: ts_open(folder.array(label), document).result().read()
                 for label, (document, _) in wanted.items()}
        for label, read in reads.items():
            values = read.result()
            self.assertEqual(values.dtype, wanted[label][1].dtype, label)
            self.assertEqual(values.tobytes(), wanted[label][1].tobytes(), label)
        print(f"{self.id()}: {len(wanted)} arrays")

    def test_we_read_what_tensorstore_writes(self):
        folder, wanted = Folder(self), {}
        writes = []
        for label, name, document in documents(V2_DTYPES):
            wanted[label] = (document, elements(name))
            array = ts_open(folder.array(label), document, create=True).result()
            writes.append(array.write(wanted[label][1]))
        for write in writes:
            write.result()
        self.check_read_by_us(folder, wanted)

    def test_zarr_python_reads_what_we_write(self):
        folder, wanted = self.written_by_us(zarr_python_documents())
        for label, (document, values) in wanted.items():
            read = zarr.open_array(folder.array(label), mode="r",
                                   zarr_format=document["zarr_format"])[...]
            self.assertEqual(read.dtype.newbyteorder("="), values.dtype, label)
            self.assertEqual(read.astype(values.dtype).tobytes(), values.tobytes(), label)
        print(f"{self.id()}: {len(wanted)} arrays")

    def test_we_read_what_zarr_python_writes(self):
        folder, wanted = Folder(self), {}
        for label, name, document in zarr_python_documents():
            wanted[label] = (document, elements(name))
            zarr_python_create(folder.array(label), document)[...] = wanted[label][1]
        self.check_read_by_us(folder, wanted)

    def test_boxes_that_cross_chunks_end_up_as_tensorstore_sees_them(self):
        folder = Folder(self)
        for label, name, document in documents(["bfloat16", "int32"]):
            expected = elements(name)
            array = ts_open(folder.array(label), document, create=True).result()
            array.write(expected).result()
            for part in (np.s_[1:5, 2:6], np.s_[0:1, 0:7], np.s_[3:5, 6:7]):
                patch = elements(name, expected[part].shape)
                data = folder.job("write", label, metadata=json.dumps(document),
                                  box=[[s.start for s in part], patch.shape])
                data = data.with_name(f"{label}_{part[0].start}")
                folder.jobs[-1]["data"] = str(data)
                data.write_bytes(patch.tobytes())
                expected[part] = patch
            folder.run()
            read = ts_open(folder.array(label), document).result().read().result()
            self.assertEqual(read.tobytes(), expected.tobytes(), label)


if __name__ == "__main__":
    unittest.main()
