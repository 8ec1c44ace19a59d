"""How long the command takes where only metadata is looked at.

usage: build/venv/bin/python bench/cli_speed.py TESSERA [ARRAYS]

Makes a safetensors file of ARRAYS small arrays (100,000 unless given) and the same as a tensorstore
checkpoint, in a temporary folder, then times `version`, and `ls` of both as text and as JSON: five
rounds, one command after the other, medians and extremes.  Beside them a program that only reads
the same metadata: `cat` of the header or index.
"""
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

NAMES = ["attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.o_proj", "mlp.up", "mlp.down",
         "mlp.gate", "norm1", "norm2", "bias"]


def write_model(path, arrays):
    """[4,4] float32 each, as a mixture of experts numbers its parts."""
    header = {}
    for i in range(arrays):
        layer, expert = divmod(i // len(NAMES), 8)
        name = f"model.layers.{layer}.experts.{expert}.{NAMES[i % len(NAMES)]}"
        header[name] = {"dtype": "F32", "shape": [4, 4], "data_offsets": [64 * i, 64 * i + 64]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(64 * arrays))


def seconds(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main():
    tessera, arrays = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        file, tree = pathlib.Path(folder) / "m.safetensors", pathlib.Path(folder) / "m"
        write_model(file, arrays)
        subprocess.run([tessera, "convert", file, tree, "--to", "tensorstore", "--no-verify",
                        "--quiet"], check=True, stdout=subprocess.DEVNULL)
        cases = {"version": [tessera, "version"],
                 "ls safetensors": [tessera, "ls", file],
                 "ls safetensors --json": [tessera, "ls", file, "--json"],
                 "ls tensorstore": [tessera, "ls", tree],
                 "ls tensorstore --json": [tessera, "ls", tree, "--json"],
                 "cat of the index": ["cat", tree / "tensorstore_index.json"]}
        times = {name: [] for name in cases}
        for _ in range(5):
            for name, command in cases.items():
                times[name].append(seconds(command))
    for name, taken in times.items():
        print(json.dumps({"case": name, "arrays": arrays,
                          "median_s": round(statistics.median(taken), 4),
                          "least_s": round(min(taken), 4), "most_s": round(max(taken), 4)}))


if __name__ == "__main__":
    main()
