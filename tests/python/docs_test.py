"""The examples of the documents and of the package's own docstrings."""

import ast
import contextlib
import doctest
import os
import pathlib
import re
import unittest

import numpy as np

import python_case
from tessera import _load, _open, _save

ROOT = pathlib.Path(__file__).resolve().parents[2]


def first_example(document):
    """The first block of Python."""
    return re.search(r"```python\n(.*?)```", (ROOT / document).read_text(), re.S)[1]


class DocsTest(python_case.PythonCase):
    def run_lines(self, text):
        """Runs each statement; what a comment says that an expression gives is held against it."""
        names, checked = {}, 0
        for node, line in ((node, text.splitlines()[node.lineno - 1]) for node in ast.parse(text).body):
            source = ast.unparse(node)
            told = line.partition("#")[2].partition(":  ")[0].strip()
            if isinstance(node, ast.Expr) and told:
                expected = told.rpartition(": only")[0] or told
                self.assertEqual(repr(eval(source, names)).split(), eval_repr(expected).split())
                checked += 1
            else:
                exec(source, names)
        return checked

    def test_the_examples_of_readme_and_python_md(self):
        with contextlib.chdir(self.folder) if hasattr(contextlib, "chdir") else in_folder(self.folder):
            for document in ("docs/python.md", "README.md"):
                text = first_example(document).split("\n\nfuture")[0]
                self.assertEqual(self.run_lines(text), 2, document)

    def test_docstrings(self):
        for module in (_save, _load, _open):
            result = doctest.testmod(module)
            self.assertGreater(result.attempted, 0, module.__name__)
            self.assertEqual(result.failed, 0, module.__name__)


@contextlib.contextmanager
def in_folder(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def eval_repr(text):
    """A value as NumPy writes it here, which may break lines otherwise."""
    return repr(eval(text, {"array": np.array}))


if __name__ == "__main__":
    unittest.main()
