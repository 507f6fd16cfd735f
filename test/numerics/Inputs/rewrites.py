# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler rewrites (passes/REWRITES.md), at special values in every element type, against NumPy op by op: every op rounds once.

    rewrites.py SINTER SOURCE"""

import glob
import os
import re
import sys

import numpy as np
from exact import *

sinter, source = sys.argv[1:]
report = Report()
WAYS = ["-O2", "--reference"]


def check_page():
    """Every rewrite pattern and every fold in the sources is on the page."""
    with open(os.path.join(source, "passes", "REWRITES.md")) as file:
        page = set(re.findall(r"`(\w+)`", file.read()))
    found = 0
    for folder in ("ir", "passes", "backends/cpu", "compiler"):
        for path in glob.glob(os.path.join(source, folder, "**", "*.cpp"), recursive=True):
            with open(path) as file:
                text = file.read()
            names = re.findall(r"struct (\w+)\s*(?:final)?\s*:\s*(?:public )?(?:mlir::)?Op(?:Interface)?RewritePattern", text)
            names += re.findall(r"OpFoldResult (\w+)::fold\(", text) + re.findall(r"patterns\.add\((\w+)\)", text)
            found += len(names)
            for name in sorted(set(names) - page):
                report.fail(f"{os.path.relpath(path, source)}: '{name}' is not in passes/REWRITES.md")
    if found < 60:
        report.fail(f"only {found} rewrites were found in the sources")


def rounded(function):
    """NumPy's ufunc in one element type: narrower floats by way of f64, which one op does not notice."""
    def apply(*operands):
        t = operands[0].dtype
        if t == np.float64 or t.kind in "iu":
            return function(*operands)
        return function(*(x.astype(np.float64) for x in operands)).astype(t)
    return apply


add, sub, mul, div = (rounded(f) for f in (np.add, np.subtract, np.multiply, np.divide))
maximum, minimum, power, root = (rounded(f) for f in (np.maximum, np.minimum, np.power, np.sqrt))
NUMBERS = [0.0, -0.0, 1.0, -1.0, -8.0, 0.25, 3.0, 1e20, 1e-38, 60000.0, math.inf]


def literal(value, dtype):
    number = np.array(value).astype(FLOATS[dtype])
    return number, "0x%0*X" % (2 * number.itemsize, int(bits_of(number.reshape(1))[0]))


def check(name, dtypes, build, zero=False, ways=WAYS):
    """`build(graph, x, values, constant)` gives pairs of a graph's value and what NumPy says."""
    for dtype in dtypes:
        values = special_values(dtype)
        graph = Graph()
        x = graph.input(values, dtype)

        def constant(number):
            if dtype in INTS:
                return np.array(number, dtype=INTS[dtype]), graph.constant(x, str(number))
            number, text = literal(number, dtype)
            return number, graph.constant(x, text)

        expected = []
        for what, value, wanted in build(graph, x, values, constant, dtype):
            graph.output(value)
            expected.append((what, wanted))
        for way in ways:
            for (what, wanted), result in zip(expected, graph.run(sinter, way)):
                report.same(f"{name} {what} {dtype} {way}", result, wanted, [values], any_zero=zero)


def one_number(graph, x, values, constant, dtype):
    for number in NUMBERS:
        n, c = constant(number)
        n = np.broadcast_to(n, values.shape)
        for op, function in (("add", add), ("sub", sub), ("mul", mul), ("div", div)):
            yield f"x {op} {number}", graph.op(op, x, c), function(values, n)
            yield f"{number} {op} x", graph.op(op, c, x), function(n, values)


def two_numbers(graph, x, values, constant, dtype):
    # No first number twice with one op: a value that two others read is not rewritten.
    for k, (p, q) in enumerate(((12582912.0, -12582912.0), (1e20, 1.5e20), (2e20, 1e-20), (1e-20, 1e20), (300.0, 300.0), (0.5, 2.0), (2.0, 0.5),
                                (0.1, 10.0), (3e-20, 1e-20), (60000.0, 1e-6), (-1.0, 1e38), (2048.0, -2048.0), (1e-38, 1e38))):
        (a, ca), (b, cb) = constant(p), constant(q)
        a, b = np.broadcast_to(a, values.shape), np.broadcast_to(b, values.shape)
        for op, function in (("add", add), ("mul", mul), ("div", div)):
            yield f"{op} {p} {op} {q}", graph.op(op, graph.op(op, x, ca), cb), function(function(values, a), b)


def whole_numbers(graph, x, values, constant, dtype):
    bits = np.iinfo(values.dtype).bits
    ones = -1 if np.iinfo(values.dtype).min < 0 else (1 << bits) - 1
    for number in (0, 1, 2, 127):
        n, c = constant(number)
        for op, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("and", np.bitwise_and), ("or", np.bitwise_or)):
            yield f"{op} {number}", graph.op(op, x, c), function(values, n)
    n, c = constant(ones)
    yield "and ones", graph.op("and", x, c), values
    yield "or ones", graph.op("or", x, c), np.broadcast_to(n, values.shape)
    yield "/ 1", graph.op("div", x, constant(1)[1]), values
    yield "^ 2", graph.op("pow", x, constant(2)[1]), values * values
    yield "twice", graph.op("and", x, x), values


def extrema(graph, x, values, constant, dtype):
    for number in (0.0, 1.0, math.inf, -math.inf, math.nan):
        n, c = constant(number)
        n = np.broadcast_to(n, values.shape)
        yield f"max {number}", graph.op("max", x, c), maximum(values, n)
        yield f"min {number}", graph.op("min", x, c), minimum(values, n)
    for low, high in ((0.0, math.inf), (-math.inf, 0.0), (-math.inf, math.inf), (-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0)):
        (a, ca), (b, cb) = constant(low), constant(high)
        a, b = np.broadcast_to(a, values.shape), np.broadcast_to(b, values.shape)
        yield f"clamp {low} {high}", graph.op("clamp", ca, x, cb), minimum(maximum(values, a), b)
    yield "max of itself", graph.op("max", x, x), values
    yield "min of itself", graph.op("min", x, x), values


def powers(graph, x, values, constant, dtype):
    for exponent in (1.0, 2.0):
        n, c = constant(exponent)
        yield f"^ {exponent}", graph.op("pow", x, c), power(values, np.broadcast_to(n, values.shape))
    n, c = constant(-1.0)
    yield "^ -1", graph.op("pow", x, c), div(np.ones_like(values), values)


def padded(graph, x, values, constant, dtype):
    """A sum of parts that zeros surround."""
    n, half = len(values), len(values) // 2
    zero = graph.op("slice", constant(0.0)[1], attributes="starts = array<i64: 0>, limits = array<i64: 1>, steps = array<i64: 1>", shape="1x")
    zero = graph.op("reshape", zero, attributes=f"type = tensor<{dtype}>", shape="")
    parts = []
    for low, start, size in ((0, 0, half), (half + 1, half, n - half)):
        part = graph.op("slice", x, attributes=f"starts = array<i64: {start}>, limits = array<i64: {start + size}>, steps = array<i64: 1>", shape=f"{size}x")
        parts.append(graph.op("pad", part, zero, shape=f"{n + 2}x", attributes=f"low = array<i64: {low}>, high = array<i64: {n + 2 - low - size}>, "
                              "interior = array<i64: 0>, mode = #sinter<pad_mode constant>"))
    nothing = np.zeros(1, dtype=values.dtype)
    first = np.concatenate([values[:half], np.zeros(n + 2 - half, dtype=values.dtype)])
    second = np.concatenate([np.zeros(half + 1, dtype=values.dtype), values[half:], nothing])
    yield "sum of parts", graph.op("slice", graph.op("add", *parts), shape=f"{n}x", attributes=f"starts = array<i64: 0>, limits = array<i64: {n}>, steps = array<i64: 1>"), \
        add(first, second)[:n]


def check_conversions():
    """a -> b -> c for all types."""
    for a in TYPES:
        values = special_values(a)
        graph = Graph()
        x = graph.input(values, a)
        chains = [(b, c) for b in TYPES for c in ("f32", "bf16", "i8", "ui64") if a != b != c]
        between = {b: converted(values, a, b) for b in TYPES if b != a}
        for b, c in chains:
            graph.output(graph.convert(graph.convert(x, b), c))
        for (b, c), result in zip(chains, graph.run(sinter, "-O2")):
            report.same(f"{a} -> {b} -> {c}", result, converted(between[b], b, c), [values])


check_page()
check("a number:", FLOATS, one_number)
check("numbers:", FLOATS, two_numbers)
check("a whole number:", INTS, whole_numbers)
check("extremum:", FLOATS, extrema, zero=True)
check("power:", FLOATS, powers, ways=["-O2"])  # the evaluator's pow is the host's
check("padded:", FLOATS, padded)
check_conversions()
report.finish()
