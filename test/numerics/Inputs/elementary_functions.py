# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pointwise op at special values and at random bits, in every element type, against NumPy, exact rounding and Python's integers:
compiled at both ends of the levels, and by the reference evaluator.

    elementary_functions.py SINTER [FLAG...]"""

import math
import sys

import numpy as np
from exact import *

sinter, ways = sys.argv[1], sys.argv[2:] or ["-O2", "-O0", "--reference"]
report = Report()


def run(graph):
    """The outputs in all ways, one after the other: each with what it is called."""
    lists = [graph.run(sinter, way) for way in ways]
    return iter([list(zip(ways, results)) for results in zip(*lists)])


def same(name, results, wanted, operands, **options):
    for way, result in next(results):
        report.same(f"{name} {way}", result, wanted, operands, **options)


def near(name, results, wanted, dtype, bound, operands):
    for way, result in next(results):
        report.near(f"{name} {way}", result, wanted, dtype, bound, operands)


# Functions in more digits than the type has, and how far from them a result may be, in units of the last place.
erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def erfinv(x):
    """Newton's method on the logarithm of erfc, on erf where x is small. In doubles: 1 - |x| is exact from a half on."""
    size = np.abs(x.astype(np.float64))
    inside = np.where(size < 1, size, 0)
    rest, log = 1 - inside, np.log1p(-inside * inside)
    half = 4.33 + log / 2
    y = np.sqrt(np.sqrt(half * half - log / .147) - half)
    for _ in range(5):
        slope = 2 / math.sqrt(math.pi) * np.exp(-y * y)
        y = y + np.where(inside < .5, (inside - erf(y)) / slope, erfc(y) / slope * np.log(erfc(y) / rest))
    y = np.where(inside < 1e-8, inside * (math.sqrt(math.pi) / 2), y)
    y = np.where(size < 1, y, np.where(size == 1, np.inf, np.nan))
    return np.copysign(y, x.astype(np.float64)).astype(x.dtype)


FUNCTIONS = {
    "sqrt": (np.sqrt, 0.5), "rsqrt": (lambda x: 1 / np.sqrt(x), 2), "exp": (np.exp, 2), "expm1": (np.expm1, 4), "log": (np.log, 2),
    "log1p": (np.log1p, 4), "sin": (np.sin, 4), "cos": (np.cos, 4), "tan": (np.tan, 4), "asin": (np.arcsin, 4), "acos": (np.arccos, 4),
    "atan": (np.arctan, 4), "sinh": (np.sinh, 4), "cosh": (np.cosh, 4), "tanh": (np.tanh, 4), "asinh": (np.arcsinh, 4),
    "acosh": (np.arccosh, 4), "atanh": (np.arctanh, 4), "erf": (lambda x: erf(x.astype(np.float64)).astype(x.dtype), 4),
    "exp2": (np.exp2, 2), "log2": (np.log2, 2), "erfinv": (erfinv, 4),
    "logistic": (lambda x: np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x))), 4),
}
EXACT = {"neg": np.negative, "abs": np.abs, "sign": lambda x: np.where(x == 0, x, np.sign(x)), "ceil": np.ceil, "floor": np.floor, "round": np.rint}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "rem": np.fmod, "max": np.maximum, "min": np.minimum}
COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


def pairs(values):
    return np.repeat(values, len(values)), np.tile(values, len(values))


def check_floats(dtype):
    wide = np.longdouble if dtype == "f64" else np.float64
    x = special_values(dtype, 3000) if dtype in ("f32", "f64") else all_values(dtype)
    a, b = pairs(special_values(dtype))
    graph = Graph()
    operand, left, right = graph.input(x, dtype), graph.input(a, dtype), graph.input(b, dtype)
    names = list(FUNCTIONS) + list(EXACT)
    for name in names:
        graph.output(graph.op(name, operand))
    for name in ("is_nan", "is_inf"):
        graph.output(graph.op(name, operand, dtype="i1"))
    for name in [*BINARY, "pow", "atan2"]:
        graph.output(graph.op(name, left, right))
    for kind in COMPARE:
        graph.output(graph.op("compare", left, right, kind=kind, dtype="i1"))
    results = run(graph)
    more = x.astype(wide)
    for name, (function, bound) in FUNCTIONS.items():
        # 16-bit floats are computed in f32 and rounded.
        bound = min(bound, 1) if dtype in ("f16", "bf16") else 0.5000001 if bound == 0.5 else bound
        if dtype == "f64" and name != "erfinv":
            bound = min(bound, 2)
        near(f"{name} {dtype}", results, function(more), dtype, bound, [x])
    for name, function in EXACT.items():
        same(f"{name} {dtype}", results, function(more).astype(x.dtype), [x])
    same(f"is_nan {dtype}", results, np.isnan(more), [x])
    same(f"is_inf {dtype}", results, np.isinf(more), [x])
    for name, function in BINARY.items():
        # In f64 sums, products and quotients of narrower floats are rounded innocuously (2p + 2 digits); remainders and extrema are exact.
        wanted = function(a, b) if dtype == "f64" else function(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
        same(f"{name} {dtype}", results, wanted, [a, b], any_zero=name in ("max", "min"))
    for name, function in (("pow", np.power), ("atan2", np.arctan2)):
        near(f"{name} {dtype}", results, function(a.astype(wide), b.astype(wide)), dtype, {"f16": 1, "bf16": 1, "f64": 2}.get(dtype, 4), [a, b])
    for kind, function in COMPARE.items():
        same(f"{kind} {dtype}", results, function(a.astype(wide), b.astype(wide)), [a, b])


def check_integers(dtype):
    info = np.iinfo(INTS[dtype])
    width, signed = info.bits, info.min < 0
    x = special_values(dtype)
    y = np.array([v for v in x if abs(int(v)) < 200 or abs(int(v)) >= info.max // 2][::2], dtype=x.dtype)
    a, b = np.repeat(x, len(y)), np.tile(y, len(x))

    def quotient(p, q):
        return -1 if q == 0 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)

    def shift_right(p, q):
        return p >> q if 0 <= q < width else -1 if p < 0 else 0

    unary = {"neg": lambda p: -p, "abs": abs, "sign": lambda p: (p > 0) - (p < 0), "not": lambda p: ~p}
    binary = {"add": lambda p, q: p + q, "sub": lambda p, q: p - q, "mul": lambda p, q: p * q, "div": quotient,
              "rem": lambda p, q: p if q == 0 else p - quotient(p, q) * q, "max": max, "min": min, "and": lambda p, q: p & q,
              "or": lambda p, q: p | q, "xor": lambda p, q: p ^ q, "shift_left": lambda p, q: p << q if 0 <= q < width else 0,
              "shift_right": shift_right}
    graph = Graph()
    operand, left, right = graph.input(x, dtype), graph.input(a, dtype), graph.input(b, dtype)
    for name in unary:
        graph.output(graph.op(name, operand))
    for name in binary:
        graph.output(graph.op(name, left, right))
    for kind in COMPARE:
        graph.output(graph.op("compare", left, right, kind=kind, dtype="i1"))
    results = run(graph)

    def wrapped(numbers):
        return np.array([convert(n, "i64", dtype) for n in numbers], dtype=x.dtype)

    for name, function in unary.items():
        same(f"{name} {dtype}", results, wrapped([function(int(p)) for p in x]), [x])
    for name, function in binary.items():
        same(f"{name} {dtype}", results, wrapped([function(int(p), int(q)) for p, q in zip(a, b)]), [a, b])
    for kind, function in COMPARE.items():
        same(f"{kind} {dtype}", results, function(a, b), [a, b])


def check_conversions():
    for source in TYPES:
        x = special_values(source, 300 if source in FLOATS else 0)
        graph = Graph()
        operand = graph.input(x, source)
        targets = [t for t in TYPES if t != source]
        for target in targets:
            graph.output(graph.convert(operand, target))
        results = run(graph)
        for target in targets:
            same(f"convert {source} -> {target}", results, converted(x, source, target), [x])


for dtype in FLOATS:
    check_floats(dtype)
for dtype in INTS:
    check_integers(dtype)
check_conversions()
report.finish()
