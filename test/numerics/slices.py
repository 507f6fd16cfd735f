#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""slices.py BUILD [TARGET...]

scatter_nd of slices against NumPy, to the bit: all ways to combine, types of all widths, slices of whole vectors and not, of one, two and unknown axes, places that several updates go to,
in their order. Sums of floats are of small whole numbers, so that no order rounds. Then scatters of many updates, which are split, on two threads: slices in parts, and scatter_elements by rows."""
import sys

import numpy as np

import cases

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "ui16": np.uint16, "i32": np.int32, "i64": np.int64, "i1": np.bool_}
COMBINE = {"set": lambda old, new: new, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
SLICES = [(1,), (3,), (16,), (33,), (64,), (3, 5), (2, 40), (70,)]
UPDATES = [1, 7, 90]


def tensor(sizes, kind):
    return f"tensor<{'x'.join(map(str, sizes))}x{kind}>"


class Case:
    def __init__(self, number, rng):
        self.name, self.kind = f"s{number}", list(TYPES)[number % len(TYPES)]
        self.how = list(COMBINE)[number // len(TYPES) % len(COMBINE)]
        self.slice, self.known = SLICES[int(rng.integers(len(SLICES)))], bool(rng.integers(2))
        self.chosen, count = [(11,), (3, 4)][int(rng.integers(2))], int(rng.choice(UPDATES))
        # Products stay small: most factors are one.
        draw = lambda shape: rng.choice([-1, 1, 1, 1, 2] if self.how == "mul" else [-3, -2, 0, 1, 5], shape)
        cast = lambda x: (np.abs(x) if self.kind in ("ui16", "i1") else x).astype(TYPES[self.kind])
        self.x, self.u = cast(draw(self.chosen + self.slice)), cast(draw((count,) + self.slice))
        self.i = np.stack([rng.integers(-size, size, count) for size in self.chosen], 1).astype(np.int64)

    def text(self):
        shapes = [a.shape if self.known else ("?",) * (a.ndim - (a is self.i)) + a.shape[a.ndim - (a is self.i):] for a in (self.x, self.i, self.u)]
        x, i, u = (tensor(s, kind) for s, kind in zip(shapes, (self.kind, "i64", self.kind)))
        return (f'func.func @{self.name}(%x: {x} {{sinter.name = "x"}}, %i: {i} {{sinter.name = "i"}}, %u: {u} {{sinter.name = "u"}}) -> ({x} {{sinter.name = "y"}}) {{\n'
                f'  %y = "sinter.scatter_nd"(%x, %i, %u) <{{combiner = #sinter<combiner {self.how}>}}> : ({x}, {i}, {u}) -> {x}\n  return %y : {x}\n}}\n')

    def __str__(self):
        return f"{self.how} of {self.kind} {self.u.shape} to {self.x.shape}, known {self.known}"

    def run(self, sessions):
        expected = self.x.copy()
        for place, update in zip(map(tuple, self.i), self.u):
            expected[place] = COMBINE[self.how](expected[place], update).astype(expected.dtype)
        return np.array_equal(sessions[self.name].run({"x": self.x, "i": self.i, "u": self.u})["y"], expected)


# What is scattered to, how many updates (of scatter_elements, on its axis), and the type: of slices wide enough for parts, on one axis or the first of two, with long sums and without.
LARGE_SLICES = [((700, 512), 600, "f32"), ((40, 6, 256), 90, "f32"), ((300, 1024), 500, "i8"), ((60, 384), 3000, "f64"), ((50, 3, 512), 300, "f16")]
LARGE_ELEMENTS = [((64, 600), 2000, "f32"), ((32, 100), 4096, "f32"), ((48, 5, 700), 900, "f16"), ((64, 1000), 1024, "i32"), ((96, 400), 2048, "f64")]


class LargeSlices(Case):
    def __init__(self, number, how, shape, count, kind, rng):
        self.name, self.kind, self.how, self.known = f"large{number}", kind, how, True
        self.x = rng.integers(-3, 4, shape).astype(TYPES[kind])
        self.u = rng.integers(-1, 2, (count,) + shape[1:]).astype(TYPES[kind])
        self.i = np.where(rng.random(count) < 0.5, 7, rng.integers(-shape[0], shape[0], count))[:, None].astype(np.int64)


class LargeElements(LargeSlices):
    def __init__(self, number, how, shape, count, kind, rng):
        super().__init__(number, how, shape, count, kind, rng)
        shape = shape[:-1] + (count,)
        self.u = rng.integers(-1, 2, shape).astype(TYPES[kind])
        self.i = np.where(rng.random(shape) < 0.5, 7, rng.integers(0, self.x.shape[-1], shape)).astype(np.int64)

    def text(self):
        return super().text().replace("scatter_nd", "scatter_elements").replace("<{combiner", f"<{{axis = {self.x.ndim - 1} : i64, combiner")

    def run(self, sessions):
        expected = self.x.astype(np.float64)
        rest = np.indices(self.i.shape)[:-1]
        if self.how == "add":
            np.add.at(expected, (*rest, self.i), self.u.astype(np.float64))
        else:
            for at in range(self.i.shape[-1]):  # the last one stays
                expected[(*(axis[..., at] for axis in rest), self.i[..., at])] = self.u[..., at]
        return np.array_equal(sessions[self.name].run({"x": self.x, "i": self.i, "u": self.u})["y"], expected.astype(self.x.dtype))


def main():
    build, chosen = sys.argv[1], sys.argv[2:]
    rng = np.random.default_rng(7)
    all_cases = [Case(i, rng) for i in range(4 * len(TYPES) * len(COMBINE))]
    for kind, shapes in (LargeSlices, LARGE_SLICES), (LargeElements, LARGE_ELEMENTS):
        for how in "add", "set":
            all_cases += [kind(f"{len(all_cases)}_{i}", how, *shape, rng) for i, shape in enumerate(shapes)]
    cases.check(build, chosen, all_cases, strides=(5, 5), noun="scatters", threads=2)


main()
