#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""turned_products.py BUILD

Products over axes that are not the last of their operands, as gradients of weights are (x^T y), and of rows with rows (x y^T), against NumPy in f64, on each level of CPU that this machine can
run: rows, columns and sums below, at and above the sizes of vectors and tiles, so that columns are a part of a tile, and as many as are copied whole or tile by tile, and rows that do not stay in cache, and sums of few results so long that parts of them are added. Bits are the same on one
thread, two and three."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

# Rows, columns, steps of the sum, and the axis that is summed in each operand.
CASES = [(600, 520, 64, 0, 0), (1029, 515, 131, 0, 0), (517, 1031, 40, 0, 0), (513, 640, 33, 0, 1), (512, 512, 512, 0, 0), (530, 511, 1030, 0, 1), (300, 200, 70, 0, 0), (16, 900, 40, 0, 0),
         (600, 600, 1, 0, 0), (600, 64, 150, 0, 0), (130, 96, 300, 1, 1), (64, 33, 70, 1, 0), (100, 129, 150, 1, 1), (257, 160, 1500, 1, 0), (70, 400, 40, 1, 1), (12, 48, 700, 1, 1),
         (2070, 200, 384, 1, 1), (4100, 130, 130, 1, 0), (1601, 1100, 300, 1, 1), (24, 144, 4608, 0, 0), (3, 32, 18432, 0, 0), (17, 33, 3375, 0, 0), (40, 50, 1024, 0, 0)]
KINDS = {"f32": (np.float32, 1e-5), "f64": (np.float64, 1e-14)}


def tensor(sizes, kind):
    return f"tensor<{'x'.join(map(str, sizes))}x{kind}>"


def function(number, case, kind, epilogue):
    rows, columns, k, left, right = case
    x, y, z = tensor((k, rows) if left == 0 else (rows, k), kind), tensor((k, columns) if right == 0 else (columns, k), kind), tensor((rows, columns), kind)
    rest = f', %r: {z} {{sinter.name = "r"}}' if epilogue else ""
    text = (f'func.func @f{number}(%x: {x} {{sinter.name = "x"}}, %y: {y} {{sinter.name = "y"}}{rest}) -> {z} {{\n'
            f"  %p = sinter.dot_general %x, %y {{element_type = {kind}, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: {left}>, rhs_contract = array<i64: {right}>}}"
            f" : ({x}, {y}) -> {z}\n")
    return text + (f"  %s = sinter.sub %p, %r : ({z}, {z}) -> {z}\n  return %s : {z}\n}}\n" if epilogue else f"  return %p : {z}\n}}\n")


def main():
    build, rng, wrong = sys.argv[1], np.random.default_rng(11), 0
    cases = [(case, kind) for case in CASES for kind in KINDS]
    text = "".join(function(i, case, kind, i % 4 < 2) for i, (case, kind) in enumerate(cases))
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    operands = []
    for (rows, columns, k, left, right), kind in cases:
        shapes = {"x": (k, rows) if left == 0 else (rows, k), "y": (k, columns) if right == 0 else (columns, k), "r": (rows, columns)}
        operands.append({name: rng.standard_normal(shape).astype(KINDS[kind][0]) for name, shape in shapes.items()})
    for level in levels.runnable():
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/m.mlir", "w") as file:
                file.write(text)
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.mlir", "--target", level, "-o", f"{folder}/m.smod"], check=True, stderr=subprocess.DEVNULL)
            sessions = [runtime.sessions(f"{folder}/m.smod", [f"f{i}" for i in range(len(cases))], threads) for threads in (1, 2, 3)]
            for i, ((case, kind), values) in enumerate(zip(cases, operands)):
                x, y, r = (values[name].astype(np.float64) for name in "xyr")
                x, y = x.T if case[3] == 0 else x, y if case[4] == 0 else y.T
                expected, scale = x @ y - (r if i % 4 < 2 else 0), np.abs(x) @ np.abs(y) + 1
                got = [next(iter(group[f"f{i}"].run(values if i % 4 < 2 else {n: values[n] for n in "xy"}).values())) for group in sessions]
                error = float(np.max(np.abs(got[0] - expected) / scale))
                if not error < KINDS[kind][1] or not all(np.array_equal(got[0], other) for other in got[1:]):
                    wrong += 1
                    print(f"{level}: {kind} {case} is {error:.1e} apart, or differs over threads")
    print(f"{len(cases)} products, {wrong} wrong")
    sys.exit(wrong > 0)


main()
