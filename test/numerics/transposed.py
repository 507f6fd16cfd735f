#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transposed.py BUILD [--count N]

Random transposed convolutions against NumPy, to the bit, as all numbers are small integers: each element of the input adds the filter, times itself, to the results around
it. Filters that are a multiple of the distance of elements, shorter and longer ones, borders that cut results off and that add some, images of one pixel; on one to three axes."""
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
            self.full = [(s - 1) * a + k for s, a, k in zip(self.size, self.apart, self.kernel)]
            self.out = [f - c - m + g for f, c, m, g in zip(self.full, self.cut, self.more, self.grows)]
            if min(self.out) > 0:
                break
        self.channels, self.filters, images = pick(1, 3, 8, 20), pick(1, 3, 16, 17), pick(1, 2)
        self.x = random.integers(-4, 5, (images, *self.size, self.channels)).astype(np.float32)
        self.w = random.integers(-4, 5, (self.filters, *self.kernel, self.channels)).astype(np.float32)

    def wanted(self):
        wide = np.zeros((self.x.shape[0], *(f + g for f, g in zip(self.full, self.grows)), self.filters), np.float32)
        for at in np.ndindex(*self.size):
            where = tuple(slice(i * a, i * a + k) for i, a, k in zip(at, self.apart, self.kernel))
            wide[(slice(None), *where)] += np.einsum("nc,o...c->n...o", self.x[(slice(None), *at)], self.w)
        return wide[(slice(None), *(slice(c, c + o) for c, o in zip(self.cut, self.out)))]

    def text(self):
        n, array = self.number, lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
        w, x, y = tensor(self.w.shape), tensor(self.x.shape), tensor((self.x.shape[0], *self.out, self.filters))
        turned = np.ascontiguousarray(np.flip(self.w, tuple(range(1, 1 + len(self.size)))))
        low = [k - 1 - c for k, c in zip(self.kernel, self.cut)]
        high = [k - 1 - m + g for k, m, g in zip(self.kernel, self.more, self.grows)]
        ones = array([1] * len(low))
        return x, y, [f'%w{n} = sinter.constant dense<"0x{turned.tobytes().hex().upper()}"> : {w}',
                      f"%y{n} = sinter.convolution %x{n}, %w{n} {{strides = {ones}, low = {array(low)}, high = {array(high)}, input_dilation = {array(self.apart)}, "
                      f"dilation = {ones}, layout = #sinter<conv_layout channels_last>, element_type = f32}} : ({x}, {w}) -> {y}"]


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
                session.set(f"x{case.number}", case.x)
            session.call()
            for case in cases:
                got, wanted = session.result(f"y{case.number}"), case.wanted()
                assert np.array_equal(got, wanted), (target, case.number, case.x.shape, case.w.shape, case.apart, case.cut, case.more, case.grows)
    print(f"{count} transposed convolutions agree with NumPy on {len(levels.runnable())} targets")


main()
