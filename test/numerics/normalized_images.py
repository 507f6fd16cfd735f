#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""normalized_images.py BUILD

Images between two pointwise convolutions, normalized by channels or by groups of these, with a leaky relu, against NumPy in f64: one
to three axes, channels that fill vectors and that do not, images whose mean is large against their deviation; on one thread and on
two, with equal bits."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

# samples, places, channels that are read, normalized and written, groups (as many as channels: instances), offset
CASES = [(1, (24, 24), 3, 16, 3, 16, 0.0), (2, (9, 7), 8, 24, 8, 6, 0.0), (1, (64,), 4, 32, 5, 8, 3.0), (2, (5, 6, 7), 2, 12, 4, 12, 0.0),
         (1, (33, 3), 5, 10, 16, 2, -50.0), (1, (40, 40), 16, 9, 9, 1, 0.5), (3, (4, 4), 8, 64, 8, 64, 100.0), (1, (1, 2), 8, 8, 2, 4, 0.0),
         (2, (6, 6), 8, 6, 8, 3, 1.0)]
EPSILON = 1e-5


class Case:
    def __init__(self, number, case):
        self.samples, self.places, read, self.channels, written, self.groups, self.offset = case
        random = np.random.default_rng(number)
        draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
        self.x = draw(self.samples, read, *self.places)
        self.first, self.last = draw(self.channels, read) / read**0.5, draw(written, self.channels)
        self.bias, self.scale, self.shift = draw(self.channels) + np.float32(self.offset), draw(self.channels), draw(self.channels)

    def save(self, path):
        arrays, nodes, ones = {}, [], [1] * len(self.places)

        def node(op, *inputs, name, **attributes):
            nodes.append(helper.make_node(op, inputs, [name], **attributes))

        def constant(name, array):
            arrays[name] = np.asarray(array)
            return name

        node("Conv", "x", constant("first", self.first.reshape(*self.first.shape, *ones)), constant("bias", self.bias), name="c")
        rows = constant("rows", np.array([self.samples, self.groups, -1], np.int64))
        images = constant("images", np.array([self.samples, self.channels, *self.places], np.int64))
        node("Reshape", "c", rows, name="r")
        units = [constant(name, np.full(self.groups, value, np.float32)) for name, value in (("ones", 1), ("zeros", 0))]
        node("InstanceNormalization", "r", *units, name="n", epsilon=EPSILON)
        node("Reshape", "n", images, name="i")
        node("Mul", "i", constant("scale", self.scale.reshape(-1, *ones)), name="m")
        node("Add", "m", constant("shift", self.shift.reshape(-1, *ones)), name="a")
        node("LeakyRelu", "a", name="l", alpha=0.1)
        node("Conv", "l", constant("last", self.last.reshape(*self.last.shape, *ones)), name="y")
        value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
        graph = helper.make_graph(nodes, "images", [value("x", self.x.shape)], [value("y", None)], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    def want(self):
        """The result, and by how much the numbers that are normalized exceed their deviation."""
        x, first, last, bias, scale, shift = (a.astype(np.float64) for a in (self.x, self.first, self.last, self.bias, self.scale, self.shift))
        column = lambda values: values.reshape(-1, 1)
        images = np.matmul(first, x.reshape(self.samples, x.shape[1], -1)) + column(bias)
        rows = images.reshape(self.samples, self.groups, -1)
        deviation = np.sqrt(rows.var(-1, keepdims=True) + EPSILON)
        normalized = ((rows - rows.mean(-1, keepdims=True)) / deviation).reshape(images.shape) * column(scale) + column(shift)
        result = np.matmul(last, np.where(normalized >= 0, normalized, 0.1 * normalized))
        return result.reshape(self.samples, -1, *self.places), (np.abs(rows).max(-1, keepdims=True) / deviation).max()


def main():
    build = sys.argv[1]
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    with tempfile.TemporaryDirectory() as folder:
        for number, numbers in enumerate(CASES):
            case, model, module = Case(number, numbers), os.path.join(folder, "m.onnx"), os.path.join(folder, f"{number}.smod")
            case.save(model)
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", model, "-o", module], check=True, stdout=subprocess.DEVNULL)
            got = []
            for threads in (1, 2):
                session = runtime.session(module, threads)
                session.set("x", case.x)
                session.call()
                got.append(np.array(session.result("y")))
            want, excess = case.want()
            error = np.abs(got[0] - want).max() / np.abs(want).max()
            assert error < 1e-6 * max(excess, 2), f"case {number} {numbers}: an error of {error}, numbers exceed the deviation by {excess}"
            assert np.array_equal(*got), f"case {number} {numbers}: threads change bits"
    print("normalized images agree with NumPy")


if __name__ == "__main__":
    main()
