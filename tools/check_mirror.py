#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says where test/ does not mirror the tree.

    check_mirror.py [ROOT]

* a pass `sinter-fuse-elementwise` lives in passes/FuseElementwise.cpp (or a folder below) and is tested by
  test/passes/fuse-elementwise.mlir (or a folder fuse-elementwise/)
* an op family ir/Contraction.td with ops in it is tested below test/ir/contraction/
* each folder test/ROOM/... has its folder ROOM/..., up to the families and passes above, and what only a test has
* each room says what it is in a README.md
"""
import os
import re
import sys

TEST_ONLY = {os.path.join("backends", "tiny")}  # a back end that only a test has
ROOMS = ["ir", "passes", "backends", "compiler", "runtime", "tools"]
PASS = re.compile(r'^def\s+(\w+)\s*:\s*(?:\w*)Pass<\s*"sinter-([\w-]+)"', re.M)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def below(folder, name):
    return any(name in names for _, _, names in os.walk(folder))


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def check(root):
    at = lambda *parts: os.path.join(root, *parts)
    for room in ROOMS:
        if os.path.isdir(at(room)) and not os.path.exists(at(room, "README.md")):
            yield f"{room}/ requires a README.md"

    definitions = at("passes", "Passes.td")
    if os.path.exists(definitions):
        for name, flag in PASS.findall(read(definitions)):
            if not below(at("passes"), name + ".cpp"):
                yield f"pass sinter-{flag} requires a file {name}.cpp in passes/"
            if not os.path.exists(at("test", "passes", flag + ".mlir")) and not os.path.isdir(at("test", "passes", flag)):
                yield f"pass sinter-{flag} requires a test test/passes/{flag}.mlir"

    families = set()
    for name in sorted(os.listdir(at("ir"))) if os.path.isdir(at("ir")) else []:
        stem, suffix = os.path.splitext(name)
        if suffix == ".td" and re.search(r"^def\s+\w+Op\s*:", read(at("ir", name)), re.M):
            families.add(snake(stem))
            if not os.path.isdir(at("test", "ir", snake(stem))):
                yield f"ir/{name} requires tests in test/ir/{snake(stem)}/"

    for room in ROOMS:
        for folder, folders, _ in os.walk(at("test", room)):
            folders[:] = [f for f in folders if f not in ("Inputs", "__pycache__")]
            path = os.path.relpath(folder, at("test"))
            if room == "ir" and path.split(os.sep)[1:2] and path.split(os.sep)[1] in families:
                continue
            if room == "passes" and path != room:  # a pass with a folder of tests: checked above by its flag
                continue
            if path not in TEST_ONLY and not os.path.isdir(at(path)) and os.path.isdir(at(room)):
                yield f"test/{path}/ mirrors nothing: {path}/ does not exist"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    complaints = list(check(root))
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
