# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized products and convolutions as ONNX files have them (QuantizeLinear, DequantizeLinear, MatMulInteger), compiled for TARGET, against NumPy: integers, exactly.

    byte_products.py SINTER LIBRARY FOLDER TARGET"""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
import sinter_runtime

TYPES = {np.dtype(np.int8): T.INT8, np.dtype(np.uint8): T.UINT8, np.dtype(np.int32): T.INT32}


def draw(random, shape, dtype):
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max + 1, shape).astype(dtype)


def dequantize(x, zero, scale):
    return (x.astype(np.float64) - zero) * scale


def quantize(x, zero, scale, dtype):
    info = np.iinfo(dtype)
    return np.clip(np.rint(x / scale) + zero, info.min, info.max).astype(dtype)


def convolve(x, w):
    """3 x 3 with a pixel of padding, channels first, in f64."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    height, width = x.shape[2:]
    return sum(np.einsum("nchw,oc->nohw", padded[:, :, i:i + height, j:j + width], w[:, :, i, j]) for i in range(3) for j in range(3))


class Graph:
    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def dequantized(self, name, zero, scale):
        return self.node("DequantizeLinear", [name, self.constant(name + "_s", np.float32(scale)), self.constant(name + "_z", zero)], name + "_f")


def quantized(random, op, first, second, result, zero, shape, weights):
    """Bytes of `op` of x by constant weights; scales are powers of two, so that f32 rounds nothing."""
    x, w = draw(random, shape, first), draw(random, weights, second)
    zero, last = np.array(zero, first), np.array(zero, result)
    scale = 2.0**-np.ceil(np.log2(np.prod(weights) / weights[0 if op == "Conv" else 1]) / 2)
    g = Graph()
    g.constant("w", w)
    a, b = g.dequantized("x", zero, 0.25), g.dequantized("w", np.zeros((), second), 0.5)
    padding = {"pads": [1, 1, 1, 1]} if op == "Conv" else {}
    y = g.node("Relu", [g.node(op, [a, b], "p", **padding)], "r")
    g.node("QuantizeLinear", [y, g.constant("ys", np.float32(16 / scale)), g.constant("yz", last)], "y")
    product = (convolve if op == "Conv" else np.matmul)(dequantize(x, zero, 0.25), dequantize(w, 0, 0.5))
    return g, {"x": x}, quantize(np.maximum(product, 0), last, 16 / scale, result)


def integers(random, first, second, zero, shape, weights, is_constant):
    """Sums of MatMulInteger, less what zero points add."""
    x, w = draw(random, shape, first), draw(random, weights, second)
    g = Graph()
    if is_constant:
        g.constant("w", w)
    g.node("MatMulInteger", ["x", "w", g.constant("xz", np.array(zero, first))], "y")
    return g, {"x": x} if is_constant else {"x": x, "w": w}, (x.astype(np.int64) - zero) @ w.astype(np.int64)


def main(sinter, library, folder, target):
    os.makedirs(folder, exist_ok=True)
    random, wide = np.random.default_rng(3), 0
    i8, u8 = np.int8, np.uint8
    cases = {
        "asymmetric": quantized(random, "MatMul", u8, i8, u8, 7, (200, 192), (192, 136)),
        "large": quantized(random, "MatMul", u8, i8, u8, 131, (1024, 256), (256, 1000)),
        "symmetric": quantized(random, "MatMul", i8, i8, i8, 0, (130, 320), (320, 96)),
        "pixels": quantized(random, "Conv", u8, i8, u8, 5, (1, 32, 9, 11), (48, 32, 3, 3)),
        "signed_pixels": quantized(random, "Conv", i8, i8, i8, 0, (2, 48, 6, 7), (40, 48, 3, 3)),
        "few_channels": quantized(random, "Conv", u8, i8, u8, 128, (1, 3, 12, 13), (16, 3, 3, 3)),
        "integers": integers(random, u8, i8, 9, (65, 160), (160, 80), True),
        "inputs": integers(random, i8, u8, 0, (2, 70, 96), (2, 96, 72), False),
    }
    for name, (g, given, wanted) in cases.items():
        inputs = [helper.make_tensor_value_info(key, TYPES[value.dtype], value.shape) for key, value in given.items()]
        dtype = wanted.dtype if wanted.dtype in TYPES else np.dtype(np.int32)
        graph = helper.make_graph(g.nodes, "g", inputs, [helper.make_tensor_value_info("y", TYPES[dtype], wanted.shape)], g.constants)
        path = os.path.join(folder, name)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path + ".onnx")
        subprocess.run([sinter, "compile", path + ".onnx", "--target", target, "-o", path + ".smod", "--force"], check=True)
        code = subprocess.run([sinter, "compile", path + ".onnx", "--target", target, "--emit=schedule", "-o", "-"], check=True, capture_output=True, text=True).stdout
        if "mma_product" not in code:
            sys.exit(f"{name}: no tensor core multiplies it:\n{code}")
        wide += "wgmma_product" in code
        got = sinter_runtime.Runtime(library).session(path + ".smod", 1).run(given)["y"]
        if not np.array_equal(got, wanted):
            sys.exit(f"{name}: {np.count_nonzero(got != wanted)} of {got.size} results differ, the first is {got[got != wanted][0]} and not {wanted[got != wanted][0]}")
        if len(np.unique(got)) < 20:
            sys.exit(f"{name}: all results are {np.unique(got)}")
    print(f"{len(cases)} products of bytes, {wide} by wgmma, are NumPy's")


if __name__ == "__main__":
    main(*sys.argv[1:])
