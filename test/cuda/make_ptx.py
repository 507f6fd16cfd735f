#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes kernels/*.ptx from kernels/*.cu with nvcc, or says whether they are current.

    make_ptx.py            # writes them
    make_ptx.py --check    # exit 1 if nvcc is here and would write something else

The first lines of a .ptx name the compiler that made it. Tests read the .ptx alone and need no toolkit.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels")


def find_nvcc():
    return shutil.which("nvcc") or next((p for p in ["/usr/local/cuda/bin/nvcc"] if os.path.exists(p)), None)


def compile_one(nvcc, source):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.ptx")
        generation = re.search(r"_sm_(\w+)\.cu$", source)  # at the end of its name
        arch = f"-arch=compute_{generation.group(1) if generation else 80}"
        subprocess.run([nvcc, "-ptx", arch, "-std=c++17", "-o", out, source], check=True)
        with open(out, encoding="utf-8") as f:
            return f.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    nvcc = find_nvcc()
    if not nvcc:
        print("nvcc is not here")
        return 0 if args.check else 1
    stale = False
    for name in sorted(os.listdir(FOLDER)):
        if not name.endswith(".cu"):
            continue
        text = compile_one(nvcc, os.path.join(FOLDER, name))
        path = os.path.join(FOLDER, name[:-3] + ".ptx")
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        if args.check and old.splitlines()[:6] == text.splitlines()[:6] and old != text:  # of the same compiler
            print(f"{path} is not what nvcc makes of {name}")
            stale = True
        elif not args.check:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
