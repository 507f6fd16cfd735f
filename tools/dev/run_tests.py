#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every GoogleTest binary and every lit suite of a build folder and counts them together.

    run_tests.py BUILD [--filter REGEX]

The last line is `N passed, N failed`, with `, N skipped` after it where something could not run here.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

LIT_OUTCOMES = {"PASS": "passed", "FLAKYPASS": "passed", "XFAIL": "passed", "UNSUPPORTED": "skipped", "SKIPPED": "skipped"}
UNIT_TEST_SECONDS = 900


def unit_tests(folder, pattern, scratch):
    """Yields (outcome, name) of each test; one binary at a time, since some of them measure threads."""
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if not name.endswith("_tests"):
            continue
        binary, result = os.path.join(folder, name), os.path.join(scratch, name + ".json")
        chosen = []
        if pattern:
            listed = subprocess.run([binary, "--gtest_list_tests"], capture_output=True, text=True).stdout
            suite = ""
            for line in listed.splitlines():
                test = line.split("#")[0].strip()
                if not line.startswith(" "):
                    suite = test
                elif re.search(pattern, f"{name}/{suite}{test}"):
                    chosen.append(suite + test)
            if not chosen:
                continue
        command = [binary, f"--gtest_output=json:{result}", "--gtest_brief=1"]
        if chosen:
            command.append("--gtest_filter=" + ":".join(chosen))
        print(f"== {name}", flush=True)
        try:
            code = subprocess.run(command, timeout=UNIT_TEST_SECONDS).returncode
        except subprocess.TimeoutExpired:
            code = f"no end within {UNIT_TEST_SECONDS} s"
        try:
            with open(result) as f:
                suites = json.load(f)["testsuites"]
        except (OSError, ValueError):
            yield "failed", f"{name} (ended early: {code})"
            continue
        failed = False
        for suite in suites:
            for test in suite["testsuite"]:
                if test.get("status") == "NOTRUN":
                    continue
                outcome = "passed"
                if test.get("failures"):
                    outcome, failed = "failed", True
                elif test.get("result") == "SKIPPED":
                    outcome = "skipped"
                yield outcome, f"{name}/{suite['name']}.{test['name']}"
        if code != 0 and not failed:  # a failure outside any one test, such as a sanitizer's report at exit
            yield "failed", f"{name} (exit code {code})"


def lit_tests(folder, pattern, scratch):
    result = os.path.join(scratch, "lit.json")
    command = ["lit-22", "-sv", "--no-progress-bar", "-o", result, os.path.join(folder, "test")]
    if pattern:
        command += ["--filter", pattern, "--allow-empty-runs"]
    print("== lit", flush=True)
    code = subprocess.run(command).returncode
    try:
        with open(result) as f:
            tests = json.load(f)["tests"]
    except (OSError, ValueError):
        if code != 0 or not pattern:  # with a filter that no test matches, lit writes nothing
            yield "failed", f"lit (ended early: {code})"
        return
    for test in tests:
        if test["code"] != "EXCLUDED":
            yield LIT_OUTCOMES.get(test["code"], "failed"), test["name"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--filter", default="", help="regular expression over test names")
    options = parser.parse_args()
    counts, failures = collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        for run, folder in ((unit_tests, os.path.join(options.build, "bin")), (lit_tests, options.build)):
            for outcome, name in run(folder, options.filter, scratch):
                counts[outcome] += 1
                if outcome == "failed":
                    failures.append(name)
    for name in failures:
        print("failed:", name)
    if not counts:
        failures.append("")
        print("no test ran")
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
