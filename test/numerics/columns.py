#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""columns.py BUILD [--count N]

Positions of greatest and least elements and running sums, along the innermost axis and along others, against NumPy: sizes around
those of vectors, ties, NaNs, infinities and zeros of both signs, floats and integers; on one thread and on two."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

SIZES = (1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 130, 257)
POSITIONS = (np.float32, np.float64, np.float16, np.int8, np.uint8, np.int32, np.int64)
SUMS = (np.float32, np.float64, np.int32, np.int64)


class Case:
    def __init__(self, number, random):
        pick = lambda values: values[random.integers(len(values))]
        self.isSum, self.flags = number % 3 == 0, [int(flag) for flag in random.integers(0, 2, 2)]
        kind = pick(SUMS if self.isSum else POSITIONS)
        shape = [pick(SIZES) for _ in range(random.integers(1, 4))]
        self.axis = int(random.integers(len(shape)))
        x = random.standard_normal(shape) * 3 if random.integers(2) else random.integers(0, 3, shape)  # ties
        self.x = x.astype(kind)
        if np.issubdtype(kind, np.floating) and not self.isSum:
            for share, value in ((0.05, np.nan), (0.3, pick((np.inf, -np.inf, -0.0)))):
                if random.integers(3) == 0:
                    self.x[random.random(shape) < share] = value

    def nodes(self, name):
        first, second = self.flags
        if self.isSum:
            axis = numpy_helper.from_array(np.array(self.axis, np.int64), "axis" + name)
            return [helper.make_node("CumSum", ["x" + name, axis.name], ["y" + name], exclusive=first, reverse=second)], [axis]
        op = "ArgMax" if first else "ArgMin"
        return [helper.make_node(op, ["x" + name], ["y" + name], axis=self.axis, keepdims=0, select_last_index=second)], []

    def want(self):
        first, second = self.flags
        x, axis = self.x, self.axis
        if not self.isSum:
            find = np.argmax if first else np.argmin
            return x.shape[axis] - 1 - find(np.flip(x, axis), axis) if second else find(x, axis)
        wide = x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x
        x = np.flip(wide, axis) if second else wide
        total = np.cumsum(x, axis, dtype=x.dtype)
        if first:
            total = np.roll(total, 1, axis)
            total[tuple(slice(0, 1) if a == axis else slice(None) for a in range(x.ndim))] = 0
        return np.flip(total, axis) if second else total

    def check(self, got, where):
        want, what = self.want(), (where, self.x.shape, self.axis, self.x.dtype, self.isSum, self.flags)
        if self.x.dtype == np.float64 and self.isSum:
            assert (np.abs(got - want) <= 1e-14 * np.abs(self.x).sum(self.axis, keepdims=True)).all(), what
        else:
            assert np.array_equal(got, want.astype(got.dtype)), what


def main():
    build = sys.argv[1]
    count = int(sys.argv[3]) if sys.argv[2:3] == ["--count"] else 90
    random = np.random.default_rng(4)
    cases = [Case(number, random) for number in range(count)]
    value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    kind_of = lambda case: helper.np_dtype_to_tensor_dtype(case.x.dtype)
    made = [case.nodes(str(i)) for i, case in enumerate(cases)]
    graph = helper.make_graph([node for nodes, _ in made for node in nodes], "columns",
                              [value(f"x{i}", kind_of(case), case.x.shape) for i, case in enumerate(cases)],
                              [value(f"y{i}", kind_of(case) if case.isSum else TensorProto.INT64, None) for i, case in enumerate(cases)],
                              [axis for _, axes in made for axis in axes])
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    with tempfile.TemporaryDirectory() as folder:
        model, module = os.path.join(folder, "c.onnx"), os.path.join(folder, "c.smod")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        for target in levels.runnable():
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", model, "-o", module, "--target", target, "--force"], check=True,
                           stdout=subprocess.DEVNULL)
            for threads in (1, 2):
                session = runtime.session(module, threads)
                for i, case in enumerate(cases):
                    session.set(f"x{i}", case.x)
                session.call()
                for i, case in enumerate(cases):
                    case.check(np.array(session.result(f"y{i}")), (target, threads))
    print("rows and columns agree with NumPy")


if __name__ == "__main__":
    main()
