"""The ways to restore, each as a plan that the engine plays.

Hosts that do the same at the same time are one class with a count.  With `full` every host is a class of its own,
which costs time and memory and must give the same result; the tests hold one against the other.
"""

import collections
import dataclasses

from engine import Engine, Resource


@dataclasses.dataclass
class Outcome:
    seconds: float
    store_bytes: float
    store_requests: int
    net_bytes: float
    peak_load: float  # of any resource, as a share of its capacity; at most 1
    note: str = ""


@dataclasses.dataclass(frozen=True)
class HostClass:
    """Hosts of one set (or of `sets` that are alike) that read as many chunks, over links as fast."""

    sets: int
    hosts: int
    chunks: int
    slow: bool


def host_classes(p, chunks_of, full):
    """Lists of classes, one for each kind of set.  chunks_of(member) is how many chunks it reads."""
    kinds = [(p.sets - 1, 0), (1, p.slow)] if p.slow else [(p.sets, 0)]
    groups = []
    for sets, slow in kinds:
        if sets == 0:
            continue
        members = [(chunks_of(member), member < slow) for member in range(p.members)]
        if full:
            groups += [[HostClass(1, 1, *member) for member in members] for _ in range(sets)]
        else:
            counts = collections.Counter(members)
            groups.append([HostClass(sets, hosts, *member) for member, hosts in counts.items()])
    return groups


class World:
    """The resources that there are once, and what the plans count."""

    def __init__(self, p):
        self.p = p
        self.engine = Engine()
        self.store = Resource("store", p.store_total)
        self.requests = Resource("store's requests", p.request_rate)
        self.resources = [self.store, self.requests]
        self.net_bytes = 0.0
        self.store_requests = 0

    def resource(self, name, capacity):
        self.resources.append(Resource(name, capacity))
        return self.resources[-1]

    def outcome(self, note=""):
        seconds = self.engine.run()
        peak = max(resource.peak for resource in self.resources)
        return Outcome(seconds, self.store.carried, self.store_requests, self.net_bytes, peak, note)


class Reader:
    """A host that reads chunks, so many requests at once; each waits, reads and decodes before the next one."""

    def __init__(self, world, kind, then, latency_of=None):
        self.world = world
        self.kind = kind
        self.then = then
        p = world.p
        self.latency_of = latency_of or p.latency_of
        hosts = kind.sets * kind.hosts
        link = world.resource("store link", p.store_host / (p.slow_factor if kind.slow else 1))
        cores = world.resource("cores", p.decode)
        self.ask = world.engine.route([(world.requests, hosts)])
        self.read = world.engine.route([(world.store, hosts), (link, 1)], p.per_request)
        self.decode = world.engine.route([(cores, 1)], p.decode / p.cores)
        self.asked = 0
        world.store_requests += hosts * kind.chunks
        for _ in range(min(p.requests_at_once, kind.chunks)):
            self.next()

    def next(self):
        if self.asked == self.kind.chunks:
            return
        number = self.asked
        self.asked += 1
        p, engine = self.world.p, self.world.engine

        def wait():
            engine.at(self.latency_of(number), lambda: engine.flow(self.read, p.stored_chunk, unpack))

        def unpack():
            engine.flow(self.decode, p.chunk_bytes, done)

        def done():
            self.then()
            self.next()

        if p.request_rate == float("inf"):
            wait()
        else:
            engine.flow(self.ask, 1, wait)


class Sender:
    """A host that sends chunks on, a few at once: each to all its targets, over (route, what then) pairs."""

    def __init__(self, world, targets):
        self.world = world
        self.targets = targets
        self.waiting = 0
        self.free = world.p.send_window

    def push(self):
        self.waiting += 1
        self._start()

    def _start(self):
        if self.free == 0 or self.waiting == 0 or not self.targets:
            return
        self.free -= 1
        self.waiting -= 1
        self.world.engine.at(self.world.p.net_latency, self._send)

    def _send(self):
        left = len(self.targets)

        def arrived(then):
            nonlocal left
            then()
            left -= 1
            if left == 0:
                self.free += 1
                self._start()

        for route, then in self.targets:
            self.world.engine.flow(route, self.world.p.part_bytes, lambda then=then: arrived(then))


def read_per_host(p, full=False):
    """Every host reads all chunks that it needs a part of."""
    world = World(p)
    for kinds in host_classes(p, lambda member: p.set_chunks, full):
        for kind in kinds:
            Reader(world, kind, lambda: None)
    return world.outcome()


def share(chunks, members, member):
    """How many of the chunks a member reads when all take turns."""
    return chunks // members + (member < chunks % members)


def exchange_routes(world, kinds):
    """For each class, one route to each class of its set: (route, pairs of hosts that it stands for)."""
    net_in = [world.resource("net in", world.p.net) for _ in kinds]
    net_out = [world.resource("net out", world.p.net) for _ in kinds]
    routes = []
    for x, sender in enumerate(kinds):
        targets = []
        for y, receiver in enumerate(kinds):
            itself = 1 if x == y else 0
            uses = [(net_out[x], receiver.hosts - itself), (net_in[y], sender.hosts - itself)]
            pairs = sender.sets * sender.hosts * (receiver.hosts - itself)
            if pairs > 0:
                targets.append((world.engine.route(uses), pairs))
        routes.append(targets)
    return routes


def exchange(p, full=False):
    """Every chunk is read by one host, which sends it to the others as soon as it has it."""
    world = World(p)
    for kinds in host_classes(p, lambda member: share(p.set_chunks, p.members, member), full):
        for kind, targets in zip(kinds, exchange_routes(world, kinds)):
            world.net_bytes += sum(pairs * kind.chunks * p.part_bytes for _, pairs in targets)
            sender = Sender(world, [(route, lambda: None) for route, _ in targets])
            Reader(world, kind, sender.push)
    return world.outcome()


def broadcast(p, full=False):
    """The hosts of the first copy read what they need and send it down a tree of those that hold the same."""
    world = World(p)
    trees = p.sets * p.split
    slow = min(p.slow, trees)
    counts = [(trees - slow, False), (slow, True)]
    if full:
        counts = [(1, False)] * (trees - slow) + [(1, True)] * slow
    grow = _tree_of_hosts if full else _tree_of_levels
    for count, is_slow in counts:
        if count == 0:
            continue
        root = grow(world)
        world.net_bytes += count * (p.replicas - 1) * p.set_chunks * p.part_bytes
        Reader(world, HostClass(count, 1, p.set_chunks, is_slow), root)
    return world.outcome()


def tree_levels(hosts, fan_out):
    """Senders of a full tree, level by level: lists of (senders, targets of each)."""
    levels = []
    above, left = 1, hosts - 1
    while left > 0:
        below = min(left, above * fan_out)
        level = [(below // fan_out, fan_out), (1, below % fan_out)]
        levels.append([(senders, targets) for senders, targets in level if senders and targets])
        above, left = below, left - below
    return levels


def _tree_of_levels(world):
    """What to call at the root when it has a chunk.  Hosts of one level are one; only the last may be uneven."""
    then = lambda: None  # noqa: E731
    for level in reversed(tree_levels(world.p.replicas, world.p.fan_out)):
        senders = []
        for _, targets in level:
            net_out = world.resource("net out", world.p.net)
            net_in = world.resource("net in", world.p.net)
            route = world.engine.route([(net_out, targets), (net_in, 1)])
            senders.append(Sender(world, [(route, then)]))
        then = lambda senders=tuple(senders): [sender.push() for sender in senders]  # noqa: E731
    return then


def _tree_of_hosts(world):
    p = world.p
    heads = []
    for host in reversed(range(p.replicas)):
        below = range(host * p.fan_out + 1, min(p.replicas, (host + 1) * p.fan_out + 1))
        net_out = world.resource("net out", p.net)
        targets = []
        for target in below:
            net_in = world.resource("net in", p.net)
            targets.append((world.engine.route([(net_out, 1), (net_in, 1)]), heads[p.replicas - 1 - target]))
        heads.append(Sender(world, targets).push)
    return heads[-1]
