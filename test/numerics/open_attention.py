#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""open_attention.py BUILD [TARGET...]

Attention as exports write it, two products around a softmax, of any number of sequences, which only running tells, against NumPy in f64: queries, keys and values that reshapes and
transposes take from their projections, or that come as they are, added masks of each sequence, of all, or of some that have a number of their own, rows that count no key, and few rows and
many keys. Batches of none to five; two threads."""
import sys

import numpy as np

import cases

# rows, keys, heads, depth, form of the mask: "", of all, of each sequence, of each in a type that does not tell so, a condition
SIZES = [(16, 16, 1, 8, ""), (20, 33, 3, 16, "11mn"), (40, 197, 2, 64, "b11n"), (64, 64, 4, 32, "open"), (17, 300, 2, 20, "b1mn"), (7, 50, 2, 8, "b11n"), (70, 1100, 1, 16, ""), (33, 65, 2, 24, "select")]


class Case:
    def __init__(self, number):
        self.name, (self.rows, self.keys, self.heads, self.depth, self.mask) = f"a{number}", SIZES[number % len(SIZES)]
        self.isMoved, self.isNanZero = number < len(SIZES) or number % 2 == 0, number % 3 == 1

    def text(self):
        m, n, h, d, width = self.rows, self.keys, self.heads, self.depth, self.heads * self.depth
        given = {x: f"?x{m if x == 'q' else n}x{width}" if self.isMoved else f"?x{h}x{m if x == 'q' else n}x{d}" for x in "qkv"}
        if self.mask:
            given["b"] = {"11mn": f"1x1x{m}x{n}", "b11n": f"?x1x1x{n}", "open": f"?x1x1x{n}", "b1mn": f"?x1x{m}x{n}", "select": f"?x1x1x{n}"}[self.mask]
        of = lambda sizes, kind="f32": f"tensor<{sizes}x{kind}>"
        names = lambda x, sizes: '["b"' + "".join(f', {size}' for size in sizes.split("x")[1:]) + "]"
        inputs = ", ".join(f'%{x}: {of(sizes)} {{sinter.name = "{x}"' + (f", sinter.dims = {names(x, sizes)}" if sizes[0] == "?" and (x, self.mask) != ("b", "open") else "") + "}" for x, sizes in given.items())
        lines, scores, wide = [], f"?x{h}x{m}x{n}", f"?x{h}x{m}x{d}"
        for x in "qkv":
            count = m if x == "q" else n
            order, sizes = ([0, 2, 3, 1], f"?x{h}x{d}x{n}") if x == "k" else ([0, 2, 1, 3], f"?x{h}x{count}x{d}")
            if self.isMoved:
                lines += [f"%{x}1 = sinter.reshape %{x} {{type = {of(f'?x{count}x{h}x{d}')}}} : ({of(given[x])}) -> {of(f'?x{count}x{h}x{d}')}",
                          f"%{x}2 = sinter.transpose %{x}1 {{permutation = array<i64: {', '.join(map(str, order))}>}} : ({of(f'?x{count}x{h}x{d}')}) -> {of(sizes)}"]
            elif x == "k":
                lines.append(f"%k2 = sinter.transpose %k {{permutation = array<i64: 0, 1, 3, 2>}} : ({of(given['k'])}) -> {of(sizes)}")
            else:
                lines.append(f"%{x}2 = sinter.abs %{x} : ({of(given[x])}) -> {of(given[x])}")
        product = lambda name, a, b, axis, types: (f"%{name} = sinter.dot_general %{a}, %{b} {{lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, "
                                                   f"rhs_contract = array<i64: 2>, element_type = f32}} : ({of(types[0])}, {of(types[1])}) -> {of(types[2])}")
        spread = lambda name, value, like, axes: f"%{name} = sinter.broadcast %{value} like(%{like}) axes = {axes} {{type = {of(scores)}}} : ({of(given['b']) if axes else 'tensor<f32>'}, {of(scores)}) -> {of(scores)}"
        both = lambda op, name, a, b: f"%{name} = sinter.{op} %{a}, %{b} : ({of(scores)}, {of(scores)}) -> {of(scores)}"
        lines += [product("s", "q2", "k2", 2, (wide, f"?x{h}x{d}x{n}", scores)), "%c = sinter.constant dense<0.25> : tensor<f32>", spread("c2", "c", "s", []), both("mul", "t", "s", "c2")]
        last = "t"
        if self.mask == "select":
            lines += [f"%z = sinter.constant dense<0.0> : tensor<f32>", spread("b2", "b", "t", [0, 1, 2, 3]), spread("z2", "z", "t", []),
                      f"%p = sinter.compare eq %b2, %z2 : ({of(scores)}, {of(scores)}) -> {of(scores, 'i1')}", "%never = sinter.constant dense<0xFF800000> : tensor<f32>", spread("never2", "never", "t", []),
                      f"%u = sinter.select %p, %t, %never2 : ({of(scores, 'i1')}, {of(scores)}, {of(scores)}) -> {of(scores)}"]
            last = "u"
        elif self.mask:
            lines += [spread("b2", "b", "t", [0, 1, 2, 3]), both("add", "u", "t", "b2")]
            last = "u"
        lines.append(f"%w = sinter.softmax %{last} {{axis = 3 : i64}} : ({of(scores)}) -> {of(scores)}")
        shares = "w"
        if self.isNanZero:
            lines += [f"%isNan = sinter.is_nan %w : ({of(scores)}) -> {of(scores, 'i1')}", "%zero = sinter.constant dense<0.0> : tensor<f32>", spread("zero2", "zero", "w", []),
                      f"%w2 = sinter.select %isNan, %zero2, %w : ({of(scores, 'i1')}, {of(scores)}, {of(scores)}) -> {of(scores)}"]
            shares = "w2"
        lines.append(product("y", shares, "v2", 2, (scores, f"?x{h}x{n}x{d}", wide)))
        result = "y"
        if self.isMoved:
            lines.append(f"%y2 = sinter.transpose %y {{permutation = array<i64: 0, 2, 1, 3>}} : ({of(wide)}) -> {of(f'?x{m}x{h}x{d}')}")
            result, wide = "y2", f"?x{m}x{h}x{d}"
        return f"func.func @{self.name}({inputs}) -> {of(wide)} {{\n" + "".join(f"  {line}\n" for line in lines) + f"  return %{result} : {of(wide)}\n}}\n"

    def run(self, sessions):
        rng = np.random.default_rng(3)
        m, n, h, d = self.rows, self.keys, self.heads, self.depth
        for batch in (1, 3, 0, 2, 5):
            feeds = {x: rng.uniform(-1.5, 1.5, (batch, count, h * d) if self.isMoved else (batch, h, count, d)).astype(np.float32) for x, count in (("q", m), ("k", n), ("v", n))}
            if self.mask:
                shape = {"11mn": (1, 1, m, n), "b11n": (batch, 1, 1, n), "open": (1, 1, 1, n) if batch == 3 else (batch, 1, 1, n), "b1mn": (batch, 1, m, n), "select": (batch, 1, 1, n)}[self.mask]
                feeds["b"] = np.where(rng.random(shape) < 0.3, -np.inf, 0).astype(np.float32)
                if self.mask in ("b11n", "select") and batch == 2 and self.isNanZero:
                    feeds["b"][1] = -np.inf  # a sequence without any key
            wide = {x: value.astype(np.float64) for x, value in feeds.items()}
            q, k, v = ((wide[x].reshape(batch, m if x == "q" else n, h, d).transpose(0, 2, 1, 3) if self.isMoved else np.abs(wide[x]) if x != "k" else wide[x]) for x in "qkv")
            with np.errstate(invalid="ignore"):
                scores = 0.25 * q @ k.transpose(0, 1, 3, 2) + wide.get("b", 0)
                shares = np.exp(scores - scores.max(-1, keepdims=True))
                shares = shares / shares.sum(-1, keepdims=True)
            shares = np.nan_to_num(shares) if self.isNanZero else shares
            expected, bound = shares @ v, 1e-5 * (shares @ np.abs(v)) + 1e-7
            if self.isMoved:
                expected, bound = expected.transpose(0, 2, 1, 3), bound.transpose(0, 2, 1, 3)
            got = next(iter(sessions[self.name].run(feeds).values()))
            self.failed = batch
            if got.shape != expected.shape or not np.all((np.abs(got - expected) <= bound) | (np.isnan(got) & np.isnan(expected))):
                return False
        return True

    def __str__(self):
        return f"{self.failed} sequences, rows, keys, heads, depth, mask: {SIZES[int(self.name[1:]) % len(SIZES)]}, {'moved' if self.isMoved else 'as they are'}, {'0' if self.isNanZero else 'NaN'} without keys"


if __name__ == "__main__":
    cases.check(sys.argv[1], sys.argv[2:], [Case(i) for i in range(2 * len(SIZES))], (1, 1), "attentions", threads=2)
