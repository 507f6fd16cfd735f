#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says what a file costs a compiler, by counts that do not depend on the machine, and fails above the bounds given.

    compile_cost.py CLANG FILE OBJECT INCLUDE lines=N functions=N classes=N code=N

Lines after the preprocessor, functions and classes that are instantiated, functions that code is made for.
"""
import json
import os
import subprocess
import sys


def main():
    clang, source, output, include = sys.argv[1:5]
    bounds = dict(bound.split("=") for bound in sys.argv[5:])
    command = [clang, "-x", "c++", "-std=c++20", "-O2", "-I" + include]
    text = subprocess.run(command + ["-E", "-P", source], check=True, capture_output=True, text=True).stdout
    trace = os.path.splitext(output)[0] + ".json"
    subprocess.run(command + ["-c", source, "-o", output, "-ftime-trace=" + trace], check=True)
    with open(trace, encoding="utf-8") as f:
        totals = {event["name"]: event["args"].get("count", 0) for event in json.load(f)["traceEvents"]
                  if event["name"].startswith("Total ")}
    counts = {"lines": text.count("\n"), "functions": totals["Total InstantiateFunction"],
              "classes": totals["Total InstantiateClass"], "code": totals["Total OptFunction"]}
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    over = [name for name, bound in bounds.items() if counts[name] > int(bound)]
    if over:
        sys.exit(f"{os.path.basename(source)} requires at most {bounds}, got too many {' and '.join(over)}")


if __name__ == "__main__":
    main()
