#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transposed.py BUILD [--count N]

Random transposed convolutions against NumPy, to the bit, as all numbers are small integers: each element of the input adds the filter, times itself, to the results around
it. Behind some, sums with a number for each channel and a convolution of one tap or of results that lie apart again; channels are last or second. Filters that are a multiple of the distance of elements, shorter and longer ones, borders that cut results off and that add some, images of one pixel; on one to three axes."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime


def tensor(shape):
    return f"tensor<{''.join(f'{s}x' for s in shape)}f32>"


def transposed(x, w, apart, cut=None, out=None, grows=None):
    size, kernel = x.shape[1:-1], w.shape[1:-1]
    full = [(s - 1) * a + k + g for s, a, k, g in zip(size, apart, kernel, grows or [0] * len(size))]
    wide = np.zeros((x.shape[0], *full, w.shape[0]), np.float32)
    for at in np.ndindex(*size):
        where = tuple(slice(i * a, i * a + k) for i, a, k in zip(at, apart, kernel))
        wide[(slice(None), *where)] += np.einsum("nc,o...c->n...o", x[(slice(None), *at)], w)
    return wide[(slice(None), *(slice(c, c + o) for c, o in zip(cut, out)))] if cut else wide


class Case:
    def __init__(self, number, random):
        self.number = number
        pick = lambda *values: values[random.integers(len(values))]
        axes = pick(1, 2, 2, 3)
        while True:
            self.size = [pick(1, 1, 2, 4, 5) for _ in range(axes)]
            self.apart = [pick(1, 2, 2, 3, 4) for _ in range(axes)]
            self.kernel = [pick(1, 2, 3, 4) if random.integers(2) else distance * pick(1, 2) for distance in self.apart]
            self.cut, self.more = ([pick(0, 0, 1, 2) for _ in range(axes)] for _ in range(2))  # of the results: at the begin, at the end (or added)
            self.grows = [pick(0, 0, 1) * (distance - 1) for distance in self.apart]
            if number % 4 == 1:  # results that lie apart by whole windows
                self.kernel, self.cut, self.more, self.grows = list(self.apart), [0] * axes, [0] * axes, [0] * axes
            self.full = [(s - 1) * a + k for s, a, k in zip(self.size, self.apart, self.kernel)]
            self.out = [f - c - m + g for f, c, m, g in zip(self.full, self.cut, self.more, self.grows)]
            if min(self.out) > 0:
                break
        self.channels, self.filters, images = pick(1, 3, 8, 20), pick(1, 3, 16, 17), pick(1, 2)
        draw = lambda *shape: random.integers(-4, 5, shape).astype(np.float32)
        self.x, self.w = draw(images, *self.size, self.channels), draw(self.filters, *self.kernel, self.channels)
        self.isFirst, self.next = bool(random.integers(2)), None  # channels are the second axis; the filter behind
        if number % 2:
            self.nextApart = [pick(1, 1, 2) for _ in range(axes)] if random.integers(2) else [1] * axes
            self.bias, self.next = draw(self.filters), draw(pick(1, 2, self.filters, self.filters + 1), *self.nextApart, self.filters)
            self.nextBias = draw(self.next.shape[0])

    def wanted(self):
        y = transposed(self.x, self.w, self.apart, self.cut, self.out, self.grows)
        return y if self.next is None else transposed(np.maximum(y + self.bias, 0), self.next, self.nextApart) + self.nextBias

    def shapeOf(self, shape):
        return [shape[0], shape[-1], *shape[1:-1]] if self.isFirst else shape

    def constant(self, name, values, isFilter):
        values = np.ascontiguousarray(np.moveaxis(values, -1, 1) if isFilter and self.isFirst else values)
        return f'{name} = sinter.constant dense<"0x{values.tobytes().hex().upper()}"> : {tensor(values.shape)}'

    def convolution(self, result, x, shape, w, filters, apart, low, high, out):
        array = lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
        ones, layout = array([1] * len(low)), "channels_first" if self.isFirst else "channels_last"
        turned = np.flip(filters, tuple(range(1, filters.ndim - 1)))
        types = [tensor(self.shapeOf(s)) for s in (shape, filters.shape, out)]
        return [self.constant(w, turned, True),
                f"{result} = sinter.convolution {x}, {w} {{strides = {ones}, low = {array(low)}, high = {array(high)}, input_dilation = {array(apart)}, "
                f"dilation = {ones}, layout = #sinter<conv_layout {layout}>, element_type = f32}} : ({types[0]}, {types[1]}) -> {types[2]}"]

    def sum(self, result, x, name, bias, shape):
        y, axis = tensor(self.shapeOf(shape)), 1 if self.isFirst else len(shape) - 1
        return [self.constant(name, bias, False), f"{name}s = sinter.broadcast {name} axes = [{axis}] {{type = {y}}} : ({tensor(bias.shape)}) -> {y}",
                f"{result} = sinter.add {x}, {name}s : ({y}, {y}) -> {y}"]

    def text(self):
        n, images = self.number, self.x.shape[0]
        low = [k - 1 - c for k, c in zip(self.kernel, self.cut)]
        high = [k - 1 - m + g for k, m, g in zip(self.kernel, self.more, self.grows)]
        out = [images, *self.out, self.filters]
        lines = self.convolution(f"%{'y' if self.next is None else 'c'}{n}", f"%x{n}", self.x.shape, f"%w{n}", self.w, self.apart, low, high, out)
        if self.next is not None:
            behind, last = tensor(self.shapeOf(out)), [images, *(o * a for o, a in zip(self.out, self.nextApart)), self.next.shape[0]]
            low = [a - 1 for a in self.nextApart]
            lines += self.sum(f"%a{n}", f"%c{n}", f"%b{n}", self.bias, out)
            lines += [f"%z{n} = sinter.constant dense<0.0> : {behind}", f"%m{n} = sinter.max %a{n}, %z{n} : ({behind}, {behind}) -> {behind}"]
            lines += self.convolution(f"%d{n}", f"%m{n}", out, f"%v{n}", self.next, self.nextApart, low, low, last)
            lines += self.sum(f"%y{n}", f"%d{n}", f"%e{n}", self.nextBias, last)
            out = last
        return tensor(self.shapeOf(self.x.shape)), tensor(self.shapeOf(out)), lines


def main():
    build = sys.argv[1]
    count = int(sys.argv[3]) if sys.argv[2:3] == ["--count"] else 60
    sinter, runtime = os.path.join(build, "bin", "sinter"), sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    random = np.random.default_rng(4)
    cases = [Case(i, random) for i in range(count)]
    texts = [case.text() for case in cases]
    with tempfile.TemporaryDirectory() as folder:
        graph, module = os.path.join(folder, "t.mlir"), os.path.join(folder, "t.smod")
        with open(graph, "w") as file:
            inputs = ", ".join(f'%x{i}: {x} {{sinter.name = "x{i}"}}' for i, (x, _, _) in enumerate(texts))
            outputs = ", ".join(f'{y} {{sinter.name = "y{i}"}}' for i, (_, y, _) in enumerate(texts))
            file.write(f"func.func @main({inputs}) -> ({outputs}) {{\n" + "".join(f"  {line}\n" for _, _, lines in texts for line in lines) +
                       f"  return {', '.join(f'%y{i}' for i in range(count))} : {', '.join(y for _, y, _ in texts)}\n}}\n")
        for target in levels.runnable():
            subprocess.run([sinter, "compile", graph, "--target", target, "-o", module, "--force"], check=True, capture_output=True)
            session = runtime.session(module, 2)
            for case in cases:
                session.set(f"x{case.number}", np.ascontiguousarray(np.moveaxis(case.x, -1, 1)) if case.isFirst else case.x)
            session.call()
            for case in cases:
                got, wanted = session.result(f"y{case.number}"), case.wanted()
                got = np.moveaxis(got, 1, -1) if case.isFirst else got
                assert np.array_equal(got, wanted), (target, case.number, case.x.shape, case.w.shape, case.apart, case.cut, case.more, case.grows)
    print(f"{count} transposed convolutions agree with NumPy on {len(levels.runnable())} targets")


main()
