"""What all peers share: the command line, the clock, peak memory, and the digest of a result.

A peer is `PROGRAM VERB name=value ...` and prints one JSON line.  Each of its verbs is a function
that takes the arguments, does what is not timed, and gives a Work.  Arguments of all verbs:
warm=N does the work N times before, untimed; digest=0 leaves the digest out.  README.md has the
verbs.  Exit status 3: no such verb.
"""

import ctypes
import dataclasses
import gc
import json
import os
import pathlib
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable

import numpy as np
import xxhash

UNKNOWN_VERB = 3


@dataclasses.dataclass
class Work:
    """What a verb does: `run` is timed, all the rest is not."""

    run: Callable[[], object]
    # Payload bytes, of what `run` gave.
    payload: Callable[[object], int]
    # What the digest is over: arrays in the order of their sorted names, or bytes; None: nothing.
    elements: Callable[[object], Iterable] | None = None
    # Before each run, as the removal of what the last one wrote.
    before: Callable[[], None] = lambda: None
    # More fields of the JSON line.
    more: Callable[[object], dict] = lambda result: {}


class Arguments:
    """name=value pairs; one that nobody asked for is an error, so that no typing error is timed."""

    def __init__(self, words):
        self._values = {}
        self._taken = set()
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                sys.exit(f"expected name=value, found '{word}'")
            self._values[name] = value

    def text(self, name, default=None, of=None):
        self._taken.add(name)
        value = self._values.get(name, default)
        if value is None:
            sys.exit(f"argument {name}= is missing")
        if of is not None and value not in of:
            sys.exit(f"{name} is one of {', '.join(of)}, found '{value}'")
        return value

    def number(self, name, default=None, least=0):
        text = str(self.text(name, default))
        if not text.isdigit() or int(text) < least:
            sys.exit(f"{name} is a number from {least} up, found '{text}'")
        return int(text)

    def path(self, name):
        """Absolute, as JAX wants it."""
        return pathlib.Path(self.text(name)).resolve()

    def threads(self):
        """0: not told, so that the peer takes what it takes by itself."""
        return self.number("threads", 0)

    def check_all_taken(self):
        unknown = sorted(set(self._values) - self._taken)
        if unknown:
            sys.exit(f"unknown argument {unknown[0]}=")


def memory_mib(field):
    """VmRSS or VmHWM of this process."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", status).group(1)) / 1024


def reset_peak():
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def give_memory_back():
    """What earlier runs freed goes back to the system.  Otherwise malloc would keep it, and a
    result would lie in memory that is there already, and not be seen in the peak either."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def bytes_of(array):
    """The elements' bytes in C order, without a copy where they lie so; of any dtype."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def digest_of(elements):
    total = xxhash.xxh3_64()
    for part in elements:
        total.update(part if isinstance(part, bytes) else bytes_of(part))
    return total.hexdigest()


def in_order(arrays):
    """The arrays of a dict, by sorted name."""
    return (arrays[name] for name in sorted(arrays))


def total_bytes(arrays):
    return sum(array.nbytes for array in arrays.values())


def array_names(folder):
    """Sorted relative paths of the zarr v2 arrays below.  Programs know the names of what they
    load, so that no peer's time has this walk in it."""
    names = []
    for here, folders, files in os.walk(folder):
        if ".zarray" in files:
            names.append(os.path.relpath(here, folder))
            folders.clear()
    if not names:
        sys.exit(f"{folder}: no zarr v2 array below")
    return sorted(names)


def metadata_of(folder, name):
    return json.loads((folder / name / ".zarray").read_text())


def remove(path):
    """A file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync_below(folder):
    """For writers that cannot be told to sync: each file, then the folders."""
    for here, _, files in os.walk(folder, topdown=False):
        for name in [*files, "."]:
            handle = os.open(os.path.join(here, name), os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)


def measure(work, warm, with_digest):
    for _ in range(warm):
        work.before()
        work.run()
    work.before()
    give_memory_back()
    # No pass of the collector in anybody's time; a work leaves no cycles that would be worth one.
    gc.disable()
    before = memory_mib("VmRSS")
    reset_peak()
    start = time.perf_counter()
    result = work.run()
    seconds = time.perf_counter() - start
    peak = memory_mib("VmHWM") - before
    gc.enable()
    line = {"seconds": seconds, "peak_mib": round(peak, 3), "bytes": work.payload(result)}
    if work.elements is not None and with_digest:
        line["digest"] = digest_of(work.elements(result))
    return line | work.more(result)


def main(verbs):
    """Runs the verb of sys.argv and prints its line."""
    if len(sys.argv) < 2 or sys.argv[1] not in verbs:
        found = sys.argv[1] if len(sys.argv) > 1 else "none"
        print(f"verbs are {', '.join(sorted(verbs))}; found {found}", file=sys.stderr)
        sys.exit(UNKNOWN_VERB)
    arguments = Arguments(sys.argv[2:])
    warm = arguments.number("warm", 0)
    with_digest = arguments.text("digest", "1", of=("0", "1")) == "1"
    work = verbs[sys.argv[1]](arguments)
    arguments.check_all_taken()
    print(json.dumps(measure(work, warm, with_digest)), flush=True)
