"""The cases: what is done, by whom, on which data, and what it is held against.

A case is a plain value.  Its arguments name data as `{name}`, made by data.py before the case and
removed after the last one that needs it, and `{out}` or `{file}`, a folder or a file of its own for
what it writes.
"""

import dataclasses

MIB = 1 << 20
GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Work:
    """One command: the program's verb and its arguments."""
    verb: str
    arguments: dict

    def with_arguments(self, **more):
        return Work(self.verb, {**self.arguments, **more})


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    title: str
    family: str
    ours: Work
    peers: dict = dataclasses.field(default_factory=dict)  # name of the peer: Work
    limit: tuple | None = None      # what nobody can leave out: its name and Work
    floor: tuple | None = None      # the same with the file system's part, where the limit has none
    seconds: str = "seconds"        # the field of ours and the peers that is compared
    bar_peer: float | None = None   # the least ratio to every peer
    bar_limit: float | None = None  # the least part of the limit
    growth: tuple | None = None     # what grows, and its value here
    cold: bool = False              # on a drive, with nothing in the page cache
    quick: bool = False             # in --quick, too


@dataclasses.dataclass(frozen=True)
class Scale:
    """How large the data is."""
    array: int        # bytes of the one big array, and of all medium ones
    checkpoint: int   # bytes of a state
    memory: int       # bytes that are resharded
    medium: int       # arrays
    small: int        # arrays of 4 KiB
    jax_small: int    # the same in a checkpoint of JAX's, which takes minutes for more
    names: int        # keys, and arrays of the large index


FULL = Scale(array=GIB, checkpoint=2 * GIB, memory=2 * GIB, medium=300, small=20_000,
             jax_small=5_000, names=100_000)
QUICK = Scale(array=256 * MIB, checkpoint=512 * MIB, memory=512 * MIB, medium=60, small=1_000,
              jax_small=1_000, names=20_000)


def same(*peers, work):
    return {peer: work for peer in peers}


def zarr_peers(shape):
    # zarr-python takes 14 s to open 20,000 arrays and most of a minute to create them.
    return ("tensorstore",) if shape == "small" else ("tensorstore", "zarrs")


def read_and_unzstd(source):
    return ("libzstd and pread", Work("unzstd", {"dir": source, "read": "1"}))


def zstd_and_write(source):
    return ("libzstd and pwrite", Work("zstd", {"dir": source, "level": "1", "to": "{out}"}))


def zarr_read(scale):
    shapes = {
        "big": ("one array", f"one array of {scale.array // MIB} MiB"),
        "tiles": ("tiles", "chunks of parts of rows"),
        "medium": (f"{scale.medium}", f"{scale.medium} arrays, {scale.array // MIB} MiB in all"),
        "small": (f"{scale.small}", f"{scale.small:,} arrays of 4 KiB"),
    }
    for shape, (_, what) in shapes.items():
        for codec in ("zstd", "none"):
            work = Work("zarr_read", {"dir": f"{{zarr_{shape}_{codec}}}"})
            limit = ("libzstd" if codec == "zstd" else "pread",
                     Work("unzstd" if codec == "zstd" else "pread", work.arguments))
            floor = read_and_unzstd(work.arguments["dir"]) if codec == "zstd" else None
            if shape == "small":
                limit = ("open and read each file", Work("readfiles", work.arguments))
                floor = None
            # What must be cut out of chunks is copied once more, so the limits are no bars there.
            bar = 0.9 if shape in ("big", "medium") else None
            yield Case(f"zarr_read_{codec}_{shape}", f"zarr read, {codec}: {what}", "zarr", work,
                       same(*zarr_peers(shape), work=work), limit, floor, bar_peer=1.0,
                       bar_limit=bar, quick=shape == "big" or (shape, codec) == ("small", "none"))


def zarr_write(scale):
    counts = {"big": max(1, scale.array // (16 * MIB)), "medium": scale.medium}
    titles = {"big": f"one array of {scale.array // MIB} MiB", "medium": f"{scale.medium} arrays",
              "small": f"{scale.small:,} arrays of 4 KiB"}
    for shape, what in titles.items():
        for codec in ("zstd", "none"):
            source = f"{{zarr_{shape}_{codec}}}"
            work = Work("zarr_write", {"from": source, "to": "{out}", "codec": codec, "warm": "1"})
            limit, floor, bar = None, None, None
            if shape in counts and codec == "zstd":
                limit, bar = ("libzstd", Work("zstd", {"dir": source, "level": "1"})), 0.9
                floor = zstd_and_write(source)
            elif shape in counts:
                limit = ("pwrite", Work("pwrite", {"bytes": str(scale.array), "to": "{out}",
                                                   "files": str(counts[shape])}))
                bar = 0.9
            yield Case(f"zarr_write_{codec}_{shape}", f"zarr write, {codec}: {what}", "zarr", work,
                       same(*zarr_peers(shape), work=work), limit, floor, bar_peer=1.0,
                       bar_limit=bar, quick=shape == "big")


def checkpoints(scale):
    """A state of bfloat16 weights on 8 virtual devices, and JAX's manager beside us."""
    def load(source, mesh):
        return Work("ckpt_load", {"dir": source, "mesh": mesh, "devices": "8"})

    def save(source, codec, warm="1"):
        return Work("ckpt_save", {"from": source, "to": "{out}", "codec": codec, "devices": "8",
                                  "warm": warm})

    size = f"{scale.checkpoint // MIB} MiB on 8 devices"
    unzstd = ("libzstd", Work("unzstd", {"dir": "{jax}"}))
    copy = ("memcpy", Work("memcpy", {"bytes": str(scale.checkpoint)}))
    for mesh, where in (("rows", "the same mesh"), ("columns", "another mesh")):
        yield Case(f"load_zstd_{mesh}", f"load on {where}, zstd: {size}", "checkpoint",
                   load("{jax}", mesh), {"jax": load("{jax}", mesh)}, unzstd,
                   read_and_unzstd("{jax}"), bar_peer=1.5 if mesh == "rows" else 3.0, bar_limit=0.9,
                   quick=mesh == "columns")
        yield Case(f"load_default_{mesh}", f"load on {where}, default codecs: {size}", "checkpoint",
                   load("{ours}", mesh), {"jax": load("{jax}", mesh)},
                   ("pread", Work("pread", {"dir": "{ours}"})),
                   bar_peer=5.0 if mesh == "rows" else 3.0, quick=mesh == "rows")
    yield Case("save_zstd", f"save, zstd: {size}", "checkpoint", save("{jax}", "zstd"),
               {"jax": save("{jax}", "zstd")},
               ("libzstd", Work("zstd", {"dir": "{jax}", "level": "1"})), zstd_and_write("{jax}"),
               bar_peer=1.15, bar_limit=0.9, quick=True)
    yield Case("save_default", f"save, default codecs: {size}", "checkpoint", save("{jax}", "auto"),
               {"jax": save("{jax}", "zstd")},
               ("pwrite", Work("pwrite", {"bytes": str(scale.checkpoint), "to": "{out}",
                                          "files": str(scale.checkpoint // (8 * MIB))})),
               bar_peer=3.0)
    yield Case("save_blocked", f"save, the caller is blocked: {size}", "checkpoint",
               save("{jax}", "zstd"), {"jax": save("{jax}", "zstd")}, copy, seconds="blocked_s",
               bar_peer=5.0, bar_limit=0.9)
    yield Case("load_small", f"load {scale.jax_small:,} arrays of 4 KiB", "checkpoint",
               load("{jax_small}", "whole"), {"jax": load("{jax_small}", "whole")},
               ("open and read each file", Work("readfiles", {"dir": "{jax_small}"})), bar_peer=5.0,
               quick=True)
    yield Case("save_small", f"save {scale.jax_small:,} arrays of 4 KiB", "checkpoint",
               save("{jax_small}", "zstd", "0"), {"jax": save("{jax_small}", "zstd", "0")},
               bar_peer=5.0)


def memory(scale):
    for dtype in ("float32", "bfloat16"):
        work = Work("reshard", {"bytes": str(scale.memory), "dtype": dtype, "devices": "8",
                                "warm": "1"})
        yield Case(f"reshard_{dtype}", f"reshard rows to columns, {dtype}: "
                   f"{scale.memory // MIB} MiB on 8 devices", "memory", work, {"jax": work},
                   ("memcpy", Work("memcpy", {"bytes": str(scale.memory)})), bar_peer=1.5,
                   bar_limit=0.9, quick=dtype == "bfloat16")


def safetensors(scale):
    size = f"{scale.checkpoint // MIB} MiB"
    load = Work("st_load", {"file": "{st_large}"})
    yield Case("st_load", f"safetensors load: {size}", "safetensors", load, {"safetensors": load},
               ("pread", Work("pread", {"file": "{st_large}"})), bar_peer=1.5, bar_limit=0.9,
               quick=True)
    save = Work("st_save", {"from": "{st_large}", "to": "{file}", "warm": "1"})
    # Small tensors are loaded faster by the package's other backend.
    pread = {"st_load": {"backend": "pread"}}
    yield Case("st_save", f"safetensors save: {size}", "safetensors", save, {"safetensors": save},
               ("pwrite", Work("pwrite", {"bytes": str(scale.checkpoint), "to": "{out}",
                                          "files": "1"})), bar_peer=1.5, bar_limit=0.9)
    for verb, what, bar in (("st_open", "open", 3.0), ("st_load", "load", 1.5)):
        work = Work(verb, {"file": "{st_small}", "warm": "1"})
        yield Case(f"{verb}_small", f"safetensors {what}: {scale.small:,} tensors", "safetensors",
                   work, {"safetensors": work.with_arguments(**pread.get(verb, {}))},
                   ("pread", Work("pread", {"file": "{st_small}"})),
                   bar_peer=bar, quick=True)
    convert = Work("convert", {"from": "{zarr_medium_none}", "to": "{file}"})
    yield Case("convert", f"zarr to safetensors: {scale.array // MIB} MiB", "safetensors", convert,
               {"tensorstore": convert},
               ("pwrite", Work("pwrite", {"bytes": str(scale.array), "to": "{out}", "files": "1"})),
               bar_peer=1.0, bar_limit=0.7)


def looking(scale):
    """Metadata, rules, proofs."""
    work = Work("index_open", {"dir": "{index}"})
    yield Case("index_open", f"open an index of {scale.names:,} arrays", "metadata", work,
               {"python": work}, bar_peer=1.0, quick=True)
    work = Work("rules", {"names": "{rules}/names.txt", "rules": "{rules}/rules.json"})
    yield Case("rules", f"first matching rule of {scale.names:,} keys, 40 rules", "metadata", work,
               {"python": work}, bar_peer=20.0, quick=True)
    work = Work("hash", {"dir": "{zarr_medium_none}"})
    yield Case("hash", f"SHA-256 of each array: {scale.array // MIB} MiB", "proof", work,
               {"tensorstore": work}, ("SHA-256", Work("sha256", {"bytes": str(scale.array)})),
               bar_peer=1.0, quick=True)
    yield Case("verify", f"verify every byte: {scale.checkpoint // MIB} MiB", "proof",
               Work("verify", {"dir": "{ours}"}), {}, ("pread", Work("pread", {"dir": "{ours}"})))


def growth(_):
    for mib in (256, 512, 1024, 2048, 4096):
        data = f"{{jax_{mib}}}"
        work = Work("ckpt_load", {"dir": data, "mesh": "columns", "devices": "8"})
        yield Case(f"grow_bytes_{mib}", f"load on another mesh, zstd: {mib} MiB", "growth", work,
                   {"jax": work}, ("libzstd", Work("unzstd", {"dir": data})), bar_peer=1.0,
                   growth=("bytes", mib * MIB))
    for count in (100, 1_000, 10_000, 100_000):
        work = Work("zarr_read", {"dir": f"{{small_{count}}}"})
        yield Case(f"grow_arrays_{count}", f"read {count:,} arrays of 4 KiB", "growth", work,
                   {"tensorstore": work},
                   ("open and read each file", Work("readfiles", work.arguments)), bar_peer=1.0,
                   growth=("arrays", count))
    for devices in (1, 8, 64, 512):
        work = Work("ckpt_load", {"dir": "{jax_1024}", "mesh": "columns", "devices": str(devices)})
        # A JAX of 512 devices has a thread for each.
        peers = {"jax": work} if devices <= 64 else {}
        yield Case(f"grow_devices_{devices}", f"load 1 GiB, zstd, on {devices} devices by columns",
                   "growth", work, peers, ("libzstd", Work("unzstd", {"dir": "{jax_1024}"})),
                   bar_peer=1.0, growth=("devices", devices))
    for codec in ("zstd", "none"):
        for threads in (1, 2):
            work = Work("zarr_read", {"dir": f"{{zarr_big_{codec}}}", "threads": str(threads)})
            limit = ("libzstd", "unzstd") if codec == "zstd" else ("pread", "pread")
            yield Case(f"grow_threads_{codec}_{threads}",
                       f"zarr read, {codec}: one array, {threads} thread{'s'[:threads - 1]}",
                       "growth", work, {"tensorstore": work},
                       (limit[0], Work(limit[1], work.arguments)), bar_peer=1.0,
                       growth=("threads", threads))


def cold(_):
    for codec in ("zstd", "none"):
        work = Work("zarr_read", {"dir": f"{{disk_big_{codec}}}"})
        yield Case(f"cold_zarr_{codec}", f"zarr read, {codec}: one array, cold", "cold", work,
                   {"tensorstore": work}, ("pread", Work("pread", work.arguments)), bar_peer=1.0,
                   cold=True)
    work = Work("st_load", {"file": "{disk_st}"})
    yield Case("cold_st_load", "safetensors load, cold", "cold", work, {"safetensors": work},
               ("pread", Work("pread", work.arguments)), bar_peer=1.0, cold=True)


FAMILIES = (zarr_read, zarr_write, safetensors, checkpoints, memory, looking, growth, cold)


def all_cases(scale):
    """In an order in which data is used by neighbours, so that little of it is there at a time."""
    return [case for family in FAMILIES for case in family(scale)]
