# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of several steps in f16 that round once: those that divide a sum, take its root or scale it, where the sum is infinite though the result is not, and activations where a step
leaves nothing of the result.

    one_rounding.py SINTER FOLDER"""

import math
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sinter, folder = sys.argv[1:]
random = np.random.default_rng(11)
failures = runs = 0


def check(name, node, wanted, parameters=(), open_sizes=False, **inputs):
    global failures, runs
    ports = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), [f"{k}{axis}" for axis in range(v.ndim)] if open_sizes else v.shape) for k, v in inputs.items()]
    graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)], [numpy_helper.from_array(v, k) for k, v in parameters])
    path = f"{folder}/{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18 if node.op_type != "Gelu" else 20), helper.make_opsetid("com.microsoft", 1)], ir_version=8), path)
    feeds = []
    for k, v in inputs.items():
        np.save(f"{folder}/{k}.npy", v)
        feeds += ["--input", f"{k}=@{folder}/{k}.npy"]
    for way in ("-O2", "-O0", "--reference"):
        subprocess.run([sinter, "run", path, *feeds, "--output", f"y=@{folder}/y.npy", way], check=True)
        got = np.load(f"{folder}/y.npy")
        runs += 1
        error = (np.abs(got.astype(np.float64) - wanted) / np.maximum(np.abs(wanted), 1e-4)).max() if got.shape == np.shape(wanted) else f"shape {got.shape}"
        if got.dtype != np.float16 or not isinstance(error, float) or not error <= 1e-3:
            failures += 1
            print(f"{name} {way}: off by {error}, {got.dtype}")


def windows(x, size):
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))


x = (20000 + random.random((2, 3, 12, 12)) * 20000).astype(np.float16)
wide, axes = x.astype(np.float64), [("axes", np.array([2, 3]))]
for sizes in (False, True):
    tail = "-open" if sizes else ""
    check("mean" + tail, helper.make_node("ReduceMean", ["x", "axes"], ["y"]), wide.mean((2, 3), keepdims=True), axes, sizes, x=x)
    check("mean-of-first" + tail, helper.make_node("ReduceMean", ["x", "axes"], ["y"], keepdims=0), wide.mean(0), [("axes", np.array([0]))], sizes, x=x)
    check("global" + tail, helper.make_node("GlobalAveragePool", ["x"], ["y"]), wide.mean((2, 3), keepdims=True), (), sizes, x=x)
many = np.ones((70000,), np.float16)  # as many are no f16
check("many", helper.make_node("ReduceMean", ["x"], ["y"], keepdims=0), np.float64(1), x=many)
check("pool", helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3]), windows(wide, 3).mean((-1, -2)), x=x)
edges = np.pad(wide, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
check("pool-padded", helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), np.nanmean(windows(edges, 3), (-1, -2)), x=x)
small = (x / np.float16(100)).astype(np.float16)
for p in (2, 3):
    check(f"norms{p}", helper.make_node("LpPool", ["x"], ["y"], kernel_shape=[3, 3], p=p), (windows(small.astype(np.float64), 3) ** p).sum((-1, -2)) ** (1 / p), x=small)
    check(f"norm{p}", helper.make_node("GlobalLpPool", ["x"], ["y"], p=p), (small.astype(np.float64) ** p).sum((2, 3), keepdims=True) ** (1 / p), x=small)
check("of-operands", helper.make_node("Mean", ["x", "z", "x"], ["y"]), (2 * wide + wide[:, ::-1]) / 3, x=x, z=np.ascontiguousarray(x[:, ::-1]))
scores, labels = -np.abs(x[:, :, 0, 0]), np.array([1, 2])
weights = np.array([20000, 30000, 40000], np.float16)
check("loss", helper.make_node("NegativeLogLikelihoodLoss", ["x", "labels"], ["y"]), -scores[[0, 1], labels].astype(np.float64).mean(), x=scores, labels=labels)
scores = (scores / np.float16(20000)).astype(np.float16)
picked, by = -scores[[0, 1], labels].astype(np.float64), weights[labels].astype(np.float64)
check("weighted-loss", helper.make_node("NegativeLogLikelihoodLoss", ["x", "labels", "weights"], ["y"]), (picked * by).sum() / by.sum(), [("weights", weights)], x=scores, labels=labels)
regions = np.array([[0, 0, 8, 8]], np.float16)
level = np.full((1, 1, 12, 12), 30000, np.float16)
check("regions", helper.make_node("RoiAlign", ["x", "regions", "batch"], ["y"], output_height=2, output_width=2, sampling_ratio=3), np.full((1, 1, 2, 2), 30000.0), x=level, regions=regions, batch=np.array([0]))

steps = np.arange(-64, 65).astype(np.float16).reshape(3, 43) / np.float16(16)
wide, erf = steps.astype(np.float64), np.vectorize(math.erf)


def activation(name, wanted, **attributes):
    check(name, helper.make_node(name, ["x"], ["y"], **attributes), wanted, x=steps)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def below_zero(alpha, width):
    return np.where(wide > 0, wide, alpha * np.expm1(np.minimum(wide, 0) / width))


activation("Gelu", wide / 2 * (1 + erf(wide / 2**0.5)))
check("Gelu-tanh", helper.make_node("Gelu", ["x"], ["y"], approximate="tanh"), wide / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (wide + 0.044715 * wide**3))), x=steps)
activation("Elu", below_zero(1.7, 1), alpha=1.7)
activation("Celu", below_zero(0.3, 0.3), alpha=0.3)
activation("Selu", 1.0507009873554805 * below_zero(1.6732632423543772, 1))
activation("HardSigmoid", np.clip(0.2 * wide + 0.5, 0, 1))
activation("HardSwish", wide * np.clip(wide / 6 + 0.5, 0, 1))
activation("Softplus", np.log1p(np.exp(wide)))
activation("Softsign", wide / (1 + np.abs(wide)))
activation("Mish", wide * np.tanh(np.log1p(np.exp(wide))))
check("QuickGelu", helper.make_node("QuickGelu", ["x"], ["y"], domain="com.microsoft"), wide * sigmoid(1.702 * wide), x=steps)
a, b, c = (np.abs(random.standard_normal(sizes) * 300).astype(np.float16) for sizes in ((5, 64), (64, 7), (7,)))
product = a.astype(np.float64) @ b.astype(np.float64)
check("Gemm-scaled", helper.make_node("Gemm", ["x", "b", "c"], ["y"], alpha=1 / 1024, beta=0.5), product / 1024 + c.astype(np.float64) / 2, [("b", b), ("c", c)], x=a)
check("FusedMatMul", helper.make_node("FusedMatMul", ["x", "b"], ["y"], alpha=1 / 1024, domain="com.microsoft"), product / 1024, [("b", b)], x=a)
print(f"{runs} results, {failures} wrong")
