#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_spills.py FILE.s FMAS [INSTRUCTION]

Reads x86-64 assembly, finds the innermost loops that hold FMAs, or the instruction that is named (a label, straight code, a jump back to it), and requires of the
largest one: exactly FMAS of them, no access through the stack pointer, no call. Prints what it found.
"""
import re
import sys


def loops(lines):
    """(first line, last line) of each backward jump whose body has no other label or jump."""
    labels = {}
    for i, line in enumerate(lines):
        if match := re.match(r"(\.L\w+):", line):
            labels[match[1]] = i
        elif match := re.match(r"\s+j\w+\s+(\.L\w+)", line):
            start = labels.get(match[1])
            if start is None:
                continue
            body = lines[start + 1 : i]
            if not any(re.match(r"(\.L\w+:|\s+j\w+\s)", inner) for inner in body):
                yield body


def main():
    path, wanted = sys.argv[1], int(sys.argv[2])
    with open(path) as file:
        lines = file.read().splitlines()
    name = sys.argv[3] if len(sys.argv) > 3 else "vfmadd"
    fmas = lambda body: sum(name in line for line in body)
    hot = max(loops(lines), key=fmas, default=[])
    problems = []
    if fmas(hot) != wanted:
        problems.append(f"the hot loop requires {wanted} FMAs a step, got {fmas(hot)}")
    problems += [f"the hot loop uses the stack:{line}" for line in hot if "%rsp" in line]
    problems += [f"the hot loop calls:{line}" for line in hot if re.match(r"\s+call", line)]
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{wanted} FMAs in {len(hot)} instructions, no spill, no call")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
