#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""slices.py BUILD [TARGET...]

scatter_nd of slices against NumPy, to the bit: all ways to combine, types of all widths, slices of whole vectors and not, of one, two and unknown axes, places that several updates go to,
in their order. Sums of floats are of small whole numbers, so that no order rounds."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

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

    def run(self, sessions):
        expected = self.x.copy()
        for place, update in zip(map(tuple, self.i), self.u):
            expected[place] = COMBINE[self.how](expected[place], update).astype(expected.dtype)
        return np.array_equal(sessions[self.name].run({"x": self.x, "i": self.i, "u": self.u})["y"], expected)


def main():
    build, chosen = sys.argv[1], sys.argv[2:]
    rng = np.random.default_rng(7)
    cases = [Case(i, rng) for i in range(4 * len(TYPES) * len(COMBINE))]
    runtime, runs, wrong = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so")), 0, 0
    for number, (level, optimized) in enumerate([(level, "-O2") for level in chosen or levels.runnable()] + [("native", "-O0")]):
        own = cases if chosen else cases[number::5]
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/m.mlir", "w") as file:
                file.write("".join(case.text() for case in own))
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.mlir", "--target", level, optimized, "-o", f"{folder}/m.smod"], check=True, stderr=subprocess.DEVNULL)
            sessions = runtime.sessions(f"{folder}/m.smod", [case.name for case in own])
            for case in own:
                runs += 1
                if not case.run(sessions):
                    wrong += 1
                    print(f"{level} {optimized}: {case.how} of {case.kind} {case.u.shape} to {case.x.shape}, known {case.known}")
    print(f"{runs} scatters, {wrong} wrong")
    sys.exit(wrong > 0)


main()
