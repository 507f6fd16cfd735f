# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""masked_halves.py SINTER INPUTS FOLDER TARGET...: a product of 37 columns times numbers of 16 bits, rounded to 16 bits, by code for each target that this
machine can run, against NumPy in f64: within one step of the type."""
import subprocess
import sys

import ml_dtypes
import numpy as np

NEEDED = {"x86-64-v3": "avx2", "x86-64-v4": "avx512bw"}
sinter, inputs, folder, *targets = sys.argv[1:]
flags = open("/proc/cpuinfo").read().split()
random = np.random.default_rng(7)
x, w, m = (random.standard_normal(shape).astype(np.float32) for shape in ((24, 64), (64, 37), (24, 37)))
for name, kind, step in (("bf16", ml_dtypes.bfloat16, 2.0**-7), ("f16", np.float16, 2.0**-10)):
    factor = m.astype(kind)
    wanted = x.astype(np.float64) @ w * factor.astype(np.float64)
    for target in targets:
        if target in NEEDED and NEEDED[target] not in flags:
            continue
        for n, value in (("x", x), ("w", w), ("m", factor)):
            value.tofile(f"{folder}/{n}.raw")
        subprocess.run([sinter, "run", f"{inputs}/masked_{name}.mlir", "--target", target, *(a for n in "xwm" for a in ("--input", f"{n}=@{folder}/{n}.raw")),
                        "--output", f"y=@{folder}/y.npy"], check=True, stdout=subprocess.DEVNULL)
        got = np.load(f"{folder}/y.npy").view(kind).astype(np.float64)
        assert (np.abs(got - wanted) <= step * np.abs(wanted) + 1e-4).all(), (name, target, np.abs(got - wanted).max())
print("all right")
