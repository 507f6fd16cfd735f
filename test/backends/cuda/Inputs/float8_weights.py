# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of 16-bit numbers by weights of 8-bit floats as ONNX files have them (DequantizeLinear of the weights, MatMul), compiled for TARGET, against NumPy in f64.

    float8_weights.py SINTER LIBRARY FOLDER TARGET"""
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
import sinter_runtime

KINDS = {"e4m3": (ml_dtypes.float8_e4m3fn, T.FLOAT8E4M3FN), "e5m2": (ml_dtypes.float8_e5m2, T.FLOAT8E5M2)}
TYPES = {"f32": (np.float32, T.FLOAT, 2.0**-23), "f16": (np.float16, T.FLOAT16, 2.0**-10), "bf16": (ml_dtypes.bfloat16, T.BFLOAT16, 2.0**-7)}
K, N = 512, 384
sinter_runtime.DTYPES[4] = ml_dtypes.bfloat16
sinter_runtime.CODES[np.dtype(ml_dtypes.bfloat16)] = 4


def model(path, x_type, kind, scaled, is_turned, rows, random):
    """Writes it; the weights as they lie and their scales as numbers of each element."""
    weight_type, number = KINDS[kind]
    numpy_type, onnx_type, _ = TYPES[x_type]
    weights = (2 * random.standard_normal((N, K) if is_turned else (K, N))).astype(weight_type)
    counts = {"tensor": (), "column": (N,), "row": (K,)}[scaled]
    axis = int((scaled == "row") == is_turned)
    scales = np.asarray(random.uniform(0.25, 0.5, counts), numpy_type)
    constants = [helper.make_tensor("s", onnx_type, scales.shape, scales.tobytes(), raw=True), helper.make_tensor("w", number, weights.shape, weights.tobytes(), raw=True)]
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["wf"], axis=axis)]
    if is_turned:
        nodes.append(helper.make_node("Transpose", ["wf"], ["wt"], perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", ["x", "wt" if is_turned else "wf"], ["y"]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", onnx_type, [rows, K])], [helper.make_tensor_value_info("y", onnx_type, [rows, N])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    numbers = weights.astype(np.float64)
    numbers = numbers.T if is_turned else numbers
    wide = scales.astype(np.float64)
    return numbers * (wide[:, None] if scaled == "row" else wide)


def main(sinter, library, folder, target):
    os.makedirs(folder, exist_ok=True)
    random, worst = np.random.default_rng(5), 0
    for x_type, kind, scaled, is_turned, rows, options in [
        ("f16", "e4m3", "tensor", False, 40, []), ("f16", "e4m3", "column", True, 3, []), ("f16", "e5m2", "row", False, 40, []),
        ("bf16", "e4m3", "row", True, 40, []), ("bf16", "e5m2", "column", False, 40, []), ("f32", "e4m3", "column", False, 3, ["--precision=bf16"]),
        ("f32", "e4m3", "row", True, 40, ["--precision=f16"])]:  # fmt: skip
        name = f"{x_type}-{kind}-{scaled}-{int(is_turned)}"
        path = os.path.join(folder, name)
        weights = model(path + ".onnx", x_type, kind, scaled, is_turned, rows, random)
        x = random.standard_normal((rows, K)).astype(TYPES[x_type][0])
        subprocess.run([sinter, "compile", path + ".onnx", "--target", target, "-o", path + ".smod", "--force", *options], check=True)
        fused = subprocess.run([sinter, "compile", path + ".onnx", "--target", target, "--emit=fused", "-o", "-", *options], check=True, capture_output=True, text=True).stdout
        kernel = fused[fused.index(" contraction(") :]
        if kernel.count("decode_float8") != 1 or fused.count("decode_float8") != 1:
            sys.exit(f"{name}: the product does not read bytes:\n{fused[:4000]}")
        if os.path.getsize(path + ".smod") > 1.75 * K * N:
            sys.exit(f"{name}: the module has {os.path.getsize(path + '.smod')} bytes for {K * N} weights")
        got = sinter_runtime.Runtime(library).session(path + ".smod", 1).run({"x": x})["y"].astype(np.float64)
        multiplied = 2.0**-7 if x_type == "bf16" or options == ["--precision=bf16"] else 2.0**-10
        wide = x.astype(np.float64)
        wanted, magnitude = wide @ weights, np.abs(wide) @ np.abs(weights)
        # x is rounded where a policy says so, weights where each k has a scale.
        share = 1e-6 + multiplied / 2 * (bool(options) + (scaled == "row"))
        worst = max(worst, ((np.abs(got - wanted) - TYPES[x_type][2] / 2 * np.abs(wanted)) / (magnitude * share)).max())
        if not got.any():
            sys.exit(f"{name}: all results are 0")
    print(f"weights of 8-bit floats: off by {worst:.2f} of the bound")
    return int(worst > 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
