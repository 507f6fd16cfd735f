#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the files that a root op touches with DESIGN.md's list, and says when there are more than eight.

    check_root_op.py [ROOT]

The op is `triangular_solve`, which its own emitter writes. Tests, and the GPU's optional row, do not count, nor do
functions that only call it.
"""
import os
import re
import sys

MOST = 8
ROOMS = ("ir", "passes", "backends", "compiler", "runtime")
NAMES = re.compile(
    r'\bTriangularSolveOp\b'  # the op's class
    r'|"triangular_solve"'  # its name
    r"|\b(?:plan|emit)?Triangular\b"  # its emitter
    r"|^\w* ?Tensor (?:sinter::)?triangular_solve\(",  # its function in C++
    re.M,
)
LIST = re.compile(r"^    ((?:%s)/\S+)  +\S" % "|".join(ROOMS), re.M)


def touched(root):
    for room in ROOMS:
        for where, _, names in os.walk(os.path.join(root, room)):
            for name in names:
                path = os.path.relpath(os.path.join(where, name), root)
                if name.endswith((".md", ".mlir")) or path.startswith("backends/cuda/"):
                    continue
                with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
                    if NAMES.search(f.read()):
                        yield path


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(root, "DESIGN.md"), encoding="utf-8") as f:
        listed = set(LIST.findall(f.read()))
    found = set(touched(root))
    complaints = [f"{path}: names triangular_solve, and DESIGN.md does not list it" for path in sorted(found - listed)]
    complaints += [f"DESIGN.md: lists {path}, which does not name triangular_solve" for path in sorted(listed - found)]
    if len(found) > MOST:
        complaints.append(f"DESIGN.md: a root op requires at most {MOST} files, got {len(found)}")
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
