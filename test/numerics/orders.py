#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""orders.py BUILD [--pairs] [TARGET...]

Sorts and greatest elements against NumPy's stable sort, values and positions to the bit: lengths around those at which the method changes, in all types, along first,
middle and last axes, in both directions, of sizes that are known and unknown. Values are random, few distinct ones, all alike, in order already, and floats' borders:
NaN with payloads, infinities, zeros of both signs, denormals. Then few elements of long rows (Few), whose values are in the orders that a selection finds hardest; --pairs
runs these alone, on two threads."""
import sys

import numpy as np

import cases

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "ui8": np.uint8, "i16": np.int16, "ui16": np.uint16, "i32": np.int32, "ui32": np.uint32,
         "i64": np.int64, "ui64": np.uint64, "i1": np.bool_}
LENGTHS = [0, 1, 2, 3, 7, 8, 16, 17, 31, 32, 33, 64, 65, 127, 128, 129, 255, 256, 257, 300, 1000, 2500]
KEPT = [0, 1, 2, 5, 17, 64, 200, 700, 5000]
BORDERS = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 6e-8, -6e-8, 1.0, -1.0, 65504.0, -65504.0]


def values(kind, shape, rng):
    dtype, how = TYPES[kind], int(rng.integers(5))
    floats = np.issubdtype(dtype, np.floating)
    if dtype == np.bool_:
        x = rng.integers(2, size=shape).astype(bool)
    elif floats:
        x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4)).astype(dtype)
    else:
        x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)
    if how == 1:  # few distinct ones
        x = rng.choice(x.ravel()[:5], shape) if x.size else x
    elif how == 2:
        x = np.sort(x, axis=-1)
    elif how == 3:
        x = np.full_like(x, x.ravel()[0]) if x.size else x
    elif how == 4 and floats:
        with np.errstate(over="ignore", under="ignore"):
            x = np.where(rng.integers(2, size=shape) > 0, rng.choice(np.array(BORDERS), shape).astype(dtype), x)
        nan = np.flatnonzero(np.isnan(x))
        bits = x.reshape(-1).view(f"u{dtype().itemsize}")
        bits[nan] |= rng.integers(4, size=nan.size).astype(bits.dtype)  # which NaN it is shows that it was moved, not made
        x = bits.view(dtype).reshape(shape)
    return x


def order(x, axis, descending):
    """Positions of a stable order with NaN last in both directions."""
    if np.issubdtype(x.dtype, np.floating):
        x = x.astype(np.float64)  # NumPy 2.4 puts f16 out of order on some CPUs
    distinct = np.unique(x[x == x])  # -0 and 0 are one
    rank = np.searchsorted(distinct, np.where(x == x, x, x.dtype.type(0)))
    key = np.where(x == x, -rank if descending else rank, len(distinct))
    return np.argsort(key, axis=axis, kind="stable")


class Case:
    def __init__(self, number, rng):
        self.name, self.kind = f"f{number}", list(TYPES)[number % len(TYPES)]
        self.length, self.axis = LENGTHS[number // len(TYPES) % len(LENGTHS)], int(rng.integers(3))
        self.shape = [int(rng.choice([1, 2, 3, 5])) for _ in range(3)]
        self.shape[self.axis] = self.length
        self.known, self.descending = bool(rng.integers(2)), bool(rng.integers(2))
        self.kept = None if rng.integers(2) else int(rng.choice(KEPT))
        self.fixed = self.kept is not None and bool(rng.integers(2))  # k is a constant
        self.x = values(self.kind, tuple(self.shape), rng)

    def text(self):
        tensor = lambda sizes, kind: f"tensor<{'x'.join(str(s) for s in sizes)}x{kind}>"
        sizes = self.shape if self.known else ["?"] * 3
        x, results = tensor(sizes, self.kind), list(sizes)
        arguments, k = f'%x: {x} {{sinter.name = "x"}}', ""
        if self.kept is not None:
            results[self.axis] = min(self.kept, self.length) if self.fixed and self.known else "?"
            if self.fixed:
                k = f"  %k = sinter.constant dense<{self.kept}> : tensor<i64>\n"
            else:
                arguments += ', %k: tensor<i64> {sinter.name = "k"}'
        y, p = tensor(results, self.kind), tensor(results, "i64")
        if self.kept is None:
            op = f"sinter.sort %x {{axis = {self.axis}, descending = {str(self.descending).lower()}}} : ({x}) -> ({y}, {p})"
        else:
            op = f"sinter.top_k %x, %k {{axis = {self.axis}, largest = {str(self.descending).lower()}}} : ({x}, tensor<i64>) -> ({y}, {p})"
        return (f'func.func @{self.name}({arguments}) -> ({y} {{sinter.name = "y"}}, {p} {{sinter.name = "p"}}) {{\n{k}  %y, %p = {op}\n  return %y, %p : {y}, {p}\n}}\n')

    def __str__(self):
        return f"{self.kind} {self.shape} along {self.axis}, {'down' if self.descending else 'up'}, {self.kept} kept, known {self.known}"

    def run(self, sessions):
        expected = order(self.x, self.axis, self.descending)
        if self.kept is not None:
            expected = np.take(expected, range(min(self.kept, self.length)), self.axis)
        inputs = {"x": self.x}
        if self.kept is not None and not self.fixed:
            inputs["k"] = np.array(self.kept)
        got = sessions[self.name].run(inputs)
        moved = np.take_along_axis(self.x, expected, self.axis)
        return np.array_equal(got["p"], expected) and got["y"].shape == moved.shape and got["y"].tobytes() == np.ascontiguousarray(moved).tobytes()


LONG = [31, 32, 63, 64, 65, 71, 127, 128, 129, 256, 257, 300, 511, 512, 513, 1000, 1023, 1025, 4099]
FILLS = ["random", "ascending", "descending", "alike", "greatest", "least", "nan", "columns", "borders"]


class Few:
    """A few elements of rows, of which both results, values or positions are returned; the operand may be computed in the kernel."""

    def __init__(self, number, rng):
        self.name, self.kind, self.fill = f"few{number}", str(rng.choice(list(TYPES))) if number % 3 else "f32", FILLS[number % len(FILLS)]
        self.length, self.last = int(rng.choice(LONG)), rng.integers(4) > 0
        self.kept = min(int(rng.choice([1, 1, 2, 5, 8, 9, 16, 33, 64, 100, 250, self.length // 8, self.length // 4, self.length - 1])), self.length)
        self.known, self.fixed, self.descending = (bool(rng.integers(2)) for _ in range(3))
        self.results = str(rng.choice(["yp", "yp", "y", "p"]))
        self.x = self.rows(int(rng.choice([1, 3, 40])), rng)
        self.negated = self.kind in ("f32", "f64") and bool(rng.integers(2))
        if not self.last:
            self.x = np.ascontiguousarray(self.x.T)

    def rows(self, count, rng):
        dtype, shape = TYPES[self.kind], (count, self.length)
        floats = np.issubdtype(dtype, np.floating)
        if dtype == np.bool_:
            x = rng.integers(2, size=shape).astype(bool)
        elif floats:
            x = (rng.standard_normal(shape) * 100).astype(dtype)
        else:
            x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)
        least, most = (False, True) if dtype == np.bool_ else (-np.inf, np.inf) if floats else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if self.fill in ("ascending", "descending"):
            x = np.sort(x, axis=1)
            x = x[:, ::-1] if self.fill == "descending" else x
        elif self.fill == "alike":
            x = np.broadcast_to(x[:, :1], shape)
        elif self.fill in ("greatest", "least"):  # half of them
            x = np.where(rng.integers(2, size=shape) > 0, dtype(most if self.fill == "greatest" else least), x)
        elif self.fill == "nan" and floats:  # some rows have no other
            x = np.where(rng.random(shape) < rng.choice([0.5, 0.99, 1.0], (count, 1)), dtype(np.nan), x)
        elif self.fill == "columns":  # all great ones have few positions modulo a power of two
            x = np.where(np.arange(self.length) % rng.choice([16, 32, 64]) < 3, x, dtype(least if self.descending else most))
        elif self.fill == "borders" and floats:
            with np.errstate(over="ignore", under="ignore"):
                x = rng.choice(np.array(BORDERS), shape).astype(dtype)
        return np.ascontiguousarray(x)

    def text(self):
        shape, kept, axis = list(self.x.shape), list(self.x.shape), int(self.last)
        kept[axis] = self.kept
        if not self.known:
            shape, kept = ["?"] * 2, ["?"] * 2
        elif not self.fixed:
            kept[axis] = "?"
        x, y, p = (f"tensor<{'x'.join(str(size) for size in sizes)}x{kind}>" for sizes, kind in ((shape, self.kind), (kept, self.kind), (kept, "i64")))
        arguments, before, operand = f'%x: {x} {{sinter.name = "x"}}', "", "%x"
        if self.fixed:
            before = f"  %k = sinter.constant dense<{self.kept}> : tensor<i64>\n"
        else:
            arguments += ', %k: tensor<i64> {sinter.name = "k"}'
        if self.negated:
            before, operand = before + f"  %n = sinter.neg %x : ({x}) -> {x}\n", "%n"
        types = {"y": y, "p": p}
        results = ", ".join(f'{types[name]} {{sinter.name = "{name}"}}' for name in self.results)
        returned = ", ".join(f"%{name}" for name in self.results) + " : " + ", ".join(types[name] for name in self.results)
        op = f"sinter.top_k {operand}, %k {{axis = {axis}, largest = {str(self.descending).lower()}}} : ({x}, tensor<i64>) -> ({y}, {p})"
        return f"func.func @{self.name}({arguments}) -> ({results}) {{\n{before}  %y, %p = {op}\n  return {returned}\n}}\n"

    def __str__(self):
        return (f"{self.kept} of {self.kind} {list(self.x.shape)} along {int(self.last)}, {self.fill}, {'down' if self.descending else 'up'}, known {self.known}, "
                f"fixed {self.fixed}, negated {self.negated}, returned {self.results}")

    def run(self, sessions):
        x, axis = -self.x if self.negated else self.x, int(self.last)
        positions = np.take(order(x, axis, self.descending), range(self.kept), axis)
        expected = {"p": positions, "y": np.take_along_axis(x, positions, axis)}
        got = sessions[self.name].run({"x": self.x} | ({} if self.fixed else {"k": np.array(self.kept)}))
        return all(got[name].shape == positions.shape and got[name].tobytes() == np.ascontiguousarray(expected[name]).tobytes() for name in self.results)


def main():
    build, pairs, chosen = sys.argv[1], "--pairs" in sys.argv, [word for word in sys.argv[2:] if word != "--pairs"]
    rng = np.random.default_rng(11)
    all_cases = [] if pairs else [Case(i, rng) for i in range(2 * len(TYPES) * len(LENGTHS))]
    rng = np.random.default_rng(12)
    all_cases += [Few(i, rng) for i in range(450)]
    cases.check(build, chosen, all_cases, strides=(2, 9), noun="orders", threads=2 if pairs else 1)


main()
