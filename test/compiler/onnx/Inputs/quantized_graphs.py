# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantized_graphs.py BUILD: products and convolutions between DequantizeLinear and QuantizeLinear, of all signs, scales and zero points. That they multiply bytes
is seen in the fused graph. Each code is compared with the exact number that it rounds: it is at most half a step away, but for what f32 rounds. Then chains of
such layers, in which nothing is exact, against onnxruntime with all of its rewrites off: no code of their results differs by more than one step. And products of floats
with weights of bytes, in modules that hold bytes."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, save

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "models"))
import sinter_runtime

# What an f32 quotient of some hundreds is off by, beyond half a step.
SLACK = 1e-4
KINDS = [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8), (np.int8, np.uint8)]
PRODUCTS = [((5, 17), (17, 33)), ((1, 64), (64, 100)), ((37, 64), (64, 96)), ((2, 9, 40), (40, 20)), ((3, 2, 8, 16), (3, 2, 16, 8))]
# x, filter, pads, stride, dilation, groups
CONVOLUTIONS = [((1, 3, 13, 12), (16, 3, 3, 3), (1, 1, 1, 1), 2, 1, 1), ((2, 32, 9, 7), (48, 32, 1, 1), (0, 0, 0, 0), 1, 1, 1), ((1, 24, 9, 11), (24, 1, 3, 3), (1, 1, 1, 1), 1, 1, 24),
                ((1, 8, 9, 9), (12, 4, 3, 3), (0, 1, 2, 1), 1, 2, 2), ((1, 16, 14, 14), (40, 16, 5, 5), (2, 2, 2, 2), 1, 1, 1), ((1, 40, 8, 8), (40, 1, 5, 5), (2, 2, 2, 2), 2, 1, 40)]


class Layers:
    """A model, its weights drawn by `rng`; `exact` holds what tensors are as numbers."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants, self.inputs, self.feeds = rng, [], [], [], {}

    def constant(self, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def draw(self, shape, kind):
        info = np.iinfo(kind)
        return np.asarray(self.rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True))

    def dequantized(self, shape, kind, axis=None, zero=True):
        """An input (axis None) or weights: its name and its numbers in f64."""
        count = () if axis in (None, -1) else (shape[axis],)
        scale = np.asarray(self.rng.uniform(0.01, 0.1, count), np.float32)
        point = self.draw(count, kind) if zero else np.zeros(count, kind)
        codes = self.draw(shape, kind)
        if axis is None:
            name = f"x{len(self.inputs)}"
            self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(codes.dtype), shape))
            self.feeds[name] = codes
        else:
            name = self.constant(codes)
        along = {"axis": axis} if count else {}
        line = lambda value: value.astype(np.float64).reshape([-1 if k == axis else 1 for k in range(len(shape))] if count else ())
        return self.node("DequantizeLinear", name, self.constant(scale), self.constant(point), **along), (codes - line(point)) * line(scale)

    def quantized(self, name, low, high, kind):
        """Bytes of `name` that cover [low, high], with their scale and zero point."""
        scale = np.float32((high - low) / 255)
        point = np.asarray(np.clip(np.iinfo(kind).min + np.round(-low / scale), np.iinfo(kind).min, np.iinfo(kind).max), kind)
        names = self.constant(scale), self.constant(point)
        return self.node("QuantizeLinear", name, *names), names, float(scale), int(point)

    def rounded_by(self, name, names):
        """`name` rounded to bytes by a scale and a zero point, and made numbers again."""
        return self.node("DequantizeLinear", self.node("QuantizeLinear", name, *names), *names)

    def rounded(self, name, low, high, kind):
        """`name` rounded to bytes and made numbers again, with the names of its scale and zero point."""
        codes, names, _, _ = self.quantized(name, low, high, kind)
        return self.node("DequantizeLinear", codes, *names), names

    def model(self, result, kind):
        graph = helper.make_graph(self.nodes, "g", self.inputs, [helper.make_tensor_value_info(result, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(build, runtime, model, feeds, least):
    """The result, of code in which `least` products are of bytes."""
    with tempfile.TemporaryDirectory() as folder:
        save(model, f"{folder}/m.onnx")
        sinter = os.path.join(build, "bin", "sinter")
        for args in (["--emit=fused", "-o", f"{folder}/m.mlir"], ["-o", f"{folder}/m.smod"]):
            subprocess.run([sinter, "compile", f"{folder}/m.onnx", *args], check=True, stderr=subprocess.DEVNULL)
        text = open(f"{folder}/m.mlir").read()
        found = len(re.findall(r"sinter\.(?:dot_general|convolution) .*xu?i8>, tensor<[0-9x]*u?i8>\) -> tensor<[0-9x]*i32>", text))
        if found < least:
            print(f"{found} products of bytes instead of {least}")
            return None
        (result,) = runtime.session(f"{folder}/m.smod").run(feeds).values()
        return result


def steps_apart(build, runtime, layers, result, kind, least):
    """What is wrong with codes against onnxruntime's, with all of its rewrites off, or None: more than one step, or one in more than one of fifty codes."""
    model = layers.model(result, kind)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    expected = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, layers.feeds)[0]
    got = run(build, runtime, model, layers.feeds, least)
    if got is None:
        return "no result"
    steps = np.abs(got.astype(int) - expected)
    return f"{steps.max()} steps, {(steps > 0).mean()} of the codes" if steps.max() > 1 or (steps > 0).mean() > 0.02 else None


def convolve(x, filters, pads, stride, dilation, groups):
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    high, wide, each, part = *filters.shape[2:], filters.shape[0] // groups, filters.shape[1]
    rows, columns = ((x.shape[k + 2] - dilation * (filters.shape[k + 2] - 1) - 1) // stride + 1 for k in range(2))
    result = np.zeros((x.shape[0], filters.shape[0], rows, columns))
    for i in range(high):
        for j in range(wide):
            window = x[:, :, i * dilation :: stride, j * dilation :: stride][:, :, :rows, :columns]
            for g in range(groups):
                result[:, g * each : (g + 1) * each] += np.einsum("nchw,oc->nohw", window[:, g * part : (g + 1) * part], filters[g * each : (g + 1) * each, :, i, j])
    return result


def single(number, rng):
    """One product or convolution with a bias and a Relu: the layers, its result and that in f64 before rounding."""
    layers, kinds = Layers(rng), KINDS[number % 4]
    if number < 2 * len(PRODUCTS):
        a_shape, b_shape = PRODUCTS[number // 2]
        isDynamic = len(b_shape) > 2
        a, exact_a = layers.dequantized(a_shape, kinds[0])
        # With a zero point for each column, too.
        b, exact_b = layers.dequantized(b_shape, kinds[1], None if isDynamic else (len(b_shape) - 1 if number % 2 else -1), zero=number % 3 > 0)
        name, exact = layers.node("MatMul", a, b), exact_a @ exact_b
    else:
        shape, filters, pads, stride, dilation, groups = CONVOLUTIONS[(number - 2 * len(PRODUCTS)) // 2]
        kinds = kinds[0], np.int8
        x, exact_x = layers.dequantized(shape, kinds[0])
        w, exact_w = layers.dequantized(filters, kinds[1], 0 if number % 2 else -1, zero=False)
        name = layers.node("Conv", x, w, pads=pads, strides=[stride] * 2, dilations=[dilation] * 2, group=groups)
        exact = convolve(exact_x, exact_w, pads, stride, dilation, groups)
    if number % 2:
        shape = (exact.shape[1], 1, 1) if number >= 2 * len(PRODUCTS) else (exact.shape[-1],)
        bias = rng.uniform(-1, 1, shape).astype(np.float32)
        name, exact = layers.node("Relu", layers.node("Add", name, layers.constant(bias))), np.maximum(exact + bias.astype(np.float64), 0)
    return layers, name, exact, kinds[0]


def check_single(build, runtime, rng):
    wrong, count = 0, 2 * len(PRODUCTS) + 2 * len(CONVOLUTIONS)
    for number in range(count):
        layers, name, exact, kind = single(number, rng)
        result, _, scale, zero = layers.quantized(name, 0.8 * exact.min(), 0.8 * exact.max(), kind)
        got = run(build, runtime, layers.model(result, kind), layers.feeds, 1)
        info = np.iinfo(kind)
        beyond = None if got is None else np.abs(got - np.clip(exact / scale + zero, info.min, info.max)).max() - 0.5
        if beyond is None or got.shape != exact.shape or beyond > SLACK:
            wrong += 1
            print(f"case {number}: a code lies {beyond} beyond half a step")
    print(f"{count} products and convolutions, {wrong} wrong")
    return wrong


def compiled(build, model, folder):
    """The module that `model` becomes in `folder`."""
    save(model, f"{folder}/m.onnx")
    subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.smod"], check=True, stderr=subprocess.DEVNULL)
    return f"{folder}/m.smod"


def check_weights(build, runtime, rng):
    """Weights alone are bytes: they stay so in the module, for one row and for many, read by rows and by columns; tensors that two products share, too."""
    wrong = 0
    for number, (rows, k, n) in enumerate([(1, 300, 260), (1, 64, 33), (40, 300, 260), (7, 257, 100)]):
        layers, transposed = Layers(rng), number % 2
        shape = (n, k) if transposed else (k, n)
        w, exact = layers.dequantized(shape, KINDS[number % 4][1], (0 if transposed else 1) if number < 3 else -1, zero=False)
        x = rng.standard_normal((rows, k)).astype(np.float32)
        layers.inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape))
        products = [layers.node("Gemm", name, w, transB=transposed) for name in ("x", layers.node("Neg", "x"))[: 1 + (number == 0)]]
        result = layers.node("Sub", *products) if len(products) > 1 else products[0]
        model = layers.model(result, np.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = compiled(build, model, folder)
            (got,) = runtime.session(path).run({"x": x}).values()
            grows = os.path.getsize(path) > 3 * k * n and k * n > 20000
        exact = exact.T if transposed else exact
        expected, bound = (x.astype(np.float64) @ exact) * len(products), np.abs(x) @ np.abs(exact) * len(products)
        beyond = (np.abs(got - expected) / bound).max()
        if beyond > 1e-6 or grows:
            wrong += 1
            print(f"weights {number}: {beyond} of the sum of magnitudes, " + ("a module with floats" if grows else ""))
    layers = Layers(rng)
    table, exact = layers.dequantized((700, 64), np.uint8, -1)
    model = layers.model(layers.node("Gather", table, layers.constant(np.array([3, 699, 0]))), np.float32)
    model.graph.node[-1].input[1] = "ids"
    model.graph.input.append(helper.make_tensor_value_info("ids", TensorProto.INT64, [3]))
    with tempfile.TemporaryDirectory() as folder:
        path = compiled(build, model, folder)
        (got,) = runtime.session(path).run({"ids": np.array([3, 699, 0])}).values()
        if not np.allclose(got, exact[[3, 699, 0]], rtol=1e-6, atol=0) or os.path.getsize(path) > 2 * 700 * 64:
            wrong += 1
            print(f"rows of a table of bytes: {np.abs(got - exact[[3, 699, 0]]).max()} apart, a module of {os.path.getsize(path)} bytes")
    print(f"4 products with weights of bytes and a table, {wrong} wrong")
    return wrong


def chain(number, rng):
    """Two blocks of a residual network with moves of bytes between them."""
    kind = KINDS[number % 2][0]
    layers = Layers(rng)
    x, exact = layers.dequantized((1, 16, 9, 9), kind)

    rounded = lambda name, bound: layers.rounded(name, 0 if number % 2 else -bound, bound, kind)
    for channels in (16, 16):
        w, _ = layers.dequantized((channels, 16, 3, 3), np.int8, 0, zero=False)
        y, _ = rounded(layers.node("Relu", layers.node("Conv", x, w, pads=(1, 1, 1, 1))), 60)
        d, _ = layers.dequantized((channels, 1, 3, 3), np.int8, 0, zero=False)
        y, _ = rounded(layers.node("Conv", y, d, pads=(1, 1, 1, 1), group=channels), 200)
        x, names = rounded(layers.node("Add", x, y), 200)
    moved = layers.node("Reshape", layers.node("Transpose", x, perm=[0, 2, 3, 1]), layers.constant(np.array([81, 16])))
    x = layers.rounded_by(moved, names)
    w, _ = layers.dequantized((10, 16), np.int8, 0, zero=False)
    result, _, _, _ = layers.quantized(layers.node("Gemm", x, w, transB=1), -300, 300, kind)
    return layers, result, kind, 5


def branches(number, rng):
    """A pool, a join of branches that are rounded alike or not, and a transposed convolution."""
    kind, axis = KINDS[number % 2][0], 0 if number < 2 else -1
    layers = Layers(rng)
    x, _ = layers.dequantized((1, 16, 8, 8), kind)

    rounded = lambda name, bound: layers.rounded(name, 0 if number % 2 else -bound, bound, kind)
    w, _ = layers.dequantized((24, 16, 3, 3), np.int8, axis, zero=False)
    y, names = rounded(layers.node("Conv", x, w, pads=(1, 1, 1, 1)), 60)
    pool = layers.rounded_by(layers.node("MaxPool", y, kernel_shape=(3, 3), pads=(1, 1, 1, 1)), names)
    join = layers.node("Concat", pool, x, y, axis=1)
    join = layers.rounded_by(join, names) if number < 2 else rounded(join, 90)[0]
    w, _ = layers.dequantized((64, 8, 2, 2), np.int8, 1 if number < 2 else -1, zero=False)
    result, _, _, _ = layers.quantized(layers.node("ConvTranspose", join, w, strides=(2, 2)), -120, 120, kind)
    # With a zero point of its own, the zeros between elements would have to be codes: floats are multiplied there.
    return layers, result, kind, 1 + number % 2


def pooled(number, rng):
    """The greatest codes of a convolution's result, which multiplies unsigned bytes whatever its codes are: rounded as they were or anew, results or read on."""
    kind = KINDS[number % 2][0]
    layers = Layers(rng)
    x, _ = layers.dequantized((1, 8, 13, 13), kind)
    rounded = lambda name, bound: layers.quantized(name, 0 if number < 4 else -bound, bound, kind)
    w, _ = layers.dequantized((16, 8, 3, 3), np.int8, 0, zero=False)
    codes, names, _, _ = rounded(layers.node("Conv", x, w), 60)
    pool = layers.node("MaxPool", layers.node("DequantizeLinear", codes, *names), kernel_shape=(3, 3), strides=(2, 2), ceil_mode=1)
    if number % 4 < 2:
        result = layers.node("QuantizeLinear", pool, *names)
    else:
        codes, names, _, _ = rounded(pool, 50)
        w, _ = layers.dequantized((8, 16, 1, 1), np.int8, 0, zero=False)
        result = rounded(layers.node("Conv", layers.node("DequantizeLinear", codes, *names), w), 200)[0]
    return layers, result, kind, 1 + (number % 4 > 1)


def check_chains(build, runtime, rng, what, make, count):
    """`count` graphs of several layers, in which nothing is exact: `make` gives each with its result, that one's type and how many products are of bytes."""
    wrong = 0
    for number in range(count):
        if apart := steps_apart(build, runtime, *make(number, rng)):
            wrong += 1
            print(f"{what} {number}: {apart}")
    print(f"{count} {what}, {wrong} wrong")
    return wrong


def main():
    build, rng = sys.argv[1], np.random.default_rng(7)
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    wrong = check_single(build, runtime, rng) + check_weights(build, runtime, rng)
    for what, make, count in (("chains", chain, 4), ("models with branches", branches, 4), ("pools", pooled, 8)):
        wrong += check_chains(build, runtime, rng, what, make, count)
    sys.exit(wrong > 0)


main()
