#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says where the table "where would I change ..." of DESIGN.md names files, or words of them, that are not there.

    check_walks.py [ROOT]

Files begin in the tree or in backends/; words in backquotes and parentheses behind a file stand in it.
"""
import os
import re
import sys

FILE = re.compile(r"((?:[\w-]+/)+[\w-]+\.(?:cpp|h|c|td))((?: \((?:`\w+`[^()]*)+\))?)")


def check(root):
    with open(os.path.join(root, "DESIGN.md"), encoding="utf-8") as page:
        table = page.read().partition("## Walk: where would I change")[2]
    found = FILE.findall(table)
    for path, words in found:
        places = [os.path.join(root, room, path) for room in ("", "backends")]
        place = next((p for p in places if os.path.isfile(p)), None)
        if not place:
            yield f"DESIGN.md: {path} is not there"
            continue
        with open(place, encoding="utf-8") as file:
            text = file.read()
        for word in re.findall(r"`(\w+)`", words):
            if not re.search(rf"\b{word}\b", text):
                yield f"DESIGN.md: {path} has no '{word}'"
    if not found:
        yield "DESIGN.md: its table of walks names no file"


def main():
    problems = list(check(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    print("\n".join(problems), end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
