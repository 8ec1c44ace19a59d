#!/usr/bin/env python3
"""Runs tools/check_layers over small trees that break each of its rules."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[1] / "tools/check_layers"
LAYERS = "core:  # the lowest\ntree: core\nmesh: core tree\n"


def check(layers, sources):
    """(exit status, output) of check_layers over a tree with these files."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {"tools/layers.txt": layers, **sources}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "tessera").mkdir(exist_ok=True)
        run = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
        return run.returncode, run.stdout.strip()


class CheckLayersTest(unittest.TestCase):

    def test_takes_includes_of_itself_and_of_rooms_above(self):
        source = '#include "tessera/core/a.h"\n#include "tessera/tree/b.h"\n'
        self.assertEqual(check(LAYERS, {"tessera/tree/b.cc": source}),
                         (0, "every include goes to a room above"))

    def test_refuses_an_include_of_a_room_below(self):
        self.assertEqual(check(LAYERS, {"tessera/core/a.cc": '#include "tessera/mesh/m.h"\n'}),
                         (1, "tessera/core/a.cc: room core may not include tessera/mesh"))

    def test_holds_tests_and_nested_files_to_the_same_rule(self):
        source = '  #  include <tessera/tree/t.h>\n'
        self.assertEqual(check(LAYERS, {"tessera/core/testing/a.cc": source}),
                         (1, "tessera/core/testing/a.cc: room core may not include tessera/tree"))

    def test_refuses_a_folder_that_is_no_room(self):
        self.assertEqual(check(LAYERS, {"tessera/util/a.h": ""}),
                         (1, "tessera/util/a.h: tools/layers.txt knows no room util"))

    def test_refuses_an_include_of_an_unknown_room(self):
        self.assertEqual(check(LAYERS, {"tessera/mesh/m.h": '#include "tessera/util/a.h"\n'}),
                         (1, "tessera/mesh/m.h: room mesh may not include tessera/util"))

    def test_refuses_a_list_that_names_a_room_below(self):
        self.assertEqual(check("core: tree\ntree: core\n", {}),
                         (1, "tools/layers.txt: core names tree, which does not stand above it"))


if __name__ == "__main__":
    unittest.main()
