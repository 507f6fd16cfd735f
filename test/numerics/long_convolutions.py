#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""long_convolutions.py BUILD [TARGET...]

Convolutions whose filters are so long that chunks go through them in parts, by rows of the filter, its columns or parts of a row, against NumPy in f64 (extended precision for f64):
1e-5 of the sum of magnitudes, and a hundredth of that on average, as no chain of additions is long. The same bits on one, two and three threads, and for `haswell`, whose second-level
cache has 256 KiB, as for x86-64-v3, which walks most of them at once."""
import sys

import numpy as np

import long_sums

TARGETS = ["x86-64-v3", "haswell", "x86-64-v4", "native"]
# images, sizes, channels, filters, kernel, strides, dilation, border
SIZES = [
    ((1, 28, 28), 700, 96, (3, 3), (1, 1), (1, 1), (1, 1)),  # parts of rows on small caches
    ((2, 9, 13), 512, 64, (3, 3), (1, 1), (1, 1), (1, 1)),
    ((3, 12, 12), 512, 63, (3, 3), (1, 1), (2, 2), (2, 2)),  # taps that lie apart, lanes that are masked
    ((4, 12, 11), 1024, 32, (3, 3), (1, 1), (1, 1), (1, 1)),  # pixels 4 KiB apart, which are copied
    ((1, 7, 7), 520, 160, (3, 3), (1, 1), (1, 1), (1, 1)),  # tiles of several rows, which do not divide the image
    ((1, 23, 23), 450, 64, (3, 3), (2, 2), (1, 1), (1, 1)),
    ((2, 14, 14), 200, 48, (5, 5), (1, 1), (1, 1), (2, 2)),
    ((1, 12, 12), 400, 64, (3, 3), (1, 1), (1, 1), (3, 3)),  # rows of the result that find no row of the filter inside
    ((1, 300), 1100, 40, (3,), (1,), (1,), (1,)),
    ((4, 150), 4100, 32, (1,), (1,), (1,), (0,)),  # one tap, and a copy for the next
    ((8, 60), 2100, 72, (3,), (2,), (1,), (1,)),
    ((1, 4, 9, 9), 150, 64, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),  # planes
]


def tensor(array, kind):
    return f"tensor<{'x'.join(map(str, array.shape))}x{kind}>"


class Case:
    def __init__(self, number, kind, sizes):
        self.name, self.kind = f"c{number}", kind
        places, channels, filters, self.kernel, self.strides, self.dilation, self.border = sizes
        rng = np.random.default_rng(number)
        draw = lambda *shape: rng.uniform(-1, 1, shape).astype(long_sums.KINDS[kind])
        self.out = [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, t, d, p in zip(places[1:], self.kernel, self.strides, self.dilation, self.border)]
        # A residual as well: the sums of parts may not go through the result.
        self.x, self.w, self.r = draw(*places, channels), draw(filters, *self.kernel, channels), draw(places[0], *self.out, filters)
        self.feeds = {"x": self.x, "r": self.r}

    def text(self):
        x, w, r = (tensor(a, self.kind) for a in (self.x, self.w, self.r))
        array = lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
        return "\n".join([
            f'func.func @{self.name}(%x: {x} {{sinter.name = "x"}}, %r: {r} {{sinter.name = "r"}}) -> {r} {{', f'  %w = sinter.constant dense<"0x{self.w.tobytes().hex().upper()}"> : {w}',
            f"  %p = sinter.convolution %x, %w {{strides = {array(self.strides)}, low = {array(self.border)}, high = {array(self.border)}, input_dilation = {array([1] * len(self.kernel))}, "
            f"dilation = {array(self.dilation)}, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = {self.kind}}} : ({x}, {w}) -> {r}",
            f"  %s = sinter.add %p, %r : ({r}, {r}) -> {r}", f"  return %s : {r}", "}", ""])

    def sums(self, x, w):
        padded = np.pad(x, [(0, 0), *((p, p) for p in self.border), (0, 0)])
        result = np.zeros(self.r.shape, x.dtype)
        for tap in np.ndindex(*self.kernel):
            places = tuple(slice(i * d, i * d + (o - 1) * t + 1, t) for i, d, o, t in zip(tap, self.dilation, self.out, self.strides))
            result += padded[(slice(None), *places)] @ w[(slice(None), *tap)].T
        return result

    def check(self, got):
        wide = long_sums.wide(self.kind)
        x, w = self.x.astype(wide), self.w.astype(wide)
        return long_sums.errors(self.kind, np.abs(got.astype(wide) - self.sums(x, w) - self.r.astype(wide)) / np.maximum(self.sums(np.abs(x), np.abs(w)), 1))


def main():
    build, chosen = sys.argv[1], sys.argv[2:]
    cases = [Case(i, "f32", sizes) for i, sizes in enumerate(SIZES)] + [Case(len(SIZES), "f64", ((3, 11, 11), 400, 32, (3, 3), (1, 1), (1, 1), (1, 1)))]
    wrong, bits = long_sums.run(build, TARGETS, chosen, cases)
    if "haswell" in bits and "x86-64-v3" in bits:
        for case, parts, whole in zip(cases, bits["haswell"], bits["x86-64-v3"]):
            if not np.array_equal(parts, whole):
                wrong += 1
                print(f"{case.name}: other bits in parts")
    if not wrong:
        print(len(bits) * len(cases), "convolutions agree with NumPy")
    sys.exit(wrong > 0)


main()
