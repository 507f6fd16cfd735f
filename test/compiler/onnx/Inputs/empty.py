# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""empty.py SINTER: operators over tensors without elements, with known and with open sizes, against onnxruntime. Where it has an error so do we."""
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto

from contrib_node import make_model, run_model

REAL, WHOLE, BYTE = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8


def ones(*shape):
    return np.ones(shape, np.float32)


def ints(*values):
    return np.array(values, np.int64)


def cases():
    """Operator, inputs, those that are constants, types of the outputs, attributes."""
    for shape, axis in (((0,), 0), ((2, 0), 1), ((2, 0), 0), ((2, 0, 3), 1), ((2, 0, 3), 2)):
        for op in ("Softmax", "LogSoftmax", "Hardmax"):
            yield op, {"x": ones(*shape)}, [], [REAL], {"axis": axis}
        for op in ("ArgMax", "ArgMin"):
            yield op, {"x": ones(*shape)}, [], [WHOLE], {"axis": axis}
        for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2", "ReduceLogSumExp", "ReduceLogSum"):
            yield op, {"x": ones(*shape), "a": ints(axis)}, ["a"], [REAL], {}
        yield "CumSum", {"x": ones(*shape), "a": np.array(axis)}, ["a"], [REAL], {}
    x = ones(0, 3)
    yield "TopK", {"x": x, "k": ints(0)}, ["k"], [REAL, WHOLE], {"axis": 0}
    yield "TopK", {"x": x, "k": ints(2)}, ["k"], [REAL, WHOLE], {"axis": 1}
    yield "NonZero", {"x": x}, [], [WHOLE], {}
    yield "Concat", {"x": x, "y": x}, [], [REAL], {"axis": 0}
    yield "Gather", {"x": x, "i": ints(0)}, [], [REAL], {"axis": 0}
    yield "Gather", {"x": x, "i": ints(0)}, [], [REAL], {"axis": 1}
    yield "Pad", {"x": x, "p": ints(1, 1, 1, 1)}, ["p"], [REAL], {}
    yield "Pad", {"x": x, "p": ints(1, 1, 1, 1)}, ["p"], [REAL], {"mode": "edge"}
    yield "MatMul", {"x": ones(3, 0), "w": ones(0, 4)}, [], [REAL], {}
    yield "MatMul", {"x": x, "w": ones(3, 4)}, [], [REAL], {}
    yield "Conv", {"x": ones(0, 2, 5, 5), "w": ones(3, 2, 3, 3)}, ["w"], [REAL], {}
    yield "MaxPool", {"x": ones(0, 2, 5, 5)}, [], [REAL], {"kernel_shape": [2, 2]}
    yield "NonMaxSuppression", {"b": ones(1, 0, 4), "s": ones(1, 1, 0), "m": ints(3)}, ["m"], [WHOLE], {}
    yield "GatherND", {"x": ones(3, 3), "i": np.zeros((0, 2), np.int64)}, ["i"], [REAL], {}
    yield "DynamicQuantizeLinear", {"x": ones(0)}, [], [BYTE, REAL, BYTE], {}
    yield "DynamicQuantizeLinear", {"x": 0 * ones(2, 3)}, [], [BYTE, REAL, BYTE], {}


def main():
    sinter, failures = sys.argv[1], 0
    for op, values, constants, kinds, attributes in cases():
        for opened in ((), tuple(name for name in values if name not in constants)):
            model, feeds = make_model(op, values, constants, kinds, domain="", opened=opened, version=18, **attributes)
            try:
                expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
            except Exception:
                expected = None
            got, printed = run_model(sinter, model, feeds)
            isRight = (expected is None) == (got is None) and (
                printed != "" if expected is None else all(a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype == np.float32) for a, b in zip(expected, got)))
            if not isRight:
                failures += 1
                print(f"{op} {[value.shape for value in values.values()]} {attributes} {opened}: {got} for {expected} {printed}")
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
