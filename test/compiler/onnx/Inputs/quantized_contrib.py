# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantized_contrib.py SINTER: operators over bytes of onnxruntime's own domain, and weights of 4 and 8 bits in blocks, against onnxruntime. Codes differ by one step at most, where its
kernels multiply by one factor what the definition rounds twice; floats by 1e-5 of the sum of magnitudes. An LSTM differs by what onnxruntime rounds its inputs and states to."""
import sys

import ml_dtypes
import numpy as np
from onnx import TensorProto

from contrib_node import run_both, run_ours

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


def compare(sinter, title, op, values, constants, expected_steps, bound=1e-5, opened=(), more=(), **attributes):
    """`values`, `constants` and `opened`: those of run_both; `more`: the types of further outputs."""
    global failures
    kinds = [TensorProto.UINT8 if expected_steps else TensorProto.FLOAT, *more]
    wanted, found, printed = run_both(sinter, op, values, constants, kinds, opened=opened, **attributes)
    for expected, got in zip(wanted, found or [None] * len(kinds)):
        apart = None if got is None or got.shape != expected.shape else np.abs(got.astype(np.float64) - expected).max() / (1 if expected_steps else np.abs(expected).max())
        if apart is None or got.dtype != expected.dtype or apart > (1 if expected_steps else bound):
            failures += 1
            print(f"{title}: {apart} apart {printed}")


def blocks(k, n, bits, block):
    count = -(-k // block)
    return {"w": draw((n, count, block * bits // 8), np.uint8), "s": RNG.uniform(0.01, 0.1, (n, count)).astype(np.float32)}, (n, -(-count * bits // 8))


def check_products(sinter):
    """Products of bytes that give floats, of rows whose number only the call tells, too."""
    for opened in ((), ("x",)):
        for title, weights, columns, kind in (("", narrow((40, 24)), (), np.int8), ("of columns", narrow((40, 24)), (24,), np.int8), ("of u8", draw((40, 24), np.uint8) // 2, (24,), np.uint8),
                                              ("of matrices", narrow((2, 40, 24)), (), np.int8)):
            parts = {"w": weights, "ws": RNG.uniform(0.01, 0.02, columns).astype(np.float32), "wz": np.asarray(RNG.integers(0, 5, columns, dtype=kind))}
            for zero in (True, False):
                w = parts if zero else parts | {"wz": None}
                fixed = ["w", "ws", *(["wz"] if zero else []), "b"]
                bias = RNG.uniform(-1, 1, 24).astype(np.float32)
                compare(sinter, f"DynamicQuantizeMatMul {title} {zero} {opened}", "DynamicQuantizeMatMul", {"x": RNG.standard_normal((2, 7, 40)).astype(np.float32), **w, "b": bias}, fixed, False, opened=opened)
                codes = {"x": draw((2, 7, 40), np.uint8), "w": weights, "xs": f32(0.05), "ws": w["ws"], "xz": u8(120) if zero else None, "wz": w["wz"], "b": bias}
                compare(sinter, f"MatMulIntegerToFloat {title} {zero} {opened}", "MatMulIntegerToFloat", codes, ["xs", *(["xz"] if zero else []), *fixed], False, opened=opened)
        for columns in ((), (96,)):
            attention = {"x": draw((2, 6, 32), np.uint8), "w": narrow((32, 96)), "b": RNG.uniform(-1, 1, 96).astype(np.float32), "xs": f32(0.02), "ws": RNG.uniform(0.001, 0.003, columns).astype(np.float32)}
            for title, more in (("", {}), ("of zeros", {"m": None, "xz": u8(120), "wz": np.asarray(RNG.integers(0, 5, columns, dtype=np.int8))}), ("of lengths", {"m": np.array([6, 4], np.int32), "xz": u8(120)}),
                                ("with a past", {"m": None, "xz": u8(120), "wz": None, "past": RNG.standard_normal((2, 2, 4, 5, 8)).astype(np.float32)})):
                values = attention | more
                fixed = [name for name in ("w", "b", "xs", "ws", "xz", "wz") if values.get(name) is not None]
                compare(sinter, f"QAttention {title} {columns} {opened}", "QAttention", values, fixed, False, opened=opened, more=[TensorProto.FLOAT] if "past" in more else [], num_heads=4, unidirectional=int("past" in more))


def check_channels_last(sinter):
    """Convolutions and pools of pictures whose channels are last, and tables of bytes."""
    for opened in ((), ("x",)):
        x = draw((2, 9, 8, 6), np.uint8)
        for title, groups, columns in (("", 1, ()), ("of columns", 1, (12,)), ("of groups", 6, (12,))):
            filters = {"w": narrow((12, 6 // groups, 3, 3)), "ws": RNG.uniform(0.01, 0.02, columns).astype(np.float32), "wz": np.zeros(columns, np.int8)}
            values = {"x": x, "xs": f32(0.05), "xz": u8(120), **filters, "ys": f32(0.3), "yz": u8(100), "b": RNG.integers(-999, 999, 12).astype(np.int32)}
            open_size = opened if columns == () else ()  # of an open number of channels nothing is tested here
            compare(sinter, f"QLinearConv {title} {opened}", "QLinearConv", values, [name for name in values if name != "x"], True, opened=open_size, channels_last=1, group=groups, pads=(1, 1, 1, 1), strides=(2, 1))
        compare(sinter, f"NhwcMaxPool {opened}", "NhwcMaxPool", {"x": x}, [], True, opened=opened, kernel_shape=(3, 2), strides=(2, 1), pads=(1, 0, 1, 1))
    tables = {"words": draw((30, 48), np.uint8), "places": draw((12, 48), np.uint8), "kinds": draw((2, 48), np.uint8), "g": draw((48,), np.uint8), "b": draw((48,), np.uint8)}
    ids = {"ids": RNG.integers(0, 30, (2, 7)).astype(np.int32), "segments": RNG.integers(0, 2, (2, 7)).astype(np.int32)}
    scales, zeros = {f"s{k}": f32(0.01 + 0.01 * k) for k in range(5)}, {f"z{k}": u8(100 + k) for k in range(5)}
    values = ids | tables | {"mask": np.array([[1] * 7, [1] * 4 + [0] * 3], np.int32)} | scales | zeros
    compare(sinter, "QEmbedLayerNormalization", "QEmbedLayerNormalization", values, [*tables, *scales, *zeros], False, more=[TensorProto.INT32], epsilon=1e-6)
    # onnxruntime knows this one and has no kernel for it here.
    x = draw((2, 6, 5, 4), np.uint8)
    for axes, keep in (((1, 2), 0), ((-1,), 1), (None, 1)):
        attributes = {"keepdims": keep} | ({"axes": axes} if axes else {})
        values = {"x": x, "xs": f32(0.05), "xz": u8(120), "ys": f32(0.02), "yz": u8(40)}
        got, printed = run_ours(sinter, "QLinearReduceMean", values, ["xs", "xz", "ys", "yz"], [TensorProto.UINT8], **attributes)
        mean = (x.astype(np.float64) - 120).mean(axes, keepdims=bool(keep)) * 0.05
        judge(f"QLinearReduceMean {attributes}", np.clip(np.round(mean / 0.02) + 40, 0, 255).astype(np.uint8), got and got[0], printed)


def judge(title, expected, got, printed):
    global failures
    if got is None or got.shape != expected.shape or got.dtype != expected.dtype or np.abs(got.astype(np.float64) - expected).max() > 1:
        failures += 1
        print(f"{title}: {got} for {expected} {printed}")


def check_order(sinter, rows, weights, zero, k, bits, block):
    """Each row of the matrix with a block of its own choice, or in order; what has an order is not supported by onnxruntime for all numbers of bits."""
    global failures
    spread = lambda packed, count: np.stack([packed >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], -1).reshape(len(packed), -1)[:, :count].astype(np.float64)
    count = -(-k // block)
    for order in (RNG.integers(0, count, k), np.arange(k) // block):
        zeros = spread(zero, count) if zero is not None else np.full((24, count), 1 << bits - 1)
        matrix = (spread(weights["w"].reshape(24, -1), k) - zeros[:, order]) * weights["s"][:, order]
        expected = rows.astype(np.float64) @ matrix.T
        values = {"x": rows, **weights, "z": zero, "g": order.astype(np.int32)}
        got, printed = run_ours(sinter, "MatMulNBits", values, [name for name in ("w", "s", "z", "g") if values[name] is not None], [TensorProto.FLOAT], K=k, N=24, bits=bits, block_size=block)
        if got is None or not np.abs(got[0] - expected).max() < 1e-5 * np.abs(expected).max():
            failures += 1
            print(f"MatMulNBits {bits} {block} {k} with an order: {printed}")


def main():
    sinter = sys.argv[1]
    x, s, z = draw((2, 6, 5, 4), np.uint8), f32(0.05), u8(120)
    for op in ("QLinearAdd", "QLinearMul"):
        compare(sinter, op, op, {"a": x, "as": s, "az": z, "b": draw((2, 6, 5, 4), np.uint8), "bs": f32(0.02), "bz": u8(9), "ys": f32(0.09), "yz": u8(100)}, ["as", "az", "bs", "bz", "ys", "yz"], True)
    scaled = {"x": x, "xs": s, "xz": z, "ys": f32(0.02), "yz": u8(40)}
    fixed = ["xs", "xz", "ys", "yz"]
    compare(sinter, "QLinearSigmoid", "QLinearSigmoid", scaled | {"ys": f32(1 / 256), "yz": u8(0)}, fixed, True)
    compare(sinter, "QLinearLeakyRelu", "QLinearLeakyRelu", scaled, fixed, True, alpha=0.3)
    for opened in ((), ("x",)):
        for last in (0, 1):
            compare(sinter, f"QLinearGlobalAveragePool {last} {opened}", "QLinearGlobalAveragePool", scaled, fixed, True, opened=opened, channels_last=last)
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
    check_products(sinter)
    check_channels_last(sinter)
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
    for bits, block, k in ((4, 32, 96), (4, 16, 40), (8, 32, 64), (2, 32, 96), (2, 16, 40), (2, 64, 192)):
        weights, zeros = blocks(k, 24, bits, block)
        rows = RNG.standard_normal((3, k)).astype(np.float32)
        for zero in (None, draw(zeros, np.uint8)):
            check_order(sinter, rows, weights, zero, k, bits, block)
            compare(sinter, f"MatMulNBits {bits} {block} {k}", "MatMulNBits", {"x": rows, **weights, "z": zero}, [*weights, *(["z"] if zero is not None else [])], False, K=k, N=24, bits=bits, block_size=block)
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
