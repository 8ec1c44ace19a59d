"""Closed forms beside the simulation: no plan can be faster than these.

Each is the largest of what single resources need for the bytes that the plan gives them.  The model adds what they
leave out: the beginning and the end, when not all resources are busy, and who waits for whom.
"""

import math

import rounds
from plans import share, tree_levels


def least_latency(p):
    return p.latency * (1 - p.jitter)


def one_decode(p):
    return p.chunk_bytes * p.cores / p.decode


def one_chunk(p, slow=False):
    """From the request to the decoded chunk, with nobody else there."""
    link = p.store_host / (p.slow_factor if slow else 1)
    return least_latency(p) + p.stored_chunk / min(p.per_request, link, p.store_total) + one_decode(p)


def reading(p, chunks, all_chunks, slow=False):
    """A host reads and decodes so many chunks, while all hosts together read so many."""
    if chunks == 0:
        return 0.0
    link = p.store_host / (p.slow_factor if slow else 1)
    slots = math.ceil(chunks / p.requests_at_once) * one_chunk(p, slow)
    bytes_in = max(chunks * p.stored_chunk / link, all_chunks * p.stored_chunk / p.store_total)
    decoding = one_chunk(p, slow) - one_decode(p) + chunks * p.chunk_bytes / p.decode
    return max(slots, least_latency(p) + bytes_in + one_decode(p), decoding, all_chunks / p.request_rate)


def exchanging(p, chunks):
    """The hosts of a set send each other what they have read of so many chunks."""
    if p.members == 1:
        return 0.0
    most, least = share(chunks, p.members, 0), share(chunks, p.members, p.members - 1)
    return p.net_latency + max(most * (p.members - 1), chunks - least) * p.part_bytes / p.net


def read_per_host(p):
    return reading(p, p.set_chunks, p.hosts * p.set_chunks, p.slow > 0)


def exchange(p):
    last = reading(p, share(p.set_chunks, p.members, 0), p.sets * p.set_chunks, p.slow > 0)
    # What was read last is still to be sent; and nothing is sent before the first chunk is there.
    return max(last + exchanging(p, 1), one_chunk(p) + exchanging(p, p.set_chunks))


def exchange_in_rounds(p):
    each = 0 if p.hosts == 1 else rounds.round_chunks(p)
    if each == 0:
        return read_per_host(p)
    seconds = 0.0
    for begin in range(0, p.set_chunks, each):
        chunks = min(each, p.set_chunks - begin)
        # Who reads one more than others changes from round to round, so that a slow host may not.
        read = reading(p, share(chunks, p.members, 0), p.sets * chunks)
        if p.slow > 0:
            read = max(read, reading(p, share(chunks, p.members, p.members - 1), p.sets * chunks, slow=True))
        seconds += read
        seconds += exchanging(p, chunks) + chunks * p.part_bytes / p.copy + 2 * p.barrier
    return seconds


def broadcast(p):
    hops = [p.net_latency + level[0][1] * p.part_bytes / p.net for level in tree_levels(p.replicas, p.fan_out)]
    last = reading(p, p.set_chunks, p.sets * p.split * p.set_chunks, p.slow > 0) + sum(hops)
    if not hops:
        return last
    # The root sends every chunk to all its targets, and the last one then goes all the way down.
    sending = p.net_latency + p.set_chunks * (hops[0] - p.net_latency)
    return max(last, one_chunk(p) + sending + sum(hops[1:]))


def floor(p):
    """Of every way to restore: each byte leaves the store once, and each host gets what it needs."""
    stored = p.bytes / p.ratio
    needed = p.set_chunks * p.part_bytes
    return max(stored / p.store_total, stored / (p.hosts * p.store_host),
               needed / (p.store_host * p.ratio + p.net))
