#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""einsums.py BUILD

Products whose axes lie in any order, as einsums have them, against NumPy in f64: batches, rows, columns and sums of several axes each, in runs and apart, axes of one element between
them, operands that are constants, f32 and f64, on each level of CPU that this machine can run."""
import sys

import numpy as np

import cases

KINDS = {"f32": (np.float32, 1e-6), "f64": (np.float64, 1e-14)}


class Case:
    def __init__(self, number):
        self.name, rng = f"e{number}", np.random.default_rng(number)
        pick = lambda *values: values[rng.integers(len(values))]
        self.kind, self.constant = pick("f32", "f32", "f64"), pick(None, None, "x", "y")
        letters, sizes = iter("abcdefghijk"), {}

        def axes(counts, choices):
            made = [next(letters) for _ in range(pick(*counts))]
            sizes.update((letter, pick(*choices)) for letter in made)
            return made

        self.batch, self.rows = axes((0, 1, 1, 2), (1, 2, 3, 14)), axes((0, 1, 2, 2, 3), (1, 2, 5, 7, 12))
        self.columns, self.sums = axes((0, 1, 1, 2), (1, 3, 7, 16, 33)), axes((1, 1, 2), (1, 4, 9, 32))
        self.sizes = sizes
        self.left = [str(a) for a in rng.permutation(self.batch + self.rows + self.sums)]
        self.right = [str(a) for a in rng.permutation(self.batch + self.columns + self.sums)]
        self.values = {name: rng.standard_normal([sizes[a] for a in order]).astype(KINDS[self.kind][0]) for name, order in (("x", self.left), ("y", self.right))}

    def result(self):
        return [*self.batch, *(a for a in self.left if a in self.rows), *(a for a in self.right if a in self.columns)]

    def text(self):
        tensor = lambda order: f"tensor<{''.join(f'{self.sizes[a]}x' for a in order)}{self.kind}>"
        types, places = {"x": tensor(self.left), "y": tensor(self.right)}, lambda order, axes: f"array<i64{':' if axes else ''} {', '.join(str(order.index(a)) for a in axes)}>"
        given = ", ".join(f'%{name}: {types[name]} {{sinter.name = "{name}"}}' for name in "xy" if name != self.constant)
        lines = [f"func.func @{self.name}({given}) -> {tensor(self.result())} {{"]
        if self.constant:
            value = self.values[self.constant]
            numbers = f'"0x{value.tobytes().hex()}"' if value.size > 1 else repr(float(value.flat[0]))
            lines.append(f"  %{self.constant} = sinter.constant dense<{numbers}> : {types[self.constant]}")
        lines.append(f"  %p = sinter.dot_general %x, %y {{element_type = {self.kind}, lhs_batch = {places(self.left, self.batch)}, rhs_batch = {places(self.right, self.batch)}, "
                     f"lhs_contract = {places(self.left, self.sums)}, rhs_contract = {places(self.right, self.sums)}}} : ({types['x']}, {types['y']}) -> {tensor(self.result())}")
        return "\n".join(lines + [f"  return %p : {tensor(self.result())}", "}", ""])

    def __str__(self):
        return self.text()

    def run(self, sessions):
        got = next(iter(sessions[self.name].run({name: value for name, value in self.values.items() if name != self.constant}).values()))
        product = f"{''.join(self.left)},{''.join(self.right)}->{''.join(self.result())}"
        x, y = (self.values[name].astype(np.float64) for name in "xy")
        expected, scale = np.einsum(product, x, y), np.einsum(product, np.abs(x), np.abs(y))
        return got.shape == expected.shape and np.all(np.abs(got - expected) <= KINDS[self.kind][1] * scale + 1e-30)


if __name__ == "__main__":
    cases.check(sys.argv[1], [], [Case(i) for i in range(200)], (1, 1), "products")
