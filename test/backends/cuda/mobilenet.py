# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MobileNetV2 (Sandler et al. 2018) at 32 x 32 with drawn weights, compiled for TARGET, against onnxruntime.

    mobilenet.py SINTER LIBRARY FOLDER TARGET"""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models"))
from sinter_runtime import Runtime

# expansion, channels, blocks, stride of the first: table 2
STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


class Model:
    def __init__(self):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(1)

    def weight(self, values):
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, kind, inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def convolution(self, x, inner, outer, size, stride=1, groups=1, relu=True):
        r = self.random
        filters = r.standard_normal((outer, inner // groups, size, size)) * np.sqrt(2 / (inner // groups * size * size))
        pad = size // 2
        x = self.add("Conv", [x, self.weight(filters)], strides=[stride] * 2, pads=[pad] * 4, group=groups)
        statistics = [1 + 0.2 * r.standard_normal(outer), 0.2 * r.standard_normal(outer), 0.2 * r.standard_normal(outer), 0.5 + r.random(outer)]
        x = self.add("BatchNormalization", [x, *map(self.weight, statistics)])
        return self.add("Clip", [x, self.weight(np.array(0)), self.weight(np.array(6))]) if relu else x

    def build(self):
        x, channels = self.convolution("x", 3, 32, 3, 2), 32
        for expansion, outer, blocks, stride in STAGES:
            for k in range(blocks):
                inner, before = channels * expansion, x
                if expansion > 1:
                    x = self.convolution(x, channels, inner, 1)
                x = self.convolution(x, inner, inner, 3, stride if k == 0 else 1, inner)
                x = self.convolution(x, inner, outer, 1, relu=False)
                if channels == outer and (stride == 1 or k > 0):
                    x = self.add("Add", [before, x])
                channels = outer
        x = self.add("Flatten", [self.add("GlobalAveragePool", [self.convolution(x, channels, 1280, 1)])])
        head = [self.weight(self.random.standard_normal((1280, 10)) / 36), self.weight(np.zeros(10))]
        self.nodes.append(helper.make_node("Gemm", [x, *head], ["y"]))
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, [1, 3, 32, 32])],
                                  [helper.make_tensor_value_info("y", T.FLOAT, [1, 10])], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def main(sinter, library, folder, target):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "mobilenet")
    onnx.save(Model().build(), path + ".onnx")
    subprocess.run([sinter, "compile", path + ".onnx", "--target", target, "-o", path + ".smod"], check=True)
    x = np.random.default_rng(2).standard_normal((1, 3, 32, 32)).astype(np.float32)
    wanted = onnxruntime.InferenceSession(path + ".onnx", providers=["CPUExecutionProvider"]).run(["y"], {"x": x})[0]
    got = Runtime(library).session(path + ".smod", 1).run({"x": x})["y"]
    error = np.abs(got - wanted).max() / np.abs(wanted).max()
    print(f"mobilenetv2 32x32: off by {error:.1e} of {np.abs(wanted).max():.2f}")
    return error > 1e-4 or not np.abs(wanted).max() > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
