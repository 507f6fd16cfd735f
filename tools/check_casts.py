#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts where passes name op classes instead of asking interfaces (ir/Interfaces.td).

    check_casts.py [--list] [--ceiling N] [ROOT]

A cast, a test or a search by op class counts once for each class that it names. There may be no more than CEILING, which
only goes down: fewer ask for a lower one, so that no later change takes up the room again.
"""
import argparse
import collections
import os
import re
import sys

CEILING = 195
CAST = re.compile(r"\b(?:(?:dyn_)?cast(?:_or_null|_if_present)?|isa(?:_and_nonnull|_and_present)?|getDefiningOp|getParentOfType|getOps|Case)"
                  r"<((?:[\w:]|,\s*)*)>")
# Not what an op means, but where text stands.
NEUTRAL = {"FuncOp", "ModuleOp", "KernelOp", "ConstantOp"}


def casts(root):
    """(file, line, class) for each class that a cast in passes/ names."""
    found = []
    for folder, _, names in sorted(os.walk(os.path.join(root, "passes"))):
        for name in sorted(names):
            if not name.endswith((".cpp", ".h")):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for match in CAST.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                for word in match[1].split(","):
                    op = word.strip().split("::")[-1]
                    if op.endswith("Op") and op != "Op" and op not in NEUTRAL:
                        found.append((os.path.relpath(path, root), line, op))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--ceiling", type=int, default=CEILING)
    parser.add_argument("root", nargs="?", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    arguments = parser.parse_args()
    found, ceiling = casts(arguments.root), arguments.ceiling
    if arguments.list:
        for path, line, op in found:
            print(f"{path}:{line}: {op}")
    if len(found) == ceiling:
        return 0
    if len(found) < ceiling:
        print(f"passes/ names op classes {len(found)} times: lower the ceiling of {ceiling} in tools/check_casts.py")
        return 1
    for path, count in collections.Counter(path for path, _, _ in found).most_common(5):
        print(f"{path}: {count}")
    print(f"passes/ requires at most {ceiling} names of op classes, got {len(found)}: ask an interface (ir/Interfaces.td)")
    return 1


if __name__ == "__main__":
    sys.exit(main())
