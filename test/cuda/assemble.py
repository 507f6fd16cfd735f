# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models and training steps of the tests as PTX, which ptxas assembles for each generation of GPUs without a spill.

    assemble.py SINTER SOURCE [--models FOLDER] [--filter REGEX] [--generations sm_80,...]

A line for each: kernels, the most registers, and what was wrong. Ends with 1 if anything was, and where no model has a kernel for the GPU."""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

GENERATIONS = "sm_80,sm_89,sm_90,sm_100"
# model below test/, and what its training steps are made with
STEPS = [("tools/Inputs/linear.mlir", "mse", optimizer) for optimizer in ("sgd:lr=0.1,momentum=0.9", "adam:lr=0.05", "adamw:lr=0.05", "adagrad:lr=0.1", "rmsprop:lr=0.1")]
STEPS += [("compiler/train/Inputs/linear.onnx", "mse", "adamw:lr=0.01")]


def call(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def ptx_of(sinter, path, folder, step):
    """PTX, or None with the reason why there is none."""
    if step:
        made = call(sinter, "train-step", path, "--loss", step[0], "--optimizer", step[1], "-o", folder + "/step.mlir", "--force")
        if made.returncode:
            return None, "train-step: " + made.stderr.strip()
        path = folder + "/step.mlir"
    out = folder + "/model.ptx"
    made = call(sinter, "compile", path, "--target=cpu+cuda", "--emit=ptx", "-o", out, "--force")
    if made.returncode:
        return None, made.stderr.strip()
    with open(out, encoding="utf-8") as file:
        return out, file.read()


def assemble(ptx, generation):
    """The most registers of a kernel, and complaints."""
    done = call("ptxas", "-v", "-arch=" + generation, "-o", "/dev/null", ptx)
    text = done.stdout + done.stderr
    wrong = [f"{generation}: {text.strip()[:400]}"] if done.returncode else []
    kernel = ""
    for line in text.splitlines():
        if found := re.search(r"(?:Function properties for|Compiling entry function) '?(\w+)", line):
            kernel = found.group(1)
        if (found := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line)) and found.groups() != ("0", "0"):
            wrong.append(f"{generation}: {kernel} spills {found.group(1)} bytes")
    return max(map(int, re.findall(r"Used (\d+) registers", text)), default=0), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sinter")
    parser.add_argument("source")
    parser.add_argument("--models", default="")
    parser.add_argument("--filter", default=".")
    parser.add_argument("--generations", default=GENERATIONS)
    options = parser.parse_args()
    tests = os.path.join(options.source, "test")
    cases = [(path, None) for path in sorted(glob.glob(tests + "/fuzz/seeds/*.sinter"))]
    cases += [(os.path.join(tests, path), (loss, optimizer)) for path, loss, optimizer in STEPS]
    cases += [(path, None) for path in (sorted(glob.glob(options.models + "/*.onnx")) if options.models else [])]
    failures = kernels = assembled = 0
    with tempfile.TemporaryDirectory() as folder:
        for path, step in cases:
            name = os.path.basename(path) + (" " + step[1] if step else "")
            if not re.search(options.filter, name):
                continue
            ptx, text = ptx_of(options.sinter, path, folder, step)
            if ptx is None and "requires kernels for a GPU" in text:
                print(f"{name}: no kernel for the GPU", flush=True)
                continue
            registers, wrong = [], [text] if ptx is None else []
            for generation in options.generations.split(",") if ptx else []:
                most, more = assemble(ptx, generation)
                registers.append(most)
                wrong += more
            count = len(re.findall(r"^\.visible \.entry", text, re.M)) if ptx else 0
            kernels += count
            assembled += bool(ptx)
            failures += bool(wrong)
            print(f"{name}: {count} kernels, up to {max(registers, default=0)} registers" + "".join("\n  " + line for line in wrong), flush=True)
    print(f"{assembled} models and steps, {kernels} kernels, {failures} failed")
    return 1 if failures or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
