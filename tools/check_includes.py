#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says which #include goes against the arrows between the rooms (DESIGN.md); nothing to say, exit code 0.

    check_includes.py [ROOT]

    tools -> compiler -> { passes, backends } -> ir -> MLIR            compiled code -> runtime
"""
import os
import re
import sys

ROOMS = ["ir", "passes", "backends", "compiler", "runtime", "tools"]
# The rooms that a room may include, and the headers of runtime/ that are open to it.
BELOW = {
    "ir": {"ir"},
    "passes": {"passes", "ir"},
    "backends": {"backends", "ir"},
    "compiler": {"compiler", "passes", "backends", "ir"},
    "runtime": {"runtime"},
    "tools": {"tools", "compiler", "passes", "backends", "ir"},
}
ABI = re.compile(r"runtime/(abi|arena|decimal|device|driver|dtypes|host|output)\.h$")
PUBLIC = re.compile(r"runtime/(abi\.h|decimal\.h|driver\.h|dtypes\.h|host\.h|output\.h|sinter\.hp*|smod\.h|manifest\w*\.h)$")
TOOLS = re.compile(PUBLIC.pattern[:-2] + r"|(data|train)/\w+\.h)$")  # these libraries ship beside the runtime
SCALAR_LOOPS = re.compile(r"^backends/cpu/(emit/\w+|KernelSpec)\.h$")
# What a room must not know of, by the folder of the header.
FOREIGN = {
    "ir": re.compile(r"mlir/(Dialect/(LLVMIR|GPU|NVGPU|X86|ArmSVE|ArmNeon|AMX)|Target)/|llvm/(IR|Target|CodeGen)/"),
    "passes": re.compile(r"mlir/(Dialect/(LLVMIR|GPU|NVGPU|X86|ArmSVE|ArmNeon|AMX)|Target)/|llvm/(IR|Target|CodeGen)/"),
    "backends": re.compile(r"google/protobuf/|onnx"),
    "compiler": re.compile(r"^$"),
    "tools": re.compile(r"^$"),
    "runtime": re.compile(r"(mlir|llvm|clang|lld|google/protobuf|onnx)/|^(cuda|mpi|nccl)\.h$"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def complaint(room, path, header):
    """The reason why the file at `path` of `room` may not include `header`, or None."""
    foreign = FOREIGN["ir"] if path.startswith("backends/schedule/") else FOREIGN[room]
    if foreign.search(header):
        return f"{room}/ must not know {header}"
    target = header.split("/")[0]
    if "/" not in header or target not in ROOMS:
        return None
    if target == "runtime" and room != "runtime":
        allowed = TOOLS if room == "tools" else PUBLIC if room == "compiler" else ABI
        return None if allowed.search(header) else f"{room}/ may include only {allowed.pattern} of runtime/"
    if target not in BELOW[room]:
        return f"{room}/ must not include {target}/"
    if room == "compiler" and target == "backends" and not header.startswith("backends/schedule/"):
        return f"compiler/ must not include {header.rsplit('/', 1)[0]}/: it walks the back ends that register themselves"
    if room == "backends" and target == "backends":
        mine, theirs = path.split("/")[1:-1], header.split("/")[1:-1]
        # A GPU's general kernels are the CPU's scalar loops, each thread with a chunk of its own.
        if mine[:1] == ["cuda"] and SCALAR_LOOPS.search(header):
            return None
        # What all back ends share knows none of them.
        if theirs and mine[:1] != theirs[:1] and theirs[0] != "schedule":
            return f"backends/{'/'.join(mine)} must not include backends/{theirs[0]}/"
    return None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    bad = 0
    for room in ROOMS:
        for folder, folders, names in os.walk(os.path.join(root, room)):
            folders.sort()
            for name in sorted(names):
                if not name.endswith((".h", ".hpp", ".c", ".cpp")):
                    continue
                path = os.path.relpath(os.path.join(folder, name), root)
                with open(os.path.join(root, path), encoding="utf-8") as f:
                    for number, line in enumerate(f, 1):
                        found = INCLUDE.match(line)
                        reason = found and complaint(room, path, found.group(2))
                        if reason:
                            print(f"{path}:{number}: {reason}")
                            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
