# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills trainings from a table at any time and lets them go on; all must end with the same file.

usage: interrupt_table.py SINTER COUNT"""
import os
import random
import signal
import subprocess
import sys
import time

random.seed(6)
sinter, count = sys.argv[1], int(sys.argv[2])
command = [sinter, "train", "line.smod", "--data", "x=@t.csv", "--data", "target=@t.csv", "--columns", "columns.json", "--steps", "420",
           "--batch", "16", "--shuffle", "3", "--threads", "1"]


def train(name, seconds=None):
    """Returns whether it was killed."""
    path = name + ".safetensors"
    resume = ["--resume", path] if os.path.exists(path) else []
    process = subprocess.Popen([*command, "--save", path, "--save-every", "5", *resume], stderr=subprocess.PIPE, text=True)
    if seconds is not None:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    errors = process.communicate(timeout=300)[1]
    assert process.returncode in (0, -signal.SIGKILL), errors
    return process.returncode != 0


begin = time.time()
train("through")
span = time.time() - begin
with open("through.safetensors", "rb") as f:
    wanted = f.read()
killed = 0
while killed < count:
    killed += train("killed", random.uniform(0.05, 0.6) * span)
    if random.random() < 0.3 or killed == count:
        train("killed")
        with open("killed.safetensors", "rb") as f:
            assert f.read() == wanted, "another end"
        os.remove("killed.safetensors")
print(killed, "killed, all ended alike")
