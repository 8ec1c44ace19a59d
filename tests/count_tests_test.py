#!/usr/bin/env python3
"""Runs tools/count_tests.py over reports of each kind."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[1] / "tools/count_tests.py"
PASSED = '<testcase name="a_test" status="run"/>'
FAILED = '<testcase name="a_test" status="fail"><failure message="SEGFAULT"/></testcase>'


def case(name, status="RUN", result="COMPLETED", **more):
    return {"name": name, "status": status, "result": result, **more}


def count(entries, reports=None):
    """The lines that count_tests.py prints for these ctest entries and GoogleTest cases."""
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        (build / "reports").mkdir()
        if entries is not None:
            (build / "ctest.xml").write_text(f"<testsuite>{entries}</testsuite>")
        for name, cases in (reports or {}).items():
            report = {"testsuites": [{"name": "Suite", "testsuite": cases}]}
            (build / f"reports/{name}.json").write_text(json.dumps(report))
        run = subprocess.run([sys.executable, SCRIPT, build], capture_output=True, text=True,
                             check=True)
        return run.stdout.splitlines()


class CountTestsTest(unittest.TestCase):

    def test_counts_a_reporting_binary_by_its_cases(self):
        self.assertEqual(count(PASSED, {"a_test": [case("A"), case("B")]}), ["passed 2"])

    def test_counts_an_entry_without_report_as_one(self):
        self.assertEqual(count(PASSED), ["passed 1"])

    def test_names_failed_skipped_and_disabled_cases(self):
        cases = [case("A"), case("B", failures=[{"failure": "x"}]), case("C", result="SKIPPED"),
                 case("D", status="NOTRUN", result="SUPPRESSED")]
        self.assertEqual(count(FAILED, {"a_test": cases}),
                         ["passed 1", "failed a_test: Suite.B",
                          "skipped a_test: Suite.C (GTEST_SKIP)",
                          "skipped a_test: Suite.D (disabled)"])

    def test_counts_a_crash_without_report_as_failed(self):
        self.assertEqual(count(FAILED), ["passed 0", "failed a_test (SEGFAULT)"])

    def test_counts_a_failed_run_whose_cases_all_passed(self):
        self.assertEqual(count(FAILED, {"a_test": [case("A")]}),
                         ["passed 1", "failed a_test (every case passed, yet the run failed)"])

    def test_tells_a_skip_from_a_missing_program(self):
        entries = ('<testcase name="s" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
                   '</testcase><testcase name="m" status="notrun">'
                   '<skipped message="Unable to find executable"/></testcase>')
        self.assertEqual(count(entries), ["passed 0", "skipped s (SKIP_RETURN_CODE=77)",
                                          "failed m (Unable to find executable)"])

    def test_counts_missing_and_empty_results_as_failed(self):
        self.assertEqual(count(""), ["passed 0", "failed ctest (no test was found)"])
        self.assertIn("failed test reports (cannot be read:", count(None)[1])


if __name__ == "__main__":
    unittest.main()
