"""How long N hosts take to restore a checkpoint from an object store, by four ways to do it.

Usage: model.py [--hosts 1,2,4] [--bytes 1TB] [--store-total 200GB/s] ... [--json FILE] [--svg FILE]

Prints seconds for each number of hosts; docs/scale.md explains the parameters and what the table says.
`--bounds` adds the closed form of each (bounds.py) and how far the simulation is above it.
"""

import argparse
import dataclasses
import json
import sys

import bounds
import chart
import plans
import rounds
from parameters import Parameters, parse_bytes, parse_seconds

# Name, the plan, its closed form.
STRATEGIES = {
    "per-host": (plans.read_per_host, bounds.read_per_host),
    "rounds": (rounds.exchange_in_rounds, bounds.exchange_in_rounds),
    "exchange": (plans.exchange, bounds.exchange),
    "broadcast": (plans.broadcast, bounds.broadcast),
}

_READ_AS = {"bytes": parse_bytes, "chunk": parse_bytes, "store_total": parse_bytes, "store_host": parse_bytes,
            "per_request": parse_bytes, "net": parse_bytes, "decode": parse_bytes, "copy": parse_bytes,
            "memory": parse_bytes, "latency": parse_seconds, "net_latency": parse_seconds}


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="1,2,4,8,16,32,64,128,256,512,1024,2048,4096")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    for field in dataclasses.fields(Parameters):
        if field.name != "hosts":
            parser.add_argument("--" + field.name.replace("_", "-"), type=_READ_AS.get(field.name, field.type),
                                default=field.default, help=f"default: {field.default:g}")
    parser.add_argument("--bounds", action="store_true")
    parser.add_argument("--full", action="store_true", help="every host by itself; slow, for small numbers of hosts")
    parser.add_argument("--json", metavar="FILE", help="- for the standard output")
    parser.add_argument("--svg", metavar="FILE")
    return parser.parse_args(words)


def simulate(p, name, full=False):
    plan, bound = STRATEGIES[name]
    outcome = plan(p, full)
    return {"hosts": p.hosts, "strategy": name, "seconds": outcome.seconds, "bound": bound(p),
            "store_bytes": outcome.store_bytes, "store_requests": outcome.store_requests,
            "net_bytes": outcome.net_bytes, "note": outcome.note}


def run(options):
    settings = {field.name: getattr(options, field.name) for field in dataclasses.fields(Parameters)}
    names = options.strategies.split(",")
    for name in names:
        if name not in STRATEGIES:
            raise ValueError(f"found the strategy {name!r}, expected some of {', '.join(STRATEGIES)}")
    rows = []
    for hosts in [int(word) for word in options.hosts.split(",")]:
        p = Parameters(**{**settings, "hosts": hosts})
        results = [simulate(p, name, options.full) for name in names]
        rows.append({"hosts": hosts, "floor": bounds.floor(p), "results": results})
    return rows


def print_table(rows, with_bounds):
    names = [result["strategy"] for result in rows[0]["results"]]
    print("| hosts | floor | " + " | ".join(f"{name}" for name in names) + " |")
    print("| ---: " * (len(names) + 2) + "|")
    for row in rows:
        cells = [f"{row['hosts']:,}", f"{row['floor']:.1f}"]
        for result in row["results"]:
            times = result["seconds"] / result["bound"]
            cells.append(f"{result['seconds']:.1f}" + (f" ({times:.2f})" if with_bounds else ""))
        print("| " + " | ".join(cells) + " |")


def main(words):
    options = arguments(words)
    try:
        rows = run(options)
    except ValueError as error:
        sys.exit(f"model.py: {error}")
    if options.json == "-":
        json.dump(rows, sys.stdout, indent=1)
        print()
    else:
        print_table(rows, options.bounds)
    if options.json and options.json != "-":
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            title = (f"Seconds to restore {options.bytes / 1e12:g} TB, a copy on each {options.model_hosts} hosts, "
                     f"from a store of {options.store_total / 1e9:g} GB/s")
            file.write(chart.svg(rows, title))


if __name__ == "__main__":
    main(sys.argv[1:])
