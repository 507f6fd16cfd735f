#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says where test/FINDINGS.md names tests that are not there.

    check_findings.py [ROOT]

Each row of a table has a finding and its tests: names in backquotes of files in test/, with words after a colon that stand
in the file. A row without any is refused, too.
"""
import os
import re
import sys


def check(root):
    rows = 0
    with open(os.path.join(root, "test", "FINDINGS.md"), encoding="utf-8") as page:
        for number, line in enumerate(page, 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if not line.startswith("|") or len(cells) != 2 or cells == ["finding", "tests"]:
                continue
            rows += 1
            names = re.findall(r"`([^`]+)`", cells[1])
            if not names:
                yield f"test/FINDINGS.md:{number}: '{cells[0]}' requires a test, found none"
            for name in names:
                path, _, words = name.partition(": ")
                try:
                    with open(os.path.join(root, "test", path), encoding="utf-8") as file:
                        text = file.read()
                except OSError:
                    yield f"test/FINDINGS.md:{number}: test/{path} is not there"
                    continue
                for word in words.split():
                    if word not in text:
                        yield f"test/FINDINGS.md:{number}: test/{path} has no '{word}'"
    if not rows:
        yield "test/FINDINGS.md has no rows"


def main():
    problems = list(check(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    print("\n".join(problems), end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
