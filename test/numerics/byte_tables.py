#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""byte_tables.py BUILD

Functions of one byte that are bytes again, which kernels look up: every byte of both kinds, through chains with several roundings, as models of bytes have them, in vectors, in what is left
of them and one by one, against NumPy to the bit."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

TYPES = {"ui8": np.uint8, "i8": np.int8}
COUNTS = (256 + 37, 1)


def rounded(x, scale, zero, kind):
    info = np.iinfo(TYPES[kind])
    return np.clip(np.rint(x / np.float32(scale)) + np.float32(zero), info.min, info.max).astype(TYPES[kind])


def logistic(x):
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32)


class Graph:
    """A chain of ops on one tensor, as text."""

    def __init__(self, count):
        self.lines, self.count, self.names = [], count, 0

    def type(self, kind):
        return f"tensor<{self.count}x{kind}>"

    def op(self, name, operands, kind, to, attributes=""):
        self.names += 1
        types = ", ".join([self.type(kind)] * len(operands))
        self.lines.append(f"%v{self.names} = sinter.{name} {', '.join(operands)}{attributes} : ({types}) -> {self.type(to)}")
        return f"%v{self.names}"

    def number(self, value, kind="f32"):
        self.names += 1
        self.lines.append(f"%v{self.names} = sinter.constant dense<{value}> : {self.type(kind)}")
        return f"%v{self.names}"

    def convert(self, x, kind, to):
        return self.op("convert", [x], kind, to, f" {{element_type = {to}}}")

    def wide(self, x, scale, zero, kind):
        x = self.op("sub", [self.convert(x, kind, "i32"), self.number(zero, "i32")], "i32", "i32")
        return self.op("mul", [self.convert(x, "i32", "f32"), self.number(scale)], "f32", "f32")

    def round(self, x, scale, zero, kind):
        x = self.op("round", [self.op("div", [x, self.number(scale)], "f32", "f32")], "f32", "f32")
        return self.convert(self.op("add", [x, self.number(f"{zero}.0")], "f32", "f32"), "f32", kind)


def chain(g, x, kind, to):
    """x logistic(x) with the logistic rounded to a byte between, a byte again."""
    zero = 127 if kind == "ui8" else -3
    wide = g.wide(x, 0.0625, zero, kind)
    inner = g.round(g.op("logistic", [wide], "f32", "f32"), 0.00390625, 0 if to == "ui8" else -128, to)
    inner = g.wide(inner, 0.00390625, 0 if to == "ui8" else -128, to)
    return g.round(g.op("mul", [wide, inner], "f32", "f32"), 0.03125, 9, to)


def expected(x, kind, to):
    zero, low = (127 if kind == "ui8" else -3), (0 if to == "ui8" else -128)
    wide = (x.astype(np.int32) - zero).astype(np.float32) * np.float32(0.0625)
    inner = rounded(logistic(wide), 0.00390625, low, to)
    inner = (inner.astype(np.int32) - low).astype(np.float32) * np.float32(0.00390625)
    return rounded(wide * inner, 0.03125, 9, to)


def main():
    build = sys.argv[1]
    sinter, runtime = os.path.join(build, "bin", "sinter"), sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    runs = 0
    with tempfile.TemporaryDirectory() as folder:
        graph, module = os.path.join(folder, "t.mlir"), os.path.join(folder, "t.smod")
        for kind in TYPES:
            for to in TYPES:
                for count in COUNTS:
                    g = Graph(count)
                    result = chain(g, "%x", kind, to)
                    with open(graph, "w") as file:
                        file.write(f'func.func @main(%x: {g.type(kind)} {{sinter.name = "x"}}) -> ({g.type(to)} {{sinter.name = "y"}}) {{\n' +
                                   "".join(f"  {line}\n" for line in g.lines) + f"  return {result} : {g.type(to)}\n}}\n")
                    x = np.arange(count).astype(TYPES[kind])
                    want = expected(x, kind, to)
                    for target in levels.runnable():
                        for level in "02":
                            subprocess.run([sinter, "compile", graph, "--target", target, "-O", level, "-o", module, "--force"], check=True, capture_output=True, text=True)
                            got = runtime.session(module, 1).run({"x": x})["y"]
                            assert np.array_equal(got, want), (kind, to, target, level, x[got != want][:5], got[got != want][:5], want[got != want][:5])
                            runs += 1
    print(runs, "tables of bytes are those of NumPy")


if __name__ == "__main__":
    main()
