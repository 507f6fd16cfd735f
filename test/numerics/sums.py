#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sums.py BUILD [--filter TEXT] [--verbose] [--huge]

Long sums and products against NumPy in f64: no result may be further from it than 1e-6 of the sum of all magnitudes (sums) or
1e-5 of it (products). Every case is compiled with sizes that only running tells, and with fixed ones, for this machine; again
for x86-64-v3 (other lanes, no masks) where it can run it, and at -O0. Two to eight threads give the bits of one. Some sums of 1e8 numbers come last; `--huge`: all of them (huge_sums.py, 2 GB at most).
"""
import argparse
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the oracle's threads would spin where others work
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import huge_sums
from sinter_runtime import Runtime

SUM, PRODUCT = 1e-6, 1e-5
THREADS = (1, 2, 3, 4, 8)
TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i32": np.int32}
CASES = []


class Case:
    """`inputs` and `result` are types as text, n in place of the size that varies; `body` computes %r from %a, %b, ...

    With `fixed` all sizes are. `oracle(*inputs)`, all floats in a wider type, returns the value and the sum of magnitudes that its error is measured in.
    """

    def __init__(self, name, inputs, result, body, oracle, bound=SUM, sizes=(100, 5000, 70000), values=None, fixed=False):
        self.name, self.inputs, self.result, self.body, self.oracle = name, inputs, result, body, oracle
        self.bound, self.sizes, self.values, self.fixed = bound, sizes, values or {}, fixed
        CASES.append(self)

    def text(self, name, size):
        put = lambda text: text.replace("n", size)
        arguments = ", ".join(f'%{a}: tensor<{put(t)}> {{sinter.name = "{a}"}}' for a, t in zip("abcd", self.inputs))
        body = self.body.replace("<n", "<" + size).replace("xnx", f"x{size}x").replace("{n}", size)
        result = f"tensor<{put(self.result)}>"
        return f'func.func @{name}({arguments}) -> ({result} {{sinter.name = "loss"}}) {{\n{body}\n  return %r : {result}\n}}\n'

    def arrays(self, n, pattern):
        for i, text in enumerate(self.inputs):
            *shape, dtype = text.replace("n", str(n)).split("x")
            shape = tuple(int(size) for size in shape)
            if i in self.values:
                yield self.values[i](shape).astype(TYPES[dtype])
            else:
                values = PATTERNS[pattern](int(np.prod(shape)), i).reshape(shape).astype(TYPES[dtype])
                yield values / 3 if dtype == "f64" else values


def rng(seed):
    return np.random.default_rng(seed + 7)


PATTERNS = {
    "uniform": lambda n, i: rng(i).random(n, np.float32),
    "normal": lambda n, i: rng(i).standard_normal(n, np.float32),
    "constant": lambda n, i: np.full(n, 1.1 + i / 7, np.float32),
    "alternating": lambda n, i: np.where(np.arange(n) % 2, -1.1, 1.3).astype(np.float32),
    "sorted": lambda n, i: np.sort(rng(i).random(n, np.float32)),
}


def magnitudes(x, axes, **kept):
    return np.sum(x, axes, **kept), np.sum(np.abs(x), axes, **kept)


def product(a, b, equation):
    return np.einsum(equation, a, b, optimize=True), np.einsum(equation, abs(a), abs(b), optimize=True)


# --- sums ----------------------------------------------------------------------------------------------------------------
def reduction(name, shape, axes, sizes=(100, 5000, 70000), dtype="f32", bound=SUM, **more):
    kept = "x".join(size for k, size in enumerate(shape.split("x")) if k not in axes)
    result = f"{kept}x{dtype}" if kept else dtype
    body = f"  %r = sinter.reduce add %a axes = {list(axes)} : (tensor<{shape}x{dtype}>) -> tensor<{result}>"
    Case(name, [f"{shape}x{dtype}"], result, body, lambda x: magnitudes(x, axes), bound, sizes, **more)


reduction("sum", "n", (0,), (100, 1000, 4097, 65536, 10**6))
reduction("sum_f64", "n", (0,), (100, 10**6), "f64", 4e-15)
reduction("sum_f16", "n", (0,), (100, 20000), "f16", 6e-4)
reduction("sum_of_rows", "6xn", (1,))
reduction("sum_of_columns", "nx3", (0,), (100, 5000, 10**6))
reduction("sum_of_wide_columns", "nx200", (0,), (100, 20000))
reduction("sum_of_the_middle", "3xnx5", (1,))
reduction("sum_of_many_short_rows", "nx7x3", (0, 2))
reduction("sum_of_two_outer_axes", "nx6x20", (0, 1), (100, 20000))
reduction("sum_of_ends", "30xnx40", (0, 2), (3, 100))
reduction("sum_of_all_axes", "4xnx5", (0, 1, 2))
reduction("sum_of_axes_apart", "3xnx4x2x9", (1, 3), (100, 3000))

Case("sum_of_a_transpose", ["nx24xf32"], "24xf32", """
  %t = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<nx24xf32>) -> tensor<24xnxf32>
  %r = sinter.reduce add %t axes = [1] : (tensor<24xnxf32>) -> tensor<24xf32>""", lambda x: magnitudes(x, 0))
Case("sum_of_every_third", ["nx6xf32"], "f32", """
  %t = sinter.slice %a {starts = array<i64: 0, 0>, limits = array<i64: {n}, 6>, steps = array<i64: 1, 3>} : (tensor<nx6xf32>) -> tensor<nx2xf32>
  %r = sinter.reduce add %t axes = [0, 1] : (tensor<nx2xf32>) -> tensor<f32>""", lambda x: magnitudes(x[:, ::3], None), fixed=True)
Case("sum_of_products", ["nxf32", "nxf32"], "f32", """
  %p = sinter.mul %a, %b : (tensor<nxf32>, tensor<nxf32>) -> tensor<nxf32>
  %r = sinter.reduce add %p axes = [0] : (tensor<nxf32>) -> tensor<f32>""", lambda x, y: magnitudes(x * y, 0), sizes=(100, 10**6))
Case("sum_of_exponentials", ["3xnxf32"], "3xf32", """
  %p = sinter.exp %a : (tensor<3xnxf32>) -> tensor<3xnxf32>
  %r = sinter.reduce add %p axes = [1] : (tensor<3xnxf32>) -> tensor<3xf32>""", lambda x: magnitudes(np.exp(x), 1))
Case("norm", ["nx5xf32"], "5xf32", """
  %p = sinter.mul %a, %a : (tensor<nx5xf32>, tensor<nx5xf32>) -> tensor<nx5xf32>
  %s = sinter.reduce add %p axes = [0] : (tensor<nx5xf32>) -> tensor<5xf32>
  %r = sinter.sqrt %s : (tensor<5xf32>) -> tensor<5xf32>""", lambda x: (np.sqrt(np.sum(x * x, 0)),) * 2, sizes=(100, 10**5))
Case("mean_of_integers", ["nxi32"], "f32", """
  %f = sinter.convert %a {element_type = f32} : (tensor<nxi32>) -> tensor<nxf32>
  %r = sinter.reduce add %f axes = [0] : (tensor<nxf32>) -> tensor<f32>""", lambda x: magnitudes(x, 0),
     sizes=(100, 10**6), values={0: lambda shape: rng(1).integers(0, 10**6, shape)})
Case("softmax", ["2xnxf32"], "2xnxf32", """
  %r = sinter.softmax %a {axis = 1 : i64} : (tensor<2xnxf32>) -> tensor<2xnxf32>""",
     lambda x: (np.exp(x) / np.sum(np.exp(x), 1, keepdims=True),) * 2, sizes=(100, 10**5))
Case("layer_norm", ["2xnxf32"], "2x1xf32", """
  %y, %r, %d = sinter.layer_norm %a {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2xnxf32>) -> (tensor<2xnxf32>, tensor<2x1xf32>, tensor<2x1xf32>)""",
     lambda x: (np.mean(x, 1, keepdims=True), np.mean(abs(x), 1, keepdims=True)), sizes=(100, 10**5))
Case("sum_in_a_loop", ["nxf32", "4xf32"], "4xf32", """
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %r = sinter.scan () over(%b) captures(%a) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>} : (tensor<4xf32>, tensor<nxf32>) -> tensor<4xf32> body {
  ^bb0(%s: tensor<f32>, %x: tensor<nxf32>):
    %w = sinter.broadcast %s like(%x) axes = [] {type = tensor<nxf32>} : (tensor<f32>, tensor<nxf32>) -> tensor<nxf32>
    %p = sinter.mul %x, %w : (tensor<nxf32>, tensor<nxf32>) -> tensor<nxf32>
    %t = sinter.reduce add %p axes = [0] : (tensor<nxf32>) -> tensor<f32>
    sinter.yield(%t) : tensor<f32>
  }""", lambda x, s: (np.sum(x) * s, np.sum(abs(x)) * abs(s)), 2 * SUM)


def cumulative(name, shape, axis, how="", reverse=False, exclusive=False, dtype="f32", bound=SUM, sizes=(100, 70000)):
    def oracle(x):
        x = np.flip(x, axis) if reverse else x
        def running(x):
            total = np.cumsum(x.astype(np.longdouble), axis).astype(np.float64)
            return np.concatenate([np.zeros_like(total.take([0], axis)), total.take(range(total.shape[axis] - 1), axis)], axis) if exclusive else total
        both = running(x), running(abs(x)) + 1e-30
        return tuple(np.flip(y, axis) for y in both) if reverse else both
    body = f"  %r = sinter.cumulative add %a {{axis = {axis} : i64{how}}} : (tensor<{shape}x{dtype}>) -> tensor<{shape}x{dtype}>"
    Case(name, [f"{shape}x{dtype}"], f"{shape}x{dtype}", body, oracle, bound, sizes)


cumulative("cumsum", "n", 0, sizes=(100, 10**6))
cumulative("cumsum_f64", "n", 0, dtype="f64", bound=1e-15, sizes=(100, 10**6))
cumulative("cumsum_of_columns", "nx3", 0)
cumulative("cumsum_of_the_middle_backwards", "2xnx3", 1, ", reverse = true", reverse=True)
cumulative("cumsum_of_rows_before", "2xn", 1, ", exclusive = true", exclusive=True)
Case("cumprod", ["nxf32"], "nxf32", "  %r = sinter.cumulative mul %a {axis = 0 : i64} : (tensor<nxf32>) -> tensor<nxf32>",
     lambda x: (np.cumprod(x),) * 2, sizes=(100, 10**5), values={0: lambda shape: np.full(shape, 1.00001)})


# --- products ------------------------------------------------------------------------------------------------------------
def dot(name, a, b, result, contract, equation, batch=((), ()), dtype="f32", bound=PRODUCT, sizes=(100, 5000, 70000)):
    axes = lambda values: "array<i64" + (": " + ", ".join(map(str, values)) if values else "") + ">"
    typed = lambda shape, element: f"{shape}x{element}" if shape else element
    wide = "f32" if dtype == "f16" else dtype
    body = (f"  %r = sinter.dot_general %a, %b {{lhs_batch = {axes(batch[0])}, rhs_batch = {axes(batch[1])}, lhs_contract = {axes(contract[0])}, "
            f"rhs_contract = {axes(contract[1])}, element_type = {wide}}} : (tensor<{typed(a, dtype)}>, tensor<{typed(b, dtype)}>) -> tensor<{typed(result, wide)}>")
    Case(name, [typed(a, dtype), typed(b, dtype)], typed(result, wide), body, lambda x, y: product(x, y, equation), bound, sizes)


dot("vdot", "n", "n", "", ((0,), (0,)), "k,k->", sizes=(100, 1000, 65537, 10**6))
dot("vdot_f64", "n", "n", "", ((0,), (0,)), "k,k->", dtype="f64", bound=1e-13, sizes=(100, 10**6))
dot("vdot_f16", "n", "n", "", ((0,), (0,)), "k,k->", dtype="f16", sizes=(100, 10**5))
dot("vdots", "5xn", "5xn", "5", ((1,), (1,)), "bk,bk->b", batch=((0,), (0,)))
dot("matmul", "20xn", "nx40", "20x40", ((1,), (0,)), "ik,kj->ij")
dot("long_matmul", "2xn", "nx16", "2x16", ((1,), (0,)), "ik,kj->ij", sizes=(100, 10**5))
dot("matmul_f64", "20xn", "nx40", "20x40", ((1,), (0,)), "ik,kj->ij", dtype="f64", bound=1e-13, sizes=(100, 5000))
dot("matmul_by_strips", "70xn", "200xn", "70x200", ((1,), (1,)), "ik,jk->ij", sizes=(100, 3000))
dot("matmul_of_a_transpose", "nx20", "nx40", "20x40", ((0,), (0,)), "ki,kj->ij")
dot("matmul_of_few_columns", "nx20", "nx3", "20x3", ((0,), (0,)), "ki,kj->ij", sizes=(100, 30000))
dot("matmul_of_one_row", "1xn", "nx64", "1x64", ((1,), (0,)), "ik,kj->ij")
dot("matmuls", "3x5xn", "3xnx33", "3x5x33", ((2,), (1,)), "bik,bkj->bij", batch=((0,), (0,)))
dot("many_rows", "nx8", "8x16", "nx16", ((1,), (0,)), "ik,kj->ij", sizes=(100, 10**5))
dot("matrix_vector", "50xn", "n", "50", ((1,), (0,)), "ik,k->i")
dot("vector_matrix", "n", "nx50", "50", ((0,), (0,)), "k,kj->j")
dot("vector_small_matrix", "n", "nx5", "5", ((0,), (0,)), "k,kj->j", sizes=(100, 70000))


def convolution(name, x, f, result, groups, oracle, sizes):
    rank = x.count("x") - 1
    ones, zeros = ", ".join(["1"] * rank), ", ".join(["0"] * rank)
    body = (f"  %r = sinter.convolution %a, %b {{strides = array<i64: {ones}>, low = array<i64: {zeros}>, high = array<i64: {zeros}>, input_dilation = array<i64: {ones}>, "
            f"dilation = array<i64: {ones}>, groups = {groups} : i64, layout = #sinter<conv_layout channels_last>, element_type = f32}} : (tensor<{x}xf32>, tensor<{f}xf32>) -> tensor<{result}xf32>")
    Case(name, [f"{x}xf32", f"{f}xf32"], f"{result}xf32", body, oracle, PRODUCT, sizes)


def windows(x, f, combine):
    view = np.lib.stride_tricks.sliding_window_view(x, f.shape[1:-1], tuple(range(1, x.ndim - 1)))
    return combine(view, f)


def both(convolve):
    return lambda x, f: (convolve(x, f), convolve(abs(x), abs(f)))


dense = both(lambda x, f: windows(x, f, lambda v, f: np.einsum("nyxchw,ohwc->nyxo", v, f, optimize=True)))
deep = both(lambda x, f: windows(x, f, lambda v, f: np.einsum("nyxchw,chw->nyxc", v, f[..., 0], optimize=True)))
line = both(lambda x, f: windows(x, f, lambda v, f: np.einsum("nxcw,cw->nxc", v, f[..., 0], optimize=True)))
convolution("convolution", "2x6x6xn", "16x3x3xn", "2x4x4x16", 1, dense, (8, 70, 700))
convolution("pointwise_convolution", "2x6x6xn", "16x1x1xn", "2x6x6x16", 1, dense, (100, 5000))
convolution("convolution_over_images", "3xnx40x2", "5xnx39x2", "3x1x2x5", 1, dense, (8, 300))
convolution("depthwise_convolution", "2x40x40x16", "16x31x31x1", "2x10x10x16", 16, deep, (1,))
convolution("long_depthwise_convolution", "2x1210x16", "16x1200x1", "2x11x16", 16, line, (1,))
Case("average", ["2x300x301x16xf32"], "2x1x2x16xf32", """
  %r = sinter.reduce_window add %a {window = array<i64: 1, 300, 300, 1>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 0, 0, 0>,
       high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x300x301x16xf32>) -> tensor<2x1x2x16xf32>""",
     lambda x: tuple(np.stack([np.sum(y[:, :, i : i + 300], (1, 2)) for i in range(2)], 1)[:, None] for y in (x, abs(x))), SUM, (1,))


# --- updates -------------------------------------------------------------------------------------------------------------
def scattered(places, updates, shape):
    result = np.zeros(shape, updates.dtype)
    inside = (-shape[0] <= places[:, 0]) & (places[:, 0] < shape[0])
    np.add.at(result, places[inside, 0], updates[inside])
    return result


def sometimes_outside(rows):
    """Positions of which some runs are all inside, some hold a negative one, and some one that is outside."""
    def places(shape):
        found = rng(3).integers(0, rows, shape)
        found[600::1500], found[700::2900], found[2300::4100] = -1 - found[600::1500], rows, -rows - 1
        return found
    return places


def scatter(name, slot, places, sizes=(100, 3000, 10**5), dtype="f32", bound=SUM, rows=1000):
    rest = f"x{slot}" if slot else ""
    shape = (rows,) + ((slot,) if slot else ())
    body = f"""
  %z = sinter.constant dense<0.0> : tensor<{rows}{rest}x{dtype}>
  %r = "sinter.scatter_nd"(%z, %a, %b) <{{combiner = #sinter<combiner add>}}> : (tensor<{rows}{rest}x{dtype}>, tensor<nx1xi64>, tensor<n{rest}x{dtype}>) -> tensor<{rows}{rest}x{dtype}>"""
    Case(name, ["nx1xi64", f"n{rest}x{dtype}"], f"{rows}{rest}x{dtype}", body,
         lambda p, u: (scattered(p, u, shape), scattered(p, abs(u), shape) + 1e-30), bound, sizes, {0: places})


scatter("scatter_to_one_place", 0, lambda shape: np.full(shape, 7))
scatter("scatter_of_slices", 33, lambda shape: rng(3).integers(0, 4, shape) * 300)
scatter("scatter_with_a_favourite", 5, lambda shape: np.where(rng(3).random(shape) < 0.5, 999, rng(4).integers(0, 1000, shape)))
scatter("scatter_to_few_rows", 8, lambda shape: rng(3).integers(0, 10, shape), (100, 10**6), rows=10)
scatter("scatter_to_many_places", 0, lambda shape: rng(3).integers(0, 50000, shape) ** 2 % 50000, rows=50000)
scatter("scatter_to_often_updated", 0, lambda shape: rng(3).integers(0, 20000, shape), (10**5,), rows=20000)
scatter("scatter_sometimes_outside", 0, sometimes_outside(30000), (3000, 10**5), rows=30000)
scatter("scatter_to_few_sometimes_outside", 0, sometimes_outside(100), (3000, 10**5), rows=100)
scatter("scatter_of_wide_slices", 70, lambda shape: rng(3).integers(0, 4, shape) * 300, (100, 3000))
scatter("scatter_f64", 0, lambda shape: np.where(rng(3).random(shape) < 0.5, 999, rng(4).integers(0, 1000, shape)), dtype="f64", bound=4e-15)
scatter("scatter_f16", 3, lambda shape: rng(3).integers(0, 9, shape), (100, 2000), "f16", 1e-3)


# --- gradients -----------------------------------------------------------------------------------------------------------
class Gradient(Case):
    """The gradient of %r by input number `by`."""

    def __init__(self, name, by, *rest, **more):
        super().__init__(name, *rest, **more)
        self.by = by


def axes_of(*axes):
    return "array<i64" + (": " + ", ".join(map(str, axes)) if axes else "") + ">"


def weighted(x, result, value):
    """%r = the sum of %{x} * %{value}, so that `value` is the cotangent of `x`."""
    rank = result.count("x")
    return f"""
  %weighted = sinter.mul %{x}, %{value} : (tensor<{result}>, tensor<{result}>) -> tensor<{result}>
  %r = sinter.reduce add %weighted axes = {list(range(rank))} : (tensor<{result}>) -> tensor<f32>"""


def filter_gradient(x, w):
    taps = [[np.einsum("nyxc,nyxo->oc", x[:, i : i + 32, j : j + 32], w, optimize=True) for j in range(3)] for i in range(3)]
    return np.transpose(taps, (2, 0, 1, 3))


Gradient("gradient_of_a_bias", 0, ["7xf32", "nx7xf32"], "f32", """
  %y = sinter.broadcast %a like(%b) axes = [1] {type = tensor<nx7xf32>} : (tensor<7xf32>, tensor<nx7xf32>) -> tensor<nx7xf32>
  %z = sinter.tanh %y : (tensor<nx7xf32>) -> tensor<nx7xf32>""" + weighted("z", "nx7xf32", "b"),
         lambda b, w: tuple(np.sum(x, 0) * (1 - np.tanh(b) ** 2) for x in (w, abs(w))), PRODUCT, (100, 10**6))
Gradient("gradient_of_weights", 1, ["nx5xf32", "5x20xf32", "nx20xf32"], "f32", f"""
  %y = sinter.dot_general %a, %b {{lhs_batch = {axes_of()}, rhs_batch = {axes_of()}, lhs_contract = {axes_of(1)}, rhs_contract = {axes_of(0)}, element_type = f32}} : (tensor<nx5xf32>, tensor<5x20xf32>) -> tensor<nx20xf32>"""
         + weighted("y", "nx20xf32", "c"), lambda x, f, w: product(x, w, "nk,no->ko"), PRODUCT, (100, 10**5))
Gradient("gradient_of_rows", 0, ["10x6xf32", "nx1xi64", "nx6xf32"], "f32", """
  %y = sinter.gather_nd %a, %b : (tensor<10x6xf32>, tensor<nx1xi64>) -> tensor<nx6xf32>""" + weighted("y", "nx6xf32", "c"),
         lambda x, p, w: (scattered(p, w, (10, 6)), scattered(p, abs(w), (10, 6)) + 1e-30), SUM, (100, 10**6),
         values={1: lambda shape: rng(5).integers(0, 2, shape) * 9})
Gradient("gradient_of_a_filter", 1, ["16x34x34x2xf32", "5x3x3x2xf32", "16x32x32x5xf32"], "f32", """
  %y = sinter.convolution %a, %b {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>,
       dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<16x34x34x2xf32>, tensor<5x3x3x2xf32>) -> tensor<16x32x32x5xf32>"""
         + weighted("y", "16x32x32x5xf32", "c"),
         lambda x, f, w: both(filter_gradient)(x, w), PRODUCT, (1,))


def trips(name, carried, sizes):
    """What each trip adds to the gradient of a capture of three numbers: x cos(w x)."""
    kept, more = ("%start = sinter.constant dense<0.0> : tensor<f32>", "(%start)") if carried else ("", "()")
    types = "tensor<f32>, tensor<nxf32>, tensor<3xf32>) -> (tensor<f32>, tensor<nx3xf32>" if carried else "tensor<nxf32>, tensor<3xf32>) -> (tensor<nx3xf32>"
    Gradient(name, 0, ["3xf32", "nxf32"], "f32", f"""
  {kept}
  {"%end, " if carried else ""}%ys = sinter.scan {more} over(%b) captures(%a) {{axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}} : ({types}) body {{
  ^bb0({"%before: tensor<f32>, " if carried else ""}%s: tensor<f32>, %w: tensor<3xf32>):
    %x = sinter.broadcast %s axes = [] {{type = tensor<3xf32>}} : (tensor<f32>) -> tensor<3xf32>
    %p = sinter.mul %w, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %t = sinter.sin %p : (tensor<3xf32>) -> tensor<3xf32>
    sinter.yield({"%s, " if carried else ""}%t) : {"tensor<f32>, " if carried else ""}tensor<3xf32>
  }}
  %r = sinter.reduce add %ys axes = [0, 1] : (tensor<nx3xf32>) -> tensor<f32>""",
             lambda w, x: magnitudes(x[:, None] * np.cos(x[:, None] * w), 0), SUM, sizes, values={0: lambda shape: np.array([0.5, 0.9, 1.1])})


trips("gradient_of_a_capture", False, (100, 10**6))
trips("gradient_of_a_capture_beside_a_carry", True, (100, 10**5))


# --- running them --------------------------------------------------------------------------------------------------------
def run(case, session, n, pattern, variant, others):
    """`others` must give the same bits: sessions by their numbers of threads."""
    arrays = list(case.arrays(n, pattern))
    for name, array in zip("abcd", arrays):
        if name in session.inputs:
            session.set(name, array)
    session.call()
    widened = {np.dtype(np.float64): np.longdouble, np.dtype(np.float32): np.float64, np.dtype(np.float16): np.float64}
    wanted, scale = case.oracle(*[a.astype(widened.get(a.dtype, a.dtype)) for a in arrays])
    result = session.result(session.outputs[-1])
    for threads, other in others.items():
        for name, array in session.bound.items():
            other.set(name, array)
        other.call()
        if other.result(other.outputs[-1]).tobytes() != result.tobytes():
            print(f"{case.name} of {n}, {pattern}, {variant}: {threads} threads give other bits than one")
            return 1, np.inf
    error = float(np.max(np.abs(result - wanted) / scale))
    return report(f"{case.name} of {n}, {pattern}, {variant}", error, case.bound)


def report(name, error, bound):
    if not error <= bound:
        print(f"{name}: an error of at most {bound:g} is required, got {error:.3g}")
        return 1, error
    return 0, error


class Compiler:
    def __init__(self, build, folder):
        self.sinter, self.folder = os.path.join(build, "bin", "sinter"), folder
        self.runtime = Runtime(os.path.join(build, "lib", "libsinter_rt.so"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, *words):
        subprocess.run([self.sinter, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def module(self, texts, flags, wrt=None):
        with open(self.path("sums.mlir"), "w") as file:
            file.writelines(texts)
        source = self.path("sums.mlir")
        if wrt:
            source = self.path("gradient.mlir")
            self.command("grad", self.path("sums.mlir"), "--loss", "loss", "--wrt", f"^{wrt}$", "-o", source)
        self.command("compile", source, *flags, "-o", self.path("sums.smod"))
        return self.path("sums.smod")


def sessions(compiler, cases, flags, plain):
    """(case, fixed size or None, {threads: session}) of every form that the flags ask for."""
    counts = (1,) if plain else THREADS
    made, gradients = {}, []
    for case in cases:
        forms = [] if case.fixed else [(case.name, None)]
        if case.fixed or not plain:
            forms += [(f"{case.name}_{n}", n) for n in case.sizes[1:]]
        for name, n in forms:
            if isinstance(case, Gradient):
                gradients.append((case, n))
            else:
                made[name] = (case, n)
    if made:
        module = compiler.module([case.text(name, str(n or "?")) for name, (case, n) in made.items()], flags)
        by_threads = {threads: compiler.runtime.sessions(module, list(made), threads) for threads in counts}
        for name, form in made.items():
            yield *form, {threads: made_for[name] for threads, made_for in by_threads.items()}
    for case, n in gradients:
        text = case.text("main", str(n or "?"))
        module = compiler.module([text], flags, "abcd"[case.by])
        yield case, n, {threads: compiler.runtime.session(module, threads) for threads in counts}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--filter", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--huge", action="store_true", help="all sums of 1e8 numbers")
    options = parser.parse_args()
    cases = [case for case in CASES if options.filter in case.name]
    with open("/proc/cpuinfo") as file:
        wide = "avx512f" in file.read()
    variants = {"native": [], "-O0": ["-O0"]}
    if wide:
        variants["x86-64-v3"] = ["--target=x86-64-v3"]
    failures, runs = 0, 0
    worst = {}
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(options.build, folder)
        for variant, flags in variants.items():
            for case, fixed, by_threads in sessions(compiler, cases, flags, variant != "native"):
                for n in [fixed] if fixed else case.sizes[: 2 if variant == "-O0" else None]:
                    for pattern in PATTERNS if variant == "native" and not fixed else ("uniform", "constant"):
                        others = {threads: by_threads[threads] for threads in list(by_threads)[1:] if pattern == "uniform"}
                        failed, error = run(case, by_threads[1], n, pattern, f"{variant}, {'fixed' if fixed else 'any'} size", others)
                        failures += failed
                        runs += 1
                        worst[case.name] = max(worst.get(case.name, 0), error / case.bound)
                for session in by_threads.values():
                    session.close()
        for name, error, bound in [] if options.filter else huge_sums.run(compiler, options.huge):
            failures += report(name, error, bound)[0]
            runs += 1
            worst[name] = error / bound
    if options.verbose:
        for name, share in sorted(worst.items(), key=lambda item: -item[1]):
            print(f"{share:8.4f} of the bound: {name}")
    print(f"{runs} long sums, {failures} further off than they may be")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
