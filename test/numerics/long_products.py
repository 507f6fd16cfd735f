#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""long_products.py BUILD [TARGET...]

Products with constants whose sums are so long that k goes by blocks through many columns, against NumPy in f64 (extended precision for f64): 1e-5 of the sum of magnitudes, and a
hundredth of that on average, as no chain of additions is long. The same bits on one, two and three threads. `haswell` has a second-level cache of 256 KiB, so that its blocks begin
at 256 steps; all levels take other numbers of rows at once."""
import sys

import numpy as np

import long_sums

TARGETS = ["x86-64-v2", "haswell", "x86-64-v4", "native"]
# rows, k, columns: a last block that is short, rows that overlap, columns of more than one walk and not of whole vectors, rows 4 KiB apart, more than 16 chains
SIZES = [(33, 600, 1100), (97, 2100, 72), (64, 4096, 40), (50, 1536, 257), (41, 9000, 33), (130, 2048, 96)]


class Case:
    def __init__(self, number, kind, sizes, batch):
        self.name, self.kind, (m, k, n) = f"p{number}", kind, sizes
        rng = np.random.default_rng(number)
        lead = (batch,) if batch > 1 else ()
        self.x, self.w = (rng.uniform(-1, 1, shape).astype(long_sums.KINDS[kind]) for shape in (lead + (m, k), lead + (k, n)))
        # A residual and an offset as well: the sums of blocks may not go through the result.
        self.r, self.c = rng.uniform(-1, 1, lead + (m, n)).astype(long_sums.KINDS[kind]), rng.uniform(-1, 1, n).astype(long_sums.KINDS[kind])
        self.feeds = {"x": self.x, "r": self.r, "c": self.c}

    def text(self):
        x, w, r, c = (f"tensor<{'x'.join(map(str, a.shape))}x{self.kind}>" for a in (self.x, self.w, self.r, self.c))
        rank = self.x.ndim
        batch = "array<i64: 0>" if rank == 3 else "array<i64>"
        return "\n".join([
            f'func.func @{self.name}(%x: {x} {{sinter.name = "x"}}, %r: {r} {{sinter.name = "r"}}, %c: {c} {{sinter.name = "c"}}) -> {r} {{',
            f'  %w = sinter.constant dense<"0x{self.w.tobytes().hex().upper()}"> : {w}',
            f"  %p = sinter.dot_general %x, %w {{lhs_batch = {batch}, rhs_batch = {batch}, lhs_contract = array<i64: {rank - 1}>, rhs_contract = array<i64: {rank - 2}>, "
            f"element_type = {self.kind}}} : ({x}, {w}) -> {r}",
            f"  %d = sinter.broadcast %c axes = [{rank - 1}] {{type = {r}}} : ({c}) -> {r}", f"  %s = sinter.add %p, %d : ({r}, {r}) -> {r}",
            f"  %t = sinter.add %s, %r : ({r}, {r}) -> {r}", f"  return %t : {r}", "}", ""])

    def check(self, got):
        wide = long_sums.wide(self.kind)
        x, w = self.x.astype(wide), self.w.astype(wide)
        return long_sums.errors(self.kind, np.abs(got.astype(wide) - (x @ w + self.c.astype(wide) + self.r.astype(wide))) / (np.abs(x) @ np.abs(w)))


def main():
    build, chosen = sys.argv[1], sys.argv[2:]
    cases = [Case(2 * i + j, kind, sizes, 2 if i == 3 else 1) for i, sizes in enumerate(SIZES) for j, kind in enumerate(long_sums.KINDS)]
    wrong, results = long_sums.run(build, TARGETS, chosen, cases)
    for target in results:
        print(f"{target}: {len(cases)} products")
    sys.exit(wrong > 0)


main()
