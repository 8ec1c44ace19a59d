"""docs/cli.md: every command in it does what it shows.

A block that begins with `$ tessera` is run in a folder with the checkpoints that make_checkpoints
makes, and its output must be what follows.  `python docs_test.py --write` puts today's outputs in.
Parts that differ from run to run (times, speeds) are compared as `#`.
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

import cli_case

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.S | re.M)
VARYING = re.compile(r"\d+(\.\d+)? (s|ms|GB/s|MB/s)\b|\"seconds\": [\d.e-]+|\d{4}-\d\d-\d\dT[\d:.]+")


def make_checkpoints(folder):
    """What the page talks about: a model as one file, rules for it, and a run with two steps."""
    case = cli_case.CliCase()
    case.folder = folder
    case.safetensors_file("model.safetensors")
    case.write("rules.json", '[["embedding", ["tp", null]],\n'
                             ' ["(q|k|v)_proj/kernel|up/kernel", [null, "tp"]],\n'
                             ' ["(o_proj|down)/kernel", ["tp", null]],\n'
                             ' [".*", []]]\n')
    changed = cli_case.model()
    changed["model.norm.scale"] = changed["model.norm.scale"] * 2
    case.safetensors_file("changed.safetensors", changed)


def output_of(command, folder):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
                   "PATH": f"{pathlib.Path(cli_case.PROGRAM).parent}:{os.environ['PATH']}"}
    ran = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return ran.stdout.replace(f"{folder}/", "")


def with_outputs(block, folder):
    """The block with what its commands print today."""
    lines = []
    for line in block.splitlines():
        if line.startswith("$ "):
            lines += [line, *output_of(line[2:], folder).splitlines()]
    return "\n".join(lines) + "\n"


class DocsTest(cli_case.CliCase):
    def test_outputs_in_the_page_are_real(self):
        make_checkpoints(self.folder)
        blocks = BLOCK.findall(PAGE.read_text())
        self.assertGreaterEqual(len(blocks), 10)
        for block in blocks:
            with self.subTest(block.splitlines()[0]):
                now = with_outputs(block, self.folder)
                self.assertEqual(VARYING.sub("#", now), VARYING.sub("#", block))


def write():
    case = DocsTest()
    case.setUp()
    make_checkpoints(case.folder)
    page = PAGE.read_text()
    page = BLOCK.sub(lambda m: f"```console\n{with_outputs(m.group(1), case.folder)}```", page)
    PAGE.write_text(page)
    case.doCleanups()


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
