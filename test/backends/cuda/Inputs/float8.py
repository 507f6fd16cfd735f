# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of 8-bit floats as ONNX files have them (DequantizeLinear, MatMul), compiled for TARGET, against NumPy in f64.

    float8.py SINTER LIBRARY FOLDER TARGET [options of compile]"""
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

KINDS = {"e4m3": (ml_dtypes.float8_e4m3fn, T.FLOAT8E4M3FN, 14), "e5m2": (ml_dtypes.float8_e5m2, T.FLOAT8E5M2, 15)}
for kind, _, number in KINDS.values():
    sinter_runtime.DTYPES[number] = kind
    sinter_runtime.CODES[np.dtype(kind)] = number


def draw(random, shape, kind):
    return (2 * random.standard_normal(shape)).astype(kind)


def main(sinter, library, folder, target, *options):
    os.makedirs(folder, exist_ok=True)
    random, worst = np.random.default_rng(3), 0
    for name, a, b, m, k, n, is_constant, is_turned in [("inputs", "e4m3", "e5m2", 200, 192, 136, False, False), ("turned", "e5m2", "e4m3", 64, 256, 144, False, True),
                                                      ("weights", "e4m3", "e4m3", 130, 320, 96, True, False)]:
        (x_kind, x_type, _), (w_kind, w_type, _) = KINDS[a], KINDS[b]
        x, w = draw(random, (m, k), x_kind), draw(random, (n, k) if is_turned else (k, n), w_kind)
        axis = 0 if is_turned else 1  # of columns, of which each has a scale in the file with constant weights
        scales = {"sx": np.float32(0.0625), "sw": np.linspace(0.25, 0.5, n).astype(np.float32) if is_constant else np.float32(0.375)}
        constants = [helper.make_tensor(key, T.FLOAT, value.shape, value.ravel()) for key, value in scales.items()]
        inputs = [helper.make_tensor_value_info("x", x_type, x.shape)]
        if is_constant:
            constants.append(helper.make_tensor("w", w_type, w.shape, w.tobytes(), raw=True))
        else:
            inputs.append(helper.make_tensor_value_info("w", w_type, w.shape))
        nodes = [helper.make_node("DequantizeLinear", ["x", "sx"], ["xf"]), helper.make_node("DequantizeLinear", ["w", "sw"], ["wf"], axis=axis)]
        if is_turned:
            nodes.append(helper.make_node("Transpose", ["wf"], ["wt"], perm=[1, 0]))
        nodes += [helper.make_node("MatMul", ["xf", "wt" if is_turned else "wf"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
        graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", T.FLOAT, [m, n])], constants)
        path = os.path.join(folder, name)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path + ".onnx")
        subprocess.run([sinter, "compile", path + ".onnx", "--target", target, "-o", path + ".smod", "--force", *options], check=True)
        fused = subprocess.run([sinter, "compile", path + ".onnx", "--target", target, "--emit=fused", "-o", "-", *options], check=True, capture_output=True, text=True).stdout
        kernel = fused[fused.index(" contraction("):]
        if kernel.count("decode_float8") != 2 or "mul" not in kernel:
            sys.exit(f"{name}: the product does not read bytes:\n{kernel}")
        given = {"x": x} if is_constant else {"x": x, "w": w}
        got = sinter_runtime.Runtime(library).session(path + ".smod", 1).run(given)["y"]
        wide = w.astype(np.float64)
        wide = wide.T if is_turned else wide
        scale = scales["sx"].astype(np.float64) * scales["sw"].astype(np.float64)
        wanted = np.maximum(x.astype(np.float64) @ wide * scale, 0)
        magnitude = np.abs(x.astype(np.float64)) @ np.abs(wide) * scale
        worst = max(worst, (np.abs(got - wanted) / magnitude).max())
        if not got.any():
            sys.exit(f"{name}: all results are 0")
    print(f"products of 8-bit floats: off by {worst:.1e} of the sum of magnitudes")
    return int(worst > 1e-6)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
