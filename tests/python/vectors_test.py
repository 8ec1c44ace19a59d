"""Runs every recorded case of the original through the Python package.

The file is testdata/vectors.json.gz, or the one that TESSERA_VECTORS names (plain or gzip).  Cases
with a mesh run twice: on JAX's mesh and on tessera's.  Where tessera does otherwise, the summary
shows the name under which docs/differences.md has it, and our result must be the one decided on.
"""

import gzip
import json
import logging
import os
import pathlib
import unittest
import warnings

from vector_cases import Report  # the first, as it sets JAX up

import vector_mesh_groups
import vector_tree_groups

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PATH = os.environ.get("TESSERA_VECTORS", SOURCE / "testdata" / "vectors.json.gz")

RUNNERS = {name.removeprefix("run_"): runner
           for module in (vector_mesh_groups, vector_tree_groups)
           for name, runner in vars(module).items() if name.startswith("run_")}


def read_document():
    data = pathlib.Path(PATH).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


class VectorsTest(unittest.TestCase):
    def test_every_group_agrees_with_the_original_or_with_our_decision(self):
        logging.disable(logging.WARNING)
        warnings.simplefilter("ignore")
        document = read_document()
        differences = (SOURCE / "docs" / "differences.md").read_text()
        print(f"cases of {PATH}")
        for group, cases in document.items():
            if group == "python_re_subjects":  # the subjects of python_re_search
                continue
            self.assertIn(group, RUNNERS, "no runner for the group")
            report = Report()
            RUNNERS[group](cases, document, report)
            print(" ", report.summary(group))
            with self.subTest(group):
                self.assertFalse(report.failures, "\n".join(report.failures[:10]))
                for name in report.differs:
                    self.assertTrue(f"`{name}`" in differences, name)


if __name__ == "__main__":
    unittest.main()
