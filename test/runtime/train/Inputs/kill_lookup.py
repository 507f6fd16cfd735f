# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kill_lookup.py LOOKUP STEP KILL_AT_LIBRARY WANTED KILLS: kills a training with rows of a table at its calls that change files (kill_at.c), at KILLS or more of
all and at each of one save, and lets it go on. The losses of all steps and the metric must be those of the file WANTED, to the bit."""
import os
import shutil
import signal
import subprocess
import sys

program, step, library, path, kills = sys.argv[1:]
with open(path) as file:
    wanted = file.read().splitlines()


def run(at):
    """Goes on from the newest checkpoint, where there is one. Gives whether it was killed, and what it printed."""
    resumes = os.path.isdir("killed.run") and any(name.startswith("step-") for name in os.listdir("killed.run"))
    if not resumes:
        shutil.rmtree("killed.rows", ignore_errors=True)
    fields = '"epochs": 4, "save_every": 5, "checkpoints": "killed.run"' + (', "resume": "killed.run"' if resumes else "")
    done = subprocess.run([program, step, fields, "killed.rows"], capture_output=True, text=True, timeout=100,
                          env={**os.environ, "LD_PRELOAD": os.path.abspath(library), "KILL_AT": str(at), "KILL_COUNT": "count"})
    assert done.returncode in (0, -signal.SIGKILL), done.stdout + done.stderr
    return done.returncode != 0, done.stdout.splitlines()


def forget():
    for folder in ("killed.run", "killed.rows"):
        shutil.rmtree(folder, ignore_errors=True)


forget()
wasKilled, lines = run(0)
assert not wasKilled and lines == wanted, lines
with open("count") as file:
    calls = int(file.read())
saves = 64 // 5 + 4
moments = sorted({*range(1, calls, calls // int(kills)), *range(calls // 2, calls // 2 + calls // saves)})
for at in moments:
    forget()
    wasKilled, before = run(at)
    assert wasKilled, at
    wasKilled, after = run(0)
    assert not wasKilled, at
    assert set(before) <= set(wanted), at  # a line that was cut off is none
    assert after in (wanted[-len(after):], ["mae nan"]), (at, before, after)  # nan: all steps were done before
print(f"killed {len(moments)} times, all ended alike")
