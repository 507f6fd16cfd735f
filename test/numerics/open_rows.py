#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""open_rows.py BUILD [TARGET...]

Products with constants whose rows only running tells, against NumPy in f64: all numbers of rows from 0 to 40 and some larger ones, so that each is left behind the whole tiles, sums that
one block holds and that several do, columns that are one vector, several, and part of one, behind what a kernel of its own moves; on two threads."""
import sys

import numpy as np

import cases

ROWS = [*range(41), 97, 128, 197]
SIZES = [(1, 1), (7, 5), (64, 200), (384, 1152), (1536, 96), (3072, 128), (8192, 96), (20000, 64)]


class Case:
    def __init__(self, number):
        self.name, rng = f"p{number}", np.random.default_rng(number)
        self.k, self.columns = SIZES[number % len(SIZES)]
        self.batch = number % 2 == 1
        self.w = (rng.standard_normal((self.k, self.columns)) / self.k**0.5).astype(np.float32)

    def text(self):
        lead = "1x?x" if self.batch else "?x"
        x, y, w = f"tensor<{lead}{self.k}xf32>", f"tensor<{lead}{self.columns}xf32>", f"tensor<{self.k}x{self.columns}xf32>"
        return (f'func.func @{self.name}(%x: {x} {{sinter.name = "x"}}) -> {y} {{\n  %w = sinter.constant dense<"0x{self.w.tobytes().hex().upper()}"> : {w}\n'
                f"  %s = sinter.reverse %x {{axes = array<i64: {1 + self.batch}>}} : ({x}) -> {x}\n"
                f"  %p = sinter.dot_general %s, %w {{lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: {1 + self.batch}>, rhs_contract = array<i64: 0>, element_type = f32}} : "
                f"({x}, {w}) -> {y}\n  %y = sinter.abs %p : ({y}) -> {y}\n  return %y : {y}\n}}\n")

    def run(self, sessions):
        x = np.random.default_rng(2).standard_normal((max(ROWS), self.k)).astype(np.float32)
        wide, weights = x[:, ::-1].astype(np.float64), self.w.astype(np.float64)
        expected, bound = np.abs(wide @ weights), 1e-6 * (np.abs(wide) @ np.abs(weights))
        for rows in ROWS:
            got = next(iter(sessions[self.name].run({"x": x[None, :rows] if self.batch else x[:rows]}).values()))
            self.failed = rows
            if got.shape != ((1,) if self.batch else ()) + (rows, self.columns) or not np.all(np.abs(got.reshape(rows, self.columns) - expected[:rows]) <= bound[:rows]):
                return False
        return True

    def __str__(self):
        return f"{self.failed} rows by {self.w.shape}"


if __name__ == "__main__":
    cases.check(sys.argv[1], sys.argv[2:], [Case(i) for i in range(16)], (1, 2), "products", threads=2)
