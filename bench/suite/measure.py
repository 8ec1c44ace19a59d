"""Runs the sides of a case in turns, each time in a process of its own."""

import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import string
import subprocess
import sys
import time

# A case gets its rounds, or as many as fit in this time, but never fewer than the least.
CASE_SECONDS = 45
LEAST_ROUNDS = 3


class WrongBytes(Exception):
    """Two sides of a case do not agree about what was loaded."""


class Programs:
    """Where the programs are that do the work."""

    def __init__(self, build, python=sys.executable):
        here = pathlib.Path(__file__).resolve().parent.parent
        self.commands = {"ours": [build / "bench" / "bench_ours"],
                         "limit": [build / "bench" / "bench_limits"]}
        for file in (here / "peers").glob("*_peer.py"):
            self.commands[file.stem.removesuffix("_peer")] = [python, file]

    def run(self, program, work, paths, **more):
        """What one process of `program` tells of `work`."""
        arguments = {**work.arguments, **more}
        words = [f"{name}={fill(value, paths)}" for name, value in arguments.items()]
        environment = dict(os.environ)
        if "threads" in arguments:
            environment["TESSERA_THREADS"] = arguments["threads"]
        command = [*map(str, self.commands[program]), work.verb, *words]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=environment, check=False)
        if ran.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit {ran.returncode}\n{ran.stderr[-2000:]}")
        return json.loads(ran.stdout.splitlines()[-1])


def fill(value, paths):
    return value.format_map(paths)


def data_of(case):
    """The names of the data that a case needs."""
    works = [case.ours, *case.peers.values(), *(limit[1] for limit in (case.limit, case.floor) if limit)]
    names = {field for work in works for value in work.arguments.values()
             for _, field, _, _ in string.Formatter().parse(value) if field}
    return names - {"out", "file"}


def drop_caches():
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def may_drop_caches():
    return os.access("/proc/sys/vm/drop_caches", os.W_OK)


def remove_written(paths):
    shutil.rmtree(paths["out"], ignore_errors=True)
    pathlib.Path(paths["file"]).unlink(missing_ok=True)


@dataclasses.dataclass
class Side:
    """What one side of a case took, round by round."""
    name: str  # ours, a peer's, limit or floor
    program: str
    work: object
    field: str
    seconds: list = dataclasses.field(default_factory=list)
    peak_mib: list = dataclasses.field(default_factory=list)
    digest: str | None = None
    bytes: int = 0

    def take(self, told):
        self.seconds.append(told[self.field])
        self.peak_mib.append(told.get("peak_mib", 0.0))
        self.digest = told.get("digest", self.digest)
        self.bytes = told.get("bytes", self.bytes)

    def median(self):
        return statistics.median(self.seconds)

    def spread(self):
        return [round(min(self.seconds), 6), round(max(self.seconds), 6)]


def sides_of(case):
    sides = [Side("ours", "ours", case.ours, case.seconds)]
    sides += [Side(peer, peer, work, case.seconds) for peer, work in case.peers.items()]
    for name in ("limit", "floor"):
        if getattr(case, name):
            sides.append(Side(name, "limit", getattr(case, name)[1], "seconds"))
    return sides


def measure(case, programs, paths, rounds):
    """The sides of `case` after their rounds; who begins changes from round to round."""
    sides, start = sides_of(case), time.monotonic()
    for turn in range(rounds):
        if turn >= LEAST_ROUNDS and time.monotonic() - start > CASE_SECONDS:
            break
        first = turn % len(sides)
        for side in sides[first:] + sides[:first]:
            if case.cold:
                drop_caches()
            # What was loaded is looked at once; it costs as much as loading it.
            digest = {} if turn == 0 else {"digest": "0"}
            side.take(programs.run(side.program, side.work, paths, **digest))
            remove_written(paths)
    check_equal(case, sides)
    check_written(case, programs, paths)
    return sides


def check_equal(case, sides):
    digests = {side.name: side.digest for side in sides
               if side.digest is not None and side.program != "limit"}
    if len(set(digests.values())) > 1:
        raise WrongBytes(f"{case.name}: the sides loaded different bytes: {digests}")


# Who reads what a verb wrote, by which verb and argument.
READERS = {"zarr_write": ("tensorstore", "zarr_read", "dir"),
           "ckpt_save": ("jax", "ckpt_load", "dir"),
           "st_save": ("safetensors", "st_load", "file"),
           "convert": ("safetensors", "st_load", "file")}


def check_written(case, programs, paths):
    """What we write, a peer reads, and it is what we were given."""
    if case.ours.verb not in READERS:
        return
    from .cases import Work
    peer, verb, place = READERS[case.ours.verb]
    # By rows: JAX would hold what is whole on 8 devices 8 times.
    mesh = {"mesh": "rows", "devices": "8"} if verb == "ckpt_load" else {}
    source = ("zarr_read", "dir") if case.ours.verb == "convert" else (verb, place)
    programs.run("ours", case.ours.with_arguments(warm="0"), paths)
    written = programs.run(peer, Work(verb, {place: case.ours.arguments["to"], **mesh}), paths)
    given = programs.run("ours", Work(source[0], {source[1]: case.ours.arguments["from"], **mesh}),
                         paths)
    remove_written(paths)
    if written["digest"] != given["digest"]:
        raise WrongBytes(f"{case.name}: {peer} reads {written['digest']} of what we wrote, "
                         f"it was given {given['digest']}")
