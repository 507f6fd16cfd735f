# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ends trainings by signals at any time and lets them go on; all must end with the same file.

usage: interrupt.py SINTER"""
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np

random.seed(5)
sinter = sys.argv[1]
for name in "x", "y":  # long epochs: each ends with a file, for which the disk is waited for
    rows = np.load(f"{name}.npy")
    np.save(f"many_{name}.npy", np.concatenate([rows] * (16000 // len(rows))))
command = [sinter, "train", "line.smod", "--data", "x=@many_x.npy", "--data", "target=@many_y.npy", "--steps", "60000", "--batch", "16",
           "--shuffle", "3", "--threads", "1"]


def train(name, kill=None, after=None):
    """`kill` is sent `after` seconds, or after a file is there."""
    path = name + ".safetensors"
    resume = ["--resume", path] if os.path.exists(path) else []
    process = subprocess.Popen([*command, "--save", path, "--save-every", "800", *resume], stderr=subprocess.PIPE, text=True)
    if kill:
        while after is None and process.poll() is None and not os.path.exists(path):
            time.sleep(0.001)
        time.sleep(after or 0)
        process.send_signal(kill)
    errors = process.communicate(timeout=300)[1]
    return process.returncode, errors.strip().splitlines()


code, lines = train("through")
assert code == 0, lines
for _ in range(200):  # until the signal meets a training under way
    code, lines = train("stopped", signal.SIGINT)
    if code == 1 and "interrupted after step" in lines[-1]:
        break
    if os.path.exists("stopped.safetensors"):
        os.remove("stopped.safetensors")
print(lines[-1])
for _ in range(8):
    code, lines = train("killed", signal.SIGKILL, random.uniform(0.02, 0.3))
    assert code in (0, -signal.SIGKILL), lines
ends = []
for name in ("stopped", "killed"):
    code, lines = train(name)
    assert code == 0, lines
    ends.append(open(name + ".safetensors", "rb").read() == open("through.safetensors", "rb").read())
print("killed trainings left files that were whole, and all ended alike" if all(ends) else f"files differ: {ends}")
