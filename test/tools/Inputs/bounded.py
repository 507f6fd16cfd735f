# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the gradient of a loop past its bound, and at it, under each memory policy.

usage: bounded.py SINTER MODEL PREFIX"""
import subprocess
import sys

import numpy as np

sinter, model, prefix = sys.argv[1:]
np.save(prefix + ".w.npy", np.float32(0.5))
np.save(prefix + ".128.npy", np.float32(128))
np.save(prefix + ".129.npy", np.float32(129))
for policy in ("all", "recompute", "period(3)", "binomial(2)", "online(2)"):
    graph = prefix + ".bounded.mlir"
    subprocess.run([sinter, "grad", model, "--loss", "loss", "--memory", policy, "-o", graph], check=True)
    for x in ("128", "129"):
        done = subprocess.run([sinter, "run", graph, "--input", f"x=@{prefix}.{x}.npy", "--input", f"w=@{prefix}.w.npy", "--print"],
                              capture_output=True, text=True)
        if (done.returncode == 0) != (x == "128"):
            print(f"{policy} {x}: {done.stdout}")
        print(done.stderr)
