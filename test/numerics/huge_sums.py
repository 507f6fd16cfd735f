# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums and products of up to 1e8 numbers, of which sums.py runs the quick ones always and the rest with --huge.

All sizes but those of convolutions are `?`. Inputs are views of one array of 1e8 floats, oracles NumPy's sums in f64 (of terms that are positive, but for `alternating`: there
the magnitudes are known). Results are looked at where they lie: a copy of 1e8 numbers takes longer than to sum them. Two threads must give
the bits of one."""
import ctypes

import numpy as np
from sinter_runtime import DTYPES, Tensor

SUM, PRODUCT = 1e-6, 1e-5
PATTERNS = ("uniform", "constant", "alternating")
MAGNITUDE = 1.2  # of `alternating`, on average


class Huge:
    """`oracle(inputs, result)` returns the largest error in units of the sum of magnitudes."""

    def __init__(self, name, inputs, result, body, oracle, bound=SUM, quick=(), patterns=("uniform", "constant"), types=None):
        self.name, self.inputs, self.result, self.oracle, self.bound, self.quick = name, inputs, result, oracle, bound, quick
        self.patterns = patterns
        self.types = types or ["x".join(["?"] * len(shape) + ["f32"]) for shape in inputs]
        self.body = body
        CASES.append(self)

    def text(self):
        arguments = ", ".join(f'%{a}: tensor<{t}> {{sinter.name = "{a}"}}' for a, t in zip("ab", self.types))
        return f'func.func @{self.name}({arguments}) -> (tensor<{self.result}> {{sinter.name = "r"}}) {{\n{self.body}\n  return %r : tensor<{self.result}>\n}}\n'


CASES = []


def relative(got, wanted, scale):
    return float(np.max(np.abs(got - wanted) / scale))


def chunks(count, step=1 << 16):
    return [slice(i, min(i + step, count)) for i in range(0, count, step)]


# --- sums ----------------------------------------------------------------------------------------------------------------
def reduced(x, axes, pattern):
    wanted = np.sum(x, axes, dtype=np.float64)
    return wanted, x.size / wanted.size * MAGNITUDE if pattern == "alternating" else wanted


def reduction(name, shape, axes, quick=(), **more):
    source = "x".join(["?"] * len(shape) + ["f32"])
    target = "x".join(["?"] * (len(shape) - len(axes)) + ["f32"])
    Huge(name, [shape], target, f"  %r = sinter.reduce add %a axes = {list(axes)} : (tensor<{source}>) -> tensor<{target}>",
         lambda inputs, got, pattern: relative(got, *reduced(inputs[0], axes, pattern)), SUM, quick, PATTERNS, **more)


reduction("sum", (10**8,), (0,), quick=("uniform", "constant", "alternating"))
reduction("sum_of_one_row", (1, 10**8), (1,))
reduction("sum_of_tall_columns", (10**7, 8), (0,))
reduction("sum_of_the_middle", (100, 10**5, 10), (1,), quick=("constant",))
reduction("sum_of_ends", (100, 10**5, 10), (0, 2))
reduction("sum_of_outer_axes", (1000, 10**4, 10), (0, 1))
reduction("sum_of_inner_axes", (10, 10**4, 1000), (1, 2))


def mean(name, axis):
    body = f"""
  %n = sinter.constant dense<1.0e4> : tensor<f32>
  %s = sinter.reduce add %a axes = [{axis}] : (tensor<?x?xf32>) -> tensor<?xf32>
  %w = sinter.broadcast %n like(%s) axes = [] {{type = tensor<?xf32>}} : (tensor<f32>, tensor<?xf32>) -> tensor<?xf32>
  %r = sinter.div %s, %w : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"""
    Huge(name, [(10**4, 10**4)], "?xf32", body, lambda inputs, got, pattern: relative(got * 1e4, *reduced(inputs[0], axis, pattern)), SUM, ("constant",), PATTERNS)


mean("mean_of_columns", 0)
mean("mean_of_rows", 1)
Huge("norm", [(10**8,)], "f32", """
  %p = sinter.mul %a, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %s = sinter.reduce add %p axes = [0] : (tensor<?xf32>) -> tensor<f32>
  %r = sinter.sqrt %s : (tensor<f32>) -> tensor<f32>""", lambda inputs, got, pattern: relative(got, np.sqrt(dot(inputs[0], inputs[0])), got), patterns=PATTERNS)


def prefixes(inputs, got, pattern):
    """Every one of them, in f64."""
    x, error, total, position = inputs[0], 0.0, 0.0, 0
    for part in chunks(x.size):
        wanted = np.cumsum(x[part], dtype=np.float64)
        wanted += total
        total = wanted[-1]
        scale = np.arange(part.start + 1, part.stop + 1) * (MAGNITUDE - 0.1) if pattern == "alternating" else wanted
        wanted_error = np.abs(got[part] - wanted)
        wanted_error /= scale
        error = max(error, float(wanted_error.max()))
    return error


Huge("cumsum", [(10**8,)], "?xf32", "  %r = sinter.cumulative add %a {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>",
     prefixes, SUM, ("constant",), PATTERNS)


# --- products ------------------------------------------------------------------------------------------------------------
def dot(a, b):
    return sum(np.dot(a[part].astype(np.float64), b[part].astype(np.float64)) for part in chunks(len(a)))


def axes_of(*axes):
    return "array<i64" + (": " + ", ".join(map(str, axes)) if axes else "") + ">"


def product(name, a, b, result, contract, oracle, **more):
    typed = lambda shape: "x".join(["?"] * len(shape) + ["f32"])
    body = (f"  %r = sinter.dot_general %a, %b {{lhs_batch = {axes_of()}, rhs_batch = {axes_of()}, lhs_contract = {axes_of(contract[0])}, "
            f"rhs_contract = {axes_of(contract[1])}, element_type = f32}} : (tensor<{typed(a)}>, tensor<{typed(b)}>) -> tensor<{result}>")
    Huge(name, [a, b], result, body, oracle, PRODUCT, **more)


def matrices(equation):
    def oracle(inputs, got, pattern):
        (a, b), k = inputs, equation.split(",")[0].index("k")
        first = (slice(None),) * k
        second = (slice(None),) * equation.split(",")[1].index("k")
        wanted = sum(np.einsum(equation, a[first + (part,)].astype(np.float64), b[second + (part,)].astype(np.float64), optimize=True)
                     for part in chunks(a.shape[k], 1 << 14))
        return relative(got, wanted, wanted)
    return oracle


K = 4 * 10**6
product("vdot", (10**8,), (10**8,), "f32", (0, 0), lambda inputs, got, pattern: relative(got, w := dot(*inputs), w), quick=("uniform", "constant"))
product("matmul", (2, K), (K, 16), "?x?xf32", (1, 0), matrices("ik,kj->ij"), quick=("uniform", "constant"))
product("matmul_of_a_transpose", (K, 5), (K, 3), "?x?xf32", (0, 0), matrices("ki,kj->ij"))
product("matrix_vector", (4, K), (K,), "?xf32", (1, 0), matrices("ik,k->i"))
product("vector_matrix", (K,), (K, 4), "?xf32", (0, 0), matrices("k,kj->j"))


def windows(inputs, got, pattern):
    x, f = inputs
    rows, columns = f.shape[1:3]
    wanted = np.array([[[np.dot(x[0, i : i + rows, j : j + columns].astype(np.float64).ravel(), g.ravel()) for g in f.astype(np.float64)]
                        for j in range(2)] for i in range(2)])
    return relative(got[0], wanted, wanted)


def convolution(name, x, f, **more):
    ones, zeros, types = axes_of(1, 1), axes_of(0, 0), ["x".join(map(str, shape)) + "xf32" for shape in (x, f)]
    body = (f"  %r = sinter.convolution %a, %b {{strides = {ones}, low = {zeros}, high = {zeros}, input_dilation = {ones}, dilation = {ones}, groups = 1 : i64, "
            f"layout = #sinter<conv_layout channels_last>, element_type = f32}} : (tensor<{types[0]}>, tensor<{types[1]}>) -> tensor<1x2x2x2xf32>")
    Huge(name, [x, f], "1x2x2x2xf32", body, windows, PRODUCT, types=types, **more)


convolution("convolution", (1, 1001, 1001, 4), (2, 1000, 1000, 4), quick=("uniform", "constant"))
convolution("convolution_of_one_channel", (1, 2001, 2001, 1), (2, 2000, 2000, 1))


# --- running them --------------------------------------------------------------------------------------------------------
def room(count):
    """Floats at a multiple of 64 bytes, which the runtime reads where they lie."""
    raw = np.empty(count * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * 4].view(np.float32)


def view(session):
    """The result where it lies."""
    tensor = Tensor()
    session.runtime.check(session.runtime.lib.sinter_session_output(session.handle, 0, ctypes.byref(tensor)))
    shape, dtype = tuple(tensor.dims[: tensor.rank]), np.dtype(DTYPES[tensor.dtype])
    raw = (ctypes.c_uint8 * (int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)).from_address(tensor.data)
    return np.frombuffer(raw, dtype).reshape(shape)


def fill(x, pattern):
    if pattern == "uniform":
        np.random.default_rng(7).random(out=x, dtype=np.float32)
    elif pattern == "constant":
        x.fill(1.1)
    else:
        x[::2], x[1::2] = 1.3, -1.1


def run(compiler, all_of_them, flags=()):
    """(name, error, bound) of the quick cases, or of all."""
    x = room(10**8)
    chosen = [case for case in CASES if all_of_them or case.quick]
    module = compiler.module([case.text() for case in chosen], list(flags))
    sessions = [compiler.runtime.sessions(module, [case.name for case in chosen], threads) for threads in (1, 2)]
    for pattern in PATTERNS:
        fill(x, pattern)
        for case in chosen:
            if pattern not in (case.patterns if all_of_them else case.quick):
                continue
            inputs, start = [], 0
            for shape in case.inputs:
                size = int(np.prod(shape))
                start = start if start + size <= x.size else 0
                inputs.append(x[start : start + size].reshape(shape))
                start += (size + 15) // 16 * 16
            name = f"{case.name} of {' and '.join('x'.join(map(str, shape)) for shape in case.inputs)}, {pattern}"
            for threads in sessions:
                for letter, array in zip("ab", inputs):
                    threads[case.name].set(letter, array)
                threads[case.name].call()
            results = [view(threads[case.name]) for threads in sessions]
            yield name, case.oracle(inputs, results[0], pattern), case.bound
            same = np.array_equal(*[result.view(np.int32) for result in results])
            yield name + ", two threads against one", 0.0 if same else np.inf, 0.5
    for threads in sessions:
        for session in threads.values():
            session.close()
