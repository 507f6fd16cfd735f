#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks LLVM's assembler, for every CPU that it knows, whether that CPU has each instruction of code compiled for it.

    assemble.py SINTER SOURCE
"""
import os
import re
import subprocess
import sys

sinter, source = sys.argv[1:]
assembler = "/usr/lib/llvm-22/bin/llvm-mc"
tried = failed = 0
for triple in ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"):
    listed = subprocess.run([assembler, f"-triple={triple}", "-mcpu=help"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stderr
    cpus = re.findall(r"^\s+(\S+)\s+- Select the", listed, re.M)
    for cpu in cpus:
        done = subprocess.run([sinter, "compile", os.path.join(source, "test/hosts/Inputs/mixed.mlir"), "--emit=asm", "-o", "-", "--target",
                               f"cpu:{cpu}"], capture_output=True, text=True)
        if done.returncode == 2 and "a target must be" in done.stderr:  # no 64 bits
            continue
        # A generic name is one of either architecture.
        if triple.startswith("x86") != ("%rsp" in done.stdout):
            continue
        tried += 1
        checked = subprocess.run([assembler, f"-triple={triple}", f"-mcpu={cpu}", "-filetype=null", "-o", "/dev/null"], input=done.stdout,
                                 capture_output=True, text=True)
        wrong = [line for line in checked.stderr.splitlines() if "error:" in line]
        if done.returncode or done.stderr or not done.stdout or wrong:
            failed += 1
            print(f"{cpu}: {done.stderr}", *wrong[:5], sep="\n")
print(f"{tried} CPUs, {failed} without an instruction of their code")
sys.exit(1 if failed or tried < 150 else 0)
