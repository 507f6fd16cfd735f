# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""deep.py SINTER: chains of thousands of ops are compiled, converted and differentiated on a stack of a megabyte, which one
recursion along a chain would use up."""
import resource
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

SINTER, COUNT = sys.argv[1], 5000
STACK = 1 << 20


def chain(kind, first, second=None):
    """kind(kind(... first ..., second), second)"""
    return [h.make_node(kind, [f"v{i - 1}" if i else first] + [second] * bool(second), [f"v{i}"]) for i in range(COUNT)]


def save(name, nodes, dtype, shape, last):
    weights = [numpy_helper.from_array(np.full((), .5, np.float32), "c"), numpy_helper.from_array(np.zeros(1, np.int64), "zero")]
    weights += [numpy_helper.from_array(np.int64(v), k) for k, v in (("start", 0), ("step", 1))]
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", dtype, shape)], [h.make_tensor_value_info(last, T.FLOAT if last == "y" else dtype, None)], weights)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), name)


def run(*command):
    done = subprocess.run([SINTER, *command, "--force"], capture_output=True, text=True, timeout=250,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK)))
    print(" ".join(command[:2]) + ":", "done" if done.returncode == 0 else f"exit {done.returncode} {done.stderr[-300:]}", flush=True)


def main():
    end = [h.make_node("ReduceSum", [f"v{COUNT - 1}"], ["y"], keepdims=0)]
    # Floats of a size that only running tells, and integers; numbers that are a size, as which they are expressions.
    save("sums.onnx", chain("Add", "x", "x") + end, T.FLOAT, ["n"], "y")
    save("sines.onnx", chain("Sin", "x") + end, T.FLOAT, [8], "y")
    save("numbers.onnx", chain("Mul", "x", "x"), T.INT64, [2], f"v{COUNT - 1}")
    save("sizes.onnx", [h.make_node("Shape", ["x"], ["s"])] + [
        h.make_node("Max" if i % 3 == 0 else "Mul" if i % 3 == 1 else "Add", [f"v{i - 1}" if i else "s", "s"], [f"v{i}"]) for i in range(COUNT)
    ] + [h.make_node("Expand", ["c", f"v{COUNT - 1}"], ["e"]), h.make_node("ReduceSum", ["e"], ["y"], keepdims=0)], T.FLOAT, ["n"], "y")
    save("gathers.onnx", [h.make_node("Shape", ["x"], ["v0"])] + [
        node for i in range(COUNT // 2) for node in (h.make_node("ReduceMax", [f"v{i}"], [f"a{i}"], keepdims=0, axes=[0]), h.make_node("Unsqueeze", [f"a{i}", "zero"], [f"b{i}"]),
                                                     h.make_node("Gather", [f"b{i}", "zero"], [f"v{i + 1}"]))
    ] + [h.make_node("Expand", ["c", f"v{COUNT // 2}"], ["e"]), h.make_node("ReduceSum", ["e"], ["y"], keepdims=0)], T.FLOAT, ["n"], "y")
    # Numbers that are found from sizes, which are found from numbers.
    save("turns.onnx", [node for i in range(1000) for node in (
        h.make_node("Shape", [f"v{i - 1}" if i else "x"], [f"s{i}"]), h.make_node("Squeeze", [f"s{i}"], [f"n{i}"]),
        h.make_node("Add", [f"n{i}", "step"], [f"m{i}"]), h.make_node("Range", ["start", f"m{i}", "step"], [f"v{i}"]))
    ] + [h.make_node("Cast", ["v999"], ["f"], to=T.FLOAT), h.make_node("ReduceSum", ["f"], ["y"], keepdims=0)], T.FLOAT, ["n"], "y")
    for name in ("sums", "sines", "numbers", "sizes", "gathers"):
        run("compile", f"{name}.onnx", "-o", "m.smod", "--threads", "1")
    run("compile", "turns.onnx", "--emit=fused", "-o", "turns.mlir")
    for form in ("sinter", "mlir"):
        run("convert", "sums.onnx", f"sums.{form}")
        run("compile", f"sums.{form}", "-o", "m.smod", "--threads", "1")
    for name in ("sums", "sines"):
        run("grad", f"{name}.onnx", "--loss", "y", "-o", f"{name}.g.sinter")
        run("compile", f"{name}.g.sinter", "-o", "m.smod", "--threads", "1")


main()
