# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""precision.py SINTER: products (one of them of a transposed matrix, as gradients of weights are) and convolutions, one of a join with a pool, under --precision, for this
machine and, on x86, for levels without instructions for the types, at -O0, -O1 and -O2, against NumPy on operands rounded to the type: by 1e-5 of the sum of magnitudes, as all products. The current folder is written to."""
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SINTER = sys.argv[1]
r = np.random.default_rng(5)
x, w, v = (r.standard_normal(shape).astype(np.float32) for shape in [(37, 70), (70, 45), (2, 70, 50)])
t = np.ascontiguousarray(x.T)
u, image, taps, more = (r.standard_normal(shape).astype(np.float32) for shape in [(2, 33, 70), (1, 20, 9, 8), (17, 20, 3, 3), (17, 40, 3, 3)])
nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("MatMul", ["u", "v"], ["uv"]),
         helper.make_node("Gemm", ["t", "w"], ["tw"], transA=1),
         helper.make_node("Conv", ["image", "taps"], ["conv"], pads=[1, 1, 1, 1]),
         helper.make_node("MaxPool", ["image"], ["pool"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
         helper.make_node("Concat", ["pool", "image"], ["join"], axis=1),
         helper.make_node("Conv", ["join", "more"], ["joined"], pads=[1, 1, 1, 1])]
inputs = {"x": x, "t": t, "u": u, "v": v, "image": image}
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()]
outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("xw", "uv", "tw", "conv", "joined")]
graph = helper.make_graph(nodes, "g", ports, outputs, [numpy_helper.from_array(w, "w"), numpy_helper.from_array(taps, "taps"), numpy_helper.from_array(more, "more")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
for name, value in inputs.items():
    np.save(name + ".npy", value)


def convolve(image, taps):
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, taps)


def pool(image):
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)).max(axis=(4, 5))


def results(kind, change):
    x_, w_, u_, v_, image_, taps_, more_ = (change(t.astype(kind).astype(np.float64)) for t in (x, w, u, v, image, taps, more))
    join = np.concatenate([pool(image_), image_], axis=1)
    return {"xw": x_ @ w_, "uv": u_ @ v_, "tw": x_ @ w_, "conv": convolve(image_, taps_), "joined": convolve(join, more_)}


TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
NEEDED = {"x86-64": "sse2", "x86-64-v3": "avx2", "x86-64-v4": "avx512bw"}  # of targets, what this machine has if it can run them
features = open("/proc/cpuinfo").read().split()
targets = [target for target, feature in NEEDED.items() if feature in features]
exact = results(np.float32, lambda t: t)
runs = 0
for name, kind in TYPES.items():
    wanted, magnitudes = results(kind, lambda t: t), results(kind, np.abs)
    for flags in (["-O0"], ["-O1"], ["-O2"], *(["-O2", f"--target={t}"] for t in targets)):
        subprocess.run([SINTER, "run", "model.onnx", f"--precision={name}", *flags, "--force", *(a for n in inputs for a in ("--input", f"{n}=@{n}.npy")),
                        *(a for n in exact for a in ("--output", f"{n}=@{n}.npy"))], check=True, stdout=subprocess.DEVNULL)
        for n, value in wanted.items():
            error = np.abs(np.load(n + ".npy") - value)
            assert (error <= 1e-5 * magnitudes[n]).all(), (name, flags, n, (error / magnitudes[n]).max())
            # The type did take part.
            assert name == "f32" or (np.abs(value - exact[n]) > 2e-5 * magnitudes[n]).any(), (name, n)
        runs += 1
print(runs, "runs")
