#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attention.py BUILD [TARGET...]

The kernels of attention and of its backward part at sizes around their blocks, with groups of heads, bands of keys and biases, against NumPy's formulas, which form all scores in a
wider type: results by 1e-5 (f32) or 1e-12 (f64) of the sums of magnitudes. Of 16 bits a result is rounded once more, and where pairs or tiles of bf16 are multiplied shares are, too: 2^-8 of the same sum each (2^-11 of f16).
For the targets that are named; by default some for each that this machine can run, where it has tiles without optimizations, too. Each model runs on one thread and on two, which give the same bits."""
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
TYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
BOUND = {"f32": 1e-5, "f64": 1e-12, "bf16": 1e-5, "f16": 1e-5}
ROUNDING = {"f32": 0, "f64": 0, "bf16": 2.0**-8, "f16": 2.0**-11}  # of a result, relative
LEAST = {"f32": 1e-300, "f64": 1e-300, "bf16": 1e-38, "f16": 2.0**-24}  # and where it is denormal
# batch, heads, heads of keys, rows, keys, depth, width, before, after, shape of the bias (letters: as scores have it, 1: once, none)
SIZES = [(1, 1, 1, 1, 1, 1, 1, None, None, ""), (1, 8, 8, 13, 65, 16, 16, None, 0, ""), (1, 2, 2, 200, 200, 64, 64, None, 0, ""), (1, 8, 8, 200, 200, 64, 64, None, 0, ""),
         (2, 4, 2, 37, 70, 9, 21, None, 33, ""), (1, 16, 8, 61, 61, 20, 5, 7, 0, ""), (2, 3, 1, 300, 290, 8, 17, 40, 3, ""), (1, 8, 8, 100, 401, 33, 64, 150, 301, ""),
         (1, 2, 2, 31, 129, 64, 80, None, None, "bhmn"), (1, 9, 9, 25, 70, 7, 7, None, None, "11mn"), (2, 4, 2, 40, 193, 16, 16, None, 153, "b11n"), (1, 2, 1, 50, 50, 4, 4, None, 0, "1hm1"),
         (1, 8, 4, 202, 202, 16, 16, 20, 20, "11mn"), (3, 4, 4, 7, 600, 32, 32, 5, 598, ""),
         # One block of keys whose scores are more than registers hold: whole groups of vectors, one more, a part of one.
         (1, 3, 3, 40, 307, 64, 64, None, None, ""), (2, 2, 1, 19, 577, 16, 24, None, None, "bhmn"), (1, 2, 2, 20, 1023, 8, 8, None, None, "11mn"), (1, 1, 1, 17, 1531, 33, 17, None, None, ""),
         (1, 2, 1, 16, 2048, 4, 4, None, None, ""), (1, 2, 2, 33, 384, 20, 40, None, None, "rows"),
         # Several blocks of keys for blocks of more than 192 rows, in strips of which the last is a part.
         (1, 8, 8, 803, 2050, 4, 8, None, None, "")]
# Heads of 40, 64, 80 and 128, odd keys, rows without a key (a negative `after`; a mask), a bias of a row.
NARROW = [(1, 2, 1, 67, 259, 40, 40, None, None, ""), (1, 8, 8, 203, 203, 80, 80, None, 0, ""), (1, 2, 2, 195, 391, 128, 128, 100, 200, "b11n"), (2, 8, 4, 111, 515, 64, 64, None, None, "1hm1"),
          (1, 2, 2, 70, 301, 65, 33, None, -3, ""), (1, 8, 8, 30, 67, 64, 40, None, None, "rows")]
# Small blocks, of which the last keys and rows are a part.
SMALL_TILES = {"attention": "lanes = 16, tile = [32, 2, 64], chunk = 32", "attention_gradient": "lanes = 16, tile = [32, 2, 32], chunk = 96"}
TARGETS = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4,+avx512bf16", "native"]


class Case:
    def __init__(self, number, kind, sizes):
        self.name, self.kind, self.sizes = f"a{number}", kind, sizes
        batch, heads, few, m, n, d, e, self.before, self.after, letters = sizes
        rng = np.random.default_rng(number)
        draw = lambda *shape: rng.uniform(-1.5, 1.5, shape).astype(np.float32).astype(TYPES[kind])
        self.feeds = {"q": draw(batch, heads, m, d), "k": draw(batch, few, n, d), "v": draw(batch, few, n, e), "g": draw(batch, heads, m, e), "r": draw(batch, heads, m)}
        if kind in ("bf16", "f16"):  # sums of rows are not narrowed
            self.feeds["r"] = self.feeds["r"].astype(np.float32)
        if letters:
            wanted = dict(b=batch, h=heads, m=m, n=n)
            wide = kind in ("bf16", "f16") and number % 2  # a bias may be f32
            self.feeds["b"] = draw(*((1, 1, m, n) if letters == "rows" else (wanted.get(letter, 1) for letter in letters)))
            self.feeds["b"] = self.feeds["b"].astype(np.float32) if wide else self.feeds["b"]
            self.feeds["b"][rng.random(self.feeds["b"].shape) < 0.2] = -4
            if letters == "bhmn":
                self.feeds["b"][..., 64:] = -np.inf  # blocks that a mask hides
            if letters == "rows":
                self.feeds["b"][..., 3:5, :] = -np.inf
        self.scale = 0.5

    def text(self, schedules=None):
        """`schedules` are those of the forward and of the backward part, if they are forced."""
        types = {name: f"tensor<{'x'.join(map(str, x.shape))}x{self.kind if x.dtype == TYPES[self.kind] else 'f32'}>" for name, x in self.feeds.items()}
        inputs = ", ".join(f'%{name}: {types[name]} {{sinter.name = "{name}"}}' for name in types)
        band = "".join(f", {name} = {value} : i64" for name, value in (("before", self.before), ("after", self.after)) if value is not None)

        def kernel(op, operands, results, attributes):
            forced = f" {{schedule = #sinter.schedule<{op}, {schedules[op]}>}}" if schedules else ""
            inner, given = ", ".join(f"%i{x}" for x in operands), ", ".join(types[x] for x in operands)
            results = ", ".join(results)
            places = ", ".join(f"%o{i}" for i in range(results.count("tensor")))
            return (f"sinter.kernel attention({', '.join('%' + x for x in operands)}){forced} : ({given}) -> ({results}) {{\n  ^bb0({', '.join(f'%i{x}: {types[x]}' for x in operands)}):\n"
                    f"    %o:{results.count('tensor')} = sinter.{op} {inner} {{scale = {self.scale} : f64{band}{attributes}}} : ({given}) -> ({results})\n"
                    f"    sinter.yield({', '.join(f'%o#{i}' for i in range(results.count('tensor')))}) : {results}\n  }}\n")

        y, few = types["g"], [x for x in ("b",) if x in types]
        forward = kernel("attention", ["q", "k", "v"] + few, [y, types["r"]], ", log_sums = true")
        types["s"] = types["r"]
        backward = kernel("attention_gradient", ["q", "k", "v", "g", "s", "r"] + few, [types["q"], types["k"], types["v"]], "")
        results = ", ".join([y, types["r"], types["q"], types["k"], types["v"]])
        return (f"func.func @{self.name}({inputs}) -> ({results}) {{\n  %f:2 = {forward}" +
                f"  %t:3 = {backward.replace('%s,', '%f#1,', 1)}  return %f#0, %f#1, %t#0, %t#1, %t#2 : {results}\n}}\n")

    def expected(self):
        """Pairs of a result and the sum of magnitudes that its error is measured by."""
        wide = np.longdouble if self.kind == "f64" else np.float64
        q, k, v, g, r = (self.feeds[name].astype(wide) for name in "qkvgr")
        groups = q.shape[1] // k.shape[1]
        k, v = (np.repeat(x, groups, axis=1) for x in (k, v))
        m, n = q.shape[2], k.shape[2]
        product = lambda x, y: np.matmul(x, y)
        turn = lambda x: np.swapaxes(x, -1, -2)
        scores = self.scale * product(q, turn(k))
        if "b" in self.feeds:
            scores = scores + self.feeds["b"].astype(wide)
        distance = np.arange(n) - np.arange(m)[:, None]
        counts = (distance <= (self.after if self.after is not None else n)) & (distance >= -(self.before if self.before is not None else m))
        scores = np.where(counts, scores, -np.inf)
        most = scores.max(-1, keepdims=True)
        p = np.exp(scores - most)
        total = p.sum(-1, keepdims=True)
        p = p / total
        sums = (most + np.log(total))[..., 0]
        dp, size = product(g, turn(v)), product(abs(g), turn(abs(v)))
        ds, size = self.scale * p * (dp - r[..., None]), self.scale * p * (size + abs(r[..., None]))
        joined = lambda x: x.reshape(x.shape[0], -1, groups, *x.shape[2:]).sum(2)
        if np.isnan(p).any():  # gradients are no numbers, which ones is not said
            return [(product(p, v), product(p, abs(v))), (np.where(most == -np.inf, -np.inf, sums[..., None])[..., 0], 1 + np.where(np.isfinite(sums), abs(sums), 0))]
        return [(product(p, v), product(p, abs(v))), (sums, 1 + abs(sums)), (product(ds, k), product(size, abs(k))),
                (joined(product(turn(ds), q)), joined(product(turn(size), abs(q)))), (joined(product(turn(p), g)), joined(product(turn(p), abs(g))))]

    def check(self, results, hasPairs):
        worst = 0.0
        for i, ((wanted, size), got) in enumerate(zip(self.expected(), results)):
            got = got.astype(wanted.dtype)
            roundings = 0 if i == 1 else ROUNDING[self.kind] * (1 + hasPairs)  # logarithms of sums are f32
            ratio = np.abs(got - wanted) / ((BOUND[self.kind] + roundings) * size + LEAST[self.kind])
            same = (np.isnan(wanted) & np.isnan(got)) | (wanted == got)
            worst = max(worst, float(np.max(np.where(same, 0, np.where(np.isnan(ratio), np.inf, ratio)))))
        return worst


def measure(runtime, build, target, level, cases, hasPairs, schedules=None):
    """How many attentions are wrong; prints the worst error as a part of its bound."""
    wrong, worst = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/m.mlir", "w") as file:
            file.write("".join(case.text(schedules) for case in cases))
        subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.mlir", "--target", target, level, "-o", f"{folder}/m.smod"], check=True)
        sessions, pairs = (runtime.sessions(f"{folder}/m.smod", [case.name for case in cases], threads=threads) for threads in (1, 2))
        for case in cases:
            results, twice = (list(of[case.name].run(case.feeds).values()) for of in (sessions, pairs))
            if any(x.tobytes() != y.tobytes() for x, y in zip(results, twice)):
                wrong += 1
                print(f"{target} {level}: {case.name} {case.kind} {case.sizes}: other bits on two threads")
            ratio = case.check(results, hasPairs and case.kind == "bf16")
            worst = max(worst, ratio)
            if not ratio <= 1:
                wrong += 1
                print(f"{target} {level}: {case.name} {case.kind} {case.sizes}: {ratio} of the bound")
    print(f"{target} {level}: {len(cases)} attentions, {worst:.3f} of the bound")
    return wrong


def main():
    build, chosen = sys.argv[1], sys.argv[2:]
    flags = levels.features()
    everything = [Case(2 * i + j, kind, sizes) for i, sizes in enumerate(SIZES) for j, kind in enumerate(("f32", "f64"))]
    narrow = [Case(2 * i + j + 100, kind, sizes) for i, sizes in enumerate(SIZES + NARROW) for j, kind in enumerate(("bf16", "f16"))]
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    wrong = 0
    for number, target in levels.numbered(TARGETS, chosen):
        cases = everything if chosen else everything[::3] if target == "native" else everything[number::14]
        hasTiles = target == "native" and flags >= {"amx_tile", "amx_bf16", "avx512bw"}
        hasPairs = hasTiles or "bf16" in target or target == "native" and "avx512_bf16" in flags and not flags & {"avx512_fp16", "amx_bf16"}
        cases = cases + (narrow if chosen else narrow[::2] if hasPairs else narrow[number::9])
        wrong += measure(runtime, build, target, "-O2", cases, hasPairs)
        if hasTiles:
            tiled = [case for case in cases if case.kind == "bf16"]
            wrong += measure(runtime, build, target, "-O0", tiled, hasPairs)
            wrong += measure(runtime, build, target, "-O2", tiled, hasPairs, SMALL_TILES)
    sys.exit(wrong > 0)


main()
