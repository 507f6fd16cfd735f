# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's reductions, softmax, norms, running sums and pools over rows with special values, against onnxruntime.

    reductions_onnx.py SINTER FOLDER

Infinities and NaN must be where onnxruntime has them, other numbers within a few roundings. Its maxima and minima pass over NaN, ours are NaN as NumPy's
and those of the other reductions; its pools of nothing but -inf give the least finite number. Prints `N numbers, N wrong` and each wrong one.
"""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

LENGTH = 24
SPECIAL = [[], [np.nan], [np.inf], [-np.inf], [np.inf, -np.inf], [np.nan, np.inf], [np.inf, np.inf], [1e-38, -0.0], [0.0], [-0.0], [1e-45, -1e-45], [1e18]]


def rows():
    random = np.random.default_rng(6)
    made = []
    for special in SPECIAL:
        for x in (random.uniform(-2, 2, LENGTH), np.zeros(LENGTH)):
            x[random.permutation(LENGTH)[: len(special)]] = special
            made.append(x)
    made += [np.full(LENGTH, x) for x in (-0.0, 1.0, np.inf, -np.inf, np.nan, 1e-45)]
    return np.array(made, np.float32).reshape(len(made), 4, LENGTH // 4)


def cases():
    """Operator, operands behind x, attributes."""
    axes = np.array([1, 2])
    for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"):
        yield "Reduce" + name, [axes], {"keepdims": 0}
    for axis in (0, 1, 2):
        yield "Softmax", [], {"axis": axis}
        yield "LogSoftmax", [], {"axis": axis}
        yield "CumSum", [np.array(axis)], {}
        yield "ReduceSum", [np.array([axis])], {"keepdims": 0}
        yield "ReduceMax", [np.array([axis])], {"keepdims": 0}
    scale, bias = np.array([1, 2, -0.5, 1], np.float32), np.array([0, 1, -1, 0.5], np.float32)
    yield "LayerNormalization", [np.ones(LENGTH // 4, np.float32)], {"axis": -1, "epsilon": 1e-3}
    yield "InstanceNormalization", [scale, bias], {"epsilon": 1e-3}
    yield "GroupNormalization", [scale, bias], {"epsilon": 1e-3, "num_groups": 2}
    yield "MaxPool", [], {"kernel_shape": [3], "pads": [1, 1]}
    yield "AveragePool", [], {"kernel_shape": [3], "pads": [1, 1]}
    yield "GlobalAveragePool", [], {}
    yield "GlobalMaxPool", [], {}


def model(x, listed):
    nodes, weights, outputs = [], [], []
    for k, (operator, operands, attributes) in enumerate(listed):
        names = [f"p{k}_{i}" for i in range(len(operands))]
        weights += [onnx.numpy_helper.from_array(p, n) for p, n in zip(operands, names)]
        nodes.append(helper.make_node(operator, ["x", *names], [f"y{k}"], **attributes))
        outputs.append(helper.make_tensor_value_info(f"y{k}", TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main():
    sinter, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    onnxruntime.set_default_logger_severity(4)
    x, listed = rows(), list(cases())
    path = f"{folder}/m.onnx"
    onnx.save(model(x, listed), path)
    np.save(f"{folder}/x.npy", x)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": x})
    # Where a NaN takes part: the greatest of numbers that are 1 there and else 0, the least of their negatives.
    places = {"Max": session.run(None, {"x": np.isnan(x).astype(np.float32)}), "Min": session.run(None, {"x": -np.isnan(x).astype(np.float32)})}
    for k, (operator, _, _) in enumerate(listed):
        for kind in places:
            if kind in operator:
                expected[k] = np.where(places[kind][k] != 0, np.float32(np.nan), expected[k])
        if "MaxPool" in operator:
            expected[k] = np.where(expected[k] == np.finfo(np.float32).min, np.float32(-np.inf), expected[k])
    numbers = wrong = 0
    for way in ("-O2", "-O0"):
        outputs = [word for k in range(len(listed)) for word in ("--output", f"y{k}=@{folder}/y{k}.npy")]
        subprocess.run([sinter, "run", path, way, "--input", f"x=@{folder}/x.npy", *outputs], check=True)
        for k, ((operator, _, attributes), wanted) in enumerate(zip(listed, expected)):
            got = np.load(f"{folder}/y{k}.npy")
            with np.errstate(all="ignore"):
                size = np.maximum(1, np.abs(np.where(np.isfinite(wanted), wanted, 0)))
                good = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | (np.abs(got.astype(np.float64) - wanted) <= 2e-5 * size)
            numbers += got.size
            wrong += int((~good).sum())
            for at in np.argwhere(~good)[:3]:
                print(f"{operator} {attributes} {way} at {at.tolist()}: {got[tuple(at)]!r}, onnxruntime {wanted[tuple(at)]!r}")
    print(f"{numbers} numbers, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
