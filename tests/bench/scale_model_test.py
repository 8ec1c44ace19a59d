"""bench/scale: the engine against closed forms, the plans against their bounds and against themselves host by host."""

import contextlib
import dataclasses
import io
import json
import math
import pathlib
import random
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "scale"))

import bounds  # noqa: E402
import chart  # noqa: E402
import engine  # noqa: E402
import model  # noqa: E402
import plans  # noqa: E402
import rounds  # noqa: E402
from parameters import Parameters, parse_bytes, parse_seconds  # noqa: E402

# How far above its closed form a simulation may be; docs/scale.md says so.
MOST_ABOVE_BOUND = 2.0
MANY_HOSTS = [2**power for power in range(13)]

# Small enough to play every host by itself, and each with something that the others do not have.
SMALL = [
    {"hosts": 1},
    {"hosts": 2, "model_hosts": 1},
    {"hosts": 4, "model_hosts": 4},
    {"hosts": 8, "model_hosts": 2},
    {"hosts": 8, "model_hosts": 1, "fan_out": 3},
    {"hosts": 7, "model_hosts": 1},
    {"hosts": 6, "model_hosts": 2, "ratio": 1.3, "memory": 200e6},
    {"hosts": 8, "model_hosts": 4, "amplification": 2},
    {"hosts": 8, "model_hosts": 4, "amplification": 4, "memory": 2000e6},
    {"hosts": 8, "model_hosts": 2, "slow": 1},
    {"hosts": 8, "model_hosts": 2, "slow": 3, "slow_factor": 10.0, "memory": 300e6},
    {"hosts": 4, "model_hosts": 1, "request_rate": 300.0},
    {"hosts": 4, "model_hosts": 2, "per_request": 100e6, "in_flight": 3},
    {"hosts": 5, "model_hosts": 1, "fan_out": 1, "jitter": 0.0},
]


def small(**changes):
    return Parameters(**{"bytes": 3e9, "chunk": 50e6, "store_total": 8e9, "in_flight": 8, **changes})


class EngineTest(unittest.TestCase):
    def finish_times(self, flows):
        """Ends of (start, size, route of resources) by themselves on one engine."""
        world = engine.Engine()
        ends = {}
        for i, (start, size, uses, cap) in enumerate(flows):
            route = world.route(uses, cap)
            then = lambda i=i: ends.__setitem__(i, world.now)  # noqa: E731
            world.at(start, lambda route=route, size=size, then=then: world.flow(route, size, then))
        world.run()
        return [ends[i] for i in range(len(flows))]

    def test_one_flow_takes_its_bytes_over_the_bandwidth(self):
        link = engine.Resource("link", 100.0)
        self.assertAlmostEqual(self.finish_times([(1.0, 250.0, [(link, 1)], math.inf)])[0], 3.5)
        self.assertAlmostEqual(self.finish_times([(0.0, 250.0, [(link, 1)], 10.0)])[0], 25.0)
        self.assertAlmostEqual(self.finish_times([(0.0, 250.0, [(link, 5)], math.inf)])[0], 12.5)

    def test_a_later_flow_takes_half_from_then_on(self):
        link = engine.Resource("link", 100.0)
        uses = [(link, 1)]
        # Alone for a second; 50 each until the first has its 200 at 3; the second has 200 left then.
        ends = self.finish_times([(0.0, 200.0, uses, math.inf), (1.0, 300.0, uses, math.inf)])
        self.assertAlmostEqual(ends[0], 3.0)
        self.assertAlmostEqual(ends[1], 5.0)
        self.assertAlmostEqual(link.carried, 500.0)

    def test_what_one_cannot_use_the_others_get(self):
        link, narrow = engine.Resource("link", 100.0), engine.Resource("narrow", 20.0)
        ends = self.finish_times([(0.0, 20.0, [(link, 1), (narrow, 1)], math.inf), (0.0, 80.0, [(link, 1)], math.inf)])
        self.assertAlmostEqual(ends[0], 1.0)
        self.assertAlmostEqual(ends[1], 1.0)

    def test_rates_are_max_min_fair(self):
        chance = random.Random(7)
        for _ in range(300):
            resources = [engine.Resource(str(i), chance.uniform(1, 100)) for i in range(chance.randint(1, 5))]
            routes = []
            for _ in range(chance.randint(1, 7)):
                used = chance.sample(resources, chance.randint(1, len(resources)))
                cap = chance.choice([math.inf, chance.uniform(0.5, 20)])
                routes.append(engine.Route([(resource, chance.randint(1, 4)) for resource in used], cap))
                routes[-1].flows = [None] * chance.randint(1, 6)
            rates = engine.max_min(routes)
            loads = engine.loads(routes, rates)
            for resource, load in loads.items():
                self.assertLessEqual(load, resource.capacity * (1 + 1e-9))
            for route, rate in zip(routes, rates):
                self.assertGreater(rate, 0)
                self.assertTrue(self.is_held_back(route, rate, routes, rates, loads))

    def is_held_back(self, route, rate, routes, rates, loads):
        """By its cap, or by a full resource on which nobody gets more."""
        if rate >= route.cap * (1 - 1e-9):
            return True
        for resource, _ in route.uses:
            others = [r for other, r in zip(routes, rates) if any(used is resource for used, _ in other.uses)]
            if loads[resource] >= resource.capacity * (1 - 1e-9) and rate >= max(others) * (1 - 1e-9):
                return True
        return False

    def test_what_shares_nothing_is_apart(self):
        a, b, c = [engine.Resource(name, 1.0) for name in "abc"]
        routes = [engine.Route([(resource, 1) for resource in used]) for used in ([a], [b], [c], [a, c])]
        parts = engine.divide(routes)
        self.assertEqual(len(parts), 2)
        self.assertIs(routes[0].part, routes[2].part)
        self.assertIsNot(routes[0].part, routes[1].part)

    def test_a_resource_without_capacity_is_refused(self):
        with self.assertRaises(ValueError):
            engine.Resource("link", 0)


class PlanTest(unittest.TestCase):
    def test_classes_of_hosts_give_what_every_host_by_itself_does(self):
        for changes in SMALL:
            p = small(**changes)
            for name, (plan, _) in model.STRATEGIES.items():
                with self.subTest(strategy=name, **changes):
                    classes, hosts = plan(p), plan(p, full=True)
                    self.assertAlmostEqual(classes.seconds / hosts.seconds, 1.0, places=6)
                    self.assertAlmostEqual(classes.store_bytes / hosts.store_bytes, 1.0, places=6)
                    self.assertEqual(classes.store_requests, hosts.store_requests)
                    self.assertAlmostEqual(classes.net_bytes, hosts.net_bytes, delta=1.0)

    def test_latencies_of_their_own_change_little(self):
        # A class has one sequence of latencies.  With few requests at once chance weighs more.
        chance = random.Random(3)

        class Independent(Parameters):
            def latency_of(self, number):
                return self.latency * (1 + self.jitter * (2 * chance.random() - 1))

        for changes in SMALL:
            p = small(**changes)
            other = Independent(**dataclasses.asdict(p))
            for name, (plan, _) in model.STRATEGIES.items():
                with self.subTest(strategy=name, **changes):
                    self.assertAlmostEqual(plan(other, full=True).seconds / plan(p).seconds, 1.0, delta=0.15)

    def test_every_byte_is_moved_once_for_each_who_wants_it(self):
        for changes in SMALL:
            p = small(**changes)
            stored = p.bytes / p.ratio
            needed = p.bytes * p.replicas
            with self.subTest(**changes):
                alone = plans.read_per_host(p)
                self.assertAlmostEqual(alone.store_bytes / (stored * p.replicas * p.split), 1.0, places=6)
                shared = plans.exchange(p)
                self.assertAlmostEqual(shared.store_bytes / stored, 1.0, places=6)
                self.assertAlmostEqual(shared.net_bytes, needed - p.bytes / p.split, delta=1.0)
                sent = plans.broadcast(p)
                self.assertAlmostEqual(sent.store_bytes / (stored * p.split), 1.0, places=6)
                self.assertAlmostEqual(sent.net_bytes, needed - p.bytes, delta=1.0)

    def test_nothing_carries_more_than_it_can_and_nobody_beats_the_bound(self):
        for changes in SMALL:
            p = small(**changes)
            for name, (plan, bound) in model.STRATEGIES.items():
                with self.subTest(strategy=name, **changes):
                    outcome = plan(p)
                    self.assertLessEqual(outcome.peak_load, 1 + 1e-9)
                    self.assertGreaterEqual(outcome.seconds, bound(p) * (1 - 1e-9))
                    self.assertGreaterEqual(outcome.seconds, bounds.floor(p) * (1 - 1e-9))

    def test_simple_cases_are_their_closed_forms(self):
        alone = small(hosts=1, jitter=0.0, in_flight=1)
        each = 0.05 + 50e6 / alone.store_host + 50e6 * alone.cores / alone.decode
        self.assertAlmostEqual(plans.read_per_host(alone).seconds, 60 * each, places=6)
        limited = small(hosts=1, request_rate=10.0, latency=1e-6, store_host=1e12, store_total=1e12, decode=1e15)
        self.assertAlmostEqual(plans.read_per_host(limited).seconds, 6.0, places=2)
        one_chunk = small(hosts=4, model_hosts=1, bytes=50e6, jitter=0.0, fan_out=1)
        hop = one_chunk.net_latency + 50e6 / one_chunk.net
        self.assertAlmostEqual(plans.broadcast(one_chunk).seconds, each + 3 * hop, places=6)
        self.assertAlmostEqual(plans.exchange(one_chunk).seconds,
                               each + one_chunk.net_latency + 3 * 50e6 / one_chunk.net, places=6)

    def test_chunks_go_down_a_chain_one_behind_the_other(self):
        # Everything is read at once; then each of the three hops sends 60 chunks, the first to wait for nobody.
        p = small(hosts=4, model_hosts=1, fan_out=1, send_window=1, latency=1e-9, in_flight=60, store_host=1e15,
                  store_total=1e15, decode=1e15)
        hop = p.net_latency + 50e6 / p.net
        self.assertAlmostEqual(plans.broadcast(p).seconds, (60 + 2) * hop, places=4)
        # All at once they would be as fast as the link, but every hop would wait for the last chunk.
        wide = dataclasses.replace(p, send_window=60)
        self.assertAlmostEqual(plans.broadcast(wide).seconds, 3 * (60 * 50e6 / p.net + p.net_latency), places=4)

    def test_everyone_sends_to_and_receives_from_all_others_of_its_set(self):
        world = plans.World(small())
        kinds = [plans.HostClass(2, 3, 1, False), plans.HostClass(2, 1, 1, False)]
        weights = {}
        pairs = 0
        for targets in plans.exchange_routes(world, kinds):
            for route, count in targets:
                pairs += count
                for resource, weight in route.uses:
                    weights[resource] = weights.get(resource, 0) + weight
        self.assertEqual(list(weights.values()), [3] * 4)
        self.assertEqual(pairs, 2 * 4 * 3)

    def test_a_tree_reaches_every_host_once(self):
        for hosts in list(range(1, 40)) + [4096]:
            for fan_out in (1, 2, 3, 7):
                levels = plans.tree_levels(hosts, fan_out)
                self.assertEqual(1 + sum(senders * targets for level in levels for senders, targets in level), hosts)


class RoundsTest(unittest.TestCase):
    def chunks_of_first_round(self, p):
        """As load_shared_rounds.cc adds items, one chunk of each set after the other."""
        held = [0.0] * p.members
        items = 0
        for chunk in range(p.set_chunks):
            reader = chunk % p.members
            load = [p.chunk_bytes if member == reader else p.part_bytes for member in range(p.members)]
            if p.split > 1:
                load[reader] += p.part_bytes * (p.members - 1)
            if max(load) > p.memory / 2:
                return 0
            items += p.sets
            if items > p.round_items or any(h + l > p.memory / 2 for h, l in zip(held, load)):
                return chunk
            held = [h + l for h, l in zip(held, load)]
        return p.set_chunks

    def test_a_round_holds_what_the_library_puts_into_it(self):
        for changes in SMALL:
            for memory in (40e6, 101e6, 260e6, 1e9, 7e9):
                for items in (8, 50, 4096):
                    p = small(**{**changes, "memory": memory, "round_items": items})
                    self.assertEqual(rounds.round_chunks(p), self.chunks_of_first_round(p), (changes, memory, items))

    def test_too_large_a_chunk_is_read_by_everyone(self):
        p = small(hosts=4, model_hosts=1, memory=60e6)
        outcome = rounds.exchange_in_rounds(p)
        self.assertIn("reads for itself", outcome.note)
        self.assertEqual(outcome.seconds, plans.read_per_host(p).seconds)

    def test_more_sets_than_a_round_has_chunks_are_refused(self):
        with self.assertRaisesRegex(ValueError, "found 8 sets"):
            rounds.round_chunks(small(hosts=8, model_hosts=8, round_items=4))


class TableTest(unittest.TestCase):
    """The defaults, which docs/scale.md shows."""

    @classmethod
    def setUpClass(cls):
        cls.rows = {name: [model.simulate(Parameters(hosts=hosts), name) for hosts in MANY_HOSTS]
                    for name in model.STRATEGIES}

    def seconds(self, name):
        return [row["seconds"] for row in self.rows[name]]

    def test_all_are_above_their_bounds_and_within_the_factor(self):
        for name, rows in self.rows.items():
            for row in rows:
                with self.subTest(strategy=name, hosts=row["hosts"]):
                    self.assertGreaterEqual(row["seconds"], row["bound"] * (1 - 1e-9))
                    self.assertLessEqual(row["seconds"], row["bound"] * MOST_ABOVE_BOUND)

    def test_more_hosts_share_the_work_until_they_hold_copies(self):
        for name in model.STRATEGIES:
            upto = self.seconds(name)[:5]
            self.assertEqual(upto, sorted(upto, reverse=True), name)
        for name in ("per-host", "broadcast"):
            later = self.seconds(name)[4:]
            for fewer, more in zip(later, later[1:]):
                self.assertGreaterEqual(more, fewer * (1 - 1e-3), name)

    def test_reading_once_is_never_slower_than_reading_often(self):
        for often, once in zip(self.seconds("per-host"), self.seconds("exchange")):
            self.assertLessEqual(once, often * 1.001)

    def test_the_store_is_asked_for_what_the_plan_says(self):
        self.assertAlmostEqual(self.rows["per-host"][-1]["store_bytes"] / 256e12, 1.0, places=6)
        for name in ("rounds", "exchange", "broadcast"):
            self.assertAlmostEqual(self.rows[name][-1]["store_bytes"] / 1e12, 1.0, places=6)

    def test_a_second_run_is_the_same(self):
        for name in model.STRATEGIES:
            self.assertEqual(model.simulate(Parameters(hosts=256), name), self.rows[name][8])


class CommandTest(unittest.TestCase):
    def run_command(self, *words):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            model.main([*words, "--hosts", "1,16,32", "--bytes", "20GB"])
        return out.getvalue()

    def test_table_and_json_say_the_same(self):
        rows = json.loads(self.run_command("--json", "-"))
        table = [line.split("|") for line in self.run_command().splitlines()[2:]]
        self.assertEqual([row["hosts"] for row in rows], [1, 16, 32])
        for row, cells in zip(rows, table):
            self.assertEqual([float(cell) for cell in cells[3:-1]],
                             [round(result["seconds"], 1) for result in row["results"]])
        drawing = xml.etree.ElementTree.fromstring(chart.svg(rows))
        lines = [element for element in drawing if element.tag.endswith("polyline")]
        self.assertEqual(len(lines), 1 + len(model.STRATEGIES))

    def test_quantities(self):
        self.assertEqual(parse_bytes("1TB"), 1e12)
        self.assertEqual(parse_bytes("64MiB"), 64 * 2**20)
        self.assertEqual(parse_bytes("25Gbit/s"), 3.125e9)
        self.assertEqual(parse_bytes("none"), math.inf)
        self.assertEqual(parse_seconds("50ms"), 0.05)
        for wrong in ("", "fast", "1 parsec", "-3GB"):
            with self.assertRaises(ValueError):
                parse_bytes(wrong)
            with self.assertRaises(ValueError):
                parse_seconds(wrong)

    def test_hosts_that_make_no_whole_copies_are_refused(self):
        with self.assertRaisesRegex(ValueError, "found 24 hosts, expected a multiple of the 16"):
            Parameters(hosts=24)
        with self.assertRaisesRegex(ValueError, "amplification"):
            Parameters(hosts=16, amplification=3)
        with self.assertRaisesRegex(ValueError, "slow hosts"):
            Parameters(hosts=16, slow=2)
        with self.assertRaises(SystemExit):
            self.run_command("--strategies", "teleport")


if __name__ == "__main__":
    unittest.main()
