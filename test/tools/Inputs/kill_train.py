# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills a training with checkpoints, a validation, a curve and events at random moments and resumes it; each must end
with the bits of one that nobody disturbed. Then it is interrupted, and meets a full disk.

usage: kill_train.py SINTER KILLS"""
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

random.seed(7)
sinter, kills = sys.argv[1], int(sys.argv[2])
command = [sinter, "train", "line.smod", "--config", "config.json", "--epochs", "25", "--save-every", "9", "--threads", "1"]


def start(name, **options):
    """Goes on with what is there."""
    folder = name + ".run"
    there = os.path.isdir(folder) and any(file.startswith("step-") for file in os.listdir(folder))
    return subprocess.Popen([*command, "--checkpoints", folder, "--curve", name + ".csv", "--events", name + ".events",
                             *(["--resume", folder] if there else [])], stderr=subprocess.PIPE, text=True, **options)


def finish(name, **options):
    process = start(name, **options)
    errors = process.communicate(timeout=300)[1]
    return process.returncode, errors.strip().splitlines()


def end_of(name):
    files = sorted(os.listdir(name + ".run"))
    assert len(files) == 4, files  # three and the best one: nothing lies about
    contents = [open(os.path.join(name + ".run", file), "rb").read() for file in (files[0], files[-1])]
    return [files, *contents, open(name + ".csv").read(), os.path.getsize(name + ".events/events.out.tfevents.0.sinter")]


def forget(name):
    for path in (name + ".run", name + ".events"):
        shutil.rmtree(path, ignore_errors=True)
    if os.path.exists(name + ".csv"):
        os.remove(name + ".csv")


begin = time.time()
code, lines = finish("through")
assert code == 0, lines
span, wanted = time.time() - begin, end_of("through")
killed = ends = 0
while killed < kills:
    process = start("killed")
    time.sleep(random.uniform(0.03, 0.9) * span)
    process.send_signal(signal.SIGKILL)
    errors = process.communicate()[1]
    assert process.returncode in (0, -signal.SIGKILL), errors
    killed += process.returncode != 0
    if random.random() < 0.3 or killed == kills:
        code, lines = finish("killed")
        assert code == 0, lines
        assert end_of("killed") == wanted, "another end"
        forget("killed")
        ends += 1
print(killed, "killed, all ended alike")

while True:  # until the signal meets a training under way
    process = start("stopped")
    time.sleep(random.uniform(0.3, 0.7) * span)
    process.send_signal(signal.SIGINT)
    lines = process.communicate()[1].strip().splitlines()
    if process.returncode == 1:
        break
    forget("stopped")
print(lines[-1])
code, lines = finish("stopped")
assert code == 0 and end_of("stopped") == wanted, lines

# Files end at 4 KB: what the system says of a full disk, the checkpoints' way or the curve's.
code, lines = finish("full", preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                                 resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))))
print(code, lines[-1])
code, lines = finish("full")
assert code == 0 and end_of("full") == wanted, lines
print("went on from what was whole")
