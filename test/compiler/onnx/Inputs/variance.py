# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operator that divides by a deviation or a norm, on operands of which E[x^2] - E[x]^2 or a 16-bit square leaves nothing.

    variance.py SINTER FOLDER"""

import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sinter, folder = sys.argv[1:]
random = np.random.default_rng(3)
failures = runs = 0


def normalized(x, axes, epsilon):
    x = x.astype(np.float64)
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon)


def check(name, node, x, wanted, tolerance, parameters=(), version=18):
    global failures, runs
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    inputs = [helper.make_tensor_value_info("x", kind, x.shape)]
    initializers = [helper.make_tensor(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape, v) for n, v in parameters]
    results = [helper.make_tensor_value_info("y", kind, None)]
    graph = helper.make_graph([node], "g", inputs, results, initializers)
    path = f"{folder}/{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8), path)
    np.save(f"{folder}/x.npy", x)
    for way in ("-O2", "-O0", "--reference"):
        subprocess.run([sinter, "run", path, "--input", f"x=@{folder}/x.npy", "--output", f"y=@{folder}/y.npy", way], check=True)
        got = np.load(f"{folder}/y.npy").astype(np.float64)
        runs += 1
        error = np.abs(got - wanted).max()
        allowed = 5 * tolerance if way == "-O0" else tolerance  # plain loops add up a large sum one by one
        if not error <= allowed:
            failures += 1
            print(f"{name} {way}: off by {error}, allowed {allowed}")


far = (1e6 + random.standard_normal((2, 4, 8, 8)) * 4).astype(np.float32)  # the digits of 1e6 in f32 are 1/16 apart
large = (random.standard_normal((2, 4, 8, 8)) * 1000).astype(np.float16)  # squares of which are infinite
ones, zeros = np.ones(4, np.float32), np.zeros(4, np.float32)
per_channel = (0, 2, 3)

check("mvn", helper.make_node("MeanVarianceNormalization", ["x"], ["y"]), far, normalized(far, per_channel, 0), 0.02)
check("mvn16", helper.make_node("MeanVarianceNormalization", ["x"], ["y"]), large, normalized(large, per_channel, 0), 0.01)
check("instance", helper.make_node("InstanceNormalization", ["x", "s", "b"], ["y"]), far, normalized(far, (2, 3), 1e-5), 0.02, [("s", ones), ("b", zeros)])
check("layer", helper.make_node("LayerNormalization", ["x", "s"], ["y"], axis=2), far, normalized(far, (2, 3), 1e-5), 0.02, [("s", np.ones((8, 8), np.float32))])
grouped = normalized(far.reshape(2, 2, -1), (2,), 1e-5).reshape(far.shape)
check("group", helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2), far, grouped, 0.02, [("s", ones), ("b", zeros)], version=21)
mean, deviation = far.astype(np.float64).mean(per_channel), far.astype(np.float64).std(per_channel)
training = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "rm", "rv"], training_mode=1)
check("batch-training", training, far, normalized(far, per_channel, 1e-5), 0.02, [("s", ones), ("b", zeros), ("m", zeros), ("v", ones)])
# With given statistics (x - mean) / deviation keeps what x / deviation - mean / deviation rounds away.
stated = (far.astype(np.float64) - mean.astype(np.float32)[:, None, None]) / np.sqrt(deviation.astype(np.float32).astype(np.float64) ** 2 + 1e-5)[:, None, None]
check("batch", helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"]), far, stated, 1e-4,
      [("s", ones), ("b", zeros), ("m", mean.astype(np.float32)), ("v", (deviation.astype(np.float32) ** 2).astype(np.float32))])
wide = large.astype(np.float64)
check("lp", helper.make_node("LpNormalization", ["x"], ["y"], axis=-1, p=2), large, wide / np.sqrt((wide**2).sum(-1, keepdims=True)), 1e-3)
window = sum(np.pad(wide**2, ((0, 0), (1, 1), (0, 0), (0, 0)))[:, k:k + 4] for k in range(3))
check("lrn", helper.make_node("LRN", ["x"], ["y"], size=3, alpha=1e-4, beta=0.75), large, wide / (1 + 1e-4 / 3 * window) ** 0.75, 0.5)
print(f"{runs} norms, {failures} wrong")
