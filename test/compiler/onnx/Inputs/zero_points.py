# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""zero_points.py BUILD: MatMulInteger and ConvInteger with zero points of every form, constant and not, against NumPy."""
import os
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "models"))
import sinter_runtime

# a, b, zero point of a and of b by shape (None: left out), which of b and the zero points are constants
CASES = [((5, 17), (17, 33), (), None, "b a"), ((5, 17), (17, 33), (5,), (33,), "b"), ((5, 17), (17, 33), (1,), (1,), "b ab"), ((2, 3, 4), (4, 9), (), (), ""),
         ((2, 3, 4), (2, 4, 9), (3,), (9,), "ab"), ((4, 3), (2, 3, 8), (), (8,), "b ab"), ((7,), (7, 6), (), (6,), "b"), ((2, 3, 4), (2, 4, 5), (2, 3, 1), (2, 1, 5), "b a")]


# x, filter, zero point of the filter by shape, pads, stride, groups
CONVOLUTIONS = [((1, 3, 8, 9), (5, 3, 3, 3), None, (1, 1, 1, 1), 1, 1), ((2, 8, 7, 6), (4, 8, 3, 3), None, (0, 1, 2, 0), 2, 1), ((1, 6, 5, 5), (6, 1, 3, 3), None, (1, 1, 1, 1), 1, 6),
                ((1, 4, 6, 7), (33, 4, 1, 1), (), (0, 0, 0, 0), 1, 1), ((1, 4, 6, 6), (8, 2, 3, 3), (8,), (1, 1, 1, 1), 1, 2)]


def convolve(x, filters, pads, stride, groups):
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    high, wide, each, part = *filters.shape[2:], filters.shape[0] // groups, filters.shape[1]
    rows, columns = (x.shape[2] - high) // stride + 1, (x.shape[3] - wide) // stride + 1
    result = np.zeros((x.shape[0], filters.shape[0], rows, columns), np.int64)
    for i in range(high):
        for j in range(wide):
            window = x[:, :, i::stride, j::stride][:, :, :rows, :columns]
            for g in range(groups):
                result[:, g * each : (g + 1) * each] += np.einsum("nchw,oc->nohw", window[:, g * part : (g + 1) * part], filters[g * each : (g + 1) * each, :, i, j])
    return result


def check_convolutions(build, runtime, rng):
    wrong = 0
    for number, (shape, filters, zero, pads, stride, groups) in enumerate(CONVOLUTIONS):
        kinds = [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)][number % 3]
        draw = lambda shape, kind: np.asarray(rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind, endpoint=True))
        values = {"X": draw(shape, kinds[0]), "W": draw(filters, kinds[1]), "XZ": draw((), kinds[0])}
        if zero is not None:
            values["WZ"] = draw(zero, kinds[1])
        wide = {name: value.astype(np.int64) for name, value in values.items()}
        line = wide.get("WZ", np.zeros((), np.int64))
        expected = convolve(wide["X"] - wide["XZ"], wide["W"] - (line.reshape(-1, 1, 1, 1) if line.ndim else line), pads, stride, groups)
        graph = helper.make_graph([helper.make_node("ConvInteger", list(values), ["Y"], pads=pads, strides=[stride, stride], group=groups)], "g",
                                  [helper.make_tensor_value_info("X", helper.np_dtype_to_tensor_dtype(values["X"].dtype), shape)],
                                  [helper.make_tensor_value_info("Y", TensorProto.INT32, expected.shape)], [numpy_helper.from_array(v, k) for k, v in values.items() if k != "X"])
        got = run(build, runtime, graph, {"X": values["X"]})
        if not np.array_equal(got, expected):
            wrong += 1
            print(f"convolution {number}: {np.sum(got != expected)} of {expected.size} wrong")
    print(f"{len(CONVOLUTIONS)} convolutions, {wrong} wrong")
    return wrong


def check_weights(build, runtime, rng):
    """Constant unsigned weights become signed ones: without a zero point where differences are bytes, else with one that is less by 128."""
    wrong, count = 0, 0
    for low, high, zero in ((0, 255, 128), (0, 255, 119), (0, 255, [120 + i % 20 for i in range(40)]), (3, 130, 3), (0, 127, 0), (0, 255, 0)):
        for kind in (np.uint8, np.int8):
            x = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (6, 64), dtype=kind, endpoint=True)
            w = np.rint(np.clip(rng.normal((low + high) / 2, (high - low) / 7, (64, 40)), low, high)).astype(np.uint8)
            constants = {"W": w, "XZ": np.array(7, kind), "WZ": np.array(zero, np.uint8)}
            wide = x.astype(np.int64) - 7
            graph = helper.make_graph([helper.make_node("MatMulInteger", ["X", *constants], ["Y"])], "g", [helper.make_tensor_value_info("X", helper.np_dtype_to_tensor_dtype(x.dtype), ["m", "k"])],
                                      [helper.make_tensor_value_info("Y", TensorProto.INT32, ["m", 40])], [numpy_helper.from_array(v, k) for k, v in constants.items()])
            count += 1
            if not np.array_equal(run(build, runtime, graph, {"X": x}), wide @ (w.astype(np.int64) - np.array(zero))):
                wrong += 1
                print(f"weights from {low} to {high} with zero points {zero}, rows of {kind.__name__}: wrong")
    print(f"{count} weights, {wrong} wrong")
    return wrong


def check_ranges(build, runtime):
    """DynamicQuantizeLinear of numbers without a range has the scale that onnxruntime gives it, and no 0 / 0."""
    cases = {"zeros": ([0, 0, -0.0], 1), "small": ([0, 1e-45, 0], 1), "above": ([0, 255, 51], 1), "below": ([-510, -2, 0], 2)}
    nodes = [helper.make_node("DynamicQuantizeLinear", ["X"], ["Q", "S", "Z"]), helper.make_node("DequantizeLinear", ["Q", "S", "Z"], ["D"]), helper.make_node("Div", ["D", "S"], ["E"]),
             helper.make_node("Reshape", ["S", "one"], ["line"]), helper.make_node("Concat", ["E", "line"], ["Y"], axis=0)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("X", TensorProto.FLOAT, [3])], [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [4])], [numpy_helper.from_array(np.array([1]), "one")])
    wrong = 0
    for name, (numbers, scale) in cases.items():
        got, x = run(build, runtime, graph, {"X": np.array(numbers, np.float32)}), np.array(numbers, np.float32)
        if not np.array_equal(got, [*np.round(x / scale), scale]):
            wrong += 1
            print(f"range of {name}: {got}")
    print(f"{len(cases)} ranges, {wrong} wrong")
    return wrong


def run(build, runtime, graph, feeds):
    with tempfile.TemporaryDirectory() as folder:
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), f"{folder}/m.onnx")
        subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.smod"], check=True, stderr=subprocess.DEVNULL)
        return runtime.session(f"{folder}/m.smod").run(feeds)["Y"]


def main():
    build, wrong = sys.argv[1], 0
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    rng = np.random.default_rng(1)
    for number, (a_shape, b_shape, a_zero, b_zero, constants) in enumerate(CASES):
        types = [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8), (np.int8, np.uint8)][number % 4]
        draw = lambda shape, kind: rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind, endpoint=True)
        values = {"A": draw(a_shape, types[0]), "B": draw(b_shape, types[1])}
        names = ["A", "B", "", ""]
        if a_zero is not None:
            values["AZ"], names[2] = np.asarray(draw(a_zero, types[0])), "AZ"
        if b_zero is not None:
            values["BZ"], names[3] = np.asarray(draw(b_zero, types[1])), "BZ"
        fixed = [name for name in values if {"B": "b", "AZ": "a", "BZ": "ab", "A": "-"}[name] in constants.split()]
        wide = {name: value.astype(np.int64) for name, value in values.items()}
        line = lambda zero, rows: zero.reshape(-1, 1) if rows and zero.ndim == 1 else zero
        expected = np.matmul(wide["A"] - line(wide.get("AZ", np.int64(0)), len(a_shape) > 1), wide["B"] - wide.get("BZ", np.int64(0)))
        info = lambda name, value: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        graph = helper.make_graph([helper.make_node("MatMulInteger", names, ["Y"])], "g", [info(name, value) for name, value in values.items() if name not in fixed],
                                  [helper.make_tensor_value_info("Y", TensorProto.INT32, expected.shape)], [numpy_helper.from_array(values[name], name) for name in fixed])
        got = run(build, runtime, graph, {name: value for name, value in values.items() if name not in fixed})
        if not np.array_equal(got, expected):
            wrong += 1
            print(f"case {number}: {np.sum(got != expected)} of {expected.size} wrong")
    print(f"{len(CASES)} products, {wrong} wrong")
    wrong += check_convolutions(build, runtime, rng)
    wrong += check_weights(build, runtime, rng)
    wrong += check_ranges(build, runtime)
    sys.exit(wrong > 0)


main()
