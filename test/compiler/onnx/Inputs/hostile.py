# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hostile.py EACH READ FOLDER: the models of hostile_models.py, each through `sinter`. A model is refused with an exit code that its family
allows and one line that no terminal obeys, or it runs; within limits of memory and processor time. Then all files through the sanitized
readers, by READ. Prints what is not so."""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import hostile_models

each, read, folder = sys.argv[1:]
SANITIZED = os.environ.get("SINTER_SANITIZED") == "1"
# What a model may cost, of processor time. A sanitized build takes several times both.
MAX_MS, MAX_MIB = (60000, 4000) if SANITIZED else (1000, 300)


def run(cases):
    lines = b"".join(b"".join(os.fsencode(word) + b"\0" for word in words) + b"\0" for _, words, _ in cases)
    out = subprocess.run([each], input=lines, capture_output=True, check=True).stdout
    for name, words, allowed in cases:
        line, out = out.split(b"\n", 1)
        code, ms, kib, size = map(int, line.split())
        yield name, words, allowed, code, ms, kib // 1024, out[:size]
        out = out[size:]


def problem(words, allowed, code, ms, mib, text):
    if code not in allowed:
        return f"exit code {code}, allowed are {sorted(allowed)}"
    if code and not text.startswith(b"sinter: error: "):
        return "no message"
    # Several lines list what is not supported, with two spaces before each.
    if any(not line.startswith((b"sinter: error: ", b"  ", b"wrote ")) and b"warning: " not in line for line in text.splitlines()):
        return "more than a message"
    if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", text):
        return "a control character in the message"
    if ms > MAX_MS or mib > MAX_MIB:
        return f"{ms} ms and {mib} MiB, at most {MAX_MS} and {MAX_MIB} are allowed"
    return None


shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
cases = hostile_models.build(folder)
with ThreadPoolExecutor(2) as pool:
    results = [result for part in pool.map(lambda k: list(run(cases[k::2])), range(2)) for result in part]
bad = 0
for name, words, *outcome in sorted(results):
    if what := problem(words, *outcome):
        bad += 1
        print(f"{name}: {what}\n    sinter {' '.join(words)!r}\n    {outcome[-1].decode(errors='replace')[:300].strip()!r}")


def sanitized(paths):
    """What is wrong with how the sanitized readers take the files."""
    global slowest_read
    done = subprocess.run([read], input=b"".join(os.fsencode(path) + b"\0" for path in paths), capture_output=True)
    lines = done.stdout.splitlines()
    for path, line in zip(paths, lines):
        ms, kind, text = line.split(b" ", 2)
        slowest_read = max(slowest_read, (int(ms), path))
        if kind == b"refused" and not text: # control characters are for the tool to escape
            yield path, "refused without a message"
    if done.returncode or len(lines) != len(paths):
        yield paths[min(len(lines), len(paths) - 1)], f"exit code {done.returncode}\n{done.stderr.decode(errors='replace')[:3000]}"


slowest_read = (0, "")
KINDS = (".onnx", ".sinter", ".npy", ".npz", ".safetensors", ".smod")
files = sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
               if name.endswith(KINDS) and "sparse" not in name)
for path, what in sanitized(files):
    bad += 1
    print(f"{path}: {what}")
if slowest_read[0] > 20 * MAX_MS:  # sanitizers take several times as long
    bad += 1
    print(f"{slowest_read[1]}: {slowest_read[0]} ms in the sanitized reader")
print(f"{len(files)} files through the sanitized readers, slowest {slowest_read[0]} ms ({os.path.basename(slowest_read[1])})")
slowest, largest = max(results, key=lambda r: r[4]), max(results, key=lambda r: r[5])
print(f"{len(cases)} cases of {len({c[1][1] for c in cases})} models, {bad} wrong; slowest {slowest[4]} ms ({slowest[0]}), largest {largest[5]} MiB ({largest[0]})")
sys.exit(bad != 0)
