# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""limits.py SINTER MODEL: with less and less of what a process may have, until it cannot even start."""
import re
import resource
import subprocess
import sys

sinter, model = sys.argv[1:]
MIB = 1 << 20
# What the system's loader says, before there is anything of ours.
LOADER = re.compile(r"error while loading shared libraries|cannot allocate|Cannot allocate|failed to map|Segmentation|cannot create")
seen = set()


def run(kind, amount, words, allowed):
    done = subprocess.run([sinter, *words], capture_output=True, text=True, timeout=300, errors="replace",
                          preexec_fn=lambda: resource.setrlimit(kind, (amount, amount)))
    if done.returncode in (127, -11) and (LOADER.search(done.stderr) or not done.stderr):
        return
    seen.add(done.returncode)
    problem = done.returncode not in allowed or (done.returncode and not done.stderr.startswith("sinter: error: "))
    assert not problem, (kind, amount, words, done.returncode, done.stderr)


inputs = ["--input", "x=1", "--input", "y=2"]
for amount in (200, 400, 600, 800, 1000, 1400, 2000):
    run(resource.RLIMIT_AS, amount * MIB, ["run", model, *inputs], {0, 7})
for amount in (64, 128, 256, 1024):
    run(resource.RLIMIT_STACK, amount * 1024, ["run", model, *inputs], {0, 7})
for amount in (3, 4, 5, 6, 8, 12):
    run(resource.RLIMIT_NOFILE, amount, ["run", model, *inputs], {0, 5, 7})
    run(resource.RLIMIT_NOFILE, amount, ["compile", model, "-o", "model.so", "--force"], {0, 5, 7})
assert 7 in seen and 0 in seen, seen
