#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""few_channels.py BUILD [--count N]

Convolutions of up to some dozens of channels in a group, channels last, against NumPy in f64: integers to the bit, floats by a bound of the type times the sum of magnitudes. Depthwise ones, such of one to six channels, as of images, of more, to few columns, too, and groups of few; over one to three axes. Random windows, strides,
dilations and borders (those of a few pixels and those wider than the image), sizes that the types tell and such that only running tells, numbers of channels around those
of vectors, borders of another number than zero, results that several ops follow; on one thread and on two, with equal bits."""
import os
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

sinter_runtime.DTYPES[4] = ml_dtypes.bfloat16
sinter_runtime.CODES[np.dtype(ml_dtypes.bfloat16)] = 4
TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "ui8": np.uint8}
# of input, filter and result, and what an error may be of the sum of magnitudes
KINDS = [("f32", "f32", "f32", 1e-6), ("f64", "f64", "f64", 1e-15), ("bf16", "bf16", "f32", 1e-5), ("f16", "f16", "f32", 1e-5), ("ui8", "i8", "i32", 0), ("i8", "i8", "i32", 0),
         ("ui8", "ui8", "i32", 0), ("i8", "ui8", "i32", 0)]


def draw(random, shape, kind):
    if kind in ("i8", "ui8"):
        info = np.iinfo(TYPES[kind])
        return random.integers(info.min, info.max, shape, dtype=TYPES[kind], endpoint=True)
    return random.standard_normal(shape).astype(TYPES[kind])


def tensor(shape, kind):
    return f"tensor<{''.join(f'{s}x' for s in shape)}{kind}>"


class Case:
    def __init__(self, number, random, kinds):
        self.number, self.kinds = number, kinds
        pick = lambda *values: values[random.integers(len(values))]
        axes = 3 if number % 5 == 4 else pick(1, 2, 2, 2)
        sizes = (1, 2, 3, 5, 7, 8) if axes == 3 else (1, 2, 3, 5, 7, 8, 13, 14, 15, 21, 28, 33)
        while True:
            size = [pick(*sizes) for _ in range(axes)]
            self.kernel = [pick(1, 2, 3, 3, 3, 5, 7) for _ in range(axes)]
            self.stride, self.dilation = ([pick(*values) for _ in range(axes)] for values in ((1, 1, 2, 3), (1, 1, 2, 3, 12)))
            self.low, self.high = ([pick(0, 1, 1, 2, 3, 9) for _ in range(axes)] for _ in range(2))
            if number == 3:  # a product of pixels, but for the border
                size, self.kernel, self.stride, self.dilation, self.low, self.high = [14], [1], [1], [1], [1], [2]
            self.out = [(s + a + b - d * (k - 1) - 1) // t + 1
                        for s, k, t, d, a, b in zip(size, self.kernel, self.stride, self.dilation, self.low, self.high)]
            if min(self.out) > 0:
                break
        self.isDepthwise, self.images = number % 3 == 1 and axes < 3, pick(1, 2)
        self.channels = pick(2, 3, 8, 15, 16, 17, 32, 40, 96) if self.isDepthwise else pick(1, 2, 3, 4, 5, 6) if number % 3 else pick(7, 8, 9, 16, 17, 32, 40, 264)
        self.filters = self.channels if self.isDepthwise else pick(1, 3, 9, 16, 24, 32, 40, 48, 64)
        self.groups = self.channels if self.isDepthwise else 1
        if number % 6 == 2:  # small ones, which lie side by side in vectors
            self.groups, size_of_group = pick(2, 3, 5, 6), pick(2, 3, 4, 4, 8, 8, 16, 32)
            self.channels, self.filters = self.groups * size_of_group, self.groups * pick(size_of_group, size_of_group, 1, 3)
        if number % 15 in (6, 9):  # more columns than a tile of lanes of channels has
            self.groups = pick(1, 1, 2)
            self.channels, self.filters = self.groups * pick(16, 32, 96), self.groups * pick(12, 14, 18, 20, 24)
        self.shape = (self.images, *size, self.channels)
        self.x, self.w = draw(random, self.shape, kinds[0]), draw(random, (self.filters, *self.kernel, self.channels // self.groups), kinds[1])
        self.open = [axis for axis in range(1, len(size) + 1) if number != 3 and random.integers(5) == 0]  # sizes that only running tells
        self.isFollowed = number % 6 == 0 and kinds[3] > 0  # by more ops than a tile's registers are stored through
        self.fill = int(random.integers(1, 100)) if kinds[2] == "i32" and random.integers(2) else 0

    def sums(self, x, w, fill):
        axes = len(self.kernel)
        padded = np.pad(x, [(0, 0), *zip(self.low, self.high), (0, 0)], constant_values=fill)
        result = np.zeros((self.images, *self.out, self.filters), padded.dtype)
        for tap in np.ndindex(*self.kernel):
            places = tuple(slice(tap[k] * self.dilation[k], tap[k] * self.dilation[k] + (self.out[k] - 1) * self.stride[k] + 1, self.stride[k]) for k in range(axes))
            seen, taken = padded[(slice(None), *places)], w[(slice(None), *tap)]
            groups = zip(np.split(seen, self.groups, axis=-1), np.split(taken, self.groups))
            result += seen * taken[:, 0] if self.isDepthwise else np.concatenate([part @ filters.T for part, filters in groups], axis=-1)
        return result

    def text(self):
        kind, of_filter, of_result, _ = self.kinds
        known = lambda shape: ["?" if i in self.open else s for i, s in enumerate(shape)]
        x, w, y = tensor(known(self.shape), kind), tensor(self.w.shape, of_filter), tensor(known((self.images, *self.out, self.filters)), of_result)
        array = lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
        none, n = [0] * len(self.kernel), self.number
        lines = [f'%w{n} = sinter.constant dense<"0x{self.w.tobytes().hex().upper()}"> : {w}']
        name, low, high = f"x{n}", self.low, self.high
        if self.fill:
            padded = tensor(known([s + a + b for s, a, b in zip(self.shape, [0, *low, 0], [0, *high, 0])]), kind)
            lines += [f"%f{n} = sinter.constant dense<{self.fill}> : tensor<{kind}>",
                      f"%p{n} = sinter.pad %x{n}, %f{n} {{low = {array([0, *low, 0])}, high = {array([0, *high, 0])}, interior = {array([0, *none, 0])}}} : "
                      f"({x}, tensor<{kind}>) -> {padded}"]
            name, x, low, high = f"p{n}", padded, none, none
        lines.append(f"%{'s' if self.isFollowed else 'y'}{n} = sinter.convolution %{name}, %w{n} {{strides = {array(self.stride)}, low = {array(low)}, high = {array(high)}, input_dilation = "
                     f"{array([1] * len(none))}, dilation = {array(self.dilation)}, groups = {self.groups} : i64, layout = #sinter<conv_layout channels_last>, "
                     f"element_type = {of_result}}} : ({x}, {w}) -> {y}")
        if self.isFollowed:  # twice the sum
            unary, binary = f": ({y}) -> {y}", f": ({y}, {y}) -> {y}"
            lines += [f"%n{n} = sinter.neg %s{n} {unary}", f"%m{n} = sinter.max %s{n}, %n{n} {binary}", f"%a{n} = sinter.add %m{n}, %s{n} {binary}",
                      f"%d{n} = sinter.sub %a{n}, %m{n} {binary}", f"%y{n} = sinter.add %d{n}, %s{n} {binary}"]
        return tensor(known(self.shape), kind), lines, y

    def check(self, got, where):
        bound = self.kinds[3]
        what = (where, self.kinds, self.shape, self.w.shape, self.groups, self.stride, self.dilation, self.low, self.high, self.open, self.fill)
        if not bound:
            assert np.array_equal(got, self.sums(self.x.astype(np.int64), self.w.astype(np.int64), self.fill)), what
            return
        x, w = self.x.astype(np.float64), self.w.astype(np.float64)
        got = got / 2 if self.isFollowed else got
        off = np.abs(got - self.sums(x, w, 0)) - bound * self.sums(np.abs(x), np.abs(w), 0)
        assert (off <= 0).all(), (*what, off.max())


def main():
    build = sys.argv[1]
    count = int(sys.argv[3]) if sys.argv[2:3] == ["--count"] else 30
    sinter, runtime = os.path.join(build, "bin", "sinter"), sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    runs = 0
    with tempfile.TemporaryDirectory() as folder:
        graph, module = os.path.join(folder, "c.mlir"), os.path.join(folder, "c.smod")
        for number, kinds in enumerate(KINDS):
            random = np.random.default_rng(number)
            cases = [Case(i, random, kinds) for i in range(count)]
            texts = [case.text() for case in cases]
            with open(graph, "w") as file:
                inputs = ", ".join(f'%x{i}: {x} {{sinter.name = "x{i}"}}' for i, (x, _, _) in enumerate(texts))
                outputs = ", ".join(f'{y} {{sinter.name = "y{i}"}}' for i, (_, _, y) in enumerate(texts))
                file.write(f"func.func @main({inputs}) -> ({outputs}) {{\n" + "".join(f"  {line}\n" for _, lines, _ in texts for line in lines) +
                           f"  return {', '.join(f'%y{i}' for i in range(count))} : {', '.join(y for _, _, y in texts)}\n}}\n")
            for target in levels.runnable():
                compile_it = lambda *options: subprocess.run([sinter, "compile", graph, "--target", target, *options], check=True, capture_output=True, text=True).stdout
                compile_it("-o", module, "--force")
                if target != "x86-64":  # which has no form of f16
                    found = compile_it("--emit=fused", "-o", "-").count("schedule<depthwise")
                    assert found == sum(case.isDepthwise for case in cases), (target, kinds, found)
                results = []
                for threads in (1, 2):
                    session = runtime.session(module, threads)
                    for case in cases:
                        session.set(f"x{case.number}", case.x)
                    session.call()
                    results.append([session.result(f"y{case.number}") for case in cases])
                for case, got, again in zip(cases, *results):
                    assert np.array_equal(got, again), (target, "threads")
                    case.check(got, target)
                    runs += 1
    print(runs, "convolutions agree with NumPy")


if __name__ == "__main__":
    main()
