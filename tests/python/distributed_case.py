"""Programs of several JAX processes on this machine."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import textwrap
import time

import python_case

# What every process of a program begins with.  It ends with tell(...), which is its result.
PRELUDE = """
    import json, os, sys, time
    rank, count, port, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax, numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    jax.config.update("jax_enable_x64", True)
    jax.distributed.initialize(f"localhost:{port}", count, rank, initialization_timeout=60)
    import ml_dtypes
    import tessera

    def tell(*words):
        print("TOLD " + json.dumps(words), flush=True)

    def outcome(function):
        # What became of a call, as text.
        begin = time.monotonic()
        try:
            function()
            return "fine"
        except BaseException as error:
            return f"{type(error).__name__}: {error}"
        finally:
            global seconds
            seconds = time.monotonic() - begin

    def end(*gone):
        # Without JAX's own end, which waits for processes that are gone.  The first process goes
        # last, since JAX ends all others with it.
        open(f"{folder}/ended-{rank}", "w").close()
        others = [r for r in range(count) if r not in gone]
        for _ in range(200 if rank == 0 else 0):
            if all(os.path.exists(f"{folder}/ended-{r}") for r in others):
                break
            time.sleep(0.05)
        sys.stdout.flush()
        os._exit(0)

    def mesh(*sizes, names=("dp", "tp")):
        return Mesh(np.array(jax.devices()).reshape(sizes), names)

    def spread(value, mesh, spec):
        value = np.asarray(value)
        return jax.make_array_from_callback(
            value.shape, NamedSharding(mesh, spec), lambda index: value[index])

    def here(array):
        # Whether this process's parts of an array are those of `expected`.
        def same(expected):
            expected = np.asarray(expected)
            return array.shape == expected.shape and all(
                np.asarray(s.data).tobytes() == np.ascontiguousarray(expected[s.index]).tobytes()
                for s in array.addressable_shards)
        return same
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def command():
    """The tessera command of the build that the package is from."""
    import tessera

    beside = pathlib.Path(tessera.__file__).parents[2] / "tessera" / "cli" / "tessera"
    return os.environ.get("TESSERA_PROGRAM", str(beside))


class DistributedCase(python_case.PythonCase):
    def start(self, text, count):
        """Starts the processes; what they print goes to files."""
        program = textwrap.dedent(PRELUDE) + textwrap.dedent(text)
        path = os.pathsep.join(p for p in sys.path if p)
        port = free_port()
        processes = []
        for rank in range(count):
            output = open(self.folder / f"output-{rank}", "wb")
            self.addCleanup(output.close)
            process = subprocess.Popen(
                [sys.executable, "-c", program, str(rank), str(count), str(port), str(self.folder)],
                env={**os.environ, "PYTHONPATH": path}, stdout=output, stderr=subprocess.STDOUT)
            self.addCleanup(lambda process=process: process.poll() is None and process.kill())
            processes.append(process)
        return processes

    def told(self, rank):
        text = (self.folder / f"output-{rank}").read_text(errors="replace")
        return [json.loads(line[5:]) for line in text.splitlines() if line.startswith("TOLD ")], text

    def processes(self, text, count, timeout=180, may_fail=()):
        """Runs the text in so many processes.  What each one told, by rank."""
        processes = self.start(text, count)
        deadline = time.monotonic() + timeout
        results = []
        for rank, process in enumerate(processes):
            try:
                code = process.wait(max(1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                code = "none: it hangs"
            found, output = self.told(rank)
            if rank not in may_fail:
                self.assertEqual(code, 0, f"process {rank} of {count}:\n{output[-4000:]}")
            results.append(found)
        return results

    def cli(self, *arguments):
        done = subprocess.run([command(), *map(str, arguments), "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)
