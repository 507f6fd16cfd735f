# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flags_walk.py SINTER MODEL: every flag of every subcommand, for a graph and for a compiled module: it changes what comes
out, or is refused, or is listed with the reason why nothing can be seen. The current folder is written to."""
import re
import subprocess
import sys

SINTER, MODEL = sys.argv[1:]


def run(*args):
    return subprocess.run([SINTER, *args], capture_output=True, text=True, check=False)


def make(*args):
    done = run(*args)
    assert done.returncode == 0, (args, done.stderr)


make("compile", MODEL, "-o", "m.smod")
make("convert", MODEL, "m.mlir")
make("train-step", MODEL, "--loss", "mse", "--optimizer", "sgd:lr=0.1", "-o", "step.smod")

GRAPH, SMOD = "m.mlir", "m.smod"
REFUSED, UNSUPPORTED, DAMAGED = 2, 3, 6
# (subcommand, flag) -> uses: (arguments, REFUSED or None for accepted)
USES = {
    ("compile", "-O"): [([GRAPH, "-O1", "-o", "o.smod"], None), ([SMOD, "-O1"], REFUSED)],
    ("compile", "--threads"): [([GRAPH, "--threads", "1", "-o", "o.smod"], None), ([SMOD, "--threads", "1"], REFUSED)],
    ("compile", "--target"): [([GRAPH, "--target", "x86-64-v3", "-o", "o.smod"], None), ([SMOD, "--target", "native"], REFUSED)],
    ("compile", "--shape"): [([GRAPH, "--shape", "x=2x3", "-o", "o.smod"], None), ([SMOD, "--shape", "x=2x3"], REFUSED)],
    ("compile", "--index-policy"): [([GRAPH, "--index-policy", "error", "-o", "o.smod"], None),
                                    ([SMOD, "--index-policy", "error"], REFUSED)],
    ("compile", "--map-tensors"): [(["m.onnx", "--map-tensors", "-o", "o.smod"], None), ([GRAPH, "--map-tensors", "-o", "o.smod"], REFUSED),
                                   ([SMOD, "--map-tensors"], REFUSED)],
    ("compile", "--fast-math"): [([GRAPH, "--fast-math", "-o", "o.smod"], None), ([SMOD, "--fast-math"], REFUSED)],
    ("compile", "--precision"): [([GRAPH, "--precision", "bf16", "-o", "o.smod"], None), ([GRAPH, "--precision", "f8", "-o", "o.smod"], REFUSED),
                                 ([SMOD, "--precision", "bf16"], REFUSED)],
    ("compile", "--checkpoint"): [([GRAPH, "--checkpoint", "full", "-o", "o.smod"], None), ([GRAPH, "--checkpoint", "half", "-o", "o.smod"], REFUSED),
                                  ([SMOD, "--checkpoint", "full"], REFUSED)],
    ("compile", "--strip-debug"): [([GRAPH, "--strip-debug", "-o", "o.smod"], None), ([SMOD, "--strip-debug"], REFUSED)],
    ("compile", "--force"): [([GRAPH, "--force", "-o", "o.smod"], None)],
    ("compile", "--sha256"): [([GRAPH, "--sha256", "-o", "o.smod"], None), ([GRAPH, "--sha256", "--emit", "graph"], REFUSED)],
    ("compile", "--remarks"): [([GRAPH, "--remarks", "-o", "o.smod"], None), ([GRAPH, "--remarks", "--emit", "graph"], REFUSED),
                               ([SMOD, "--remarks"], REFUSED)],
    ("compile", "--tune"): [([GRAPH, "--tune=0.05", "--schedules", "s.txt", "-o", "o.smod"], None), ([GRAPH, "--tune"], REFUSED),
                            ([SMOD, "--tune=0.05", "--schedules", "s.txt"], REFUSED)],
    ("compile", "--schedules"): [([GRAPH, "--schedules", "s.txt", "-o", "o.smod"], None), ([GRAPH, "--schedules", "none.txt", "-o", "o.smod"], 5),
                                 ([GRAPH, "--schedules", "s.txt", "--emit", "graph"], REFUSED)],
    ("compile", "--time-passes"): [([GRAPH, "--time-passes", "-o", "o.smod"], None), ([GRAPH, "--time-passes=t.json", "-o", "o.smod"], None),
                                   ([GRAPH, "--time-passes=t.txt", "-o", "o.smod"], REFUSED), ([SMOD, "--time-passes"], REFUSED)],
    ("compile", "--kernel-cache"): [([GRAPH, "--kernel-cache=kernels", "-o", "o.smod"], None), ([SMOD, "--kernel-cache=kernels"], REFUSED)],
    ("compile", "--kernel-cache-size"): [([GRAPH, "--kernel-cache=kernels", "--kernel-cache-size", "5", "-o", "o.smod"], None),
                                         ([GRAPH, "--kernel-cache-size", "0", "-o", "o.smod"], REFUSED), ([SMOD, "--kernel-cache-size", "5"], REFUSED)],
    # Accepted with an assembler: cubins.test.
    ("compile", "--cubins"): [([GRAPH, "--cubins=sm_80", "-o", "o.smod"], REFUSED), ([GRAPH, "--target=cpu+cuda", "--cubins=sm_80", "-o", "o.o"], REFUSED),
                              ([GRAPH, "--target=cpu+cuda", "--cubins=gpu", "-o", "o.smod"], REFUSED), ([SMOD, "--cubins=sm_80"], REFUSED)],
    ("compile", "--output"): [([GRAPH, "-o", "o.smod"], None)],
    ("compile", "--emit"): [([GRAPH, "--emit", "graph"], None)],
    ("compile", "--dump-ir"): [([GRAPH, "--dump-ir", "ir", "-o", "o.smod"], None)],
    ("run", "-O"): [([GRAPH, "-O0", "--input", "x=1"], None), ([SMOD, "-O0", "--input", "x=1"], REFUSED),
                    ([GRAPH, "-O0", "--input", "x=1", "--reference"], REFUSED)],
    ("run", "--threads"): [([GRAPH, "--threads", "1", "--input", "x=1"], None), ([SMOD, "--threads", "1", "--input", "x=1"], None),
                           ([GRAPH, "--threads", "1", "--input", "x=1", "--reference"], REFUSED)],
    ("run", "--target"): [([GRAPH, "--target", "native", "--input", "x=1"], None),
                          ([SMOD, "--target", "native", "--input", "x=1"], REFUSED),
                          ([GRAPH, "--target", "native", "--input", "x=1", "--reference"], REFUSED)],
    # device.test runs on one.
    ("run", "--device"): [([GRAPH, "--device", "cuda", "--input", "x=1"], REFUSED), ([GRAPH, "--device", "cuda:0", "--input", "x=1", "--reference"], REFUSED),
                          ([GRAPH, "--device", "cuda:0", "--target", "native", "--input", "x=1"], REFUSED)],
    ("check", "--device"): [([GRAPH, "--device", "cuda:0", "--reference"], REFUSED), ([GRAPH, "--device", "cuda:0", "--gradient"], REFUSED)],
    ("bench", "--profile"): [([GRAPH, "--profile", "--seconds", "0.01"], None), ([GRAPH, "--profile=p.json", "--seconds", "0.01"], None),
                             ([GRAPH, "--profile=p.txt", "--seconds", "0.01"], REFUSED), ([SMOD, "--profile", "--seconds", "0.01"], REFUSED)],
    ("bench", "--device"): [([SMOD, "--device", "cuda:0", "--seconds", "0.01"], UNSUPPORTED)],
    ("run", "--shape"): [([GRAPH, "--shape", "x=2x3", "--input", "x=1"], None), ([SMOD, "--shape", "x=2x3", "--input", "x=1"], None)],
    ("run", "--index-policy"): [([GRAPH, "--index-policy", "error", "--input", "x=1"], None),
                                ([SMOD, "--index-policy", "error", "--input", "x=1"], REFUSED)],
    ("run", "--fast-math"): [([GRAPH, "--fast-math", "--input", "x=1"], None), ([SMOD, "--fast-math", "--input", "x=1"], REFUSED)],
    ("run", "--checkpoint"): [([GRAPH, "--checkpoint", "full", "--input", "x=1"], None), ([SMOD, "--checkpoint", "full", "--input", "x=1"], REFUSED),
                              ([GRAPH, "--checkpoint", "full", "--input", "x=1", "--reference"], REFUSED)],
    ("run", "--precision"): [([GRAPH, "--precision", "bf16", "--input", "x=1"], None), ([SMOD, "--precision", "bf16", "--input", "x=1"], REFUSED),
                             ([GRAPH, "--precision", "bf16", "--input", "x=1", "--reference"], REFUSED)],
    ("run", "--strip-debug"): [([GRAPH, "--strip-debug", "--input", "x=1"], None), ([SMOD, "--strip-debug", "--input", "x=1"], REFUSED)],
    ("run", "--force"): [([GRAPH, "--input", "x=2", "--output", "y=@y.npy", "--force"], None)],
    ("run", "--function"): [(["step.smod", "--function", "infer", "--input", "x=1"], None), ([GRAPH, "--function", "main", "--input", "x=1"], REFUSED)],
    # train-validation.test has states to load.
    ("run", "--load"): [([GRAPH, "--load", "w.safetensors", "--input", "x=1", "--reference"], REFUSED)],
    # lookup-best.test has rows to look up.
    ("run", "--rows"): [([GRAPH, "--rows", "x=@rows,table=t", "--input", "x=1", "--reference"], REFUSED)],
    ("run", "--input"): [([GRAPH, "--input", "x=2"], None)],
    ("run", "--output"): [([GRAPH, "--input", "x=2", "--output", "y=@y.npy"], None)],
    ("run", "--print"): [([GRAPH, "--input", "x=2", "--print"], None)],
    ("run", "--reference"): [([GRAPH, "--input", "x=2", "--reference"], None), ([SMOD, "--input", "x=2", "--reference"], REFUSED)],
    ("check", "-O"): [([GRAPH, "-O0"], None), ([GRAPH, "-O0", "--reference"], REFUSED), ([GRAPH, "-O0", "--gradient"], REFUSED)],
    ("check", "--threads"): [([GRAPH, "--threads", "1"], None), ([GRAPH, "--threads", "1", "--gradient"], REFUSED)],
    ("check", "--target"): [([GRAPH, "--target", "native"], None), ([GRAPH, "--target", "native", "--reference"], REFUSED)],
    ("check", "--shape"): [([GRAPH, "--shape", "x=2x3"], None), (["--onnx-tests", ".", "--shape", "x=2x3"], REFUSED)],
    ("check", "--index-policy"): [([GRAPH, "--index-policy", "error"], None)],
    ("check", "--fast-math"): [([GRAPH, "--fast-math"], None), ([GRAPH, "--fast-math", "--reference"], REFUSED)],
    ("check", "--strip-debug"): [([GRAPH, "--strip-debug"], None), ([GRAPH, "--strip-debug", "--reference"], REFUSED)],
    ("check", "--reference"): [([GRAPH, "--reference"], None), ([GRAPH, "--reference", "--gradient"], REFUSED)],
    ("check", "--input"): [([GRAPH, "--input", "x=1"], None), (["--onnx-tests", ".", "--input", "x=1"], REFUSED)],
    ("check", "--seed"): [([GRAPH, "--seed", "1"], None), (["--onnx-tests", ".", "--seed", "1"], REFUSED)],
    ("check", "--gradient"): [([GRAPH, "--gradient"], None), (["--onnx-tests", ".", "--gradient"], REFUSED)],
    ("check", "--wrt"): [([GRAPH, "--gradient", "--wrt", "x"], None), ([GRAPH, "--wrt", "x"], REFUSED)],
    ("check", "--onnx-tests"): [([GRAPH, "--onnx-tests", "."], REFUSED)],
    ("check", "--expected-failures"): [([GRAPH, "--expected-failures", "e.txt"], REFUSED)],
    ("check", "--jobs"): [([GRAPH, "-j", "2"], REFUSED)],
    ("check", "--time-limit"): [([GRAPH, "--time-limit", "2"], REFUSED)],
    ("bench", "-O"): [([GRAPH, "-O0", "--seconds", "0.01"], None), ([SMOD, "-O0", "--seconds", "0.01"], REFUSED)],
    ("bench", "--fast-math"): [([GRAPH, "--fast-math", "--seconds", "0.01"], None), ([SMOD, "--fast-math", "--seconds", "0.01"], REFUSED)],
    ("bench", "--checkpoint"): [([GRAPH, "--checkpoint", "full", "--seconds", "0.01"], None), ([SMOD, "--checkpoint", "full", "--seconds", "0.01"], REFUSED)],
    ("bench", "--precision"): [([GRAPH, "--precision", "bf16", "--seconds", "0.01"], None), ([SMOD, "--precision", "bf16", "--seconds", "0.01"], REFUSED)],
    ("bench", "--strip-debug"): [([GRAPH, "--strip-debug", "--seconds", "0.01"], None), ([SMOD, "--strip-debug", "--seconds", "0.01"], REFUSED)],
    ("bench", "--threads"): [([SMOD, "--threads", "1", "--seconds", "0.01"], None)],
    ("bench", "--target"): [([SMOD, "--target", "native", "--seconds", "0.01"], REFUSED)],
    ("bench", "--shape"): [([SMOD, "--shape", "x=2x3", "--seconds", "0.01"], None)],
    ("bench", "--index-policy"): [([SMOD, "--index-policy", "clamp", "--seconds", "0.01"], REFUSED)],
    ("bench", "--input"): [([SMOD, "--input", "x=1", "--seconds", "0.01"], None)],
    ("bench", "--seconds"): [([SMOD, "--seconds", "0.01"], None)],
    ("bench", "--json"): [([SMOD, "--seconds", "0.01", "--json", "b.json"], None)],
    ("inspect", "-O"): [([GRAPH, "-O0", "--kernels"], None), ([GRAPH, "-O0"], REFUSED), ([SMOD, "-O0", "--memory"], REFUSED)],
    ("inspect", "--fast-math"): [([GRAPH, "--fast-math", "--kernels"], None), ([GRAPH, "--fast-math"], REFUSED)],
    ("inspect", "--checkpoint"): [([GRAPH, "--checkpoint", "full", "--kernels"], None), ([GRAPH, "--checkpoint", "full"], REFUSED)],
    ("inspect", "--strip-debug"): [([GRAPH, "--strip-debug", "--kernels"], None), ([GRAPH, "--strip-debug"], REFUSED)],
    ("inspect", "--expect-sha256"): [([SMOD, "--expect-sha256", "0" * 64], DAMAGED), ([SMOD, "--expect-sha256", "0"], REFUSED)],
    ("inspect", "--sha256"): [([SMOD, "--sha256"], None)],
    ("inspect", "--force"): [([GRAPH, "--dot", "d.dot", "--force"], None)],
    ("inspect", "--threads"): [([GRAPH, "--threads", "1", "--memory"], None), ([GRAPH, "--threads", "1"], REFUSED)],
    ("inspect", "--target"): [([GRAPH, "--target", "native", "--kernels"], None), ([SMOD, "--target", "native"], REFUSED)],
    ("inspect", "--shape"): [([SMOD, "--shape", "x=2x3"], None)],
    ("inspect", "--index-policy"): [([GRAPH, "--index-policy", "error", "--ops"], None), ([SMOD, "--index-policy", "error"], REFUSED)],
    ("inspect", "--ops"): [([GRAPH, "--ops"], None), ([SMOD, "--ops"], REFUSED)],
    ("inspect", "--kernels"): [([GRAPH, "--kernels"], None), ([SMOD, "--kernels"], REFUSED)],
    ("inspect", "--memory"): [([SMOD, "--memory"], None)],
    ("inspect", "--dot"): [([GRAPH, "--dot", "d.dot"], None), ([SMOD, "--dot", "d.dot"], REFUSED)],
    ("inspect", "--json"): [([SMOD, "--json"], None)],
    ("convert", "--shape"): [([GRAPH, "c.mlir", "--shape", "x=2x3"], None), ([SMOD, "c.mlir", "--shape", "x=2x3"], REFUSED)],
    ("convert", "--index-policy"): [([GRAPH, "c.mlir", "--index-policy", "error"], None), ([SMOD, "c.mlir", "--index-policy", "error"], REFUSED)],
    ("convert", "--force"): [([GRAPH, "c.mlir", "--force"], None)],
    ("convert", "--locations"): [([GRAPH, "c.mlir", "--locations"], None), ([GRAPH, "c.sinter", "--locations"], REFUSED)],
    ("grad", "--shape"): [([GRAPH, "-o", "-", "--mode", "vjp", "--shape", "x=2x3"], None), ([SMOD, "-o", "-", "--shape", "x=2x3"], REFUSED)],
    ("grad", "--index-policy"): [([GRAPH, "-o", "-", "--mode", "vjp", "--index-policy", "error"], None),
                                 ([SMOD, "-o", "-", "--index-policy", "error"], REFUSED)],
    ("grad", "--output"): [([GRAPH, "--mode", "vjp", "-o", "g.mlir"], None)],
    ("grad", "--force"): [([GRAPH, "--mode", "vjp", "-o", "g.mlir", "--force"], None)],
    ("grad", "--loss"): [([GRAPH, "--mode", "vjp", "-o", "-", "--loss", "y"], REFUSED)],  # grad.test has the mode that takes it
    ("grad", "--wrt"): [([GRAPH, "--mode", "vjp", "-o", "-", "--wrt", "x"], None)],
    ("grad", "--mode"): [([GRAPH, "-o", "-", "--mode", "vjp"], None)],
    ("grad", "--memory"): [([GRAPH, "--mode", "vjp", "-o", "-", "--memory", "all"], None)],
}
TRAINING = ["--loss", "mse", "--optimizer", "sgd:lr=0.1"]
for flag, value in {"-O": "-O1", "--threads": "--threads=1", "--target": "--target=native"}.items():
    USES["train-step", flag] = [([MODEL, *TRAINING, value, "-o", "t.smod"], None), ([MODEL, *TRAINING, value, "-o", "t.mlir"], REFUSED),
                                ([SMOD, *TRAINING, value, "-o", "t.smod"], REFUSED)]
# What tests of their own hold to its effect (train-step*.test, train.test, quantize.test ...).
TESTED_ELSEWHERE = {"train", "train-step", "doctor", "data", "quantize"}

bad = []
for subcommand in re.findall(r"^  ([a-z-]+) {2,}", run("--help").stdout, re.M):
    flags = set(re.findall(r"^ +(?:-[a-zA-Z], *)?(--[a-z0-9-]+|-O)\b", run(subcommand, "--help").stdout, re.M)) - {"--help", "--version"}
    for flag in sorted(flags):
        if (subcommand, flag) not in USES and subcommand not in TESTED_ELSEWHERE:
            bad.append(f"{subcommand} {flag}: no entry says what it does")
for (subcommand, flag), uses in USES.items():
    for arguments, expected in uses:
        done = run(subcommand, *arguments)
        if done.returncode != (expected or 0):
            bad.append(f"{subcommand} {' '.join(arguments)}: expected {expected or 0}, got {done.returncode}: {done.stderr.strip()[-300:]}")
print("\n".join(bad))
sys.exit(1 if bad else 0)
