#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says which constraint of an op has no test, and which test names a constraint that is not there.

    check_ops.py [ROOT]

An op's description numbers its constraints `(C1)`, `(C2)`, ...; a test of one is a function under test/ir/
whose name begins with the op's and the constraint's: `@dot_general_c2_sizes_differ`.
"""
import collections
import os
import re
import sys

OP = re.compile(r'^(?:def|defm)\s+\w+\s*:\s*[\w:]+<\s*(?:Sinter_Dialect,\s*)?"(\w+)"', re.M)
TAG = re.compile(r"\(C(\d+)\)")
FUNCTION = re.compile(r"@(\w+?)_c(\d+)_\w+")


def files(folder, suffix):
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(suffix):
                with open(os.path.join(where, name), encoding="utf-8") as f:
                    yield os.path.relpath(os.path.join(where, name), folder), f.read()


def constraints(root):
    """(op, number) -> file of definition."""
    found = {}
    for path, text in files(os.path.join(root, "ir"), ".td"):
        starts = list(OP.finditer(text))
        for op, after in zip(starts, [*starts[1:], None]):
            for tag in TAG.findall(text[op.end() : after.start() if after else len(text)]):
                found[op.group(1), int(tag)] = path
    return found


def tests(root):
    found = collections.defaultdict(set)
    for path, text in files(os.path.join(root, "test", "ir"), ".mlir"):
        for op, number in FUNCTION.findall(text):
            found[op, int(number)].add(path)
    return found


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    said, tested = constraints(root), tests(root)
    complaints = [f"ir/{said[c]}: sinter.{c[0]} (C{c[1]}) requires a test named @{c[0]}_c{c[1]}_..., found none in test/ir/"
                  for c in sorted(said.keys() - tested.keys())]
    complaints += [f"test/ir/{path}: @{c[0]}_c{c[1]}_... names a constraint that no op in ir/ states"
                   for c in sorted(tested.keys() - said.keys()) for path in sorted(tested[c])]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
