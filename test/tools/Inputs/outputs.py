# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""outputs.py SINTER MODEL LINEAR FOLDER: outputs that would destroy something are refused, and a full disk leaves what was there."""
import os
import resource
import shutil
import signal
import subprocess
import sys

import numpy as np

sinter, model, linear, folder = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
os.chdir(folder)


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def run(code, message, *words, limit=None):
    """Runs sinter; a command that fails must leave the folder as it was."""
    def limited():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    before = {} if code == 0 else {name: get(name) for name in os.listdir() if os.path.isfile(name)}
    done = subprocess.run([sinter, *words], capture_output=True, text=True, timeout=300, preexec_fn=limited)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    assert message in done.stderr, (words, done.stderr)
    if code:
        assert done.stderr.count("\n") == 1, done.stderr
        after = {name: get(name) for name in os.listdir() if os.path.isfile(name)}
        assert after == before, (words, sorted(after), sorted(before))


# A header of somebody else's, and our own.
put("model.h", "#define MINE 1\n")
run(5, "model.h: the header of -o replaces a header of sinter's, found a file of another kind", "compile", model, "-o", "model.o")
run(0, "wrote model.o", "compile", model, "-o", "model.o", "--force")
run(0, "wrote model.o", "compile", model, "-o", "model.o")
assert get("model.h").startswith(b"// Made by sinter.")

# Files of other kinds, by content and not by name.
put("notes", "my notes\n")
run(5, "notes: -o replaces an ELF file, found a file of another kind", "compile", model, "-o", "notes")
put("other.smod", "my notes\n")
run(5, "other.smod: -o replaces a module", "compile", model, "-o", "other.smod")
run(0, "wrote other.smod", "compile", model, "-o", "other.smod", "--force")
run(0, "wrote other.smod", "compile", model, "-o", "other.smod")
shutil.copy("other.smod", "binary.mlir")
run(5, "binary.mlir: -o replaces text", "compile", model, "--emit=graph", "-o", "binary.mlir")

# A file of the user's that has the name of a temporary one.
put("model.so.part", "mine")
run(0, "wrote model.so", "compile", model, "-o", "model.so")
assert get("model.so.part") == b"mine"

# Inputs of the same command, under another name, too.
np.save("x.npy", np.ones((3, 4, 5), np.float32))
os.link("x.npy", "same.npy")
run(5, "same.npy: --output requires another file than the input x.npy", "run", model, "--input", "x=@x.npy", "--input", "y=1", "--output", "sum=@same.npy")

# A link is kept; what it leads to is replaced.
os.mkdir("deep")
os.symlink("deep/target.npy", "link.npy")
run(0, "", "run", model, "--input", "x=1", "--input", "y=1", "--output", "sum=@link.npy")
assert os.path.islink("link.npy") and np.load("deep/target.npy").shape == (3, 4, 5)

# No room: the old file stays, and no other.
for name in ("other.smod", "model.so", "model.o", "graph.sinter", "graph.mlir", "program"):
    for limit in (0, 100, 4096):
        if limit < (os.path.getsize(name) if os.path.exists(name) else 1 << 30) and (limit < 1000 or "graph" not in name):
            run(5, "", "compile", model, "-o", name, limit=limit)

# Training: neither data nor a step is written over, and a curve that does not fit is an error.
subprocess.run([sinter, "train-step", linear, "--loss", "mse", "--optimizer", "sgd:lr=0.1", "-o", "step.smod", "--batch", "4"], capture_output=True)
