# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantized_contrib.py SINTER: operators over bytes of onnxruntime's own domain, and weights of 4 and 8 bits in blocks, against onnxruntime. Codes differ by one step at most, where its
kernels multiply by one factor what the definition rounds twice; floats by 1e-5 of the sum of magnitudes."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(11)
failures = 0


def draw(shape, kind):
    info = np.iinfo(kind)
    return np.asarray(RNG.integers(info.min, info.max, shape, dtype=kind, endpoint=True))


def f32(*values):
    return np.asarray(values[0] if len(values) == 1 else values, np.float32)


def u8(value):
    return np.asarray(value, np.uint8)


def compare(sinter, title, op, values, constants, expected_steps, **attributes):
    """`values`: name -> array, in the order of the operator's inputs (None: left out); those that `constants` does not name are fed."""
    global failures
    names = [name if value is not None else "" for name, value in values.items()]
    given = {name: value for name, value in values.items() if value is not None}
    info = lambda name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(given[name].dtype), given[name].shape)
    feeds = {name: value for name, value in given.items() if name not in constants}
    kind = TensorProto.UINT8 if expected_steps else TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)], "g", [info(name) for name in feeds],
                              [helper.make_tensor_value_info("y", kind, None)], [numpy_helper.from_array(given[name], name) for name in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/m.onnx")
        args = [f"--output=y=@{folder}/y.npy"]
        for name, value in feeds.items():
            np.save(f"{folder}/{name}.npy", value)
            args.append(f"--input={name}=@{folder}/{name}.npy")
        done = subprocess.run([sinter, "run", f"{folder}/m.onnx", *args], capture_output=True, text=True)
        got = np.load(f"{folder}/y.npy") if done.returncode == 0 else None
    apart = None if got is None or got.shape != expected.shape else np.abs(got.astype(np.float64) - expected).max() / (1 if expected_steps else np.abs(expected).max())
    if apart is None or got.dtype != expected.dtype or apart > (1 if expected_steps else 1e-5):
        failures += 1
        print(f"{title}: {apart} apart {done.stderr.strip()}")


def blocks(k, n, bits, block):
    count = -(-k // block)
    return {"w": draw((n, count, block * bits // 8), np.uint8), "s": RNG.uniform(0.01, 0.1, (n, count)).astype(np.float32)}, (n, -(-count * bits // 8))


def main():
    sinter = sys.argv[1]
    x, s, z = draw((2, 6, 5, 4), np.uint8), f32(0.05), u8(120)
    for op in ("QLinearAdd", "QLinearMul"):
        compare(sinter, op, op, {"a": x, "as": s, "az": z, "b": draw((2, 6, 5, 4), np.uint8), "bs": f32(0.02), "bz": u8(9), "ys": f32(0.09), "yz": u8(100)}, ["as", "az", "bs", "bz", "ys", "yz"], True)
    scaled = {"x": x, "xs": s, "xz": z, "ys": f32(0.02), "yz": u8(40)}
    fixed = ["xs", "xz", "ys", "yz"]
    compare(sinter, "QLinearSigmoid", "QLinearSigmoid", scaled | {"ys": f32(1 / 256), "yz": u8(0)}, fixed, True)
    compare(sinter, "QLinearLeakyRelu", "QLinearLeakyRelu", scaled, fixed, True, alpha=0.3)
    compare(sinter, "QLinearGlobalAveragePool", "QLinearGlobalAveragePool", scaled, fixed, True)
    compare(sinter, "QLinearConcat", "QLinearConcat", {"ys": f32(0.05), "yz": u8(100), "a": x, "as": s, "az": z, "b": draw((2, 3, 5, 4), np.uint8), "bs": f32(0.03), "bz": u8(7)}, ["ys", "yz", "as", "az", "bs", "bz"], True, axis=1)
    a, b = draw((5, 40), np.uint8), draw((24, 40), np.int8)
    gemm = {"a": a, "as": s, "az": z, "b": b, "bs": RNG.uniform(0.01, 0.02, 24).astype(np.float32), "bz": np.zeros(24, np.int8), "c": RNG.integers(-999, 999, 24).astype(np.int32)}
    fixed = ["as", "az", "b", "bs", "bz", "c"]
    compare(sinter, "QGemm", "QGemm", gemm | {"ys": f32(0.4), "yz": u8(128)}, [*fixed, "ys", "yz"], True, transB=1)
    compare(sinter, "QGemm to floats", "QGemm", gemm, fixed, False, transB=1)
    for bits, block, k in ((4, 32, 96), (4, 16, 40), (8, 32, 64)):
        weights, zeros = blocks(k, 24, bits, block)
        rows = RNG.standard_normal((3, k)).astype(np.float32)
        for zero in (None, draw(zeros, np.uint8)):
            compare(sinter, f"MatMulNBits {bits} {block} {k}", "MatMulNBits", {"x": rows, **weights, "z": zero}, [*weights, *(["z"] if zero is not None else [])], False, K=k, N=24, bits=bits, block_size=block)
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
