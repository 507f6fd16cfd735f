#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""products.py BUILD [TARGET...]

Products and convolutions of all types that register tiles take, over odd sizes, batches, transposes, constants and what follows, against NumPy: integers to the bit,
floats by 1e-5 of the sum of magnitudes in f64 (and the rounding of 16-bit results). All of them for the targets that are named; by default some for each that
this machine can run."""
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
TYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "ui8": np.uint8, "i16": np.int16, "ui16": np.uint16,
         "i32": np.int32, "i64": np.int64}
ROUNDING = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 0, "f64": 0}
PRODUCTS = [("ui8", "i8", "i32"), ("i8", "i8", "i32"), ("ui8", "ui8", "i32"), ("i8", "ui8", "i32"), ("i16", "i16", "i32"), ("i32", "i32", "i32"), ("i8", "i8", "i8"),
            ("ui16", "i16", "i32"), ("i64", "i64", "i64"), ("i32", "i32", "i64"), ("bf16", "bf16", "f32"), ("bf16", "bf16", "bf16"), ("f16", "f16", "f32"),
            ("f16", "f16", "f16"), ("f32", "bf16", "f32"), ("bf16", "f32", "f32"), ("f16", "f32", "f32"), ("f32", "f32", "f64"), ("f32", "f32", "f32"), ("f64", "f64", "f64")]
CONVOLUTIONS = [("ui8", "i8", "i32"), ("i8", "i8", "i32"), ("ui8", "ui8", "i32"), ("i16", "i8", "i32"), ("i32", "i32", "i32"), ("bf16", "bf16", "f32"),
                ("bf16", "bf16", "bf16"), ("f16", "f16", "f32"), ("f32", "bf16", "f32"), ("f32", "f32", "f32")]
# images, height, width, channels, filters, kernel, stride, low, high, dilation, groups
WINDOWS = [(2, 9, 11, 8, 40, 3, 1, 1, 1, 1, 1), (1, 7, 17, 3, 33, 3, 2, 1, 0, 1, 1), (1, 13, 5, 32, 17, 1, 1, 0, 0, 1, 1), (2, 6, 7, 10, 12, 3, 1, 2, 2, 2, 2),
           (1, 12, 9, 33, 33, 3, 1, 1, 1, 1, 33), (1, 5, 4, 520, 8, 1, 1, 0, 0, 1, 1)]
# Filters that fill at most half of a vector of 8 or 16, where pixels share accumulators: one tile, the last of several, fewer than half, groups with strides, odd
# numbers of pixels, narrow images, sums that go by blocks, a tile that is half only.
HALVES = [(1, 32, 32, 24, 24, 3, 1, 1, 1, 1, 1), (1, 10, 10, 32, 56, 1, 1, 0, 0, 1, 1), (1, 9, 33, 20, 18, 3, 1, 1, 1, 1, 1), (2, 17, 17, 32, 48, 3, 2, 1, 1, 1, 2),
          (1, 7, 13, 16, 20, 3, 1, 1, 0, 1, 1), (1, 6, 3, 16, 24, 3, 1, 1, 1, 1, 1), (1, 3, 3, 16, 24, 3, 1, 1, 1, 1, 1), (1, 4, 20, 700, 24, 3, 1, 1, 1, 1, 1),
          (1, 10, 10, 32, 40, 1, 1, 0, 0, 1, 1), (1, 6, 20, 16, 12, 3, 1, 1, 1, 2, 1)]
# Taps that lie apart, of which pixels near borders find few: most of them beyond the image, tiles without borders, narrow images of which a tile takes several rows and sums
# that go by blocks shorter than a tap, strides, pixels 4 KiB apart, tiles that one tap meets.
APART = [(1, 16, 16, 64, 32, 3, 1, 12, 12, 12, 1), (1, 9, 30, 24, 32, 3, 1, 4, 4, 4, 1), (2, 8, 4, 700, 32, 3, 1, 2, 2, 2, 1), (1, 20, 20, 16, 32, 5, 2, 6, 5, 3, 1),
         (1, 12, 12, 1024, 32, 3, 1, 8, 8, 8, 1), (1, 11, 40, 8, 64, 3, 1, 30, 30, 30, 1)]
# Rows, and pixels of a row, that tiles do not divide, so that the last ones are one lower: of six, eight, twelve or fourteen; borders, strides, sums that go by blocks.
LOWER = [(1, 6, 28, 16, 32, 3, 1, 1, 1, 1, 1), (1, 3, 56, 8, 40, 3, 1, 1, 1, 1, 1), (1, 7, 7, 64, 32, 1, 1, 0, 0, 1, 1), (2, 9, 45, 24, 64, 5, 2, 2, 2, 1, 1), (1, 4, 14, 700, 24, 3, 1, 1, 1, 1, 1),
         (1, 5, 40, 12, 48, 3, 1, 0, 0, 2, 1)]
LOWER_SIZES = [(28, 64, 48), (128, 40, 64), (44, 700, 32), (10, 9, 24), (100, 33, 17)]
# Seven pixels or rows, and three by four vectors, whose multiply-adds read vectors of columns from memory where registers are sixteen: borders, strides, pixels 4 KiB
# apart, sums that go by blocks and by parts of the filter, odd numbers of vectors.
SEVEN = [(1, 7, 7, 64, 32, 3, 1, 1, 1, 1, 1), (2, 14, 14, 512, 48, 3, 2, 1, 1, 1, 1), (1, 5, 7, 600, 72, 3, 1, 1, 1, 1, 1), (1, 14, 14, 40, 128, 1, 2, 0, 0, 1, 1), (1, 7, 9, 24, 64, 3, 1, 0, 0, 1, 2)]
SEVEN_SIZES = [(7, 40, 64), (7, 1100, 40), (3, 65, 96), (3, 1030, 32), (7, 33, 17)]
# Weights as quantized models have them, near a normal distribution up to the greatest, or of seven bits: x86 adds their products in 16 bits, in orders of each
# panel. Groups of 4, 8 and 16, panels that are not full, sums that fill no group, one row, batches; borders, strides, dilations, groups, images of seven.
PAIRS_SIZES = [(31, 64, 48), (13, 576, 33), (1, 256, 40), (6, 24, 16), (9, 100, 20), (40, 90, 65), (3, 1200, 129), (7, 130, 8)]
PAIRS_WINDOWS = [(1, 9, 14, 64, 48, 3, 1, 1, 1, 1, 1), (2, 7, 7, 96, 33, 3, 1, 1, 1, 1, 1), (1, 8, 8, 40, 24, 3, 2, 1, 0, 1, 1), (1, 12, 10, 32, 64, 3, 1, 2, 2, 2, 2), (1, 14, 14, 128, 16, 1, 1, 0, 0, 1, 1),
                 (1, 10, 11, 20, 17, 5, 1, 2, 2, 1, 1), (1, 6, 9, 48, 40, 1, 2, 0, 0, 1, 1), (1, 16, 16, 3, 32, 7, 2, 3, 3, 1, 1)]
SIZES = [(1, 17, 64), (3, 7, 129), (17, 64, 33), (64, 129, 17), (129, 64, 100), (5, 2100, 40), (31, 12, 7), (9, 34, 1), (57, 130, 2), (40, 33, 3)]
TARGETS = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v3,+avxvnni", "x86-64-v4", "x86-64-v4,+avx512vnni", "x86-64-v4,+avx512bf16", "native"]


def bits_of(array):
    return "0x" + np.ascontiguousarray(array).tobytes().hex().upper()


def draw(rng, shape, kind):
    if kind in ROUNDING:
        return rng.uniform(-1, 1, shape).astype(np.float32).astype(TYPES[kind])
    info = np.iinfo(TYPES[kind])
    values = rng.integers(info.min, info.max, shape, dtype=TYPES[kind], endpoint=True)
    values[..., 0] = info.min  # the corners where sums of pairs would saturate
    values[..., -1] = info.max
    return values


class Case:
    """Variation `v` of a product: its bits are batch, transposes, a constant and an addition after it."""

    def __init__(self, number, kinds, sizes, v):
        self.name, self.kinds = f"p{number}", kinds
        rng = np.random.default_rng(number)
        (m, k, n), batch = sizes, (2,) if v & 8 else ()
        self.transposes = v & 1, v >> 1 & 1
        self.constant, self.adds, rank = v & 4, v & 16, len(batch)
        a_shape = batch + ((k, m) if v & 1 else (m, k))
        b_shape = batch + ((n, k) if v & 2 else (k, n))
        self.a, self.b = draw(rng, a_shape, kinds[0]), draw(rng, b_shape, kinds[1])
        if self.constant and kinds[1] == "i8":  # smaller ones, of which sums of two or four products fit in 16 bits
            small = np.clip(np.rint(rng.normal(0, 20, b_shape)), -127, 127).astype(np.int8)
            self.b = (self.b, self.b >> 1, self.b >> 2, small)[number % 4]
        self.c = draw(rng, (n,), kinds[2])
        self.out = batch + (m, n)
        self.contract = rank + (0 if v & 1 else 1), rank + (1 if v & 2 else 0)
        self.rank = rank

    def text(self):
        a, b, out = (f"tensor<{'x'.join(map(str, s))}x{t}>" for s, t in zip((self.a.shape, self.b.shape, self.out), self.kinds))
        c = f"tensor<{self.out[-1]}x{self.kinds[2]}>"
        batch = "array<i64: 0>" if self.rank else "array<i64>"
        lines = [f"func.func @{self.name}(%a: {a} {{sinter.name = \"a\"}}" + ("" if self.constant else f", %b: {b} {{sinter.name = \"b\"}}") +
                 (f", %c: {c} {{sinter.name = \"c\"}}" if self.adds else "") + f") -> {out} {{"]
        if self.constant:
            lines.append(f'  %b = sinter.constant dense<"{bits_of(self.b)}"> : {b}')
        lines.append(f"  %p = sinter.dot_general %a, %b {{lhs_batch = {batch}, rhs_batch = {batch}, lhs_contract = array<i64: {self.contract[0]}>, "
                     f"rhs_contract = array<i64: {self.contract[1]}>, element_type = {self.kinds[2]}}} : ({a}, {b}) -> {out}")
        if self.adds:
            lines.append(f"  %d = sinter.broadcast %c axes = [{self.rank + 1}] {{type = {out}}} : ({c}) -> {out}")
            lines.append(f"  %r = sinter.add %p, %d : ({out}, {out}) -> {out}")
        return "\n".join(lines + [f"  return %{'r' if self.adds else 'p'} : {out}", "}", ""])

    def operands(self, wide):
        a, b = (np.swapaxes(x, -1, -2) if t else x for x, t in zip((self.a, self.b), self.transposes))
        return a.astype(wide), b.astype(wide)

    product = staticmethod(np.matmul)

    def check(self, got):
        kind = self.kinds[2]
        if kind not in ROUNDING:
            expected = self.product(*self.operands(np.int64)).astype(TYPES[kind])  # modulo 2^width, as both do
            if self.adds:
                expected = expected + self.c
            return int(np.sum(got != expected)), 0.0
        wide = np.float64 if kind != "f64" else np.longdouble
        a, b = self.operands(wide)
        expected, scale = self.product(a, b), self.product(np.abs(a), np.abs(b))
        rounded = np.abs(expected)  # what 16 bits round once, and again after an addition
        if self.adds:
            expected, scale = expected + self.c.astype(wide), scale + np.abs(self.c.astype(wide))
            rounded = rounded + np.abs(expected)
        bound = (1e-5 if kind != "f64" else 1e-14) * scale + ROUNDING[kind] * rounded
        ratio = np.abs(got.astype(wide) - expected) / np.maximum(bound, 1e-300)
        return int(np.sum(~(ratio <= 1))), float(np.max(ratio))


class ConvolutionCase(Case):
    """Channels last, a constant filter."""

    def __init__(self, number, kinds, sizes):
        self.name, self.kinds, self.sizes, self.adds, self.constant = f"c{number}", kinds, sizes, False, True
        rng = np.random.default_rng(number)
        images, height, width, channels, filters, kernel, stride, low, high, dilation, groups = sizes
        self.a, self.b = draw(rng, (images, height, width, channels), kinds[0]), draw(rng, (filters, kernel, kernel, channels // groups), kinds[1])
        reach = (kernel - 1) * dilation + 1
        self.out = (images, (height + low + high - reach) // stride + 1, (width + low + high - reach) // stride + 1, filters)

    def text(self):
        a, b, out = (f"tensor<{'x'.join(map(str, s))}x{t}>" for s, t in zip((self.a.shape, self.b.shape, self.out), self.kinds))
        stride, low, high, dilation, groups = self.sizes[6:]
        both = lambda value: f"array<i64: {value}, {value}>"
        return (f'func.func @{self.name}(%a: {a} {{sinter.name = "a"}}) -> {out} {{\n  %b = sinter.constant dense<"{bits_of(self.b)}"> : {b}\n'
                f"  %p = sinter.convolution %a, %b {{strides = {both(stride)}, low = {both(low)}, high = {both(high)}, input_dilation = {both(1)}, dilation = {both(dilation)}, "
                f"groups = {groups} : i64, layout = #sinter<conv_layout channels_last>, element_type = {self.kinds[2]}}} : ({a}, {b}) -> {out}\n  return %p : {out}\n}}\n")

    def operands(self, wide):
        return self.a.astype(wide), self.b.astype(wide)

    def product(self, a, b):
        kernel, stride, low, high, dilation, groups = self.sizes[5:]
        a = np.pad(a, [(0, 0), (low, high), (low, high), (0, 0)])
        rows, columns = self.out[1:3]
        result = np.zeros(self.out, a.dtype)
        for y in range(kernel):
            for x in range(kernel):
                window = a[:, y * dilation :: stride, x * dilation :: stride][:, :rows, :columns]
                for g in range(groups):
                    part, filters = window.shape[-1] // groups, b.shape[0] // groups
                    result[..., g * filters : (g + 1) * filters] += window[..., g * part : (g + 1) * part] @ b[g * filters : (g + 1) * filters, y, x].T
        return result


def with_weights(case, bits):
    """`case` with weights of so many bits, and rows that are as great as can be, or random."""
    rng, top = np.random.default_rng(len(case.name) + case.b.size), 2 ** (bits - 1) - (bits == 8)
    weights = rng.normal(0, top / 3.2, case.b.shape)
    weights.flat[rng.integers(0, case.b.size, max(case.b.size // 150, 1))] *= 4
    case.b = np.rint(np.clip(weights, -top - (bits == 8), top)).astype(TYPES[case.kinds[1]])
    if rng.integers(0, 2):
        case.a[...] = np.iinfo(case.a.dtype).max
    return case


def main():
    build, chosen = sys.argv[1], sys.argv[2:]
    cases = []
    for i, kinds in enumerate(PRODUCTS):
        for j, sizes in enumerate(SIZES):
            cases.append(Case(len(cases), kinds, sizes, (5 * i + 7 * j + i * j) % 32))
    for kinds in CONVOLUTIONS:
        for sizes in WINDOWS:
            cases.append(ConvolutionCase(len(cases), kinds, sizes))
    halves = [ConvolutionCase(len(cases) + i, (kind,) * 3, sizes) for i, (sizes, kind) in enumerate((sizes, kind) for sizes in HALVES + APART + LOWER + SEVEN for kind in ("f32", "f64"))]
    halves += [Case(len(cases) + len(halves) + i, ("f32",) * 3, sizes, 7 * i % 32) for i, sizes in enumerate(LOWER_SIZES + LOWER_SIZES[::-1] + SEVEN_SIZES + SEVEN_SIZES[::-1])]
    # Rows that lie along memory, by columns that are packed: the rows alone are turned.
    halves += [Case(len(cases) + len(halves) + i, ("f32",) * 3, sizes, 5 + 16 * i) for i, sizes in enumerate([(515, 77, 300), (1024, 130, 257)])]
    kinds = [("ui8", "i8", "i32"), ("i8", "i8", "i32")]
    for i, sizes in enumerate(PAIRS_SIZES + PAIRS_WINDOWS):
        for bits in (7, 8):
            make = lambda number: Case(number, kinds[i % 2], sizes, 4 + (9 * i + bits) % 4 + 8 * (i % 3 == 2)) if len(sizes) == 3 else ConvolutionCase(number, kinds[i % 2], sizes)
            halves.append(with_weights(make(len(cases) + len(halves)), bits))
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    wrong = 0
    everything = cases
    for number, target in levels.numbered(TARGETS, chosen):
        cases = halves + (everything if chosen else everything[::2] if target == "native" else everything[number::8])
        worst = 0.0
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/m.mlir", "w") as file:
                file.write("".join(case.text() for case in cases))
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.mlir", "--target", target, "-o", f"{folder}/m.smod"], check=True)
            sessions = runtime.sessions(f"{folder}/m.smod", [case.name for case in cases])
            for case in cases:
                session = sessions[case.name]
                feeds = {name: getattr(case, name) for name in session.inputs}
                bad, ratio = case.check(next(iter(session.run(feeds).values())))
                worst = max(worst, ratio)
                if bad:
                    wrong += 1
                    print(f"{target}: {case.name} {case.kinds} {case.a.shape} x {case.b.shape}, constant {bool(case.constant)}: {bad} of {np.prod(case.out)} wrong, {ratio}")
        print(f"{target}: {len(cases)} products, {worst:.3f} of the bound")
    sys.exit(wrong > 0)


main()
