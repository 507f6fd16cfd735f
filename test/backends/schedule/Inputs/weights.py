# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weights.py SINTER: constants that hold the same bytes are in a module once for each way in which they are packed, whatever their names, and the
module is the same for any number of threads. NumPy says what it computes."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

SINTER = sys.argv[1]
random = np.random.default_rng(7)
square = (random.standard_normal((512, 768)) / 25).astype(np.float32)
x = random.standard_normal((32, 512)).astype(np.float32)


def sinter(*arguments):
    subprocess.run([SINTER, *arguments], check=True, capture_output=True)


def bytes_of(name, weights, threads=1):
    """The module of sums of products with `weights` and its value; each goes there and back by the same bytes in another shape."""
    nodes, parts, tensors = [], [], []
    for i, weight in enumerate(weights):
        tensors += [numpy_helper.from_array(weight, f"w{i}"), numpy_helper.from_array(weight.reshape(768, 512), f"r{i}")]
        nodes += [h.make_node("MatMul", ["x", f"w{i}"], [f"a{i}"]), h.make_node("Tanh", [f"a{i}"], [f"t{i}"]),
                  h.make_node("MatMul", [f"t{i}", f"r{i}"], [f"b{i}"])]
        parts.append(f"b{i}")
    nodes.append(h.make_node("Sum", parts, ["y"]))
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, x.shape)], [h.make_tensor_value_info("y", T.FLOAT, x.shape)], tensors)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), name + ".onnx")
    sinter("compile", name + ".onnx", "-o", name + ".smod", "--threads", str(threads), "--target=x86-64-v3", "--force")
    with open(name + ".smod", "rb") as file:
        return file.read()


def value(weights):
    return sum(np.tanh(x.astype(np.float64) @ w) @ w.reshape(768, 512) for w in weights)


np.save("x.npy", x)
once = [square, -square]
twice = [square, -square, square.copy(), -square]
sizes = []
for name, weights in (("once", once), ("twice", twice)):
    module = bytes_of(name, weights)
    assert all(bytes_of(name, weights, threads) == module for threads in (2, 5)), name
    sinter("run", name + ".smod", "--input", "x=@x.npy", "--output", "y=@y.npy")
    wanted = value(weights)
    error = np.abs(np.load("y.npy") - wanted).max() / np.abs(wanted).max()
    assert error < 1e-5, (name, error)
    sizes.append(len(module))
    os.remove(name + ".smod")
packed = square.nbytes
assert 4 * packed <= sizes[0] < 4.1 * packed, sizes  # two matrices, each packed in two shapes
assert sizes[1] - sizes[0] < packed / 10, sizes
print("each once, on any number of threads")
