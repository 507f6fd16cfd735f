#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""onnx_sums.py BUILD [SIZE]

Every ONNX operator that sums, over axes of a tensor of SIZE (default 200,000) elements in all float types, against NumPy in wider types, by the
bounds of sums.py: f32 with sizes by name, and fixed without optimizations. 16 bits accumulate in f32. One to eight threads give the same bits."""
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

sinter_runtime.DTYPES[4] = ml_dtypes.bfloat16
sinter_runtime.CODES[np.dtype(ml_dtypes.bfloat16)] = 4
# Wider type, and the rounding of a result, which sums of 16 bits may show beside the bound.
TYPES = {np.float32: (np.float64, 1.2e-7), np.float64: (np.longdouble, 2.2e-16), np.float16: (np.float64, 9.8e-4), ml_dtypes.bfloat16: (np.float64, 7.8e-3)}
SUM, FUNCTION = 1e-6, 3e-6  # of the magnitudes; where an exponential or a deviation comes after the sum
THREADS = (1, 2, 3, 4, 8)


def of_sums(function):
    return lambda x: (function(x), function(np.abs(x)))


def itself(function, scale=None):
    return lambda x: (function(x), np.abs(scale(x) if scale else function(x)))


def log_sum_exp(x, axes):
    top = np.max(x, axes, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axes, keepdims=True)) + top


def centred(x, axes=(0, 2, 3)):
    gap = x - np.mean(x, axes, keepdims=True)
    return gap / (np.sqrt(np.mean(gap * gap, axes, keepdims=True)) + 1e-9)


def deviations(x, axes=(0, 2, 3)):
    """The numbers themselves in units of the deviation: so is the error of what is left of them without the mean."""
    gap = x - np.mean(x, axes, keepdims=True)
    return (np.abs(x) + np.mean(np.abs(x), axes, keepdims=True)) / (np.sqrt(np.mean(gap * gap, axes, keepdims=True)) + 1e-9)


def node(kind, *parameters, **attributes):
    return kind, parameters, attributes


def reduce(kind, *axes, **attributes):
    return node(kind, np.array(axes, np.int64), **attributes)


ROWS = [
    (reduce("ReduceSum", 0), of_sums(lambda x: x.sum(0, keepdims=True)), SUM),
    (reduce("ReduceSum", 2, keepdims=0), of_sums(lambda x: x.sum(2)), SUM),
    (reduce("ReduceSum", 1, 3), of_sums(lambda x: x.sum((1, 3), keepdims=True)), SUM),
    (reduce("ReduceSum", 0, 2, keepdims=0), of_sums(lambda x: x.sum((0, 2))), SUM),
    (node("ReduceSum"), of_sums(lambda x: x.sum(keepdims=True)), SUM),
    (reduce("ReduceMean", 2, 3), of_sums(lambda x: x.mean((2, 3), keepdims=True)), SUM),
    (reduce("ReduceMean", 0, 1, 2), of_sums(lambda x: x.mean((0, 1, 2), keepdims=True)), SUM),
    (reduce("ReduceL1", 2), itself(lambda x: np.abs(x).sum(2, keepdims=True)), SUM),
    (reduce("ReduceL2", 2), itself(lambda x: np.sqrt((x * x).sum(2, keepdims=True))), SUM),
    (reduce("ReduceLogSumExp", 1, 2), itself(lambda x: log_sum_exp(x, (1, 2))), SUM),
    (node("Softmax", axis=2), itself(lambda x: np.exp(x - log_sum_exp(x, 2))), FUNCTION),
    (node("LogSoftmax", axis=2), itself(lambda x: x - log_sum_exp(x, 2)), FUNCTION),
    (node("LpNormalization", axis=2), itself(lambda x: x / np.sqrt((x * x).sum(2, keepdims=True))), FUNCTION),
    (node("GlobalAveragePool"), of_sums(lambda x: x.mean((2, 3), keepdims=True)), SUM),
    (node("AveragePool", kernel_shape=[100, 2]), of_sums(lambda x: np.lib.stride_tricks.sliding_window_view(x, (100, 2), (2, 3)).mean((4, 5))), SUM),
    (node("CumSum", np.array(2, np.int64)), of_sums(lambda x: np.cumsum(x, 2)), SUM),
    (node("CumSum", np.array(2, np.int64), reverse=1, exclusive=1), of_sums(lambda x: np.flip(np.cumsum(np.flip(x, 2), 2), 2) - x), SUM),
    (node("Einsum", equation="nchw->hw"), of_sums(lambda x: x.sum((0, 1))), SUM),
    (node("MeanVarianceNormalization"), itself(centred, deviations), FUNCTION),
]


def model(rows, dtype, shape, named):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes, initializers, outputs = [], [], []
    for k, ((operator, parameters, attributes), _, _) in enumerate(rows):
        names = [f"p{k}_{i}" for i in range(len(parameters))]
        initializers += [helper.make_tensor(n, TensorProto.INT64, p.shape, p.reshape(-1)) for n, p in zip(names, parameters)]
        nodes.append(helper.make_node(operator, ["x", *names], [f"y{k}"], **attributes))
        outputs.append(helper.make_tensor_value_info(f"y{k}", kind, None))
    sizes = [f"n{k}" for k in range(len(shape))] if named else shape
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", kind, sizes)], outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def main(build, size=200000):
    shape = (2, 5, int(size) // 100, 10)
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    random, failures, checks = np.random.default_rng(3), 0, 0
    inputs = {"uniform": random.random(shape), "constant": np.full(shape, 1.1), "alternating": np.where(np.arange(np.prod(shape)).reshape(shape) % 2, -1.1, 1.3)}
    with tempfile.TemporaryDirectory() as folder:
        for dtype, (wide, rounding) in TYPES.items():
            rows = ROWS if dtype in (np.float32, np.float16) else ROWS[::3]
            # Sums that 16 bits hold.
            operands = {pattern: (x / (1000 if dtype == np.float16 else 1)).astype(dtype) for pattern, x in inputs.items()}
            wanted = {pattern: [oracle(x.astype(wide)) for _, oracle, _ in rows] for pattern, x in operands.items()}
            for named, level in ((True, "-O2"), (False, "-O0")) if dtype == np.float32 else ((False, "-O2"),):
                onnx.save(model(rows, dtype, shape, named), f"{folder}/m.onnx")
                subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.onnx", level, "-o", f"{folder}/m.smod"], check=True, stderr=subprocess.DEVNULL)
                for pattern, x in operands.items():
                    bits = []
                    for threads in THREADS if pattern == "uniform" else (1,):
                        session = runtime.session(f"{folder}/m.smod", threads)
                        session.set("x", x)
                        session.call()
                        bits.append([session.result(f"y{k}") for k in range(len(rows))])
                        session.close()
                    for k, ((operator, _, attributes), _, bound) in enumerate(rows):
                        value, scale = wanted[pattern][k]
                        allowed = bound if dtype == np.float32 else bound * 1e-8 if dtype == np.float64 else bound + rounding
                        off = np.abs(bits[0][k].astype(wide) - value) - float(ml_dtypes.finfo(dtype).smallest_subnormal)
                        error = float(np.max(off / (scale + 1e-30)))
                        name = f"{operator} {attributes or ''} of {np.dtype(dtype).name}, {pattern}, sizes {'by name' if named else 'fixed'}, {level}"
                        checks += len(bits)
                        if not error <= allowed:
                            failures += 1
                            print(f"{name}: an error of at most {allowed:g} is required, got {error:.3g}")
                        for threads, other in zip(THREADS[1:], bits[1:]):
                            if other[k].tobytes() != bits[0][k].tobytes():
                                failures += 1
                                print(f"{name}: {threads} threads give other bits than one")
    print(f"{checks} results, {failures} wrong")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
