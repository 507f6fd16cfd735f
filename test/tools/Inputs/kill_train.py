# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills a training with checkpoints, a validation, a curve and events at random moments and resumes it; each must end
with the bits of one that nobody disturbed. Then it is interrupted, and meets a full disk. Moments are the training's
calls that change files, as kill_at.c counts them: the same in each run.

usage: kill_train.py SINTER KILL_AT_LIBRARY KILLS"""
import os
import random
import resource
import shutil
import signal
import subprocess
import sys

random.seed(7)
sinter, library, kills = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3])
command = [sinter, "train", "line.smod", "--config", "config.json", "--epochs", "25", "--save-every", "9", "--threads", "1"]


def run(name, at=0, sent=signal.SIGKILL, **options):
    """Goes on with what is there; gives the exit code, and the lines of messages. Signal `sent` comes at call `at`."""
    folder = name + ".run"
    there = os.path.isdir(folder) and any(file.startswith("step-") for file in os.listdir(folder))
    process = subprocess.Popen([*command, "--checkpoints", folder, "--curve", name + ".csv", "--events", name + ".events",
                                *(["--resume", folder] if there else [])], stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "LD_PRELOAD": library, "KILL_AT": str(at), "KILL_SIGNAL": str(int(sent)),
                                    "KILL_COUNT": "count"}, **options)
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


code, lines = run("through")
assert code == 0, lines
wanted = end_of("through")
calls = int(open("count").read())
assert calls > 100, calls  # checkpoints, a curve and events all count
killed = 0
while killed < kills:
    # A few kills one after the other, each somewhere in what is left.
    left = calls
    while True:
        at = random.randint(1, left)
        code, lines = run("killed", at)
        assert code in (0, -signal.SIGKILL), lines
        if code == 0:  # what was left ended before
            break
        killed += 1
        left = max(left - at, 1)
        if killed == kills or random.random() < 0.4:
            break
    code, lines = run("killed")
    assert code == 0, lines
    assert end_of("killed") == wanted, "another end"
    forget("killed")
print(killed, "killed, all ended alike")

code, lines = run("stopped", calls // 2, signal.SIGINT)
assert code == 1, (code, lines)
print(lines[-1])
code, lines = run("stopped")
assert code == 0 and end_of("stopped") == wanted, lines

# Files end at 4 KB: what the system says of a full disk, the checkpoints' way or the curve's.
code, lines = run("full", preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                              resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))))
print(code, lines[-1])
code, lines = run("full")
assert code == 0 and end_of("full") == wanted, lines
print("went on from what was whole")
