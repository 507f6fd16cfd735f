# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantized_contrib.py SINTER: operators over bytes of onnxruntime's own domain, and weights of 4 and 8 bits in blocks, against onnxruntime. Codes differ by one step at most, where its
kernels multiply by one factor what the definition rounds twice; floats by 1e-5 of the sum of magnitudes. An LSTM differs by what onnxruntime rounds its inputs and states to."""
import sys

import ml_dtypes
import numpy as np
from onnx import TensorProto

from contrib_node import run_both

RNG = np.random.default_rng(11)
failures = 0


def draw(shape, kind):
    info = np.iinfo(kind)
    return np.asarray(RNG.integers(info.min, info.max, shape, dtype=kind, endpoint=True))


def narrow(shape):
    """Seven bits: on CPUs without dot products of bytes, onnxruntime adds pairs of u8 times i8 with 16 bits, which saturate with more."""
    return np.asarray(RNG.integers(-64, 63, shape, dtype=np.int8, endpoint=True))


def f32(*values):
    return np.asarray(values[0] if len(values) == 1 else values, np.float32)


def u8(value):
    return np.asarray(value, np.uint8)


def compare(sinter, title, op, values, constants, expected_steps, bound=1e-5, **attributes):
    """`values` and `constants`: those of run_both."""
    global failures
    (expected,), got, printed = run_both(sinter, op, values, constants, [TensorProto.UINT8 if expected_steps else TensorProto.FLOAT], **attributes)
    got = None if got is None else got[0]
    apart = None if got is None or got.shape != expected.shape else np.abs(got.astype(np.float64) - expected).max() / (1 if expected_steps else np.abs(expected).max())
    if apart is None or got.dtype != expected.dtype or apart > (1 if expected_steps else bound):
        failures += 1
        print(f"{title}: {apart} apart {printed}")


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
    pool = {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1)}
    for extra in ({}, {"count_include_pad": 1}):
        compare(sinter, f"QLinearAveragePool {extra}", "QLinearAveragePool", scaled, fixed, True, **pool, **extra)
    compare(sinter, "QLinearAveragePool of channels last", "QLinearAveragePool", scaled, fixed, True, channels_last=1, **pool)
    shares = scaled | {"ys": f32(1 / 256), "yz": u8(0)}
    for opset, axis in ((13, -1), (13, 1), (12, 2), (12, 3)):
        compare(sinter, f"QLinearSoftmax {opset} {axis}", "QLinearSoftmax", shares, fixed, True, opset=opset, axis=axis)
    choice = {"c": draw((2, 6, 1, 4), np.uint8) > 127, "x": x, "xs": s, "xz": z, "b": draw((6, 5, 1), np.uint8), "bs": f32(0.02), "bz": u8(9), "zs": f32(0.06), "zz": u8(77)}
    compare(sinter, "QLinearWhere", "QLinearWhere", choice, ["xs", "xz", "bs", "bz", "zs", "zz"], True)
    a, b = draw((5, 40), np.uint8), narrow((24, 40))
    gemm = {"a": a, "as": s, "az": z, "b": b, "bs": RNG.uniform(0.01, 0.02, 24).astype(np.float32), "bz": np.zeros(24, np.int8), "c": RNG.integers(-999, 999, 24).astype(np.int32)}
    fixed = ["as", "az", "b", "bs", "bz", "c"]
    compare(sinter, "QGemm", "QGemm", gemm | {"ys": f32(0.4), "yz": u8(128)}, [*fixed, "ys", "yz"], True, transB=1)
    compare(sinter, "QGemm to floats", "QGemm", gemm, fixed, False, transB=1)
    for directions, inputs, hidden, hasChannels in ((1, 20, 16, False), (2, 12, 24, True)):
        lines = (directions, 4 * hidden) if hasChannels else (directions,)
        cells = {"x": RNG.uniform(-1, 1, (7, 3, inputs)).astype(np.float32), "w": narrow((directions, inputs, 4 * hidden)), "r": narrow((directions, hidden, 4 * hidden)),
                 "b": RNG.uniform(-0.1, 0.1, (directions, 8 * hidden)).astype(np.float32), "lengths": np.array([7, 2, 5], np.int32), "h": None, "c": None, "p": None,
                 "ws": RNG.uniform(0.001, 0.003, lines).astype(np.float32), "wz": np.zeros(lines, np.int8), "rs": RNG.uniform(0.001, 0.003, lines).astype(np.float32), "rz": np.zeros(lines, np.int8)}
        compare(sinter, f"DynamicQuantizeLSTM {directions}", "DynamicQuantizeLSTM", cells, ["w", "r", "b", "ws", "wz", "rs", "rz"], False, bound=0.02, hidden_size=hidden,
                direction="bidirectional" if directions > 1 else "forward")
    ids = RNG.integers(0, 50, (2, 3))
    for bits, block, width in ((4, 32, 96), (4, 16, 96), (8, 32, 96), (4, 32, 32), (4, 16, 16)):  # the last two: one block a row
        packed = 8 // bits
        table = {"codes": draw((50, width // packed), np.uint8), "ids": ids, "s": RNG.uniform(0.01, 0.1, (50, width // block)).astype(np.float32)}
        for zero in (None, draw((50, -(-width // block // packed)), np.uint8)):
            compare(sinter, f"GatherBlockQuantized {bits} {block} {width}", "GatherBlockQuantized", table | {"z": zero}, ["codes", "s", *(["z"] if zero is not None else [])], False,
                    bits=bits, block_size=block, gather_axis=0, quantize_axis=1)
    for kind, least in ((ml_dtypes.uint4, 0), (ml_dtypes.int4, -8)):
        draw4 = lambda *shape: RNG.integers(least, least + 16, shape).astype(kind)
        table = {"codes": draw4(50, 64), "ids": ids, "s": RNG.uniform(0.01, 0.1, (50, 2)).astype(np.float32)}
        for zero in (None, draw4(50, 2)):
            compare(sinter, f"GatherBlockQuantized {kind.__name__}", "GatherBlockQuantized", table | {"z": zero}, ["codes", "s", *(["z"] if zero is not None else [])], False, bits=4,
                    block_size=32, gather_axis=0, quantize_axis=1)
    for bits, block, k in ((4, 32, 96), (4, 16, 40), (8, 32, 64)):
        weights, zeros = blocks(k, 24, bits, block)
        rows = RNG.standard_normal((3, k)).astype(np.float32)
        for zero in (None, draw(zeros, np.uint8)):
            compare(sinter, f"MatMulNBits {bits} {block} {k}", "MatMulNBits", {"x": rows, **weights, "z": zero}, [*weights, *(["z"] if zero is not None else [])], False, K=k, N=24, bits=bits, block_size=block)
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
