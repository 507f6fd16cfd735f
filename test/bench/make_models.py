# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small ONNX models whose time says one thing: a product, a convolution, a recurrent layer, an MLP."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Products by rows, columns, depth: cubes, and what BERT-base multiplies at 128 tokens.
GEMMS = {f"gemm_{n}": (n, n, n) for n in (64, 256, 384, 512, 768, 1024)}
GEMMS.update({f"gemm_{m}x{n}x{k}": (m, n, k) for m, n, k in ((128, 768, 768), (128, 3072, 768), (128, 768, 3072))})
# ResNet-50's 3x3 convolutions, as side and channels. Each model is a chain of them: layouts are then chosen
# once for several, as they are inside a network.
CONVOLUTIONS = {f"conv3x3_{s}x{s}x{c}": (s, c) for s, c in ((56, 64), (28, 128), (14, 256), (7, 512))}
CHAIN = 8


class Graph:
    """Nodes and random weights. `inputs` maps names to shapes, of numbers or, for those in `ids`, of int64."""

    def __init__(self, name, inputs, ids=(), seed=3):
        self.name, self.nodes, self.weights, self.random = name, [], [], np.random.default_rng(seed)
        types = {n: TensorProto.INT64 if n in ids else TensorProto.FLOAT for n in inputs}
        self.inputs = [helper.make_tensor_value_info(n, types[n], shape) for n, shape in inputs.items()]

    def weight(self, *shape, scale=None):
        name = f"w{len(self.weights)}"
        scale = scale or 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 2 else shape[0])
        values = (scale * self.random.standard_normal(shape)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, values, dtype=np.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def integers(self, *values):
        return self.constant(values, np.int64)

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path, *outputs):
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, values, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(model)
        onnx.save(model, path + ".part")
        os.replace(path + ".part", path)


def gemm(name):
    m, n, k = GEMMS[name]
    g = Graph(name, {"x": (m, k)})
    return g, g.node("MatMul", "x", g.weight(k, n))


def convolutions(name):
    side, channels = CONVOLUTIONS[name]
    g, y = Graph(name, {"x": (1, channels, side, side)}), "x"
    for _ in range(CHAIN):
        weights = g.weight(channels, channels, 3, 3), g.weight(channels, scale=0.1)
        y = g.node("Relu", g.node("Conv", y, *weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
    return g, y


def lstm(name):
    g, y = Graph(name, {"x": (64, 1, 512)}), "x"
    for _ in range(2):
        weights = [g.weight(1, 4 * 512, 512, scale=0.05), g.weight(1, 4 * 512, 512, scale=0.05), g.weight(1, 8 * 512, scale=0.05)]
        y, _, _ = g.node("LSTM", y, *weights, outputs=3, hidden_size=512)
        y = g.node("Squeeze", y, g.integers(1))  # the axis of directions
    return g, y


def mlp(name):
    g = Graph(name, {"x": (1, 4)})
    y = g.node("Relu", g.node("Gemm", "x", g.weight(4, 16), g.weight(16)))
    y = g.node("Relu", g.node("Gemm", y, g.weight(16, 16), g.weight(16)))
    return g, g.node("Gemm", y, g.weight(16, 3), g.weight(3))


MODELS = {"mlp_4_16_16_3": mlp, **dict.fromkeys(GEMMS, gemm), "lstm_2x512": lstm, **dict.fromkeys(CONVOLUTIONS, convolutions)}
