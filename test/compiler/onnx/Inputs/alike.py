# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""alike.py SINTER: hundreds of kernels that are equal but for a number share their code, and give what NumPy gives; few of them
keep their numbers."""
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

SINTER = sys.argv[1]


def save(count, numbers):
    """The sum over i of sum(tanh(x * c_i + 0.5)), step by step, and the last tanh."""
    weights = [numpy_helper.from_array(np.float32(c), f"c{i}") for i, c in enumerate(numbers)]
    weights.append(numpy_helper.from_array(np.float32(.5), "half"))
    nodes = []
    for i in range(count):
        nodes += [h.make_node("Mul", ["x", f"c{i}"], [f"m{i}"]), h.make_node("Add", [f"m{i}", "half"], [f"a{i}"]), h.make_node("Tanh", [f"a{i}"], [f"t{i}"]),
                  h.make_node("ReduceSum", [f"t{i}"], [f"r{i}"], keepdims=0)]
        nodes.append(h.make_node("Add", [f"r{i}", f"s{i - 1}"], [f"s{i}"]) if i else h.make_node("Neg", ["r0"], ["s0"]))
    outputs = [h.make_tensor_value_info(f"s{count - 1}", T.FLOAT, []), h.make_tensor_value_info(f"t{count - 1}", T.FLOAT, [16])]
    onnx.save(h.make_model(h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [16])], outputs, weights),
                           opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")


def sinter(*command):
    done = subprocess.run([SINTER, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main():
    x = np.linspace(-2, 2, 16).astype(np.float32)
    np.save("x.npy", x)
    for count in (20, 100):
        numbers = [1 + i / 64 for i in range(count)]
        save(count, numbers)
        sinter("run", "m.onnx", "--input", "x=@x.npy", "--output", f"s{count - 1}=@s.npy", "--output", f"t{count - 1}=@t.npy", "--force")
        terms = [np.tanh(x.astype(np.float64) * c + .5) for c in numbers]
        total = sum(t.sum() for t in terms[1:]) - terms[0].sum()
        scale = sum(np.abs(t).sum() for t in terms)
        assert abs(np.load("s.npy") - total) <= 1e-6 * scale
        assert np.abs(np.load("t.npy") - terms[-1]).max() < 1e-6
        sinter("compile", "m.onnx", "--emit=schedule", "-o", "m.mlir", "--force")
        kernels = len(re.findall(r"^ *schedule\.kernel ", open("m.mlir").read(), re.M))
        print(f"{count}: {kernels} kernels")


main()
