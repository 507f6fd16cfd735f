#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""joins.py BUILD

Concatenations along each axis, with what may be computed with them in one kernel, against NumPy: to the bit, for parts below, at and above the sizes of vectors and
empty ones, sizes that only running tells, all types of 1 to 8 bytes, on each level of CPU that this machine can run."""
import os
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

sinter_runtime.CODES[np.dtype(ml_dtypes.bfloat16)] = 4 # read back as its bits
TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i64": np.int64, "i8": np.int8, "i1": np.bool_}
# Sizes around the joined axis, and along it by operand.
FORMS = [((3, 5), 2, (24, 24, 40)), ((7,), 1, (1, 2, 3)), ((9,), 1, (16, 32)), ((5,), 1, (17, 64, 3)), ((), 0, (3, 70, 1)), ((4, 6), 1, (2, 3)), ((4, 6), 0, (5, 1, 2)),
         ((2, 3, 5), 1, (1, 9, 4)), ((3, 1), 2, (9, 9)), ((1, 1), 1, (33, 5)), ((6,), 1, (8, 0, 9)), ((2, 3), 1, (0, 4)), ((3, 2), 2, tuple(range(1, 12))), ((2,), 1, (20000, 7, 30001)),
         ((40000,), 1, (2, 1)), ((3, 4, 1, 1), 2, (6, 5))]


def tensor(shape, kind, unknown):
    return f"tensor<{''.join(('?' if k in unknown else str(n)) + 'x' for k, n in enumerate(shape))}{kind}>"


def binary(op, result, a, b, kind, out=None):
    return f"  {result} = sinter.{op} {a}, {b} : ({kind}, {kind}) -> {out or kind}\n"


class Join:
    """One function: `around` names what is computed with the join."""

    def __init__(self, name, around, axis, lengths, kind, dynamic, what):
        self.name, self.kind, self.what, self.axis = name, kind, what, axis
        self.shapes = [(*around[:axis], n, *around[axis:]) for n in lengths]
        self.shape = (*around[:axis], sum(lengths), *around[axis:])
        self.unknown = {"no": [], "joined": [axis], "all": range(len(self.shape))}[dynamic]
        self.label = f"{what} of {kind} {self.shapes} along {axis}, unknown: {dynamic}"
        if what == "sum" and len(lengths) > 1: # another join with other operands
            self.shapes += [(*around[:axis], n, *around[axis:]) for n in (lengths if dynamic != "no" else (lengths[0] + lengths[1], *lengths[2:]))]
        if what == "bias":
            self.shapes.append(self.shape[-1:])
        if what == "nested":
            self.shapes.append((*around[:axis], sum(lengths[1:]), *around[axis:]))
        if what in ("bias", "produced") and dynamic == "no" and kind != "i1":
            self.shapes.append(self.shapes[0][-1:])
        self.parts = len(lengths)

    def text(self):
        t = [tensor(shape, self.kind, [self.axis] if len(shape) == len(self.shape) and self.unknown == [self.axis] else self.unknown if len(shape) == len(self.shape) else [])
             for shape in self.shapes]
        joined = tensor(self.shape, self.kind, self.unknown)
        arguments = ", ".join(f'%x{i}: {type} {{sinter.name = "x{i}"}}' for i, type in enumerate(t))
        body, parts = "", [f"%x{i}" for i in range(self.parts)]

        def join(result, names, types):
            return f"  {result} = sinter.concatenate {', '.join(names)} {{axis = {self.axis} : i64}} : ({', '.join(types)}) -> {joined}\n"

        def spread(result, i, type):
            return f"  {result} = sinter.broadcast %x{i} axes = [{len(self.shape) - 1}] {{type = {type}}} : ({t[i]}) -> {type}\n"

        if self.what == "produced":
            body += binary("max", "%p", "%x0", "%x0", t[0]) if self.unknown else spread("%s", len(t) - 1, t[0]) + binary("max", "%p", "%x0", "%s", t[0])
            parts[0] = "%p"
        if self.what == "nested": # the first operand and a join of the others
            inner = t[self.parts]
            body += f"  %i = sinter.concatenate {', '.join(parts[1:])} {{axis = {self.axis} : i64}} : ({', '.join(t[1 : self.parts])}) -> {inner}\n"
            body += binary("max", "%n", "%i", f"%x{self.parts}", inner) + join("%j", ["%x0", "%n"], [t[0], inner])
        else:
            body += join("%j", parts, t[: self.parts])
        result = "%j"
        if self.what == "bias":
            body += spread("%b", self.parts, joined) + binary("max", "%y", "%j", "%b", joined)
            result = "%y"
        elif self.what == "sum":
            body += join("%k", [f"%x{i}" for i in range(self.parts, len(t))], t[self.parts :]) + binary("max", "%y", "%j", "%k", joined)
            result = "%y"
        elif self.what == "reversed":
            body += f"  %r = sinter.reverse %j {{axes = array<i64: {self.axis}>}} : ({joined}) -> {joined}\n" + binary("max", "%y", "%j", "%r", joined)
            result = "%y"
        return f"func.func @{self.name}({arguments}) -> {joined} {{\n{body}  return {result} : {joined}\n}}\n"

    def expected(self, x):
        parts = list(x[: self.parts])
        if self.what == "produced" and not self.unknown:
            parts[0] = np.maximum(parts[0], x[-1])
        y = np.concatenate(parts, self.axis)
        if self.what == "bias":
            return np.maximum(y, x[self.parts])
        if self.what == "nested":
            return np.concatenate([x[0], np.maximum(np.concatenate(x[1 : self.parts], self.axis), x[self.parts])], self.axis)
        if self.what == "reversed":
            return np.maximum(y, np.flip(y, self.axis))
        if self.what == "sum":
            return np.maximum(y, np.concatenate(x[self.parts :], self.axis))
        return y


def cases():
    made = []
    for around, axis, lengths in FORMS:
        large = np.prod(around) * sum(lengths) > 20000
        for kind in TYPES if not large else ["f32", "i8"]:
            for dynamic in ("no", "joined", "all"):
                for what in ("copy", "bias", "sum", "produced", "nested", "reversed"):
                    arithmetic = kind in ("f32", "i8", "f64")
                    if what != "copy" and not (arithmetic and (kind == "f32" or len(made) % 3 == 0)):
                        continue
                    if what in ("bias", "produced") and dynamic != "no" or what == "sum" and len(lengths) > 4:
                        continue
                    made.append(Join(f"f{len(made)}", around, axis, lengths, kind, dynamic, what))
    return made


def main():
    build = sys.argv[1]
    rng, joins = np.random.default_rng(7), cases()
    runtime, wrong = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so")), 0
    for level in levels.runnable():
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/m.mlir", "w") as file:
                file.write("".join(join.text() for join in joins))
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.mlir", "--target", level, "-o", f"{folder}/m.smod"], check=True, stderr=subprocess.DEVNULL)
            sessions = runtime.sessions(f"{folder}/m.smod", [join.name for join in joins])
            for join in joins:
                x = [rng.integers(0, 2 if join.kind == "i1" else 100, shape).astype(TYPES[join.kind]) for shape in join.shapes]
                got = next(iter(sessions[join.name].run({f"x{i}": value for i, value in enumerate(x)}).values()))
                if not np.array_equal(got, join.expected(x).view(got.dtype)):
                    wrong += 1
                    print(f"{level}: {join.label}")
    print(f"{len(joins)} joins, {wrong} wrong")
    sys.exit(wrong > 0)


main()
