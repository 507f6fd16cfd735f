# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operator that divides a sum or takes its root, on f16 whose sum is infinite though the result is not.

    wide_means.py SINTER FOLDER"""

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
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    feeds = []
    for k, v in inputs.items():
        np.save(f"{folder}/{k}.npy", v)
        feeds += ["--input", f"{k}=@{folder}/{k}.npy"]
    for way in ("-O2", "-O0", "--reference"):
        subprocess.run([sinter, "run", path, *feeds, "--output", f"y=@{folder}/y.npy", way], check=True)
        got = np.load(f"{folder}/y.npy")
        runs += 1
        error = np.abs(got.astype(np.float64) / wanted - 1).max() if got.shape == np.shape(wanted) else f"shape {got.shape}"
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
print(f"{runs} means, {failures} wrong")
