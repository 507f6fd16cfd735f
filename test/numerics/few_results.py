#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""few_results.py BUILD [TARGET...]

Few numbers, or rows of them, from large arrays against NumPy, on two threads: sums, products, extremes, with something computed before and after, of axes that parts divide and that they do not.
Integers and extremes are equal to the bit, sums of floats within 1e-6 of the sum of magnitudes in f64."""
import sys

import numpy as np

import cases

SHAPES = [((200000,), (0,)), ((199999,), (0,)), ((16, 50000), (0, 1)), ((3, 70001), (1,)), ((5, 2, 33000), (0, 2)), ((2, 3, 300, 401), (0, 2, 3)), ((16, 9000), (1,)), ((17, 9000), (1,)),
          ((18433, 32), (0,)), ((8, 48, 47, 16), (0, 1, 2)), ((4099, 96), (0,)), ((50001, 3), (0,)), ((2, 3001, 145), (1,)), ((3, 5, 40, 41, 33), (1, 2, 3)), ((2, 90, 2, 91, 33), (1, 3))]
KINDS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "i8": np.int8, "ui16": np.uint16}
REDUCE = {"add": np.add, "max": np.maximum, "min": np.minimum}


class Case:
    def __init__(self, number, shape, axes, kind, how, rng):
        self.name, self.axes, self.kind, self.how = f"r{number}", axes, kind, how
        floats = kind.startswith("f")
        self.x = (rng.standard_normal(shape) if floats else rng.integers(0, 100, shape)).astype(KINDS[kind])
        if floats and how != "add" and number % 2:
            self.x[(-1,) * len(shape)] = np.nan

    def text(self):
        kept = [size for axis, size in enumerate(self.x.shape) if axis not in self.axes]
        x, y = (f"tensor<{''.join(f'{size}x' for size in sizes)}{self.kind}>" for sizes in (self.x.shape, kept))
        return (f'func.func @{self.name}(%x: {x} {{sinter.name = "x"}}) -> ({y} {{sinter.name = "y"}}) {{\n  %a = sinter.neg %x : ({x}) -> {x}\n'
                f'  %r = sinter.reduce {self.how} %a axes = {list(self.axes)} : ({x}) -> {y}\n  %y = sinter.neg %r : ({y}) -> {y}\n  return %y : {y}\n}}\n')

    def __str__(self):
        return f"{self.how} of {self.kind} {self.x.shape} over {self.axes}"

    def run(self, sessions):
        y = sessions[self.name].run({"x": self.x})["y"]
        if self.how != "add" or not self.kind.startswith("f"):
            return np.array_equal(y, -REDUCE[self.how].reduce(-self.x, self.axes, dtype=self.x.dtype), equal_nan=self.kind.startswith("f"))
        wide = self.x.astype(np.float64)
        bound = 1e-6 * np.abs(wide).sum(self.axes) + (np.abs(wide.sum(self.axes)) * 1e-3 if self.kind == "f16" else 0)
        return bool(np.all(np.abs(y - wide.sum(self.axes)) <= bound))


def main():
    rng = np.random.default_rng(11)
    all_cases = [Case(len(SHAPES) * i + j, *shape, kind, how, rng) for i, (kind, how) in enumerate((kind, how) for kind in KINDS for how in REDUCE) for j, shape in enumerate(SHAPES)]
    cases.check(sys.argv[1], sys.argv[2:], all_cases, strides=(1, 5), noun="reductions", threads=2)


main()
