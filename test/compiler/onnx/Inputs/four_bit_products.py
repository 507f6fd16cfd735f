# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""four_bit_products.py SINTER: products with weights of 4 bits, as MatMulNBits and as DequantizeLinear before MatMul or Gemm, against onnxruntime by 1e-5 of the largest number. Kernels keep such weights
in 4 bits: the fused graph has block_dot. Scales that change more often than block_dot has blocks become numbers, as they did. Products of accuracy level 4 round x to bytes by blocks, as NumPy does it here, on targets that multiply bytes and on others."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "models"))
from byte_rows import rounded_to_bytes

RNG = np.random.default_rng(5)
K, N = 192, 136
failures = 0


def four_bits(name, values, kind):
    return helper.make_tensor(name, kind, values.shape, values.reshape(-1).tolist())


def compare(sinter, title, nodes, constants, rows, keeps, opset=21):
    global failures
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, rows.shape if title != "unknown rows" else ["n", rows.shape[1]])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    plain = onnxruntime.SessionOptions()  # onnxruntime would round x to bytes
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    expected = onnxruntime.InferenceSession(model.SerializeToString(), plain).run(None, {"x": rows})[0]
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/m.onnx")
        np.save(f"{folder}/x.npy", rows)
        ran = subprocess.run([sinter, "run", f"{folder}/m.onnx", f"--input=x=@{folder}/x.npy", f"--output=y=@{folder}/y.npy"], capture_output=True, text=True)
        fused = subprocess.run([sinter, "compile", f"{folder}/m.onnx", "--emit=fused"], capture_output=True, text=True)
        got = np.load(f"{folder}/y.npy") if ran.returncode == 0 else None
    apart = None if got is None or got.shape != expected.shape else np.abs(got.astype(np.float64) - expected).max() / np.abs(expected).max()
    kept = "sinter.block_dot" in fused.stdout and "dot_general" not in fused.stdout
    if apart is None or apart > 1e-5 or kept != keeps:
        failures += 1
        print(f"{title}: {apart} apart, {'kept' if kept else 'not kept'} in 4 bits, {ran.stderr.strip()}")


def dequantized(kind, along, columns_first, zeros, block=0):
    """DequantizeLinear of [k, n], or [n, k], and its constants; `along`: the axis of scales, None for one."""
    low, high = (0, 16) if kind == TensorProto.UINT4 else (-8, 8)
    shape = (N, K) if columns_first else (K, N)
    if block:
        places = tuple(-(-size // block) if axis == along else size for axis, size in enumerate(shape))
    else:
        places = () if along is None else (shape[along],)
    constants = [four_bits("w", RNG.integers(low, high, shape), kind), numpy_helper.from_array(RNG.uniform(0.01, 0.1, places).astype(np.float32), "s")]
    if zeros:
        constants.append(four_bits("z", RNG.integers(low, high, places), kind))
    attributes = ({} if along is None else {"axis": along}) | ({"block_size": block} if block else {})
    return helper.make_node("DequantizeLinear", ["w", "s", "z"][: 3 if zeros else 2], ["d"], **attributes), constants


def check_bytes(sinter):
    """Few rows and many, open numbers of rows, and numbers that have no bytes."""
    global failures
    for number, (k, n, block, shape) in enumerate([(64, 40, 32, (1, 64)), (192, 136, 64, (7, 192)), (100, 72, 16, (70, 100)), (256, 64, 128, (2, 9, 256)), (192, 136, 32, (150, 192))]):
        blocks, isOpen = -(-k // block), number % 2 == 1
        codes, scales = RNG.integers(0, 16, (n, blocks * block)), RNG.uniform(0.01, 0.1, (n, blocks)).astype(np.float32)
        zeros = RNG.integers(0, 16, (n, blocks))
        packed = lambda values: (lambda even: (even[:, ::2] | even[:, 1::2] << 4).astype(np.uint8))(np.pad(values, [(0, 0), (0, values.shape[1] % 2)]))
        constants = [numpy_helper.from_array(packed(codes).reshape(n, blocks, block // 2), "w"), numpy_helper.from_array(scales.reshape(-1), "s"), numpy_helper.from_array(packed(zeros).reshape(-1), "z")]
        inputs = ["x", "w", "s", "z"][: 4 if number < 3 else 3]
        node = helper.make_node("MatMulNBits", inputs, ["y"], domain="com.microsoft", K=k, N=n, bits=4, block_size=block, accuracy_level=4)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [f"n{i}" for i in range(len(shape) - 1)] + [k] if isOpen else shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
        x = RNG.standard_normal(shape).astype(np.float32) * RNG.choice([1e-3, 1, 100], shape[:-1] + (1,)).astype(np.float32)
        if number > 1:
            rows = x.reshape(-1, k)
            rows[0, :block], rows[1, :block], rows[2, 5], rows[3, 6], rows[4, block + 1] = 0, 1e-39, np.inf, np.nan, -np.inf
        centred = codes - np.repeat(zeros if len(inputs) > 3 else np.full_like(zeros, 8), block, 1)
        expected = rounded_to_bytes(x, block).astype(np.float64) @ (centred * np.repeat(scales, block, 1).astype(np.float64))[:, :k].T
        size = np.nanmax(np.abs(expected), -1, keepdims=True, initial=1e-30)
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, f"{folder}/m.onnx")
            np.save(f"{folder}/x.npy", x)
            for target in ("native", "x86-64-v2", "x86-64-v3"):
                ran = subprocess.run([sinter, "run", f"{folder}/m.onnx", "--target", target, f"--input=x=@{folder}/x.npy", f"--output=y=@{folder}/y.npy"], capture_output=True, text=True)
                got = np.load(f"{folder}/y.npy").astype(np.float64) if ran.returncode == 0 else np.zeros(())
                if got.shape != expected.shape or (np.isnan(got) != np.isnan(expected)).any() or np.nanmax(np.abs(got - expected) / size) > 1e-5:
                    failures += 1
                    apart = np.nanmax(np.abs(got - expected) / size) if got.shape == expected.shape else got.shape
                    print(f"bytes of {shape}, blocks of {block}, {target}: {apart} apart, NaN in {np.isnan(got).sum()} for {np.isnan(expected).sum()}, {ran.stderr.strip()}")


def main():
    sinter = sys.argv[1]
    x = RNG.standard_normal((3, K)).astype(np.float32)
    matmul, gemm = helper.make_node("MatMul", ["x", "d"], ["y"]), helper.make_node("Gemm", ["x", "d", "c"], ["y"], transB=1)
    bias = numpy_helper.from_array(RNG.standard_normal(N).astype(np.float32), "c")
    for kind in (TensorProto.INT4, TensorProto.UINT4):
        for zeros in (False, True):
            for title, along, columns_first, block, keeps in (("one scale", None, False, 0, True), ("a scale a column", 1, False, 0, True), ("a scale a row", 0, False, 0, False), ("blocks of 32", 0, False, 32, True),
                                                              ("blocks of 48", 0, False, 48, True), ("blocks of 8", 0, False, 8, False), ("columns first", 0, True, 0, True), ("columns first, blocks of 64", 1, True, 64, True)):
                node, constants = dequantized(kind, along, columns_first, zeros, block)
                nodes = [node, gemm if columns_first else matmul]
                compare(sinter, f"{title}, type {kind}, {'with' if zeros else 'without'} zeros", nodes, constants + ([bias] if columns_first else []), x, keeps)
    for k, block in ((K, 32), (K, 128), (100, 16)):
        blocks = -(-k // block)
        weights = [numpy_helper.from_array(RNG.integers(0, 256, (N, blocks, block // 2), dtype=np.uint8), "w"), numpy_helper.from_array(RNG.uniform(0.01, 0.1, N * blocks).astype(np.float32), "s")]
        zeros = numpy_helper.from_array(RNG.integers(0, 256, N * -(-blocks // 2), dtype=np.uint8), "z")
        for inputs, more in ((["x", "w", "s"], []), (["x", "w", "s", "z"], [zeros]), (["x", "w", "s", "z", "", "c"], [zeros, bias])):
            node = helper.make_node("MatMulNBits", inputs, ["y"], domain="com.microsoft", K=k, N=N, bits=4, block_size=block)
            rows = RNG.standard_normal(((1, k), (9, k), (2, 2, k))[len(more)]).astype(np.float32)
            compare(sinter, f"MatMulNBits of {k}, blocks of {block}, {len(more)} more", [node], weights + more, rows, True)
        compare(sinter, "unknown rows", [node], weights + more, RNG.standard_normal((6, k)).astype(np.float32), True)
    check_bytes(sinter)
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
