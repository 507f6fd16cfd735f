# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""outputs.py SINTER MODEL LINEAR FOLDER: outputs that would destroy something are refused, and a full disk leaves what was there."""
import os
import resource
import shutil
import signal
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

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
run(0, "wrote step.smod", "train-step", linear, "--loss", "mse", "--optimizer", "sgd:lr=0.1", "-o", "step.smod")
np.save("rows.npy", np.ones((8, 3), np.float32))
np.save("targets.npy", np.zeros((8, 2), np.float32))
train = ["train", "step.smod", "--data", "x=@rows.npy", "--data", "target=@targets.npy", "--batch", "4", "--steps", "3"]
os.link("rows.npy", "rows.safetensors")
os.symlink("targets.npy", "targets.csv")
run(5, "rows.npy: --save requires another file than the input rows.npy", *train, "--save", "rows.npy", "--force")
run(5, "rows.safetensors: --save requires another file than the input rows.npy", *train, "--save", "rows.safetensors", "--force")
run(5, "step.smod: --save requires another file than the model", *train, "--save", "step.smod", "--force")
run(5, "targets.csv: --curve requires another file than the input targets.npy", *train, "--curve", "targets.csv", "--force")
put("notes.csv", "my notes\n")
run(5, "notes.csv: --curve replaces a loss curve, found a file of another kind", *train, "--curve", "notes.csv")
run(0, "step 3/3", *train, "--save", "weights.safetensors", "--curve", "loss.csv", "--curve", "loss.svg")
for flag, names in (("--save", ("weights.safetensors", "other.safetensors")), ("--curve", ("loss.csv", "loss.svg", "other.csv", "other.svg"))):
    for name in names:
        for limit in (0, 10):  # more than nothing fits, but not all
            before = get(name) if os.path.exists(name) else None
            done = subprocess.run([sinter, *train, flag, name], capture_output=True, text=True, timeout=300,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            assert done.returncode == 5 and "File too large" in done.stderr, (name, done.returncode, done.stderr)
            assert (get(name) if os.path.exists(name) else None) == before, name
assert not [name for name in os.listdir() if name.endswith(".tmp")], os.listdir()

# A device that is full, where it can be had: what is written there is no file, and refused as such.
for flag, name in (("--save", "/dev/full"), ("--curve", "full.csv")):
    if name != "/dev/full":
        os.symlink("/dev/full", name)
    run(5, f"{name}: {flag} requires the name of a regular file, found a device, pipe or socket", *train, flag, name)

# Files that a model reads beside itself are its inputs.
os.mkdir("beside")
weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
inner = TensorProto(name="v", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
for tensor, name in ((weight, "beside/w.npy"), (inner, "beside/v.npy")):
    tensor.external_data.add(key="location", value=name)
    with open(name, "wb") as f:
        f.write(bytes(16))
info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])
nodes = [helper.make_node("Constant", [], ["c"], value=inner), helper.make_node("Sum", ["x", "w", "c"], ["y"])]
onnx.save(helper.make_model(helper.make_graph(nodes, "g", [info("x")], [info("y")], [weight]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "outside.onnx")
os.link("beside/w.npy", "w.smod")
os.link("beside/w.npy", "w.sinter")
for words, name in ((["compile", "outside.onnx", "-o"], "w.smod"), (["compile", "outside.onnx", "--emit=module", "-o"], "beside/v.npy"),
                    (["convert", "outside.onnx"], "w.sinter"), (["run", "outside.onnx", "--input", "x=1", "--output"], "y=@beside/w.npy")):
    run(5, " requires another file than beside/", *words, name, "--force")

# Every writer keeps the link that it is given, and what it leads to gets the content.
os.mkdir("linked")
writers = {"m.smod": ["compile", model, "-o"], "m.o": ["compile", model, "-o"], "m.so": ["compile", model, "-o"], "m.a": ["compile", model, "-o"], "m": ["compile", model, "-o"],
           "m.s": ["compile", model, "--emit=asm", "-o"], "g.sinter": ["convert", model], "g.mlir": ["convert", model], "g.onnx": ["convert", model], "g.dot": ["inspect", model, "--dot"],
           "w.safetensors": [*train, "--save"], "c.csv": [*train, "--curve"], "c.svg": [*train, "--curve"], "b.json": ["bench", model, "--seconds", "0.01", "--json"]}
for name, words in writers.items():
    os.symlink("linked/real-" + name, "to-" + name)
    run(0, "", *words, "to-" + name)
    assert os.path.islink("to-" + name) and os.path.getsize("linked/real-" + name) > 0, name
    run(0, "", *words, "to-" + name)
    assert os.path.islink("to-" + name), name
assert not [name for name in os.listdir("linked") if name.endswith(".tmp")], os.listdir("linked")
