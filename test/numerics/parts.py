#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""parts.py BUILD [SEED...]

Random graphs of convolutions, products, pools and sums whose results are joined along any axis, joined again, read beside the join, given to the caller or joined twice, against
NumPy: to the bit, as all numbers are small integers. With fixed sizes and with sizes that only running tells, as one function and as the body of a loop or a branch; on each
level of CPU that this machine can run, on one thread and on two."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

ONES = "array<i64: 1, 1>"
AROUND = ["plain", "weights", "branch", "loop"]


def tensor(shape, unknown=()):
    return f"tensor<{''.join(('?' if k in unknown else str(n)) + 'x' for k, n in enumerate(shape))}f32>"


def inner(text):
    """What is given has other names inside of a region."""
    return re.sub(r"%([xwz]\d)", r"%in_\1", text)


def windows(x, size):
    """[N, H, W, size, size, C] around each pixel; NaN outside."""
    low = size // 2
    padded = np.pad(x, ((0, 0), (low, low), (low, low), (0, 0)), constant_values=np.nan)
    n, h, w, _ = x.shape
    return np.stack([np.stack([padded[:, i : i + h, j : j + w] for j in range(size)], 3) for i in range(size)], 3)


class Graph:
    """One function over images [N, H, W, C] of several C; `unknown` are the axes whose size only running tells."""

    def __init__(self, name, rng, unknown, around):
        self.name, self.rng, self.unknown, self.around = name, rng, unknown, around
        self.inputs, self.values, self.body, self.weights = [], [], [], []
        self.size = (int(rng.integers(1, 3)), int(rng.integers(2, 6)), int(rng.integers(2, 9)))
        for _ in range(int(rng.integers(1, 3))):
            self.add_input()
        # Joins along one axis most of the time: others have another shape, and are joined with what has that.
        for _ in range(int(rng.integers(5, 12))):
            self.step()
        self.choose_results()

    def add_input(self):
        shape = (*self.size, int(self.rng.choice([3, 8, 16, 24, 40])))
        x = self.rng.integers(0, 8, shape).astype(np.float32)
        self.values.append((f"%x{len(self.inputs)}", x))
        self.inputs.append(x)

    def emit(self, op, operands, result):
        name = f"%v{len(self.body)}"
        types = ", ".join(self.type(x, n) for n, x in operands)
        self.body.append(f"{name} = {op(', '.join(n for n, _ in operands))} : ({types}) -> {self.type(result)}")
        return name, result

    def type(self, x, name=""):
        return tensor(x.shape, () if name.startswith("%w") or x.ndim != 4 else self.unknown)

    def weight(self, shape):
        w = self.rng.integers(-1, 2, shape).astype(np.float32)
        self.weights.append(w)
        return f"%w{len(self.weights) - 1}", w

    def wrap(self, x):
        """x - 8 floor(x / 8), element by element, with constants of one element as weights."""
        eighth, eight = (np.full((1,), v, np.float32) for v in (0.125, 8.0))
        self.weights += [eighth, eight]
        names = [f"%w{len(self.weights) - 2}", f"%w{len(self.weights) - 1}"]
        a = self.emit(lambda o: f"sinter.mul {o}", [x, self.spread(names[0], x)], x[1] * np.float32(0.125))
        b = self.emit(lambda o: f"sinter.floor {o}", [a], np.floor(a[1]))
        c = self.emit(lambda o: f"sinter.mul {o}", [b, self.spread(names[1], x)], b[1] * np.float32(8))
        return self.emit(lambda o: f"sinter.sub {o}", [x, c], x[1] - c[1])

    def spread(self, name, like):
        """The only element of a weight in the shape of a value."""
        number = self.weights[int(name[2:])]
        result = f"%v{len(self.body)}"
        kind = self.type(like[1])
        if self.unknown:
            shape = f"%v{len(self.body)}"
            self.body.append(f"{shape} = sinter.shape {like[0]} : ({kind}) -> tensor<4xi64>")
            result = f"%v{len(self.body)}"
            self.body.append(f"{result} = sinter.broadcast {name} shape({shape}) axes = [3] {{type = {kind}}} : (tensor<1xf32>, tensor<4xi64>) -> {kind}")
        else:
            self.body.append(f"{result} = sinter.broadcast {name} axes = [3] {{type = {kind}}} : (tensor<1xf32>) -> {kind}")
        return result, np.broadcast_to(number, like[1].shape)

    def pick(self):
        return self.values[int(self.rng.integers(0, len(self.values)))]

    def step(self):
        kind = self.rng.choice(["join", "pairs", "halves", "slice", "convolution", "point", "depthwise", "pool", "product", "add", "max"],
                               p=[0.27, 0.06, 0.08, 0.07, 0.08, 0.12, 0.08, 0.09, 0.05, 0.05, 0.05])
        getattr(self, kind)()

    def keep(self, value):
        if np.abs(value[1]).max() > 8:
            value = self.wrap(value)
        self.values.append(value)

    def convolve(self, x, size, groups, out):
        c = x[1].shape[-1]
        w = self.weight((out, size, size, c // groups))
        low = size // 2
        taps = np.nan_to_num(windows(x[1], size))
        y = np.einsum("nhwijc,oijc->nhwo", taps, w[1]) if groups == 1 else np.einsum("nhwijc,cij->nhwc", taps, w[1][..., 0])
        pads = f"array<i64: {low}, {low}>"
        attributes = (f"{{strides = {ONES}, low = {pads}, high = {pads}, input_dilation = {ONES}, dilation = {ONES}, groups = {groups} : i64, "
                      "layout = #sinter<conv_layout channels_last>, element_type = f32}")
        self.keep(self.emit(lambda o: f"sinter.convolution {o} {attributes}", [x, w], y.astype(np.float32)))

    def out(self):
        return int(self.rng.choice([4, 8, 16, 24, 33]))

    def convolution(self):
        self.convolve(self.pick(), 3, 1, self.out())

    def point(self):
        self.convolve(self.pick(), 1, 1, self.out())

    def depthwise(self):
        x = self.pick()
        self.convolve(x, 3, x[1].shape[-1], x[1].shape[-1])

    def pool(self):
        x = self.pick()
        y = np.nanmax(windows(x[1], 3), axis=(3, 4)).astype(np.float32)
        attributes = ("{window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, "
                      "dilations = array<i64: 1, 1, 1, 1>}")
        self.keep(self.emit(lambda o: f"sinter.reduce_window max {o} {attributes}", [x], y))

    def product(self):
        x = self.pick()
        w = self.weight((x[1].shape[-1], self.out()))
        attributes = "{lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 0>, element_type = f32}"
        self.keep(self.emit(lambda o: f"sinter.dot_general {o} {attributes}", [x, w], (x[1] @ w[1]).astype(np.float32)))

    def two(self):
        x = self.pick()
        same = [v for v in self.values if v[1].shape == x[1].shape]
        return [x, same[int(self.rng.integers(0, len(same)))]]

    def add(self):
        x, y = self.two()
        self.keep(self.emit(lambda o: f"sinter.add {o}", [x, y], x[1] + y[1]))

    def max(self):
        x, y = self.two()
        self.keep(self.emit(lambda o: f"sinter.max {o}", [x, y], np.maximum(x[1], y[1])))

    def join(self):
        axis = 3 if self.unknown else int(self.rng.choice([3, 3, 3, 3, 0, 1, 2]))
        x = self.pick()
        fits = [v for v in self.values if all(a == b for k, (a, b) in enumerate(zip(v[1].shape, x[1].shape)) if k != axis)]
        parts = [fits[int(i)] for i in self.rng.integers(0, len(fits), int(self.rng.integers(2, 5)))]
        parts.insert(int(self.rng.integers(0, len(parts) + 1)), x)
        y = np.concatenate([v for _, v in parts], axis)
        if y.size > 40000:
            return
        self.keep(self.emit(lambda o: f"sinter.concatenate {o} {{axis = {axis} : i64}}", parts, y))

    def pairs(self):
        """Elements of two side by side, as parts of complex numbers are: parts whose last axis is one element."""
        if self.unknown:
            return self.join()
        n, h, w, c = self.pick()[1].shape
        same = [v for v in self.values if v[1].shape == (n, h, w, c)]
        if n * h * w * c > 20000:
            return
        views = []
        for k in self.rng.integers(0, len(same), 2):
            value = self.wrap(self.emit(lambda o: f"sinter.add {o}", [same[int(k)]] * 2, same[int(k)][1] * 2))
            lines = value[1].reshape(n, h, w * c, 1)
            views.append(self.emit(lambda o: f"sinter.reshape {o} {{type = {self.type(lines)}}}", [value], lines))
        self.keep(self.emit(lambda o: f"sinter.concatenate {o} {{axis = 3 : i64}}", views, np.concatenate([v for _, v in views], 3)))

    def cut(self, x, axis, begin, end):
        size = x[1].shape
        starts = [begin if k == axis else 0 for k in range(4)]
        limits = [end if k == axis else -1 if k in self.unknown else size[k] for k in range(4)]
        y = x[1][tuple(slice(begin, end) if k == axis else slice(None) for k in range(4))]
        lists = ", ".join(f"{name} = array<i64: {', '.join(map(str, numbers))}>" for name, numbers in (("starts", starts), ("limits", limits), ("steps", [1] * 4)))
        self.keep(self.emit(lambda o: f"sinter.slice {o} {{{lists}}}", [x], y))

    def axis_of(self, x):
        axis = 3 if self.unknown else int(self.rng.choice([3, 3, 3, 1, 2]))
        return axis, x[1].shape[axis]

    def slice(self):
        x = self.pick()
        axis, size = self.axis_of(x)
        begin = int(self.rng.integers(0, size))
        self.cut(x, axis, begin, int(self.rng.integers(begin + 1, size + 1)))

    def halves(self):
        x = self.pick()
        axis, size = self.axis_of(x)
        if size < 2:
            return
        self.cut(x, axis, 0, size // 2)
        self.cut(x, axis, size // 2, size)
        first, second = self.values[-2:]
        if first[1].shape == second[1].shape and self.rng.random() < 0.5:
            self.keep(self.emit(lambda o: f"sinter.max {o}", [second, second], second[1]))
        if self.rng.random() < 0.7:
            parts = [first, second, *self.values[-1:]]
            if all(a == b for k, (a, b) in enumerate(zip(parts[2][1].shape, first[1].shape)) if k != axis):
                self.keep(self.emit(lambda o: f"sinter.concatenate {o} {{axis = {axis} : i64}}", parts, np.concatenate([v for _, v in parts], axis)))

    def choose_results(self):
        used = re.findall(r"[(, ](%v\d+)", " ".join(line.split("=", 1)[1] for line in self.body))
        unused = [v for v in self.values if v[0].startswith("%v") and v[0] not in used]
        more = [v for v in self.values if v[0].startswith("%v") and v[0] in used and self.rng.random() < 0.15]
        self.results = (unused + more) or [self.values[-1]]

    def text(self):
        given = [(f"%x{i}", x) for i, x in enumerate(self.inputs)] + [(f"%w{i}", w) for i, w in enumerate(self.weights)]
        types = ", ".join(self.type(x) for _, x in self.results)
        names, lines = ", ".join(n for n, _ in self.results), "".join(f"    {line}\n" for line in self.body)
        constants = "" if self.around != "weights" else "".join(
            f"  %w{i} = sinter.constant dense<{w.tolist()}> : {tensor(w.shape)}\n" for i, w in enumerate(self.weights))
        if self.around == "weights":
            given = given[: len(self.inputs)]
        arguments = ", ".join(f'{n}: {self.type(x, n)} {{sinter.name = "{n[1:]}"}}' for n, x in given)
        block = f"{lines}    sinter.yield ({names}) : {types}\n"
        if self.around in ("plain", "weights"):
            return f"func.func @{self.name}({arguments}) -> ({types}) {{\n{constants}{lines}    return {names} : {types}\n}}\n"
        results = ", ".join(f"%r{i}" for i in range(len(self.results)))
        if self.around == "branch": # either branch computes the same, so that what is asked does not matter
            captures, kinds = ", ".join(n for n, _ in given), ", ".join(self.type(x, n) for n, x in given)
            block = inner(f"  ^bb0({', '.join(f'{n}: {self.type(x, n)}' for n, x in given)}):\n{block}")
            return (f'func.func @{self.name}(%which: tensor<i1> {{sinter.name = "which"}}, {arguments}) -> ({types}) {{\n'
                    f"  {results} = sinter.cond %which({captures}) : (tensor<i1>, {kinds}) -> ({types}) then {{\n{block}  }} else {{\n{block}  }}\n"
                    f"  return {results} : {types}\n}}\n")
        # Three trips over x0, 7 - x0 and x0, whose results are carried.
        first = self.type(self.inputs[0])
        starts = [(f"%z{i}", x) for i, (_, x) in enumerate(self.results)]
        zeros = "".join(f"  {n} = sinter.constant dense<0.0> : {self.type(x)}\n" for n, x in starts)
        bounds = "".join(f"  %{n} = sinter.constant dense<{v}> : tensor<i64>\n" for n, v in (("low", 0), ("high", 3), ("one", 1)))
        kinds = ", ".join(["tensor<i64>"] * 3 + [first] + [self.type(x) for _, x in starts] + [self.type(x, n) for n, x in given[1:]])
        inside = ", ".join(["%trip: tensor<i64>", f"%x0: {first}"] + [f"{n}: {self.type(x, n)}" for n, x in starts + given[1:]])
        next_x = (f"    %seven = sinter.constant dense<7.0> : tensor<f32>\n    %sevens = sinter.broadcast %seven axes = [] {{type = {first}}} : (tensor<f32>) -> {first}\n"
                  f"    %next = sinter.sub %sevens, %x0 : ({first}, {first}) -> {first}\n")
        return (f"func.func @{self.name}({arguments}) -> ({types}) {{\n{zeros}{bounds}  %last, {results} = sinter.for %low to %high step %one (%x0, {', '.join(n for n, _ in starts)}) "
                f"captures({', '.join(n for n, _ in given[1:])}) : ({kinds}) -> ({first}, {types}) body {{\n" + inner(f"  ^bb0({inside}):\n{next_x}{lines}"
                f"    sinter.yield (%next, {names}) : {first}, {types}\n  }}\n") + f"  return {results} : {types}\n}}\n")

    def arguments(self):
        given = {f"x{i}": x for i, x in enumerate(self.inputs)}
        if self.around != "weights":
            given |= {f"w{i}": w for i, w in enumerate(self.weights)}
        if self.around == "branch":
            given["which"] = np.array(self.rng.random() < 0.5)
        return given


def main():
    build, seeds = sys.argv[1], [int(s) for s in sys.argv[2:]] or range(36)
    sinter = os.path.join(build, "bin", "sinter")
    graphs = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        graphs.append(Graph(f"f{seed}", rng, [(0, 1, 2), (0,)][seed // 3 % 2] if seed % 3 == 2 else (), AROUND[seed // 3 % len(AROUND)] if seed % 3 != 2 or seed // 3 % len(AROUND) != 3 else "plain"))
    runtime, wrong, placed = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so")), 0, 0
    for level in levels.runnable():
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/m.mlir", "w") as file:
                file.write("".join(graph.text() for graph in graphs))
            fused = subprocess.run([sinter, "compile", f"{folder}/m.mlir", "--target", level, "--emit=fused", "-o", "-"], check=True, stdout=subprocess.PIPE, text=True).stdout
            placed += fused.count("in_place")
            subprocess.run([sinter, "compile", f"{folder}/m.mlir", "--target", level, "-o", f"{folder}/m.smod"], check=True)
            for threads in (1, 2):
                sessions = runtime.sessions(f"{folder}/m.smod", [graph.name for graph in graphs], threads)
                for graph in graphs:
                    got = sessions[graph.name].run(graph.arguments())
                    for value, (_, expected) in zip(got.values(), graph.results):
                        if not np.array_equal(value, expected):
                            wrong += 1
                            print(f"{level}, {threads} threads: {graph.name} is wrong in {np.sum(value != expected)} of {expected.size} elements")
    print(f"{len(graphs)} graphs, {placed} joins in place, {wrong} wrong")
    sys.exit(wrong > 0)


main()
