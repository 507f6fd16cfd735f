#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tiles.py BUILD

Products and convolutions by tiles of matrix units (AMX), on a machine that has them, against NumPy: integers to the bit, bf16 by 1e-5 of the sum of magnitudes in
f64. Numbers of rows, columns and k around the sizes of tiles, known and unknown; long sums; infinities and NaNs beside what a result reads; more threads."""
import os
import re
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

sinter_runtime.DTYPES[4] = ml_dtypes.bfloat16
sinter_runtime.CODES[np.dtype(ml_dtypes.bfloat16)] = 4
TYPES = {"bf16": ml_dtypes.bfloat16, "i8": np.int8, "ui8": np.uint8, "i32": np.int32, "f32": np.float32}
BYTES = [("i8", "i8"), ("i8", "ui8"), ("ui8", "i8"), ("ui8", "ui8")]
BFLOATS = ("bf16", "bf16")


def draw(rng, shape, kind):
    if kind == "bf16":
        return rng.uniform(-1, 1, shape).astype(np.float32).astype(TYPES[kind])
    info = np.iinfo(TYPES[kind])
    return rng.integers(info.min, info.max, shape, dtype=TYPES[kind], endpoint=True)


def bits_of(array):
    return "0x" + np.ascontiguousarray(array).tobytes().hex().upper()


def tensor(shape, kind):
    return f"tensor<{''.join(f'{s}x' for s in shape)}{kind}>"


class Case:
    def __init__(self, name, kinds):
        self.name, self.kinds, self.sum = name, kinds, "f32" if kinds == BFLOATS else "i32"
        self.rng = np.random.default_rng(sum(map(ord, name)))

    def check(self, got):
        if self.sum == "i32":
            return int(np.sum(got != self.compute(self.a.astype(np.int64), self.b.astype(np.int64)).astype(np.int32)))
        a, b = self.a.astype(np.float64), self.b.astype(np.float64)
        with np.errstate(invalid="ignore"):
            expected, scale = self.compute(a, b), self.compute(np.abs(a), np.abs(b))
            finite = np.isfinite(expected)
            same = np.isnan(got[~finite]) == np.isnan(expected[~finite])
            infinite = np.isinf(expected)
            same_sign = got[infinite] == expected[infinite]
        return int(np.sum(~(np.abs(got[finite] - expected[finite]) <= 1e-5 * scale[finite]))) + int(np.sum(~same)) + int(np.sum(~same_sign))


class Product(Case):
    """`known`: which of rows, columns and k the types tell; the right operand is `constant` or an input; `turned`: which operands lie transposed."""

    def __init__(self, number, kinds, m, n, k, known=(1, 1, 1), constant=False, turned=(0, 0), poison=False):
        super().__init__(f"p{number}", kinds)
        self.a, self.b = draw(self.rng, (m, k), kinds[0]), draw(self.rng, (k, n), kinds[1])
        if poison:  # rows that lie beside others: what follows a row's last element is the next row's first
            self.a[1, 0], self.a[m - 1, 0], self.a[m // 2, 0] = np.inf, np.nan, -np.inf
        self.known, self.constant, self.turned, self.sizes = known, constant, turned, (m, n, k)

    def text(self):
        m, n, k = (s if known else "?" for s, known in zip(self.sizes, self.known))
        at, bt = self.turned
        a, b, c = tensor((k, m) if at else (m, k), self.kinds[0]), tensor((n, k) if bt else (k, n), self.kinds[1]), tensor((m, n), self.sum)
        self.feeds = {"a": np.ascontiguousarray(self.a.T if at else self.a)}
        stored = np.ascontiguousarray(self.b.T if bt else self.b)
        if not self.constant:
            self.feeds["b"] = stored
        inputs = f'%a: {a} {{sinter.name = "a"}}' + ("" if self.constant else f', %b: {b} {{sinter.name = "b"}}')
        made = f'  %b = sinter.constant dense<"{bits_of(stored)}"> : {b}\n' if self.constant else ""
        return (f"func.func @{self.name}({inputs}) -> {c} {{\n{made}  %p = sinter.dot_general %a, %b {{lhs_batch = array<i64>, rhs_batch = array<i64>, "
                f"lhs_contract = array<i64: {0 if at else 1}>, rhs_contract = array<i64: {1 if bt else 0}>, element_type = {self.sum}}} : ({a}, {b}) -> {c}\n"
                f"  return %p : {c}\n}}\n")

    def compute(self, a, b):
        return a @ b


class Convolution(Case):
    """Channels last; `known`: whether the types tell the width. A filter that is no constant lies as training has it: taps, pairs of channels, filters."""

    def __init__(self, number, kinds, images, height, width, channels, filters, kernel, stride=1, pad=1, dilation=1, groups=1, known=True, trained=False, poison=False):
        super().__init__(f"c{number}", kinds)
        self.a = draw(self.rng, (images, height, width, channels), kinds[0])
        self.b = draw(self.rng, (filters, kernel, kernel, channels // groups), kinds[1])
        if poison:
            self.a[0, 0, 0], self.a[-1, -1, -1, 0] = np.inf, np.nan
        self.window, self.known, self.trained = (kernel, stride, pad, dilation, groups), known, trained
        reach = (kernel - 1) * dilation + 1
        self.out = (images, (height + 2 * pad - reach) // stride + 1, (width + 2 * pad - reach) // stride + 1, filters)

    def text(self):
        kernel, stride, pad, dilation, groups = self.window
        open_width = lambda shape: tuple("?" if i == 2 and not self.known else s for i, s in enumerate(shape))
        a, b, c = tensor(open_width(self.a.shape), self.kinds[0]), tensor(self.b.shape, self.kinds[1]), tensor(open_width(self.out), self.sum)
        self.feeds, made, inputs = {"a": self.a}, f'  %b = sinter.constant dense<"{bits_of(self.b)}"> : {b}\n', f'%a: {a} {{sinter.name = "a"}}'
        if self.trained:
            self.feeds["b"], made, inputs = self.b, "", f'{inputs}, %b: {b} {{sinter.name = "b"}}'
        both = lambda value: f"array<i64: {value}, {value}>"
        return (f"func.func @{self.name}({inputs}) -> {c} {{\n{made}  %p = sinter.convolution %a, %b {{strides = {both(stride)}, low = {both(pad)}, high = {both(pad)}, "
                f"input_dilation = {both(1)}, dilation = {both(dilation)}, groups = {groups} : i64, layout = #sinter<conv_layout channels_last>, "
                f"element_type = {self.sum}}} : ({a}, {b}) -> {c}\n  return %p : {c}\n}}\n")

    def compute(self, a, b):
        kernel, stride, pad, dilation, groups = self.window
        a = np.pad(a, [(0, 0), (pad, pad), (pad, pad), (0, 0)])
        result = np.zeros(self.out, a.dtype)
        for y in range(kernel):
            for x in range(kernel):
                part = a[:, y * dilation :: stride, x * dilation :: stride][:, : self.out[1], : self.out[2]]
                ins, outs = part.shape[-1] // groups, b.shape[0] // groups
                for g in range(groups):
                    result[..., g * outs : (g + 1) * outs] += part[..., g * ins : (g + 1) * ins] @ b[g * outs : (g + 1) * outs, y, x].T
        return result


def cases():
    products, number = [], 0

    def add(*arguments, **options):
        nonlocal number
        products.append(Product(number, *arguments, **options))
        number += 1

    for kinds in [BFLOATS, *BYTES]:  # around one and two tiles
        for m, n, k in [(2, 40, 256), (7, 33, 96), (15, 16, 130), (16, 17, 128), (17, 48, 64), (31, 70, 100), (32, 32, 64), (33, 64, 160), (50, 20, 513), (100, 100, 31)]:
            add(kinds, m, n, k, constant=number % 2 == 0)
    for kinds in [BFLOATS, BYTES[2]]:  # sizes that only running tells
        for m in (1, 2, 15, 16, 17, 18, 31, 32, 33, 65):
            add(kinds, m, 48, 96, known=(0, 1, 1), constant=True)
        for m, n, k in [(5, 19, 77), (40, 100, 128), (33, 64, 1)]:
            add(kinds, m, n, k, known=(0, 0, 0))
        for turned in [(1, 0), (0, 1), (1, 1)]:
            add(kinds, 45, 77, 200, turned=turned)
            add(kinds, 64, 64, 128, turned=turned, known=(0, 1, 0))
    for k in (2048, 2050, 5000, 70001):  # long sums go by blocks
        add(BFLOATS, 20, 33, k)
        add(BFLOATS, 3, 16, k, known=(1, 1, 0))
    add(BYTES[0], 5, 17, 70001)
    for k in (30, 64, 100, 128):
        add(BFLOATS, 40, 32, k, constant=True, poison=True)
        add(BFLOATS, 20, 32, k, known=(0, 1, 0), poison=True)
    number = 0
    convolutions = []
    for kinds in [BFLOATS, BYTES[2], BYTES[0]]:
        for images, height, width, channels, filters, kernel, options in [
            (1, 14, 14, 64, 40, 3, {}), (2, 7, 7, 96, 33, 3, {}), (1, 5, 1, 64, 32, 3, {}), (1, 9, 17, 24, 24, 3, {}), (1, 12, 33, 48, 64, 3, {"stride": 2}), (1, 8, 40, 64, 16, 1, {"pad": 0}),
            (1, 20, 20, 3, 20, 7, {"stride": 2, "pad": 3}), (1, 11, 13, 32, 32, 3, {"dilation": 2, "pad": 2}), (1, 10, 10, 64, 64, 3, {"groups": 2}), (2, 6, 6, 144, 24, 1, {"pad": 0}),
            (1, 9, 9, 40, 36, 5, {"pad": 2}), (1, 6, 6, 600, 20, 3, {}), (1, 4, 4, 64, 32, 1, {"stride": 2, "pad": 0}), (1, 16, 16, 12, 16, 3, {"pad": 0}),
            (1, 17, 2, 32, 40, 3, {}), (2, 9, 4, 48, 32, 3, {}), (1, 11, 7, 96, 64, 3, {"pad": 0}), (1, 4, 3, 64, 32, 5, {"pad": 2})]:
            convolutions.append(Convolution(number, kinds, images, height, width, channels, filters, kernel, **options))
            number += 1
    for width in (1, 7, 16, 17, 32, 50):
        convolutions.append(Convolution(number, BFLOATS, 1, 5, width, 32, 48, 3, known=False))
        convolutions.append(Convolution(number + 1, BYTES[2], 1, 5, width, 64, 20, 1, pad=0, known=False))
        number += 2
    for channels, filters, kernel in [(32, 32, 3), (64, 48, 1), (24, 32, 3), (32, 20, 3), (128, 64, 3)]:
        convolutions.append(Convolution(number, BFLOATS, 2, 9, 9, channels, filters, kernel, pad=kernel // 2, trained=True))
        number += 1
    for channels in (20, 30, 64):
        convolutions.append(Convolution(number, BFLOATS, 1, 9, 9, channels, 32, 3, pad=0, poison=True))
        number += 1
    return products + convolutions


def reschedule(fused):
    """The same kernels with other tiles and chunks, of those that fit."""
    rng = np.random.default_rng(7)

    def change(found):
        tile = [int(t) for t in found.group(2).split(", ")]
        first = len(tile) - 2  # rows of a product, pixels of a convolution
        tile[first] = int(rng.integers(1, tile[first], endpoint=True))
        tile[first + 1] = int(rng.integers(1, tile[first + 1], endpoint=True))
        return f"{found.group(1)}tile = {tile}, chunk = {rng.choice([1, 1000, 30000, 1 << 40])}"

    changed, count = re.subn(r"(#sinter\.schedule<(?:contraction|convolution), lanes = 16, )tile = \[([0-9, ]+)\], chunk = \d+", change, fused)
    if not count:
        sys.exit("no kernel has a schedule of tiles")
    return changed


def main():
    build = sys.argv[1]
    sinter = os.path.join(build, "bin", "sinter")
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    every, wrong = cases(), 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/m.mlir", "w") as file:
            file.write("".join(case.text() for case in every))
        module = f"{folder}/m.smod"
        subprocess.run([sinter, "compile", f"{folder}/m.mlir", "-o", module], check=True, stdout=subprocess.DEVNULL)
        if "amx-tile" not in subprocess.run([sinter, "inspect", module], capture_output=True, text=True).stdout:
            sys.exit("the module does not use tiles")
        for threads in (1, 2, 4):
            sessions = runtime.sessions(module, [case.name for case in every], threads)
            for case in every:
                got = next(iter(sessions[case.name].run(case.feeds).values()))
                if threads == 1:
                    case.first = got
                    bad = case.check(got)
                else:
                    bad = int(got.tobytes() != case.first.tobytes())
                if bad:
                    wrong += 1
                    print(f"{case.name} {case.kinds} {case.a.shape} x {case.b.shape} on {threads} threads: {bad} wrong")
        fused = subprocess.run([sinter, "compile", f"{folder}/m.mlir", "--emit=fused", "-o", "-"], check=True, capture_output=True, text=True).stdout
        with open(f"{folder}/fused.mlir", "w") as file:
            file.write(reschedule(fused))
        subprocess.run([sinter, "compile", f"{folder}/fused.mlir", "-o", module], check=True, stdout=subprocess.DEVNULL)
        sessions = runtime.sessions(module, [case.name for case in every], 2)
        for case in every:
            got = next(iter(sessions[case.name].run(case.feeds).values()))
            if bad := case.check(got):
                wrong += 1
                print(f"{case.name} {case.kinds} {case.a.shape} x {case.b.shape} by another schedule: {bad} wrong")
    if wrong:
        sys.exit(1)
    print(f"{len(every)} products agree with NumPy")


main()
