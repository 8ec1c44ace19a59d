"""What the model is asked: a checkpoint, hosts, a store and a network; and quantities as people write them."""

import dataclasses
import functools
import math
import re

_SCALES = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
           "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def parse_bytes(text):
    """ "1TB", "64MiB", "25Gbit/s": bytes, or bytes a second.  "none": without limit."""
    if text == "none":
        return math.inf
    found = re.fullmatch(r"([0-9.]+) ?([kKMGT]i?|)(B|bit)?(/s)?", text)
    if found is None:
        raise ValueError(f"found {text!r}, expected a quantity as 1TB, 64MiB or 25Gbit/s")
    number = float(found[1]) * _SCALES[found[2]]
    return number / 8 if found[3] == "bit" else number


def parse_seconds(text):
    found = re.fullmatch(r"([0-9.]+) ?(us|ms|s)", text)
    if found is None:
        raise ValueError(f"found {text!r}, expected a time as 50ms")
    return float(found[1]) * _SECONDS[found[2]]


@dataclasses.dataclass(frozen=True)
class Parameters:
    """Bytes, bytes a second and seconds.  docs/scale.md says what each means and why it has this default."""

    hosts: int = 1
    bytes: float = 1e12  # of the checkpoint in memory
    ratio: float = 1.0  # in memory to stored
    chunk: float = 64e6  # in memory
    model_hosts: int = 16  # that hold the checkpoint once, together
    amplification: int = 1  # hosts of one copy that need a part of the same chunk

    store_total: float = 200e9
    store_host: float = 25e9 / 8
    per_request: float = math.inf
    request_rate: float = math.inf  # of the store, per second
    latency: float = 0.050
    jitter: float = 0.5  # latencies are spread evenly over latency * (1 ± jitter)
    in_flight: int = 64  # requests of a host

    net: float = 100e9 / 8  # of a host, in and out
    net_latency: float = 50e-6
    fan_out: int = 2
    send_window: int = 4  # chunks that a host sends at once

    decode: float = 16e9  # of a host, bytes in memory a second
    cores: int = 16
    copy: float = 10e9  # of a host, from where the bytes arrived to where they belong
    memory: float = 2**30  # of a host, beside the result
    round_items: int = 4096

    slow: int = 0  # hosts whose link to the store is slow_factor times slower
    slow_factor: float = 4.0

    def __post_init__(self):
        if self.hosts > self.model_hosts and self.hosts % self.model_hosts:
            raise ValueError(f"found {self.hosts} hosts, expected a multiple of the {self.model_hosts} that "
                             "hold the checkpoint once")
        if self.copy_hosts % self.split:
            raise ValueError(f"found {self.copy_hosts} hosts for a copy, expected a multiple of the "
                             f"amplification, {self.split}")
        if not 0 <= self.jitter < 1:
            raise ValueError(f"found a jitter of {self.jitter}, expected 0 or more and less than 1")
        if self.slow > self.members:
            raise ValueError(f"found {self.slow} slow hosts, expected at most {self.members}: those that share chunks")

    # The hosts fall into `sets`, which share no chunk.  Each of the `members` of a set needs a part of every chunk
    # of it: 1/split of its bytes.
    @functools.cached_property
    def copy_hosts(self):
        return min(self.hosts, self.model_hosts)

    @functools.cached_property
    def split(self):
        return min(self.amplification, self.copy_hosts)

    @functools.cached_property
    def sets(self):
        return self.copy_hosts // self.split

    @functools.cached_property
    def members(self):
        return self.hosts // self.sets

    @functools.cached_property
    def replicas(self):
        return self.hosts // self.copy_hosts

    # Chunks are of one size, a little less than asked for, so that they make up a set's bytes.
    @functools.cached_property
    def set_chunks(self):
        return math.ceil(self.bytes / self.sets / self.chunk)

    @functools.cached_property
    def chunk_bytes(self):
        return self.bytes / self.sets / self.set_chunks

    @functools.cached_property
    def stored_chunk(self):
        return self.chunk_bytes / self.ratio

    @functools.cached_property
    def part_bytes(self):
        """What a host needs of a chunk."""
        return self.chunk_bytes / self.split

    @functools.cached_property
    def requests_at_once(self):
        """A compressed chunk is held until it is decoded, a plain one is read to its place."""
        if self.ratio == 1:
            return self.in_flight
        return max(1, min(self.in_flight, int(self.memory // self.stored_chunk)))

    @functools.cached_property
    def barrier(self):
        """There and back over a tree of all hosts."""
        return 2 * self.net_latency * math.ceil(math.log2(self.hosts)) if self.hosts > 1 else 0.0

    def latency_of(self, number):
        """Of a host's request with this number.  Spread by the golden ratio, so that no two runs differ."""
        place = (0.5 + number * 0.6180339887498949) % 1.0
        return self.latency * (1 + self.jitter * (2 * place - 1))
