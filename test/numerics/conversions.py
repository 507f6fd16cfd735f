#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""conversions.py BUILD [CHAINS SEED]

Chains of conversions between all types of integers and floats with sums, bounds and roundings between them, among them the form of rounding to bytes in which graphs write it, against NumPy, to the
bit, on each level of CPU that this machine can run. Patterns that look through conversions hold for some of these alone: what wraps, is truncated or loses digits on the way must not be looked
through."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

INTEGERS = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16, "ui16": np.uint16, "i32": np.int32, "ui32": np.uint32, "i64": np.int64, "ui64": np.uint64}
TYPES = {**INTEGERS, "f32": np.float32, "f64": np.float64}
SIZE = 37  # vectors, and what is left of them


def converted(value, kind):
    """Floats are truncated and saturate, NaN is 0; integers wrap."""
    if kind not in INTEGERS or value.dtype.kind != "f":
        return value.astype(TYPES[kind])
    info = np.iinfo(INTEGERS[kind])
    return np.array([0 if x != x else info.min if x <= info.min else info.max if x >= info.max else int(x) for x in value.tolist()], dtype=INTEGERS[kind])


class Chain:
    """A function of one f32 input and what its values are."""

    def __init__(self, number, rng):
        self.rng, self.lines, self.count = rng, [], 0
        self.x = np.concatenate([rng.integers(-300, 300, 16), rng.uniform(-3, 3, 12), rng.uniform(-1e4, 1e4, 4), [-1, -0.5, 255.5, -128.5, 3e9]]).astype(np.float32)
        rng.shuffle(self.x)
        self.values = [("%x", "f32", self.x)]
        for _ in range(int(rng.integers(3, 8))):
            self.extend()
        results = [self.values[-1], self.values[int(rng.integers(1, len(self.values)))]]
        names = [f"{self.tensor(kind)} {{sinter.name = \"{name}\"}}" for name, (_, kind, _) in zip("ab", results)]
        self.text = (f'func.func @f{number}(%x: {self.tensor("f32")} {{sinter.name = "x"}}) -> ({", ".join(names)}) {{\n' + "".join(f"  {line}\n" for line in self.lines) +
                     f"  return {', '.join(value for value, _, _ in results)} : {', '.join(self.tensor(kind) for _, kind, _ in results)}\n}}\n")
        self.expected = dict(zip("ab", (value for _, _, value in results)))

    @staticmethod
    def tensor(kind):
        return f"tensor<{SIZE}x{kind}>"

    def add(self, line, kind, value):
        self.count += 1
        self.lines.append(f"%{self.count} = {line}")
        self.values.append((f"%{self.count}", kind, value))

    def convert(self, kind):
        name, before, value = self.values[-1]
        self.add(f"sinter.convert {name} {{element_type = {kind}}} : ({self.tensor(before)}) -> {self.tensor(kind)}", kind, converted(value, kind))

    def unary(self, op, function):
        name, kind, value = self.values[-1]
        self.add(f"sinter.{op} {name} : ({self.tensor(kind)}) -> {self.tensor(kind)}", kind, function(value))

    def binary(self, op, function, number):
        name, kind, value = self.values[-1]
        self.count += 1
        text = repr(float(number)) if kind[0] == "f" else str(int(number))
        self.lines.append(f"%{self.count} = sinter.constant dense<{text}> : {self.tensor(kind)}")
        operands = f"({self.tensor(kind)}, {self.tensor(kind)})"
        self.add(f"sinter.{op} {name}, %{self.count} : {operands} -> {self.tensor(kind)}", kind, function(value, np.full(SIZE, number, TYPES[kind])))

    def extend(self):
        kind, draw = self.values[-1][1], self.rng.integers(8)
        if kind[0] != "f":
            alike = [value for value in self.values[:-1] if value[1] == kind]
            if draw == 7 and alike:  # what is less than what it came from has wrapped
                other, (name, _, value) = alike[int(self.rng.integers(len(alike)))], self.values[-1]
                op, function = [("lt", np.less), ("ge", np.greater_equal), ("eq", np.equal)][int(self.rng.integers(3))]
                self.count += 1
                self.lines.append(f"%{self.count} = sinter.compare {op} {name}, {other[0]} : ({self.tensor(kind)}, {self.tensor(kind)}) -> {self.tensor('i1')}")
                compared = f"sinter.convert %{self.count} {{element_type = i32}} : ({self.tensor('i1')}) -> {self.tensor('i32')}"
                self.add(compared, "i32", function(value, other[2]).astype(np.int32))
            elif draw < 3:
                info = np.iinfo(TYPES[kind])
                number = int(self.rng.choice([1, 5, 128, 255, info.max, info.max - 127])) & info.max
                op, function = [("add", np.add), ("sub", np.subtract)][draw % 2]
                self.binary(op, function, number)
            else:
                self.convert(str(self.rng.choice(list(TYPES))))
        elif draw < 2:
            self.convert(str(self.rng.choice(list(TYPES))))
        elif draw == 2:
            self.unary("round", np.rint)
        elif draw == 3:
            self.unary("floor", np.floor)
        elif draw == 4:
            self.binary("add", np.add, self.rng.choice([0.5, -128, 3, -0.25]))
        else:  # rounded to bytes
            byte = str(self.rng.choice(["i8", "ui8"]))
            low = -128 if byte == "i8" else 0
            self.binary("div", np.divide, self.rng.choice([1, 0.5, 2, 0.3]))
            self.unary("round", np.rint)
            if self.rng.integers(2):
                self.binary("add", np.add, self.rng.choice([low, 5, 0, 0.5, -128, 127]))
            self.binary("max", np.maximum, low)
            self.binary("min", np.minimum, low + 255)
            self.convert(byte)


def main():
    build = sys.argv[1]
    count, seed = (int(argument) for argument in (sys.argv[2:4] if len(sys.argv) > 3 else (300, 1)))
    rng, wrong = np.random.default_rng(seed), 0
    chains = [Chain(number, rng) for number in range(count)]
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    with tempfile.TemporaryDirectory() as folder:
        graph, module = os.path.join(folder, "m.mlir"), os.path.join(folder, "m.smod")
        with open(graph, "w") as file:
            file.writelines(chain.text for chain in chains)
        for level in levels.runnable():
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", graph, "--target", level, "-o", module, "--force"], check=True, stderr=subprocess.DEVNULL)
            sessions = runtime.sessions(module, [f"f{k}" for k in range(count)])
            for k, chain in enumerate(chains):
                got = sessions[f"f{k}"].run({"x": chain.x})
                for name, value in chain.expected.items():
                    if got[name].dtype != value.dtype or not np.array_equal(got[name], value, equal_nan=value.dtype.kind == "f"):
                        wrong += 1
                        at = int(np.argmax(got[name] != value))
                        print(f"{level}: result {name} is {got[name][at]} of {chain.x[at]}, which is {value[at]}\n{chain.text}")
    print(f"{count} chains of conversions, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
