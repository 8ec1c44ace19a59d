#!/usr/bin/env python3
"""Counts the tests of one build folder after `ctest --output-junit BUILD_DIR/ctest.xml`.

usage: count_tests.py BUILD_DIR

A GoogleTest binary counts by the cases of its report BUILD_DIR/reports/<ctest name>.json; any
other ctest entry counts as one test.  Prints `passed N`, then one line `failed NAME (reason)` or
`skipped NAME (reason)` for each test that did not pass.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def case_outcome(case):
    """(outcome, reason) of one case of a GoogleTest report."""
    if case.get("failures"):
        return "failed", ""
    if case["status"] != "RUN":
        return "skipped", "disabled"
    if case["result"] == "SKIPPED":
        return "skipped", "GTEST_SKIP"
    return "passed", ""


def entry_outcome(entry):
    """(outcome, reason) of one ctest entry."""
    status = entry.get("status")
    if status == "run":
        return "passed", ""
    detail = entry.find("failure" if status == "fail" else "skipped")
    reason = detail.get("message", "") if detail is not None else status
    asked_to_skip = status == "disabled" or reason.startswith("SKIP_")
    return ("skipped" if asked_to_skip else "failed"), reason


def entry_cases(entry, reports):
    """Yields (outcome, name, reason) for each test behind one ctest entry."""
    name = entry.get("name")
    outcome, reason = entry_outcome(entry)
    report = reports / f"{name}.json"
    if not report.exists():  # a script, or a binary that died before it could report
        yield outcome, name, reason
        return
    failed_cases = 0
    for suite in json.loads(report.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            result, why = case_outcome(case)
            failed_cases += result == "failed"
            yield result, f"{name}: {suite['name']}.{case['name']}", why
    if outcome == "failed" and failed_cases == 0:  # a sanitizer's report at exit, or the time limit
        yield "failed", name, "every case passed, yet the run failed"


def read_cases(build):
    """Every (outcome, name, reason); what cannot be read is a failure of its own."""
    try:
        entries = ElementTree.parse(build / "ctest.xml").getroot().findall("testcase")
        cases = [case for entry in entries for case in entry_cases(entry, build / "reports")]
    except (OSError, ElementTree.ParseError, ValueError, KeyError) as error:
        return [("failed", "test reports", f"cannot be read: {error}")]
    return cases or [("failed", "ctest", "no test was found")]


def main():
    cases = read_cases(pathlib.Path(sys.argv[1]))
    print("passed", sum(outcome == "passed" for outcome, _, _ in cases))
    for outcome, name, reason in cases:
        if outcome != "passed":
            print(outcome, f"{name} ({reason})" if reason else name)


if __name__ == "__main__":
    main()
