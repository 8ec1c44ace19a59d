"""Read once and exchange as `share_reads` does it today: in rounds that all hosts end together.

tessera/checkpoint/load_shared.cc: a round is read, the hosts agree, what was read is exchanged, and everyone puts it
in its place; only then the next round begins.  load_shared_rounds.cc says how much a round holds.
"""

import dataclasses
import math

from plans import Outcome, Reader, World, exchange_routes, host_classes, read_per_host, share


def held_bytes(p, chunks):
    """The most that a host holds when each set has so many chunks in a round."""
    mine = math.ceil(chunks / p.members)
    packed = mine * (p.members - 1) * p.part_bytes if p.split > 1 else 0
    return mine * p.chunk_bytes + packed + (chunks - mine) * p.part_bytes


def round_chunks(p):
    """Chunks of a set in a round; 0: one is too much already, and every host reads for itself."""
    limit = p.memory / 2
    chunks = min(p.set_chunks, p.round_items // p.sets)
    if chunks == 0:
        raise ValueError(f"found {p.sets} sets of hosts, expected at most {p.round_items}: the chunks of a round")
    while chunks > 0 and held_bytes(p, chunks) > limit:
        # Falls below the limit in a few steps, and never below the answer: what is held grows with every chunk.
        chunks = min(chunks - 1, max(int(chunks * limit / held_bytes(p, chunks)), 0))
    while chunks + 1 <= min(p.set_chunks, p.round_items // p.sets) and held_bytes(p, chunks + 1) <= limit:
        chunks += 1
    return chunks


def read_phase(p, chunks_of, full):
    """The round's hosts wait for the slowest of all first requests, not for an average one."""
    world = World(p)
    groups = host_classes(p, chunks_of, full)
    first = sum(kind.sets * kind.hosts * min(kind.chunks, p.requests_at_once) for kinds in groups for kind in kinds)
    slowest = p.latency * (1 + p.jitter * (first - 1) / (first + 1))
    for kinds in groups:
        for kind in kinds:
            Reader(world, kind, lambda: None, lambda number: slowest if number == 0 else p.latency_of(number))
    return world.outcome()


def exchange_phase(p, chunks_of, full):
    """Everything that was read is sent at once."""
    world = World(p)
    for kinds in host_classes(p, chunks_of, full):
        for kind, targets in zip(kinds, exchange_routes(world, kinds)):
            for route, pairs in targets:
                size = kind.chunks * p.part_bytes
                world.net_bytes += pairs * size
                if size > 0:
                    world.engine.at(p.net_latency, lambda route=route, size=size: start(world, route, size))
    return world.outcome()


def start(world, route, size):
    world.engine.flow(route, size, lambda: None)


def one_round(p, chunks, offset, full):
    def chunks_of(member):
        return share(chunks, p.members, (member - offset) % p.members)

    read = read_phase(p, chunks_of, full)
    exchanged = exchange_phase(p, chunks_of, full)
    put = chunks * p.part_bytes / p.copy
    return dataclasses.replace(read, seconds=read.seconds + exchanged.seconds + put + 2 * p.barrier,
                               net_bytes=exchanged.net_bytes, peak_load=max(read.peak_load, exchanged.peak_load))


def exchange_in_rounds(p, full=False):
    if p.hosts == 1:
        return read_per_host(p, full)
    each = round_chunks(p)
    if each == 0:
        alone = read_per_host(p, full)
        return dataclasses.replace(alone, note="a chunk is more than a round holds: every host reads for itself")
    known = {}
    total = Outcome(0.0, 0.0, 0, 0.0, 0.0)
    rounds = math.ceil(p.set_chunks / each)
    for number in range(rounds):
        chunks = min(each, p.set_chunks - number * each)
        offset = number * each % p.members
        # Rounds are alike when they have as many chunks and as many of their slow hosts read one more than others.
        more = sum((member - offset) % p.members < chunks % p.members for member in range(p.slow))
        key = (chunks, more)
        if key not in known:
            known[key] = one_round(p, chunks, offset, full)
        add(total, known[key])
    total.note = f"{rounds} rounds of {each * p.sets} chunks"
    return total


def add(total, part):
    total.seconds += part.seconds
    total.store_bytes += part.store_bytes
    total.store_requests += part.store_requests
    total.net_bytes += part.net_bytes
    total.peak_load = max(total.peak_load, part.peak_load)
