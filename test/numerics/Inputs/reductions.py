# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, products, running combinations, windows, softmax and norms over rows with special values, along the last axis and the first, against NumPy.

    reductions.py SINTER [FLAG...]

Rows are such that every order of combination gives the same: no partial sum overflows where another order's does not. What NumPy computes in f64 is
rounded; a zero of a sum may have either sign (the sum of nothing is +0, with which other orders begin)."""

import sys

import numpy as np
from exact import *

sinter, ways = sys.argv[1], sys.argv[2:] or ["-O2", "-O0", "--reference"]
report = Report()
LENGTHS = {"f32": (1, 5, 33, 130), "f64": (5,), "f16": (130,), "bf16": (5, 33)}
IDENTITY = {"add": 0, "mul": 1, "max": -np.inf, "min": np.inf}


def rows(dtype, length, random):
    """Ordinary numbers with at most a few special ones among them, anywhere."""
    precision, least, most = PRECISION[dtype]
    greatest, smallest, tiny = float(np.ldexp(2 - np.ldexp(1.0, 1 - precision), most)), float(np.ldexp(1.0, least - precision + 1)), float(np.ldexp(1.0, least))
    sets = [[], [np.nan], [np.inf], [-np.inf], [np.inf, -np.inf], [np.nan, np.inf], [np.inf, np.inf], [greatest], [-greatest], [greatest, -greatest], [tiny, -0.0],
            [0.0], [-0.0]]
    made = []
    for special in sets:
        row = random.uniform(-2, 2, length)
        places = random.permutation(length)[: len(special)]
        row[places] = special[: len(places)]
        made.append(row)
        alone = np.zeros(length)
        alone[places] = special[: len(places)]
        made.append(alone)
    made += [np.full(length, x) for x in (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, smallest, -smallest)]
    made.append(random.integers(-100, 100, length) * smallest)
    made.append(np.where(np.arange(length) % 2, -0.0, 0.0))
    if greatest < 1e5:
        made += [np.full(length, greatest), np.where(np.arange(length) % 2, -greatest, greatest)]
    return np.array(made).astype(FLOATS[dtype])


def softmax(x, logarithm=False):
    shifted = x - np.max(x, -1, keepdims=True)
    total = np.sum(np.exp(shifted), -1, keepdims=True)
    return shifted - np.log(total) if logarithm else np.exp(shifted) / total


def centred(x, epsilon, center=True):
    gap = x - np.mean(x, -1, keepdims=True) if center else x
    return gap / np.sqrt(np.mean(gap * gap, -1, keepdims=True) + epsilon)


def close(name, got, wanted, dtype, scale, bound, x):
    """Infinities and NaN as wanted; else within `bound` units of the type's last place of `scale`, or of the least number's."""
    precision, least, most = PRECISION[dtype]
    wanted, scale = np.broadcast_to(wanted, got.shape), np.broadcast_to(scale, got.shape)
    report.checks += got.size
    rounded = wanted.astype(FLOATS[dtype]).astype(np.float64)
    wide = got.astype(np.float64)
    same = (np.isnan(wide) & np.isnan(rounded)) | (wide == rounded)
    allowed = bound * np.maximum(np.minimum(np.where(np.isnan(scale), 0, scale), np.finfo(np.float64).max) * 2.0 ** (1 - precision), np.ldexp(1.0, least - precision + 1))
    good = same | (np.isfinite(wide) & np.isfinite(rounded) & (np.abs(wide - wanted) <= allowed))
    # What is as far from the greatest number as rounding may be wrong is infinite or not.
    good |= (np.abs(wanted) >= np.ldexp(1.0, most + 1) * (1 - bound * 2.0**-precision)) & np.isinf(wide) & (np.sign(wide) == np.sign(wanted))
    for at in np.argwhere(~good)[:3]:
        report.fail(f"{name} at {tuple(int(i) for i in at)}: got {got[tuple(at)]!r}, wanted {wanted[tuple(at)]!r} of {sorted(x[int(at[0])].tolist())[-1]}, {sorted(x[int(at[0])].tolist())[0]}")


class Rows:
    """A graph over x [rows, length] and its transpose: every op along the last axis of the first, and along the first of the second."""

    def __init__(self, dtype, x):
        self.dtype, self.x, self.wide, self.graph, self.checks = dtype, x, x.astype(np.float64), Graph(), []
        self.forms = [(self.graph.input(x, dtype), 1), (self.graph.input(np.ascontiguousarray(x.T), dtype), 0)]

    def add(self, name, op, shape, wanted, scale=1.0, bound=2.0):
        """`op(operand, axis, shape of the result's kind)` returns a value of the graph."""
        for operand, axis in self.forms:
            sizes = self.x.shape if axis == 1 else self.x.shape[::-1]
            sizes = sizes if shape == "same" else (self.x.shape[0],)
            self.graph.output(op(operand, axis, "x".join(map(str, sizes)) + "x"))
            self.checks.append((f"{name} along axis {axis} of {self.x.shape[1]}", shape == "same" and axis == 0, wanted, scale, bound))

    def run(self):
        for way in ways:
            for (name, turned, wanted, scale, bound), result in zip(self.checks, self.graph.run(sinter, way)):
                result = result.T if turned else result
                name = f"{name} {self.dtype} {way}"
                if result.dtype.kind in "iu" and result.dtype != FLOATS[self.dtype]:
                    report.same(name, result, wanted, [np.arange(result.size)])
                else:
                    close(name, result, wanted, self.dtype, scale, bound, self.x)


def check(dtype, length, random):
    r = Rows(dtype, rows(dtype, length, random))
    graph, x = r.graph, r.wide
    size = np.sum(np.abs(np.where(np.isfinite(x), x, 0)), -1)

    def reduce(kind):
        return lambda v, axis, shape: graph.op(f"reduce {kind}", v, axes=[axis], shape=shape)

    r.add("sum", reduce("add"), "row", np.sum(x, -1), size)
    r.add("max", reduce("max"), "row", np.max(x, -1), 0)
    r.add("min", reduce("min"), "row", np.min(x, -1), 0)
    for kind, position in (("max", np.argmax), ("min", np.argmin)):
        r.add(f"arg{kind}", lambda v, axis, shape, kind=kind: graph.op(f"arg_reduce {kind}", v, attributes=f"axis = {axis} : i64", dtype="i64", shape=shape), "row", position(x, -1))
    running = lambda kind, more="": lambda v, axis, shape: graph.op(f"cumulative {kind}", v, attributes=f"axis = {axis} : i64{more}")
    r.add("running sum", running("add"), "same", np.cumsum(x, -1), np.cumsum(np.abs(np.where(np.isfinite(x), x, 0)), -1))
    r.add("running maximum", running("max"), "same", np.maximum.accumulate(x, -1), 0)
    r.add("running sum from the end", running("add", ", reverse = true"), "same", np.cumsum(x[:, ::-1], -1)[:, ::-1], size[:, None])
    r.add("softmax", lambda v, axis, shape: graph.op("softmax", v, attributes=f"axis = {axis} : i64"), "same", softmax(x), softmax(x), 6)
    log = softmax(x, True)
    r.add("logarithm of softmax", lambda v, axis, shape: graph.op("softmax", v, attributes=f"axis = {axis} : i64, logarithm = true"), "same", log, 6 + np.abs(log), 4)

    def window(kind):
        def op(v, axis, shape):
            at = lambda values: "array<i64: " + ", ".join(str(values[0]) if k == axis else str(values[1]) for k in (0, 1)) + ">"
            return graph.op(f"reduce_window {kind}", v, attributes=f"window = {at((3, 1))}, strides = {at((1, 1))}, low = {at((1, 0))}, high = {at((1, 0))}, dilations = {at((1, 1))}")
        return op

    def padded(value):
        return np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (1, 1)), constant_values=value), 3, -1)

    r.add("maximum under a window", window("max"), "same", np.max(padded(-np.inf), -1), 0)
    r.add("minimum under a window", window("min"), "same", np.min(padded(np.inf), -1), 0)
    r.add("sum under a window", window("add"), "same", np.sum(padded(0), -1), np.sum(np.abs(np.where(np.isfinite(padded(0)), padded(0), 0)), -1))
    r.run()


def check_products(dtype, length, random):
    """Products of signs and at most two special numbers: exact in every order."""
    precision, least, most = PRECISION[dtype]
    greatest, smallest = float(np.ldexp(2 - np.ldexp(1.0, 1 - precision), most)), float(np.ldexp(1.0, least - precision + 1))
    sets = [[], [0.0], [-0.0], [np.inf], [-np.inf], [np.nan], [0.0, np.inf], [-0.0, -np.inf], [np.nan, 0.0], [np.inf, -np.inf], [greatest], [greatest, -2.0],
            [smallest], [smallest, -2.0], [-smallest, 0.5], [smallest, -smallest], [smallest, -0.0], [greatest, smallest], [-3.0, 5.0]]
    x = random.choice([-1.0, 1.0], (len(sets), length))
    for row, special in zip(x, sets):
        row[random.permutation(length)[: len(special)]] = special[:length]
    x = x.astype(FLOATS[dtype])
    graph, wanted = Graph(), np.multiply.accumulate(x.astype(np.float64), -1)
    for v, axis in ((graph.input(x, dtype), 1), (graph.input(np.ascontiguousarray(x.T), dtype), 0)):
        graph.output(graph.op("reduce mul", v, axes=[axis], shape=f"{len(x)}x"))
        graph.output(graph.op("cumulative mul", v, attributes=f"axis = {axis} : i64"))
    for way in ways:
        for k, result in enumerate(graph.run(sinter, way)):
            result, value = (result.T if k == 3 else result), (wanted if k % 2 else wanted[:, -1])
            report.same(f"{'running ' * (k % 2)}product {dtype} of {length} along axis {1 - k // 2} {way}", result, value.astype(x.dtype), [np.arange(len(x))])


def check_norms(dtype, length, random):
    """Norms whose squares do not overflow, over the last axis: with 16 bits everything, else without the greatest numbers."""
    x = rows(dtype, length, random)
    x = x[~(np.abs(np.where(np.isfinite(x), x, 0).astype(np.float64)) > 1e10).any(-1)]
    graph, count = Graph(), len(x)
    v, wide = graph.input(x, dtype), x.astype(np.float64)
    shape, kept = f"tensor<{count}x{length}x{dtype}>", f"tensor<{count}x1x{dtype}>"
    wanted = []
    for center in (True, False):
        name = f"%n{int(center)}"
        graph.lines.append(f"  {name}, %m{int(center)}, %d{int(center)} = sinter.layer_norm {v} {{axis = 1 : i64, epsilon = 1.0e-5 : f64, center = {str(center).lower()}}} : ({shape}) -> ({shape}, {kept}, {kept})")
        graph.types[name] = (f"{count}x{length}x", dtype)
        graph.output(name)
        wanted.append((f"layer norm, center {center}", centred(wide, 1e-5, center)))
    if length % 4 == 0:  # two groups of two channels: the halves of a row
        cube = graph.input(x.reshape(count, 4, -1), dtype)
        scale, bias = np.array([1, 2, -0.5, 1]), np.array([0, 1, -1, 0.5])
        s, b = graph.input(scale.astype(x.dtype), dtype), graph.input(bias.astype(x.dtype), dtype)
        graph.output(graph.op("group_norm", cube, s, b, attributes="groups = 2 : i64, epsilon = 1.0e-3 : f64"))
        grouped = centred(wide.reshape(count, 2, -1), 1e-3).reshape(count, 4, -1)
        wanted.append(("group norm", grouped * scale[:, None] + bias[:, None]))
    channel = np.array([0.0, 1.0, -0.0, 1e-3, np.inf, np.nan, 2.0, -1.0] * (count // 8 + 1))[:count].astype(x.dtype)
    one = np.ones(count, x.dtype)
    s, b = graph.input(one, dtype), graph.input((0 * one), dtype)
    m, d = graph.input(channel, dtype), graph.input(channel[::-1].copy(), dtype)
    for epsilon in ("0.0", "1.0e-3"):
        graph.output(graph.op("batch_norm", v, s, b, m, d, attributes=f"axis = 0 : i64, epsilon = {epsilon} : f64"))
        mean, variance = channel.astype(np.float64)[:, None], channel[::-1].astype(np.float64)[:, None]
        wanted.append((f"batch norm, epsilon {epsilon}", (wide - mean) / np.sqrt(variance + float(epsilon)) + 0))
    for way in ways:
        for (name, value), result in zip(wanted, graph.run(sinter, way)):
            close(f"{name} {dtype} of {length} {way}", result, value, dtype, 1 + np.abs(np.where(np.isfinite(value), value, 0)), 8 if "batch" in name else 64, x)


def check_empty():
    """Axes of size 0: the identity, or no results."""
    for dtype in FLOATS:
        x = np.zeros((3, 0), FLOATS[dtype])
        graph = Graph()
        v = graph.input(x, dtype)
        for kind in IDENTITY:
            graph.output(graph.op(f"reduce {kind}", v, axes=[1], shape="3x"))
        for kind in IDENTITY:
            graph.output(graph.op(f"reduce {kind}", v, axes=[0], shape="0x"))
        graph.output(graph.op("softmax", v, attributes="axis = 1 : i64"))
        graph.output(graph.op("cumulative add", v, attributes="axis = 1 : i64"))
        for way in ways:
            results = graph.run(sinter, way)
            for kind, result in zip(IDENTITY, results):
                report.same(f"reduce {kind} of nothing {dtype} {way}", result, np.full(3, IDENTITY[kind]), [np.arange(3)])
            for result, shape in zip(results[4:], [(0,)] * 4 + [(3, 0)] * 2):
                report.checks += 1
                if result.shape != shape:
                    report.fail(f"a result of shape {result.shape}, wanted {shape} {dtype} {way}")


def check_carried():
    """Elements that a loop carries on from trip to trip: after each come two that are not taken."""
    for dtype in FLOATS:
        x = special_values(dtype)
        x = np.repeat(x[(x >= 0) & (x < 1e4)], 3)
        x[1::3], x[2::3] = -1, -2
        graph = Graph()
        v, of = graph.input(x, dtype), f"tensor<{len(x)}x{dtype}>"
        graph.lines.append(f"""  %first = sinter.constant dense<0.0> : tensor<{dtype}>
  %last, %carried = sinter.scan (%first) over({v}) captures() {{axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}} : (tensor<{dtype}>, {of}) -> (tensor<{dtype}>, {of}) body {{
  ^bb0(%a: tensor<{dtype}>, %b: tensor<{dtype}>):
    %zero = sinter.constant dense<0.0> : tensor<{dtype}>
    %below = sinter.compare lt %b, %zero : (tensor<{dtype}>, tensor<{dtype}>) -> tensor<i1>
    %c = sinter.select %below, %a, %b : (tensor<i1>, tensor<{dtype}>, tensor<{dtype}>) -> tensor<{dtype}>
    sinter.yield(%c, %c) : tensor<{dtype}>, tensor<{dtype}>
  }}""")
        graph.types["%carried"] = (f"{len(x)}x", dtype)
        graph.output("%carried")
        wanted, total = [], FLOATS[dtype](0)
        for number in x:
            total = total if number < 0 else number
            wanted.append(total)
        for way in ways:
            report.same(f"carried {dtype} {way}", graph.run(sinter, way)[0], np.array(wanted), [x])


def check_integers():
    random = np.random.default_rng(2)
    for dtype, kind in INTS.items():
        info = np.iinfo(kind)
        for length in (7, 100):
            x = random.integers(info.min, info.max, (6, length), dtype=kind, endpoint=True)
            x[0], x[1], x[2] = info.max, info.min, 1
            graph = Graph()
            forms = [(graph.input(x, dtype), 1), (graph.input(np.ascontiguousarray(x.T), dtype), 0)]
            functions = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or}
            for combiner in functions:
                for v, axis in forms:
                    graph.output(graph.op(f"reduce {combiner}", v, axes=[axis], shape="6x"))
            for way in ways:
                results = iter(graph.run(sinter, way))
                for combiner, function in functions.items():
                    for _, axis in forms:
                        report.same(f"reduce {combiner} {dtype} axis {axis} of {length} {way}", next(results), function.reduce(x, -1, dtype=kind), [np.arange(6)])


for dtype in FLOATS:
    random = np.random.default_rng(4)
    for length in LENGTHS[dtype]:
        check(dtype, length, random)
        check_products(dtype, length, random)
    for length in (5, 100):
        check_norms(dtype, length, random)
check_empty()
check_carried()
check_integers()
report.finish()
