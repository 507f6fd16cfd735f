#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""block_products.py BUILD [TARGET...]

Products with 4-bit codes in blocks (sinter.block_dot) against NumPy in f64, by 1e-5 of the sum of magnitudes: all block sizes, sums that end within a block and within a
word, few and many rows, known and unknown, with and without zeros, and what follows; at -O0 too, and on 1, 2 and 4 threads with equal bits. Codes that stand for 0 give
0. Sums of the greatest codes times numbers whose digits are the greatest are right. Infinities and NaN in x give what IEEE 754 says of the sum. Some of x are rounded to bytes by blocks, and said to be so. For the targets that are named; by default some that this machine can run."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime
from byte_rows import rounded_to_bytes

TARGETS = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v3,+avxvnni", "x86-64-v4", "x86-64-v4,+avx512vnni", "native"]
# leading sizes of x (0: unknown, of so many), k, columns, block
SHAPES = [((1,), 64, 32, 32, ()), ((), 100, 40, 16, ()), ((2,), 77, 33, 16, ()), ((3,), 256, 7, 256, ()), ((4,), 130, 100, 64, ()), ((5,), 300, 65, 128, ()),
          ((40,), 96, 48, 32, ()), ((2, 3), 61, 1, 32, ()), ((2, 9), 513, 129, 32, ()), ((0,), 200, 72, 32, (1, 2, 3, 4, 5, 11, 33)), ((2, 0), 64, 96, 16, (1, 2, 3, 8)),
          ((1,), 9000, 34, 16, ()), ((6,), 4096, 33, 32, ()), ((0,), 1024, 320, 64, (1, 7, 20)), ((0,), 40, 24, 16, (0,))]
# numbers in blocks of themselves whose first, second or third digit of base 254 or of base 128 is as great as it gets
GREATEST = [127.499, -127.499, 126.498, 63.4999, -63.4999, 127.498]


class Case:
    """A product; of its number, zeros, whether x is rounded to bytes and what follows."""

    def __init__(self, number, shape):
        self.name = f"b{number}"
        self.rows, self.k, n, block, self.sizes = shape
        self.block, blocks, rng = block, -(-self.k // block), np.random.default_rng(number)
        self.codes = rng.integers(0, 256, (n, blocks, block // 2), dtype=np.uint8)
        self.scales = rng.uniform(-0.1, 0.1, (n, blocks)).astype(np.float32)
        self.zeros = rng.integers(0, 16, (n, blocks), dtype=np.uint8) if number % 2 else None
        self.isRounded = number % 4 > 1
        if n > 3:  # columns of zeros
            zero = 8 if self.zeros is None else self.zeros[3, :, None]
            self.codes[3] = zero * 17
        if n > 4:  # the greatest codes, all of one sign with zeros
            self.codes[4] = 255
            if self.zeros is not None:
                self.zeros[4] = 0
        self.c = rng.uniform(-1, 1, n).astype(np.float32)
        self.follows = number % 6 == 1
        self.rng = rng

    def text(self):
        def constant(name, values, kind):
            bits = np.ascontiguousarray(values).tobytes().hex().upper()
            return f'  %{name} = sinter.constant dense<"0x{bits}"> : tensor<{"x".join(map(str, values.shape))}x{kind}>\n'

        n = self.codes.shape[0]
        lead = "".join(f"{size or '?'}x" for size in self.rows)
        x, y, places = f"tensor<{lead}{self.k}xf32>", f"tensor<{lead}{n}xf32>", f"{n}x{self.scales.shape[1]}"
        text = f'func.func @{self.name}(%x: {x} {{sinter.name = "x"}}) -> {y} {{\n'
        text += constant("q", self.codes, "ui8") + constant("s", self.scales, "f32")
        types = f"{x}, tensor<{'x'.join(map(str, self.codes.shape))}xui8>, tensor<{places}xf32>"
        if self.zeros is not None:
            text += constant("z", self.zeros, "ui8")
            types += f", tensor<{places}xui8>"
        text += f"  %p = sinter.block_dot %x, %q, %s{', %z' if self.zeros is not None else ''} {{byte_rows = {str(self.isRounded).lower()}}} : ({types}) -> {y}\n"
        if self.follows:
            text += constant("c", self.c, "f32")
            like, shape = (" like(%p)", f", {y}") if "?" in y else ("", "")
            text += f"  %d = sinter.broadcast %c{like} axes = [{len(self.rows)}] {{type = {y}}} : (tensor<{n}xf32>{shape}) -> {y}\n"
            text += f"  %e = sinter.add %p, %d : ({y}, {y}) -> {y}\n  %r = sinter.tanh %e : ({y}) -> {y}\n"
        return text + f"  return %{'r' if self.follows else 'p'} : {y}\n}}\n"

    def inputs(self):
        for x in self.numbers():
            yield rounded_to_bytes(x, self.block) if self.isRounded and x.size else x

    def numbers(self):
        for size in self.sizes or (None,):
            x = self.rng.standard_normal([size if rows == 0 else rows for rows in self.rows] + [self.k]).astype(np.float32)
            yield x
            if not self.follows:
                yield x * np.float32(1e-30)
                yield x * np.float32(1e34)
                for number in GREATEST:
                    yield np.full_like(x, number)
            if x.size:
                for places in ([(0, np.inf)], [(0, -np.inf)], [(-1, np.inf)], [(0, np.nan)], [(0, np.inf), (1, np.inf)], [(2, np.inf), (-1, -np.inf)]):
                    special = x.copy()
                    for place, number in places:
                        special.reshape(-1, self.k)[-1, place] = number
                    yield special

    def check(self, x, got):
        n = self.codes.shape[0]
        codes = np.stack([self.codes & 15, self.codes >> 4], -1).reshape(n, -1, self.block).astype(np.float64)
        weights = (codes - (8 if self.zeros is None else self.zeros[..., None])) * self.scales[..., None].astype(np.float64)
        weights, x = weights.reshape(n, -1)[:, : self.k].T, x.astype(np.float64)
        expected, bound = x @ weights, 1e-5 * (np.abs(x) @ np.abs(weights))
        if self.follows:
            expected, bound = np.tanh(expected + self.c), bound + 2e-6
        finite = np.isfinite(x).all(-1)
        same = np.array_equal(got[~finite], expected[~finite].astype(np.float32), equal_nan=True) if not self.follows else np.array_equal(np.isnan(got), np.isnan(expected))
        if not same:
            return False, float("inf")
        got, expected, bound = got[finite], expected[finite], bound[finite]
        apart = np.abs(got.astype(np.float64) - expected)
        return got.shape == expected.shape and bool(np.all(apart <= bound)), float(np.max(apart / np.maximum(bound, 1e-300), initial=0))


def main():
    build, chosen = sys.argv[1], sys.argv[2:]
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    wrong = 0
    ways = [(target, "-O2") for _, target in levels.numbered(TARGETS, chosen)] + [("native", "-O0")]
    for number, (target, level) in enumerate(ways):
        # Each shape with and without zeros, and each target some of both; the host all.
        cases = [Case(4 * i + j, shape) for i, shape in enumerate(SHAPES) for j in range(4) if chosen or target == "native" or (i + j + number) % 2]
        worst = 0.0
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/m.mlir", "w") as file:
                file.write("".join(case.text() for case in cases))
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.mlir", "--target", target, level, "-o", f"{folder}/m.smod"], check=True)
            names = [case.name for case in cases]
            sessions = [runtime.sessions(f"{folder}/m.smod", names, threads) for threads in ((1,) if level == "-O0" else (1, 2, 4))]
            for case in cases:
                for x in case.inputs():
                    results = [next(iter(by_name[case.name].run({"x": x}).values())) for by_name in sessions]
                    right, ratio = case.check(x, results[0])
                    worst = max(worst, ratio)
                    same = all(np.array_equal(results[0].view(np.uint32), result.view(np.uint32)) for result in results)
                    if not right or not same:
                        wrong += 1
                        print(f"{target} {level}: {case.name} {x.shape} x {case.codes.shape}: {ratio} of the bound, {'equal' if same else 'other'} bits on more threads")
        print(f"{target} {level}: {len(cases)} products, {worst:.3f} of the bound")
    sys.exit(wrong > 0)


main()
