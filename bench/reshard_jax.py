#!/usr/bin/env python3
"""Resharding on JAX's host devices, rows to columns: the peer of bench_reshard.cc, case by case."""

import json
import os
import sys
import time

DEVICES = 8
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402  (reads the variables when it is imported)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

COLUMNS = 32768


def measure(case, dtype, size, rounds):
    mesh = Mesh(np.array(jax.devices()), ("x",))
    rows = NamedSharding(mesh, PartitionSpec("x"))
    columns = NamedSharding(mesh, PartitionSpec(None, "x"))
    shape = (size // COLUMNS // jnp.dtype(dtype).itemsize, COLUMNS)
    # Values that differ, so that nothing is shared; made on the devices.
    make = jax.jit(lambda: jax.lax.broadcasted_iota(jnp.int32, shape, 0).astype(dtype),
                   out_shardings=rows)
    source = jax.block_until_ready(make())
    seconds = []
    for _ in range(rounds + 1):  # the first one compiles
        start = time.perf_counter()
        result = jax.block_until_ready(jax.device_put(source, columns))
        seconds.append(time.perf_counter() - start)
        assert result.sharding == columns
        del result
    seconds = sorted(seconds[1:])
    print(json.dumps({
        "case": case,
        "side": "jax",
        "dtype": dtype,
        "bytes": size,
        "devices": DEVICES,
        "rounds": rounds,
        "seconds": round(seconds[len(seconds) // 2], 4),
        "best_s": round(seconds[0], 4),
    }), flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for dtype in ("float32", "bfloat16"):
        measure("same_devices", dtype, 2 << 30, rounds)
    for mib in (256, 512, 1024):
        measure("bytes", "float32", mib << 20, rounds)


if __name__ == "__main__":
    main()
