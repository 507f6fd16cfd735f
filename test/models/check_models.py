#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares real models, compiled, with onnxruntime.

    check_models.py BUILD MODELS NAME... [--levels 0,2] [--target TARGET]

With the model's dims left open and with the first case's shapes fixed by --shape: 1 and 2 threads must agree bit for
bit, and no output may be off by more than 1e-4 of its largest magnitude. At level 0, whose plain loops take up to a
hundred times as long, the first case alone, with dims left open, on 2 threads.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

import sample_inputs
import sinter_runtime

TOLERANCE = 1e-4


def expected(path, cases):
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return [replay(lambda feeds: dict(zip(names, session.run(names, feeds))), calls, feedback) for _, calls, feedback in cases]


def replay(run, calls, feedback):
    """The outputs of each call, with the feedback of one call put into the next."""
    results = []
    for feeds in calls:
        carried = {i: results[-1][o] for o, i in feedback.items()} if results else {}
        results.append(run({**feeds, **carried}))
    return results


def difference(got, want):
    """The largest difference over the largest magnitude, over all calls; infinite for a wrong shape or dtype."""
    worst = 0.0
    for name in want[0]:
        pairs = [(g[name], w[name]) for g, w in zip(got, want)]
        if any(g.shape != w.shape or g.dtype != w.dtype for g, w in pairs):
            return np.inf
        size = max((np.abs(w).max(initial=0) for _, w in pairs), default=0) or 1
        off = [np.abs(g.astype(np.float64) - w).max(initial=0) / size for g, w in pairs]
        worst = max(worst, *(np.inf if np.isnan(o) else float(o) for o in off))
    return worst


def shapes(case):
    # Scalars have no dims to fix.
    return [f"--shape={name}={'x'.join(map(str, a.shape))}" for name, a in case[1][0].items() if a.ndim]


def check(options, runtime, name, level, fixed, cases, wants, scratch):
    module = os.path.join(scratch, f"{name}.smod")
    extra = shapes(cases[0]) if fixed else []
    start = time.monotonic()
    command = [os.path.join(options.build, "bin", "sinter"), "compile", os.path.join(options.models, name + ".onnx"),
               f"-O{level}", "--target", options.target, "-o", module, *extra]
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - start
    what = f"{name} -O{level} {'fixed' if fixed else 'open'} dims"
    if done.returncode:
        print(f"{what}: FAILED to compile, exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
        return False
    good, size = True, os.path.getsize(module) / 1e6
    for (label, calls, feedback), want in zip(cases[:1] if fixed or (level == "0" and not os.environ.get("SINTER_LONG")) else cases, wants):
        got = {}
        try:
            for threads in (2,) if level == "0" else (1, 2):
                session = runtime.session(module, threads)
                got[threads] = replay(session.run, calls, feedback)
                session.close()
        except sinter_runtime.Error as e:
            print(f"{what}, {label}: FAILED to run: {e}")
            good = False
            continue
        same = all(a[n].tobytes() == b[n].tobytes() for one in got.values() for a, b in zip(one, got[2]) for n in a)
        off = difference(got[2], want)
        good &= same and off < TOLERANCE
        verdict = "ok" if off < TOLERANCE else "FAILED"
        print(f"{what}, {label}: {verdict}, off by {off:.1e}; threads {'agree' if same else 'DISAGREE'}; "
              f"compiled in {seconds:.1f} s, {size:.1f} MB", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--levels", default="0,2")
    parser.add_argument("--target", default="native", help="with a back end beside the CPU, the first case with fixed dims alone")
    options = parser.parse_args()
    beside = options.target.startswith("cpu+")
    runtime = sinter_runtime.Runtime(os.path.join(options.build, "lib", "libsinter_rt.so"))
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names:
            cases = sample_inputs.cases(name)
            wants = expected(os.path.join(options.models, name + ".onnx"), cases)
            for level in options.levels.split(","):
                for fixed in (True,) if beside else (False,) if level == "0" else (False, True):
                    good &= check(options, runtime, name, level, fixed, cases, wants, scratch)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
