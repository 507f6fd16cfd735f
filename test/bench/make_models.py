# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small ONNX models whose time says one thing: a product, a convolution, a recurrent layer, an MLP.

    make_models.py FOLDER

`WORK` holds the floating-point operations of those that are measured against the peak.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

GEMMS = [256, 384, 512, 768, 1024]
# ResNet-50's 3x3 convolutions, as side and channels. Each model is a chain of them: layouts are then chosen
# once for several, as they are inside a network.
CONVOLUTIONS = [(56, 64), (28, 128), (14, 256), (7, 512)]
CHAIN = 8

WORK = {f"gemm_{n}": 2.0 * n**3 for n in GEMMS}
WORK.update({f"conv3x3_{s}x{s}x{c}": CHAIN * 2.0 * s * s * c * c * 9 for s, c in CONVOLUTIONS})


class Graph:
    def __init__(self, name, inputs, seed=3):
        self.name, self.nodes, self.weights, self.random = name, [], [], np.random.default_rng(seed)
        self.inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs.items()]

    def weight(self, *shape, scale=None):
        name = f"w{len(self.weights)}"
        scale = scale or 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 2 else shape[0])
        values = (scale * self.random.standard_normal(shape)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def integers(self, *values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def save(self, folder, *outputs):
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, values, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(folder, self.name + ".onnx"))


def make(folder):
    os.makedirs(folder, exist_ok=True)
    for n in GEMMS:
        g = Graph(f"gemm_{n}", {"x": (n, n)})
        g.save(folder, g.node("MatMul", "x", g.weight(n, n)))
    for side, channels in CONVOLUTIONS:
        g = Graph(f"conv3x3_{side}x{side}x{channels}", {"x": (1, channels, side, side)})
        y = "x"
        for _ in range(CHAIN):
            weights = g.weight(channels, channels, 3, 3), g.weight(channels, scale=0.1)
            y = g.node("Relu", g.node("Conv", y, *weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
        g.save(folder, y)

    g = Graph("lstm_2x512", {"x": (64, 1, 512)})
    y = "x"
    for _ in range(2):
        weights = [g.weight(1, 4 * 512, 512, scale=0.05), g.weight(1, 4 * 512, 512, scale=0.05), g.weight(1, 8 * 512, scale=0.05)]
        y, _, _ = g.node("LSTM", y, *weights, outputs=3, hidden_size=512)
        y = g.node("Squeeze", y, g.integers(1))  # the axis of directions
    g.save(folder, y)

    g = Graph("mlp_4_16_16_3", {"x": (1, 4)})
    y = g.node("Relu", g.node("Gemm", "x", g.weight(4, 16), g.weight(16)))
    y = g.node("Relu", g.node("Gemm", y, g.weight(16, 16), g.weight(16)))
    g.save(folder, g.node("Gemm", y, g.weight(16, 3), g.weight(3)))


if __name__ == "__main__":
    make(sys.argv[1])
