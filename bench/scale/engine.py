"""A discrete-event engine for bytes that share links.

Two kinds of event: a moment that was asked for (`at`), and the end of a flow.  A flow is a number of bytes on a
route; a route uses resources, each with a capacity.  Between two events all rates are constant and max-min fair:
no route can be given more without taking from one that has less or as much.

A route may stand for many alike: its weight on a resource says how many flows of the real system each of its
flows is there.  So hosts that do the same are one (plans.py), and the resources they share are still loaded by all.
"""

import heapq
import itertools
import math

# Bytes a second where nothing limits them: so many that no flow takes any time to speak of.
UNLIMITED = 1e18


class Resource:
    """What routes share: a link, a store, the cores of a host."""

    def __init__(self, name, capacity):
        if not capacity > 0:
            raise ValueError(f"{name}: found a capacity of {capacity}, expected more than 0")
        self.name = name
        self.capacity = capacity
        self.carried = 0.0  # bytes, of all that routes stand for; known after a run
        self.peak = 0.0  # the largest share of the capacity that was ever used


class Route:
    """`uses` is pairs of a resource and a weight; `cap` is the most that one flow gets."""

    def __init__(self, uses, cap=math.inf):
        self.uses = [(resource, weight) for resource, weight in uses if weight > 0]
        self.cap = cap
        self.rate = 0.0  # of each flow
        self.served = 0.0  # bytes that a flow has got that was there from the beginning
        self.moved = 0.0  # bytes of all flows so far
        self.flows = []  # heap of (value of `served` at the end, number, size, what then)
        self.part = None


class Part:
    """Routes that share resources with each other and with no others: their rates depend on nothing else."""

    def __init__(self):
        self.routes = []
        self.changed = False
        self.known = {}  # the rates, by how many flows there are

    def set_rates(self):
        self.changed = False
        state = tuple([len(route.flows) for route in self.routes])
        active = [route for route in self.routes if route.flows]
        rates = self.known.get(state)
        if rates is None:
            rates = self.known[state] = max_min(active)
            for resource, load in loads(active, rates).items():
                resource.peak = max(resource.peak, load / resource.capacity)
        for route, rate in zip(active, rates):
            route.rate = rate


def divide(routes):
    """Gives every route its part."""
    part_of = {}
    parts = []
    for route in routes:
        touched = {part_of[resource] for resource, _ in route.uses if resource in part_of}
        part = touched.pop() if touched else Part()
        for other in touched:
            part.routes += other.routes
            part_of.update({resource: part for resource, held in part_of.items() if held is other})
            parts.remove(other)
        if part not in parts:
            parts.append(part)
        part.routes.append(route)
        part_of.update({resource: part for resource, _ in route.uses if not math.isinf(resource.capacity)})
    for part in parts:
        for route in part.routes:
            route.part = part
    return parts


def max_min(routes):
    """The fair rate of one flow of each route, in order, by filling up all of them at once."""
    rates = [0.0] * len(routes)
    left = {}
    demand = {}
    for route in routes:
        for resource, weight in route.uses:
            left.setdefault(resource, resource.capacity)
            demand[resource] = demand.get(resource, 0) + weight * len(route.flows)
    open_routes = list(range(len(routes)))
    while open_routes:
        limits = {}
        for i in open_routes:
            shares = [left[resource] / demand[resource] for resource, _ in routes[i].uses]
            limits[i] = min([routes[i].cap, UNLIMITED, *shares])
        least = min(limits.values())
        fixed = [i for i in open_routes if limits[i] <= least * (1 + 1e-12)]
        for i in fixed:
            rates[i] = least
            for resource, weight in routes[i].uses:
                left[resource] = max(0.0, left[resource] - least * weight * len(routes[i].flows))
                demand[resource] -= weight * len(routes[i].flows)
        open_routes = [i for i in open_routes if i not in set(fixed)]
    return rates


class Engine:
    def __init__(self):
        self.now = 0.0
        self.events = 0
        self._moments = []
        self._routes = []
        self._numbers = itertools.count()
        self._active = {}  # routes that have flows, in the order in which they got them
        self._changed = []  # parts

    def at(self, delay, then):
        """Calls `then` after so many seconds."""
        heapq.heappush(self._moments, (self.now + delay, next(self._numbers), then))

    def route(self, uses, cap=math.inf):
        """A new one.  REQUIRES: run() has not been called."""
        route = Route(uses, cap)
        self._routes.append(route)
        return route

    def flow(self, route, size, then):
        """Moves `size` bytes along the route and calls `then`."""
        if not route.flows:
            route.served = 0.0
            self._active[route] = None
        heapq.heappush(route.flows, (route.served + size, next(self._numbers), size, then))
        self._touch(route)

    def run(self):
        """Until nothing is left to happen; the time at which the last thing did."""
        for part in divide(self._routes):
            part.changed = True
            self._changed.append(part)
        while True:
            for part in self._changed:
                part.set_rates()
            self._changed.clear()
            step = self._time_to_next()
            if math.isinf(step):
                break
            self._advance(step)
            self._fire()
        for route in self._routes:
            for resource, weight in route.uses:
                resource.carried += route.moved * weight
        return self.now

    def _touch(self, route):
        # Before the run there are no parts yet, and then all are looked at.
        if route.part is not None and not route.part.changed:
            route.part.changed = True
            self._changed.append(route.part)

    def _time_to_next(self):
        step = max(0.0, self._moments[0][0] - self.now) if self._moments else math.inf
        for route in self._active:
            step = min(step, max(0.0, route.flows[0][0] - route.served) / route.rate)
        return step

    def _advance(self, step):
        self.now += step
        for route in self._active:
            each = route.rate * step
            route.served += each
            route.moved += each * len(route.flows)

    def _fire(self):
        """What ends now.  Ends that only rounding keeps apart are one event."""
        ended = []
        for route in list(self._active):
            while route.flows and route.flows[0][0] - route.served <= 1e-9 * route.flows[0][2]:
                ended.append(heapq.heappop(route.flows))
                self._touch(route)
            if not route.flows:
                del self._active[route]
        ended.sort(key=lambda flow: flow[1])
        while self._moments and self._moments[0][0] <= self.now + 1e-12:
            ended.append(heapq.heappop(self._moments))
        for event in ended:
            event[-1]()
        self.events += 1


def loads(routes, rates):
    """What the routes' flows take of each resource together, per second."""
    result = {}
    for route, rate in zip(routes, rates):
        for resource, weight in route.uses:
            result[resource] = result.get(resource, 0.0) + rate * weight * len(route.flows)
    return result
