"""What the tests of the command share: the program, golden sets, and checkpoints made for a test.

ctest gives the places in the environment: TESSERA_PROGRAM and TESSERA_UNPACKED_GOLDENS.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import ml_dtypes
import numpy as np
import safetensors.numpy

PROGRAM = os.environ["TESSERA_PROGRAM"]
GOLDENS = pathlib.Path(os.environ["TESSERA_UNPACKED_GOLDENS"]) / "public"

# Of a small model whose layers repeat; bfloat16 but for the scales.
HIDDEN, VOCABULARY, LAYERS = 16, 64, 12


def model(seed=0, layers=LAYERS):
    """Arrays by key, the same for the same seed."""
    random = np.random.default_rng(seed)

    def weights(*shape):
        return random.standard_normal(shape).astype(ml_dtypes.bfloat16)

    arrays = {"model.embed.embedding": weights(VOCABULARY, HIDDEN)}
    for layer in range(layers):
        at = f"model.layers.{layer}"
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            arrays[f"{at}.attn.{name}.kernel"] = weights(HIDDEN, HIDDEN)
        arrays[f"{at}.mlp.up.kernel"] = weights(HIDDEN, 4 * HIDDEN)
        arrays[f"{at}.mlp.down.kernel"] = weights(4 * HIDDEN, HIDDEN)
        arrays[f"{at}.norm.scale"] = np.ones(HIDDEN, np.float32)
    arrays["model.norm.scale"] = np.ones(HIDDEN, np.float32)
    return arrays


class Ran:
    """What a run of the command left."""

    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return self.out.splitlines()


class CliCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_tessera(self, *words, env=None, cwd=None, text=True, timeout=120, program=None):
        """Runs the command; sanitizers' reports fail the test."""
        environment = {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}
        process = subprocess.run(
            [*(program or [PROGRAM]), *map(str, words)], capture_output=True, text=text,
            env={k: v for k, v in environment.items() if v is not None}, cwd=cwd or self.folder,
            timeout=timeout)
        ran = Ran(process)
        err = ran.err if text else ran.err.decode(errors="replace")
        self.assertNotIn("Sanitizer", err)
        self.assertGreaterEqual(ran.code, 0, err)
        return ran

    def tessera(self, *words, code=0, **options):
        """Runs the command and expects this exit code."""
        ran = self.run_tessera(*words, **options)
        self.assertEqual(ran.code, code, f"{words}\n{ran.out}\n{ran.err}")
        return ran

    def json(self, *words, code=0, **options):
        return self.tessera(*words, "--json", code=code, **options).json()

    def error(self, *words, **options):
        """The one line that tells why the command could not do it."""
        ran = self.tessera(*words, code=2, **options)
        self.assertEqual(ran.out, "")
        lines = ran.err.splitlines()
        self.assertEqual(len(lines), 1, ran.err)
        self.assertTrue(lines[0].startswith("tessera: "), ran.err)
        return lines[0][len("tessera: "):]

    def safetensors_file(self, name="model.safetensors", arrays=None, metadata=None):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        safetensors.numpy.save_file(model() if arrays is None else arrays, path, metadata)
        return path

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


def golden_sets():
    """Every golden set whose format the command reads: its name, folder and expectations."""
    for folder in sorted(GOLDENS.iterdir()):
        expected = folder / "expected.json"
        if expected.exists():
            yield folder.name, folder, json.loads(expected.read_text())


main = unittest.main
