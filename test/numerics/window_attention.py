#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""window_attention.py BUILD

Attention of windows as files write it: queries, keys and values are parts of one product, a bias of heads and a mask of windows (0 or -100, which leaves 4e-44) are added in two
shapes, and heads go back behind the rows. It has to be one kernel, and results those of NumPy's formula in a wider type, by 1e-5 (f32) or 1e-12 (f64) of the sums of magnitudes; on one
thread and on two, which give the same bits."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

# pictures, windows, tokens, heads, depth
SIZES = [(2, 4, 49, 3, 32), (1, 3, 16, 2, 17), (1, 2, 70, 2, 5), (1, 1, 197, 2, 24), (1, 1, 256, 1, 16)]
TARGETS = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "native"]
BOUND = {"f32": 1e-5, "f64": 1e-12}


def text(name, kind, pictures, windows, n, heads, d):
    total, c = pictures * windows, heads * d
    t = lambda *shape: f"tensor<{'x'.join(map(str, shape))}x{kind}>"
    x, parts, turned, head = t(total, n, 3 * c), t(total, n, 3, heads, d), t(3, total, heads, n, d), t(total, heads, n, d)
    scores, split, bias, mask = t(total, heads, n, n), t(pictures, windows, heads, n, n), t(1, heads, n, n), t(1, windows, 1, n, n)
    batch = "lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>"
    return f"""func.func @{name}(%x: {x} {{sinter.name = "x"}}, %b: {bias} {{sinter.name = "b"}}, %m: {mask} {{sinter.name = "m"}}) -> {t(total, n, c)} {{
  %i0 = sinter.constant dense<0> : tensor<i64>
  %i1 = sinter.constant dense<1> : tensor<i64>
  %i2 = sinter.constant dense<2> : tensor<i64>
  %scale = sinter.constant dense<{d**-0.5:.17e}> : {head}
  %0 = sinter.reshape %x {{type = {parts}}} : ({x}) -> {parts}
  %1 = sinter.transpose %0 {{permutation = array<i64: 2, 0, 3, 1, 4>}} : ({parts}) -> {turned}
  %q = sinter.gather %1, %i0 {{axis = 0 : i64}} : ({turned}, tensor<i64>) -> {head}
  %k = sinter.gather %1, %i1 {{axis = 0 : i64}} : ({turned}, tensor<i64>) -> {head}
  %v = sinter.gather %1, %i2 {{axis = 0 : i64}} : ({turned}, tensor<i64>) -> {head}
  %2 = sinter.mul %q, %scale : ({head}, {head}) -> {head}
  %3 = sinter.dot_general %2, %k {{{batch}, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 3>, element_type = {kind}}} : ({head}, {head}) -> {scores}
  %4 = sinter.broadcast %b axes = [0, 1, 2, 3] {{type = {scores}}} : ({bias}) -> {scores}
  %5 = sinter.add %3, %4 : ({scores}, {scores}) -> {scores}
  %6 = sinter.reshape %5 {{type = {split}}} : ({scores}) -> {split}
  %7 = sinter.broadcast %m axes = [0, 1, 2, 3, 4] {{type = {split}}} : ({mask}) -> {split}
  %8 = sinter.add %6, %7 : ({split}, {split}) -> {split}
  %9 = sinter.reshape %8 {{type = {scores}}} : ({split}) -> {scores}
  %10 = sinter.softmax %9 {{axis = 3 : i64}} : ({scores}) -> {scores}
  %11 = sinter.dot_general %10, %v {{{batch}, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 2>, element_type = {kind}}} : ({scores}, {head}) -> {head}
  %12 = sinter.transpose %11 {{permutation = array<i64: 0, 2, 1, 3>}} : ({head}) -> {t(total, n, heads, d)}
  %13 = sinter.reshape %12 {{type = {t(total, n, c)}}} : ({t(total, n, heads, d)}) -> {t(total, n, c)}
  return %13 : {t(total, n, c)}
}}
"""


def feeds(number, kind, pictures, windows, n, heads, d):
    rng = np.random.default_rng(number)
    draw = lambda *shape: rng.uniform(-1.5, 1.5, shape).astype({"f32": np.float32, "f64": np.float64}[kind])
    mask = np.where(rng.random((1, windows, 1, n, n)) < 0.3, -100, 0)
    return {"x": draw(pictures * windows, n, 3 * heads * d), "b": draw(1, heads, n, n), "m": mask.astype(draw(1).dtype)}


def expected(given, pictures, windows, n, heads, d):
    """The result and the sums of magnitudes that its error is measured by."""
    x, bias, mask = (given[name].astype(np.longdouble) for name in "xbm")
    q, k, v = np.moveaxis(x.reshape(-1, n, 3, heads, d), (2, 3), (0, 2))
    scores = np.einsum("whid,whjd->whij", q, k) * np.longdouble(d) ** -0.5 + bias
    scores = (scores.reshape(pictures, windows, heads, n, n) + mask).reshape(scores.shape)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    back = lambda y: np.swapaxes(y, 1, 2).reshape(-1, n, heads * d)
    return back(np.einsum("whij,whjd->whid", p, v)), back(np.einsum("whij,whjd->whid", p, abs(v)))


def main():
    build, wrong = sys.argv[1], 0
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    cases = {f"w{2 * i + j}": (2 * i + j, kind, *sizes) for i, sizes in enumerate(SIZES) for j, kind in enumerate(("f32", "f64"))}
    for _, target in levels.numbered(TARGETS, []):
        with tempfile.TemporaryDirectory() as folder:
            source, module = f"{folder}/m.mlir", f"{folder}/m.smod"
            with open(source, "w") as file:
                file.write("".join(text(name, *case[1:]) for name, case in cases.items()))
            compile = [os.path.join(build, "bin", "sinter"), "compile", source, "--target", target]
            fused = subprocess.run([*compile, "--emit=fused", "-o", "-"], check=True, capture_output=True, text=True).stdout
            # The kernels beside them spread the mask to several pictures and add it to the bias.
            others = sum(1 + (case[2] > 1) for case in cases.values())
            if len(re.findall("sinter.kernel +attention", fused)) != len(cases) or fused.count("sinter.kernel") != len(cases) + others:
                wrong += 1
                print(f"{target}: not every attention is one kernel\n{fused}")
            subprocess.run([*compile, "-o", module], check=True)
            sessions, pairs = (runtime.sessions(module, list(cases), threads=threads) for threads in (1, 2))
            worst = 0.0
            for name, case in cases.items():
                given = feeds(*case)
                result, twice = (next(iter(of[name].run(given).values())) for of in (sessions, pairs))
                wanted, size = expected(given, *case[2:])
                ratio = float(np.max(abs(result - wanted) / (BOUND[case[1]] * size)))
                worst = max(worst, ratio)
                if not ratio <= 1 or result.tobytes() != twice.tobytes():
                    wrong += 1
                    print(f"{target}: {name} {case}: {ratio} of the bound, same bits on two threads: {result.tobytes() == twice.tobytes()}")
            print(f"{target}: {len(cases)} attentions of windows, {worst:.3f} of the bound")
    sys.exit(wrong > 0)


main()
