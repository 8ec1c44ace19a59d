"""The benchmark suite itself: rounds, checks, rows, bars, table and chart, with small programs as sides."""

import json
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from suite import cases, chart, measure, report  # noqa: E402
from suite.cases import Case, Work  # noqa: E402

# Writes who was called into a file, and tells what the arguments say.
PROGRAM = """
import json, sys
words = dict(word.split("=", 1) for word in sys.argv[3:])
open(words["log"], "a").write(sys.argv[1] + " ")
if words.get("fail"):
    sys.exit("no such folder")
print("a line that is not the answer")
print(json.dumps({"seconds": float(words["take"]), "peak_mib": 1.5, "bytes": 8,
                  **({"digest": words["see"]} if words.get("digest") != "0" else {})}))
"""


class FakePrograms(measure.Programs):
    """All sides are PROGRAM, called with the name of the side first."""

    def __init__(self, folder):
        file = folder / "program.py"
        file.write_text(PROGRAM)
        self.commands = {name: [sys.executable, file, name] for name in ("ours", "limit", "a", "b")}


def work(log, take, see="1234", **more):
    return Work("do", {"log": str(log), "take": str(take), "see": see, **more})


class SuiteTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"
        self.programs = FakePrograms(self.folder)
        self.paths = {"out": self.folder / "out", "file": self.folder / "out.safetensors"}

    def case(self, **more):
        return Case("case", "a case", "zarr", work(self.log, 2), {"a": work(self.log, 3),
                    "b": work(self.log, 1)}, ("limit", work(self.log, 1.9, "other")),
                    bar_peer=1.2, bar_limit=0.9, **more)

    def test_sides_take_turns_and_another_one_begins_each_round(self):
        measure.measure(self.case(), self.programs, self.paths, 3)
        self.assertEqual(self.log.read_text().split(),
                         "ours a b limit a b limit ours b limit ours a".split())

    def test_rows_have_the_ratio_to_each_peer_and_to_the_limit(self):
        sides = measure.measure(self.case(), self.programs, self.paths, 3)
        rows = report.rows_of(self.case(), sides)
        self.assertEqual([row["peer"] for row in rows], ["a", "b"])
        self.assertEqual([row["ratio"] for row in rows], [1.5, 0.5])
        self.assertEqual({row["of_limit"] for row in rows}, {0.95})
        self.assertEqual(rows[0]["rounds"], 3)
        for name in ("case", "bytes", "ours_s", "peer", "peer_s", "ratio", "limit", "limit_s",
                     "of_limit", "ours_peak_mib", "peer_peak_mib"):
            self.assertIn(name, rows[0])
        self.assertEqual(json.loads(report.results_json(rows)), rows)

    def test_a_bar_that_is_missed_is_told_with_its_peer(self):
        sides = measure.measure(self.case(), self.programs, self.paths, 3)
        self.assertEqual(report.missed(report.rows_of(self.case(), sides)),
                         ["case: 0.50 times b, asked for 1.2"])

    def test_sides_that_load_other_bytes_are_an_error(self):
        case = Case("case", "a case", "zarr", work(self.log, 2), {"a": work(self.log, 3, "5678")})
        with self.assertRaisesRegex(measure.WrongBytes, "1234.*5678"):
            measure.measure(case, self.programs, self.paths, 1)

    def test_a_side_that_fails_is_an_error_with_its_words(self):
        case = Case("case", "a case", "zarr", work(self.log, 2), {"a": work(self.log, 3, fail="1")})
        with self.assertRaisesRegex(RuntimeError, "exit 1\n.*no such folder"):
            measure.measure(case, self.programs, self.paths, 1)

    def test_what_is_compared_may_be_another_field(self):
        side = measure.Side("ours", "ours", None, "blocked_s")
        side.take({"seconds": 2.0, "blocked_s": 0.5, "peak_mib": 3})
        self.assertEqual(side.median(), 0.5)

    def test_cases_have_names_of_their_own_and_data_that_is_known(self):
        for scale in (cases.FULL, cases.QUICK):
            names = [case.name for case in cases.all_cases(scale)]
            self.assertEqual(len(names), len(set(names)))
        needed = set().union(*map(measure.data_of, cases.all_cases(cases.FULL)))
        self.assertTrue({"jax", "ours", "index", "rules", "zarr_big_zstd", "jax_4096",
                         "small_100000"} <= needed)
        self.assertNotIn("out", needed)

    def test_the_chart_is_xml_and_draws_each_peer_once_per_case(self):
        sides = measure.measure(self.case(), self.programs, self.paths, 1)
        rows = report.rows_of(self.case(), sides)
        for row, peer in zip(rows, ("tensorstore", "jax")):
            row["peer"], row["title"] = peer, "read < & write"
        picture = xml.etree.ElementTree.fromstring(chart.draw(rows))
        bars = [r for r in picture.iter("{http://www.w3.org/2000/svg}rect") if r.get("height") == "11"]
        self.assertEqual([bar.get("class") for bar in bars], ["a", "c"])
        self.assertIn("read < & write", "".join(picture.itertext()))

    def test_a_chart_of_nothing_is_still_a_chart(self):
        xml.etree.ElementTree.fromstring(chart.draw([]))

    def test_the_table_has_a_line_for_each_row(self):
        sides = measure.measure(self.case(), self.programs, self.paths, 1)
        lines = report.table(report.rows_of(self.case(), sides)).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual({line.count("|") for line in lines}, {len(report.COLUMNS) + 1})


if __name__ == "__main__":
    unittest.main()
