#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every GoogleTest binary, every lit suite and every printed command on a build folder and counts them together.

    run_tests.py BUILD [--filter REGEX]

Tests that could not run here are named with the reason. The last line is `N passed, N failed`, with `, N skipped` after it
where there are such.
"""
import argparse
import collections
import concurrent.futures
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import check_commands

LIT_OUTCOMES = {"PASS": "passed", "FLAKYPASS": "passed", "XFAIL": "passed", "UNSUPPORTED": "skipped", "SKIPPED": "skipped"}
UNIT_TEST_SECONDS = 900  # a program of unit tests
# A process for each of its tests, which are long.
SPLIT = {"functions_tests"}
LIT_TEST_SECONDS = 600  # one lit test: far above the slowest, for what hangs


def last_line(text):
    return ((text or "").strip().splitlines() or [""])[-1]


def list_tests(binary):
    """The names of a GoogleTest program's tests."""
    names, suite = [], ""
    for line in subprocess.run([binary, "--gtest_list_tests"], capture_output=True, text=True).stdout.splitlines():
        test = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = test
        else:
            names.append(suite + test)
    return names


def run_unit_tests(binary, tests, result):
    """Runs the program's `tests`, all if there are none, and gives the outcome, name and reason of each."""
    name = os.path.basename(binary)
    command = [binary, f"--gtest_output=xml:{result}", "--gtest_brief=1"]
    if tests:
        command.append("--gtest_filter=" + ":".join(tests))
    try:
        code = subprocess.run(command, timeout=UNIT_TEST_SECONDS).returncode
    except subprocess.TimeoutExpired:
        code = f"no end within {UNIT_TEST_SECONDS} s"
    try:
        suites = xml.etree.ElementTree.parse(result).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return [("failed", f"{name} (ended early: {code})", "")]
    outcomes, failed = [], False
    for test in suites.iter("testcase"):
        if test.get("status") == "notrun":
            continue
        outcome, reason = "passed", ""
        if test.find("failure") is not None:
            outcome, failed = "failed", True
        elif test.get("result") == "skipped":
            outcome = "skipped"
            said = test.find("skipped")
            reason = last_line(said.get("message") if said is not None else "")
        outcomes.append((outcome, f"{name}/{test.get('classname')}.{test.get('name')}", reason))
    if code != 0 and not failed:  # a failure outside any one test, such as a sanitizer's report at exit
        outcomes.append(("failed", f"{name} (exit code {code})", ""))
    return outcomes


def unit_tests(folder, pattern, scratch):
    """Yields (outcome, name, reason) of each test. The programs share the cores: none of them asserts times of the clock on the
    wall (tools/check_repeatable.py). Those that are split come last and fill what the others leave."""
    chosen = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if not name.endswith("_tests"):
            continue
        tests = list_tests(os.path.join(folder, name)) if pattern or name in SPLIT else []
        tests = [test for test in tests if re.search(pattern, f"{name}/{test}")]
        if tests or not pattern:
            chosen[name] = tests

    def start(name, tests, part=""):
        began = time.monotonic()
        outcomes = run_unit_tests(os.path.join(folder, name), tests, os.path.join(scratch, f"{name}{part}.xml"))
        if not part:
            print(f"== {name}: {len(outcomes)} tests in {time.monotonic() - began:.1f} s", flush=True)
        return outcomes

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(start, name, tests) for name, tests in chosen.items() if name not in SPLIT]
        for name in SPLIT & chosen.keys():
            print(f"== {name}: {len(chosen[name])} tests, a process each", flush=True)
            runs += [pool.submit(start, name, [test], f"-{i}") for i, test in enumerate(chosen[name])]
            if not chosen[name]:
                yield "failed", f"{name} (lists no tests)", ""
        for run in runs:
            yield from run.result()


def lit_tests(folder, pattern, scratch):
    result = os.path.join(scratch, "lit.json")
    command = ["lit-22", "-sv", "--no-progress-bar", "-o", result, os.path.join(folder, "test")]
    if pattern:
        command += ["--filter", pattern, "--allow-empty-runs"]
    if importlib.util.find_spec("psutil"):  # lit needs it to end a test's children, too
        command += ["--timeout", str(LIT_TEST_SECONDS)]
    print("== lit", flush=True)
    code = subprocess.run(command).returncode
    try:
        with open(result) as f:
            tests = json.load(f)["tests"]
    except (OSError, ValueError):
        if code != 0 or not pattern:  # with a filter that no test matches, lit writes nothing
            yield "failed", f"lit (ended early: {code})", ""
        return
    for test in tests:
        if test["code"] != "EXCLUDED":
            outcome = LIT_OUTCOMES.get(test["code"], "failed")
            yield outcome, test["name"], last_line(test.get("output")) if outcome == "skipped" else ""


def processor_seconds():
    used = os.times()
    return used.children_user + used.children_system


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--filter", default="", help="regular expression over test names")
    options = parser.parse_args()
    counts, failures, skipped = collections.Counter(), [], []
    with tempfile.TemporaryDirectory() as scratch:
        kinds = ((unit_tests, os.path.join(options.build, "bin")), (lit_tests, options.build), (check_commands.commands, options.build))
        for run, folder in kinds:
            began, before = time.monotonic(), processor_seconds()
            for outcome, name, reason in run(folder, options.filter, scratch):
                counts[outcome] += 1
                if outcome == "failed":
                    failures.append(name)
                elif outcome == "skipped":
                    skipped.append(f"{name}: {reason or 'no reason given'}")
            print(f"== all {run.__name__.replace('_', ' ')}: {time.monotonic() - began:.0f} s, {processor_seconds() - before:.0f} s of processors", flush=True)
    for line in skipped:
        print("skipped:", line)
    for name in failures:
        print("failed:", name)
    if not counts:
        failures.append("")
        print("no test ran")
    tail = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{tail}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
