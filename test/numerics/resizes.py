#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""resizes.py BUILD

Linear and cubic resizes that grow along several axes, which are computed an axis at a time, against NumPy in f64 by a matrix of weights for each axis: sizes and scales, the usual
ways from one position to another, channels first and last and moved afterwards, sizes that only running tells, f32, f64 and f16, on each level of CPU that this machine can run. The same bits as where they
are computed at once (-O1)."""
import sys

import numpy as np

import cases

KINDS = {"f32": (np.float32, 1e-6), "f64": (np.float64, 1e-13), "f16": (np.float16, 1e-3)}
COORDINATES = {"half_pixel": lambda x, scale, size, length: (x + 0.5) / scale - 0.5, "asymmetric": lambda x, scale, size, length: x / scale,
               "align_corners": lambda x, scale, size, length: x * (size - 1) / (length - 1)}


def weights(size, resized, scale, coordinates, mode):
    """[resized, size], what each element adds to each result; elements beyond an end are the last one."""
    position = COORDINATES[coordinates](np.arange(resized), scale, size, size * scale)
    floor = np.floor(position)
    t, a = position - floor, -0.75
    far, near = (lambda d: a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a), (lambda d: (a + 2) * d**3 - (a + 3) * d**2 + 1)
    taps = [(0, 1 - t), (1, t)] if mode == "linear" else [(-1, far(1 + t)), (0, near(t)), (1, near(1 - t)), (2, far(2 - t))]
    matrix = np.zeros((resized, size))
    for offset, weight in taps:
        np.add.at(matrix, (np.arange(resized), np.clip(floor + offset, 0, size - 1).astype(int)), weight)
    return matrix


class Case:
    def __init__(self, number):
        self.name, rng = f"r{number}", np.random.default_rng(number)
        pick = lambda *values: values[rng.integers(len(values))]
        self.kind, self.mode, self.coordinates = pick("f32", "f32", "f64", "f16"), pick("linear", "linear", "cubic"), pick(*COORDINATES)
        first = [pick(1, 2), pick(1, 3, 21), *(int(n) for n in rng.integers(2, 20, 2))]
        scales = [1.0, 1.0, pick(1.0, 2.0, 2.25, 4.0, 9.0), pick(1.5, 2.0, 3.0, 8.0, 0.5)]
        if self.mode == "linear" and number % 5 == 0:  # three axes
            first, scales = first[:2] + [3] + first[2:], scales[:2] + [2.0] + scales[2:]
        order = pick([*range(len(first))], [0, *range(2, len(first)), 1])  # channels last
        self.move = order != [*range(len(first))] and pick(True, False)
        self.shape, self.scales = [first[i] for i in order], [scales[i] for i in order]
        self.resized = [int(np.floor(size * scale)) for size, scale in zip(self.shape, self.scales)]
        self.bySizes = pick(True, False)
        if self.bySizes:
            self.resized = [size if scale == 1 else size + int(rng.integers(0, 2)) for size, scale in zip(self.resized, self.scales)]
            self.scales = [after / before for before, after in zip(self.shape, self.resized)]
        self.isOpen = number % 4 == 3  # sizes are known at run time only
        self.x = rng.standard_normal(self.shape).astype(KINDS[self.kind][0])

    def text(self):
        known = lambda shape: ["?" if self.isOpen and scale != 1 else size for size, scale in zip(shape, self.scales)]
        x, y = (f"tensor<{'x'.join(map(str, known(shape)))}x{self.kind}>" for shape in (self.shape, self.resized))
        rank, last = len(self.shape), [0, len(self.shape) - 1, *range(1, len(self.shape) - 1)]
        z = f"tensor<{'x'.join(str(known(self.resized)[i]) for i in last)}x{self.kind}>"
        table = f"tensor<{rank}xi64>" if self.bySizes else f"tensor<{rank}xf32>"
        given = f', %s: {table} {{sinter.name = "s"}}' if self.isOpen and self.bySizes else ""
        lines = [f'func.func @{self.name}(%x: {x} {{sinter.name = "x"}}{given}) -> {z if self.move else y} {{',
                 "" if given else f"  %s = sinter.constant dense<{self.resized if self.bySizes else self.scales}> : {table}",
                 f"  %y = sinter.resize %x {'sizes' if self.bySizes else 'scales'}(%s) {{mode = #sinter<resize_mode {self.mode}>, coordinates = #sinter<coordinate_mode {self.coordinates}>}} : "
                 f"({x}, {table}) -> {y}"]
        if self.move:
            lines.append(f"  %z = sinter.transpose %y {{permutation = array<i64: {', '.join(map(str, last))}>}} : ({y}) -> {z}")
        return "\n".join(lines + [f"  return %{'z' if self.move else 'y'} : {z if self.move else y}", "}", ""])

    def inputs(self):
        return {"x": self.x} | ({"s": np.array(self.resized, np.int64)} if self.isOpen and self.bySizes else {})

    def check(self, got):
        expected, scale = self.x.astype(np.float64), np.abs(self.x.astype(np.float64))
        for axis, (size, resized, factor) in enumerate(zip(self.shape, self.resized, self.scales)):
            if factor != 1:
                matrix = weights(size, resized, factor, self.coordinates, self.mode)
                expected, scale = (np.moveaxis(np.tensordot(m, v, (1, axis)), 0, axis) for m, v in ((matrix, expected), (np.abs(matrix), scale)))
        if self.move:
            expected, scale = np.moveaxis(expected, -1, 1), np.moveaxis(scale, -1, 1)
        assert got.shape == expected.shape and np.all(np.abs(got - expected) <= KINDS[self.kind][1] * scale), self.text()


if __name__ == "__main__":
    cases.check_pairs(sys.argv[1], [Case(i) for i in range(60)], ("-O1", "-O2"), "resizes")
