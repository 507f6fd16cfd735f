# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs cases whose sums are long, each a function of one module, on one thread, two and three. A case has a `name`, a `kind`, the `text()` of its function, `feeds` by name, and
`check(result)`, which compares with NumPy."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

KINDS = {"f32": np.float32, "f64": np.float64}
# Its second-level cache has 256 KiB.
levels.NEEDS["haswell"] = levels.NEEDS["x86-64-v3"]


def wide(kind):
    """The type that sums of `kind` are compared in."""
    return np.longdouble if kind == "f64" else np.float64


def errors(kind, error):
    """The greatest and the mean error, of errors as shares of the sum of magnitudes, in bounds of `kind`."""
    bound = 1e-5 if kind == "f32" else 2e-14
    return float(np.max(error) / bound), float(np.mean(error) / bound)


def run(build, targets, chosen, cases):
    """Prints what is wrong. Returns how many results were, and the results by target."""
    runtime, wrong, found = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so")), 0, {}
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/m.mlir", "w") as file:
            file.write("".join(case.text() for case in cases))
        for _, target in levels.numbered(targets, chosen):
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.mlir", "--target", target, "-o", f"{folder}/m.smod", "--force"], check=True)
            results = []
            for threads in (1, 2, 3):
                sessions = runtime.sessions(f"{folder}/m.smod", [case.name for case in cases], threads)
                results.append([next(iter(sessions[case.name].run(case.feeds).values())) for case in cases])
            found[target] = results[0]
            for case, one, *others in zip(cases, *results):
                most, mean = case.check(one)
                same = all(np.array_equal(one, other) for other in others)
                if not (most <= 1 and mean <= 0.01 and same):
                    wrong += 1
                    print(f"{target}: {case.name} {case.kind} {case.x.shape} by {case.w.shape}: {most:.3f} of the bound, {mean:.4f} on average, same bits on threads: {same}")
    return wrong, found
