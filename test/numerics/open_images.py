#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""open_images.py BUILD [TARGET...]

Convolutions of images whose sizes only running tells, channels last, against NumPy in f64: all widths from 1 to 40, so that each number of pixels is left behind the whole tiles of a
row, with windows of one and of several taps, strides and borders, and channels that are one vector, several, and part of one; also as rows of pixels of images of one size, of which
there are any number."""
import sys

import numpy as np

import cases

WIDTHS = range(1, 41)


class Case:
    def __init__(self, number):
        self.name, rng = f"c{number}", np.random.default_rng(number)
        pick = lambda *values: values[rng.integers(len(values))]
        self.window, self.stride, self.channels, self.filters = pick(1, 1, 3, 3, 5), pick(1, 1, 2), pick(3, 8, 16, 40), pick(8, 16, 32, 48, 64, 70)
        self.border = pick(0, self.window // 2)
        self.onlyImages = number % 3 == 0  # sizes are known, their number is not
        self.w = rng.standard_normal((self.filters, self.window, self.window, self.channels)).astype(np.float32)
        if number == 0:  # panels that are brought in parts
            self.window, self.stride, self.channels, self.filters, self.border = 1, 1, 7168, 32, 0
            self.w = (rng.standard_normal((32, 1, 1, 7168)) / 85).astype(np.float32)

    def shape(self, width):
        if self.onlyImages:
            return (width, self.window, self.window + 1 - (self.channels > 1000), self.channels)
        return (1 + width % 2, self.window + width % 4, width, self.channels)

    def results(self, size):
        return (size + 2 * self.border - self.window) // self.stride + 1

    def text(self):
        known = self.shape(1)[1:3] if self.onlyImages else ("?", "?")
        found = [self.results(size) for size in known] if self.onlyImages else ("?", "?")
        x, y = (f"tensor<?x{'x'.join(map(str, sizes))}x{channels}xf32>" for sizes, channels in ((known, self.channels), (found, self.filters)))
        w = f"tensor<{'x'.join(map(str, self.w.shape))}xf32>"
        return (f'func.func @{self.name}(%x: {x} {{sinter.name = "x"}}) -> {y} {{\n  %w = sinter.constant dense<"0x{self.w.tobytes().hex().upper()}"> : {w}\n'
                f"  %y = sinter.convolution %x, %w {{strides = array<i64: {self.stride}, {self.stride}>, low = array<i64: {self.border}, {self.border}>, high = array<i64: {self.border}, {self.border}>, "
                f"input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, layout = #sinter<conv_layout channels_last>, element_type = f32}} : ({x}, {w}) -> {y}\n  return %y : {y}\n}}\n")

    def sums(self, x, w):
        x = np.pad(x, [(0, 0), (self.border, self.border), (self.border, self.border), (0, 0)])
        windows = np.lib.stride_tricks.sliding_window_view(x, (self.window, self.window), (1, 2))[:, :: self.stride, :: self.stride]  # [n, h, w, c, kh, kw]
        return np.einsum("nhwckl,oklc->nhwo", windows, w, optimize=True)

    def run(self, sessions):
        rng = np.random.default_rng(1)
        for width in WIDTHS:
            shape = self.shape(width)
            if min(self.results(size) for size in shape[1:3]) < 1:
                continue
            x = rng.standard_normal(shape).astype(np.float32)
            got = next(iter(sessions[self.name].run({"x": x}).values()))
            wide, weights = x.astype(np.float64), self.w.astype(np.float64)
            self.failed = shape
            if not np.all(np.abs(got - self.sums(wide, weights)) <= 1e-6 * self.sums(np.abs(wide), np.abs(weights))):
                return False
        return True

    def __str__(self):
        return f"{self.w.shape} on {self.failed}, stride {self.stride}, border {self.border}"


if __name__ == "__main__":
    cases.check(sys.argv[1], sys.argv[2:], [Case(i) for i in range(24)], (1, 3), "convolutions")
