#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NumPy says of every row of the table, for goldens/: an oracle that shares no code with Sinter.

    SINTER_WRITE_OPERANDS=FOLDER build/release/bin/functions_tests     # operands of every call
    oracle.py FOLDER                                                   # goldens/*.npz from them

Gradients (goldens/gradients.npz) are differences of these functions, in f64: of the sum of a call's float results, each
element times cos(1 + its number + 10 * the result's number). Where the function has a kink there is no answer (nan).

Floats are computed in f64 (or in the type itself where each result is one rounding or a move) from the operands as their
type holds them; integers wrap in their type. A function below has the row's name and does what the row's C++ does, with
NumPy's functions or plain formulas. A row that NumPy has no answer for stands in WITHOUT, with the reason.
"""
import glob
import math
import os
import sys

import numpy as np

WITHOUT = {
    "random::uniform": "drawn from bits; bits are compared with Random123's vectors, moments by test/compiler/trace/random.cpp",
}
for _name in ("normal", "truncated_normal", "exponential", "gumbel", "bernoulli", "categorical", "randint", "permutation", "shuffle",
              "bits"):
    WITHOUT["random::" + _name] = WITHOUT["random::uniform"]
for _name in ("key", "split@random", "fold_in", "dropout"):
    WITHOUT[_name] = WITHOUT["random::uniform"]

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": None, "i8": np.int8, "i16": np.int16, "i32": np.int32,
          "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.bool_}
erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])


def inverse_erf(x):
    """By bisection of erf and, where that is near 1, of erfc: 100 halvings leave what the function itself lacks."""
    if not abs(x) < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    low, high = 0.0, 6.5
    for _ in range(100):
        middle = (low + high) / 2
        if math.erf(middle) < abs(x) if abs(x) < .5 else math.erfc(middle) > 1 - abs(x):
            low = middle
        else:
            high = middle
    return math.copysign(high if x else 0., x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def axes_of(x):
    """All axes, the first and the last, as reduction rows take them."""
    return [None, 0, -1] if x.ndim else [None]


def reduction(function):
    return lambda x: [function(x[0], axis) for axis in axes_of(x[0])]


def integer_like(x, values):
    """Integers in the operands' type, wrapped."""
    return values.astype(x.dtype) if x.dtype.kind in "iu" else values


def saturate(x, dtype):
    """Conversions saturate and take nan to 0."""
    if np.dtype(dtype).kind in "iu" and x.dtype.kind == "f":
        info = np.iinfo(dtype)
        return np.array([max(info.min, min(info.max, int(v))) if np.isfinite(v) else 0 for v in x.ravel()],
                        dtype=dtype).reshape(x.shape)
    return x.astype(dtype)


def place(x, size):
    x = np.asarray(x)
    return (np.abs(x.astype(np.float32)) * np.float32(7)).astype(np.int64) % max(size, 1)


def softmax(x, axis=-1):
    if x.size == 0:
        return x
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def normalize(x, axes, epsilon=1e-5):
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon)


def pad_image(x, padding, value=0.0):
    return np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding], constant_values=value)


def conv(x, w, strides=(1, 1), padding=(0, 0)):
    x = pad_image(x, padding)
    kh, kw = w.shape[2:]
    oh, ow = (x.shape[2] - kh) // strides[0] + 1, (x.shape[3] - kw) // strides[1] + 1
    out = np.zeros((x.shape[0], w.shape[0], oh, ow))
    for i in range(oh):
        for j in range(ow):
            window = x[:, :, i * strides[0]:i * strides[0] + kh, j * strides[1]:j * strides[1] + kw]
            out[:, :, i, j] = np.einsum("nchw,ochw->no", window, w)
    return out


def conv_transpose(x, w, strides=(1, 1), output_padding=(0, 0)):
    kh, kw = w.shape[2:]
    out = np.zeros((x.shape[0], w.shape[1], (x.shape[2] - 1) * strides[0] + kh + output_padding[0],
                    (x.shape[3] - 1) * strides[1] + kw + output_padding[1]))
    for i in range(x.shape[2]):
        for j in range(x.shape[3]):
            out[:, :, i * strides[0]:i * strides[0] + kh, j * strides[1]:j * strides[1] + kw] += np.einsum(
                "nc,cohw->nohw", x[:, :, i, j], w)
    return out


def pool(x, size, strides, padding, function):
    """function(windows [N, C, h*w]) of elements that are inside; nan marks the padding."""
    x = pad_image(x.astype(np.float64), padding, np.nan)
    oh, ow = (x.shape[2] - size[0]) // strides[0] + 1, (x.shape[3] - size[1]) // strides[1] + 1
    out = np.zeros(x.shape[:2] + (oh, ow))
    for i in range(oh):
        for j in range(ow):
            window = x[:, :, i * strides[0]:i * strides[0] + size[0], j * strides[1]:j * strides[1] + size[1]]
            if window.size:
                out[:, :, i, j] = function(window.reshape(x.shape[:2] + (-1,)), axis=-1)
    return out


def einsum(text, *operands):
    """NumPy knows `...` only with operands of equal ranks there, which is what the rows have."""
    return np.einsum(text, *operands)


def lstm_step(x, h, c, w, r):
    """Gates in the order input, output, forget, cell (ONNX's)."""
    i, o, f, g = np.split(x @ w.T + h @ r.T, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x, h, w, r):
    """Gates in the order update, reset, new (ONNX's); the reset gate multiplies the recurrent product."""
    xz, xr, xn = np.split(x @ w.T, 3, axis=-1)
    hz, hr, hn = np.split(h @ r.T, 3, axis=-1)
    z, n = sigmoid(xz + hz), np.tanh(xn + sigmoid(xr + hr) * hn)
    return (1 - z) * n + z * h


def weights(rows, like):
    return np.sin(np.arange(rows * like.shape[-1], dtype=np.float64)).reshape(rows, like.shape[-1])


def recurrence(x, state, step):
    outputs = []
    for row in x:
        state = step(row, *state)
        outputs.append(state[0])
    return [np.stack(outputs), *state]


def stable(x, axis, descending=False):
    """Order of a stable sort; equal elements keep their order in both directions."""
    if descending:
        return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return np.argsort(x, axis=axis, kind="stable")


def sort_rows(x):
    x = x[0]
    return [np.take_along_axis(x, stable(x, a, d), a) for a, d in ((-1, False), (0, True))]


def indexing(x):
    t, i, many = x[0], 2, np.array([3, 0, -1])
    return [t[1], t[-1, 1:3], t[..., ::-1], t[4:0:-2, None, 1:], t[i, 0], t[many], t[1:4, many], t[many, many], t[3:3, 2]]


def updates(x):
    t, many = x[0], np.array([3, 0, -1])

    def at(change):
        y = t.copy()
        change(y)
        return y

    def put(where, value):
        def change(y):
            y[where] = value
        return change

    def ufunc(function, where, value):
        return lambda y: function.at(y, where, value)

    two = np.asarray(2).astype(t.dtype)
    one = np.asarray(1).astype(t.dtype)
    return [at(put(1, 3)), at(ufunc(np.add, (slice(1, 3), 2), one)), at(ufunc(np.multiply, 2, two)), at(put((2, slice(0, 2)), t[0, 0:2])),
            at(ufunc(np.add, many, t[many])), at(ufunc(np.maximum, (slice(0, 5, 2), many), two)),
            at(ufunc(np.minimum, (many, many), one)), at(put(slice(4, 0, -2), t[0:2])), at(put(slice(1, 2), 5))]


def scatter_rows(x):
    t, at = x[0], place(x[1], 2)
    gathered = gather_rows(x)[0]
    results = []
    for add in (False, True):
        y = t.copy()
        for index in np.ndindex(at.shape[:-1]):
            to = tuple(at[index])
            y[to] = y[to] + gathered[index] if add else gathered[index] + np.asarray(1).astype(t.dtype)
        results.append(y)
    return results


def bags(x):
    rows = x[0][place(x[1], x[0].shape[0])]
    weights = x[1].reshape([-1] + [1] * (x[0].ndim - 1))
    return [np.stack([r[a:b].sum(0) for a, b in ((0, 2), (2, 2), (2, 6))]) for r in (rows, rows * weights)]


def gather_rows(x):
    t, at = x[0], place(x[1], 2)
    if not at.size:
        return [np.zeros(at.shape[:-1] + t.shape[at.shape[-1]:], t.dtype)]
    return [t[tuple(np.moveaxis(at, -1, 0))]]


def put_along(x):
    t, at = x[0], place(x[1], x[0].shape[0])
    one, other = t.copy(), t.copy()
    for index in np.ndindex(at.shape):
        to = (at[index],) + index[1:]
        one[to] = 1
        other[to] = max(other[to], x[1][index])
    return [one, other]


def starts(x):
    total = x[0].astype(np.float32).sum(dtype=np.float64)
    return int(math.fmod(int(total), 2))


def window(x):
    t = x[0]
    at = [max(min(starts(x), size - 1), 0) for size in t.shape]  # clamped
    return tuple(slice(a, a + 1) for a in at)


def set_window(x):
    y = x[0].copy()
    y[window(x)] = 0
    return y


def signed_top(x):
    at = np.argmax(x[0], axis=-1)[..., None]
    return [np.take_along_axis(x[0], at, -1), at]


def searched(x):
    ordered = np.sort(x[0])
    return [np.searchsorted(ordered, x[1], side=s) for s in ("left", "right")]


def cross_entropy(x):
    x = x[0]
    label = np.argmin(x, axis=-1)
    m = x.max(axis=-1, keepdims=True)
    log_p = x - m - np.log(np.exp(x - m).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_p, np.expand_dims(label, -1), -1).mean()


def dominant(x):
    return x + 4 * np.eye(x.shape[-1])


def system(a, b):
    """b is vectors when it has one axis less than a."""
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == a.ndim - 1 else np.linalg.solve(a, b)


def upper(a):
    return np.swapaxes(np.linalg.cholesky(a), -1, -2)


def transposed(a):
    return np.swapaxes(a, -1, -2)


def attention(q, k, v):
    return softmax(q @ transposed(k) / np.sqrt(q.shape[-1])) @ v


def triangular(x):
    a, b = dominant(x[0]), x[1]
    lower, unit = np.tril(a), np.triu(a, 1) + np.eye(a.shape[-1])
    return [system(lower, b), system(unit, b), system(transposed(lower), b)]


def concatenated(values):
    return np.concatenate(values, axis=0)


def by_zero(function, answer):
    """NumPy's function, but for integers divided by zero: a quotient is -1 (all bits set) and a remainder the dividend."""
    def divided(x):
        found = function(x[0], x[1])
        return found if x[0].dtype.kind == "f" else np.where(x[1] == 0, np.asarray(answer(x[0])).astype(x[0].dtype, copy=False), found)
    return divided


ROWS = {
    # elementwise
    "add": lambda x: x[0] + x[1], "subtract": lambda x: x[0] - x[1], "multiply": lambda x: x[0] * x[1],
    "maximum": lambda x: np.maximum(x[0], x[1]), "minimum": lambda x: np.minimum(x[0], x[1]),
    "fmod": by_zero(np.fmod, lambda a: a), "remainder": by_zero(np.mod, lambda a: a), "floor_divide": by_zero(np.floor_divide, lambda a: ~(a ^ a)),
    "power": lambda x: np.power(x[0], x[1]),
    "clip": lambda x: np.minimum(np.maximum(x[0], x[1]), x[2]), "negative": lambda x: -x[0], "abs": lambda x: np.abs(x[0]),
    "sign": lambda x: np.sign(x[0]), "square": lambda x: x[0] * x[0], "reciprocal": lambda x: 1 / x[0],
    "operator+=": lambda x: (x[0] + 1 - 2) * 3, "operator-=": lambda x: x[0] - x[0], "operator*=": lambda x: x[0] * x[0],
    "floor": lambda x: np.floor(x[0]), "ceil": lambda x: np.ceil(x[0]), "round": lambda x: np.round(x[0]),
    "trunc": lambda x: np.trunc(x[0]), "exp": lambda x: np.exp(x[0]), "expm1": lambda x: np.expm1(x[0]),
    "exp2": lambda x: np.exp2(x[0]), "log": lambda x: np.log(x[0]), "log1p": lambda x: np.log1p(x[0]),
    "log2": lambda x: np.log2(x[0]), "log10": lambda x: np.log10(x[0]), "sqrt": lambda x: np.sqrt(x[0]),
    "rsqrt": lambda x: 1 / np.sqrt(x[0]), "cbrt": lambda x: np.cbrt(x[0]), "hypot": lambda x: np.hypot(x[0], x[1]),
    "sin": lambda x: np.sin(x[0]), "cos": lambda x: np.cos(x[0]), "tan": lambda x: np.tan(x[0]), "asin": lambda x: np.arcsin(x[0]),
    "acos": lambda x: np.arccos(x[0]), "atan": lambda x: np.arctan(x[0]), "sinh": lambda x: np.sinh(x[0]),
    "cosh": lambda x: np.cosh(x[0]), "tanh": lambda x: np.tanh(x[0]), "asinh": lambda x: np.arcsinh(x[0]),
    "acosh": lambda x: np.arccosh(x[0]), "atanh": lambda x: np.arctanh(x[0]), "atan2": lambda x: np.arctan2(x[0], x[1]),
    "erfinv": lambda x: np.vectorize(inverse_erf, otypes=[float])(x[0]), "erf": lambda x: erf(x[0]), "erfc": lambda x: erfc(x[0]), "logaddexp": lambda x: np.logaddexp(x[0], x[1]),
    "equal": lambda x: x[0] == x[1], "not_equal": lambda x: x[0] != x[1], "less": lambda x: x[0] < x[1],
    "less_equal": lambda x: x[0] <= x[1], "greater": lambda x: x[0] > x[1], "greater_equal": lambda x: x[0] >= x[1],
    "logical_and": lambda x: np.logical_and(x[0], x[1]), "logical_or": lambda x: np.logical_or(x[0], x[1]),
    "logical_xor": lambda x: np.logical_xor(x[0], x[1]), "logical_not": lambda x: np.logical_not(x[0]),
    "operator!": lambda x: ~(x[0] > 1), "bitwise_and": lambda x: x[0] & x[1], "bitwise_or": lambda x: x[0] | x[1],
    "bitwise_xor": lambda x: x[0] ^ x[1], "bitwise_not": lambda x: ~x[0], "left_shift": lambda x: np.left_shift(x[0], x[1]),
    "right_shift": lambda x: np.right_shift(x[0], x[1]), "operator~": lambda x: ~x[0],
    "where": lambda x: np.where(x[0] == x[1], x[1], x[2]), "isnan": lambda x: np.isnan(np.log(x[0])),
    "isinf": lambda x: np.isinf(1 / np.round(x[0])), "isfinite": lambda x: np.isfinite(np.log(np.round(x[0]))),
    "sigmoid": lambda x: sigmoid(x[0]), "relu": lambda x: np.maximum(x[0], 0), "leaky_relu": lambda x: np.where(x[0] < 0, .125 * x[0], x[0]),
    "elu": lambda x: np.where(x[0] < 0, .5 * np.expm1(x[0]), x[0]), "gelu": lambda x: .5 * x[0] * erfc(-x[0] * math.sqrt(.5)),
    "silu": lambda x: x[0] * sigmoid(x[0]), "softplus": lambda x: np.log1p(np.exp(x[0])),
    # shape
    "size": lambda x: np.int64(x[0].shape[-1] if x[0].ndim else 1), "sizes": lambda x: np.zeros(x[0].shape),
    "as_tensor": lambda x: np.int64(x[0].shape[0]),
    "full": lambda x: [np.full((), x[0]), np.full(0, x[0]), np.full(1, x[0]), np.full((2, 3), x[0]), np.full((2, 3), 1.5), np.full(2, 7)],
    "zeros": lambda x: [np.zeros(s) for s in ((), 0, 1, (2, 3), 3)], "ones": lambda x: [np.ones(s) for s in ((), 0, 1, (2, 3), 3)],
    "full_like": lambda x: np.full(x[0].shape, True if x[0].dtype == bool else 3), "zeros_like": lambda x: np.zeros(x[0].shape),
    "ones_like": lambda x: np.ones(x[0].shape),
    "iota": lambda x: [np.arange(0), np.arange(1), np.repeat([[0], [1]], 3, 1), np.tile(np.arange(3), (2, 1)), np.zeros((2, 0))],
    "arange": lambda x: [np.arange(*a) for a in ((0,), (1,), (5,), (2, 11, 3), (5, -5, -2), (0, 1, .25), (3, 2))],
    "linspace": lambda x: [np.linspace(0, 1, 0), np.linspace(2, 3, 1), np.linspace(0, 1, 11), np.linspace(1, 2, 4, False), np.linspace(-1, 1, 7)],
    "eye": lambda x: [np.eye(0), np.eye(1), np.eye(3), np.eye(2, 4, 1), np.eye(3, 2, -1)],
    "reshape": lambda x: [x[0].reshape(-1), x[0].reshape(1, -1, 1), x[0].reshape(-1)] if x[0].size else [x[0].reshape(0), x[0].reshape(3, 0, 2)],
    "ravel": lambda x: x[0].ravel(), "flatten": lambda x: x[0].ravel(), "transpose": lambda x: x[0].T,
    "permute_dims": lambda x: x[0].transpose(1, 2, 0), "swapaxes": lambda x: np.swapaxes(x[0], 0, -1),
    "matrix_transpose": lambda x: transposed(x[0]), "moveaxis": lambda x: np.moveaxis(x[0], 0, -1), "squeeze": lambda x: np.squeeze(x[0]),
    "expand_dims": lambda x: x[0][None, ..., None],
    "broadcast_to": lambda x: np.broadcast_to(x[0], (2, 4, 5) if x[0].size else (3, 0)), "broadcast_arrays": lambda x: np.broadcast_arrays(*x),
    "concatenate": lambda x: concatenated([x[0], x[1], x[0]]), "stack": lambda x: [np.stack(x), np.stack(x, -1)],
    "split_at": lambda x: np.split(x[0], [0, 1]), "split": lambda x: np.split(x[0], 2), "tile": lambda x: np.tile(x[0], (2, 3)),
    "repeat": lambda x: np.repeat(x[0], 3, -1), "flip": lambda x: np.flip(x[0]), "roll": lambda x: [np.roll(x[0], 1, 0), np.roll(x[0], -5, -1)],
    "diff": lambda x: [np.diff(x[0]), np.diff(x[0], 2, 0)],
    "pad": lambda x: np.pad(x[0], [(1, 2)] * x[0].ndim, constant_values=3), "tril": lambda x: [np.tril(x[0]), np.tril(x[0], 1)],
    "triu": lambda x: [np.triu(x[0]), np.triu(x[0], -1)],
    "diag": lambda x: np.diag(x[0]) if x[0].ndim == 1 else np.diagonal(x[0], axis1=-2, axis2=-1),
    # index
    "operator()": indexing, "operator[]": lambda x: [x[0][0], x[0][-1], x[0][1:3]] if len(x[0]) else [x[0][1:]],
    "index": lambda x: x[0][..., 0:2], "at": updates, "take": lambda x: np.take(x[0], place(x[1], x[0].shape[0]), axis=0),
    "bag_sum": bags, "take_along_axis": lambda x: np.take_along_axis(x[0], place(x[1], x[0].shape[0]), 0), "gather": gather_rows, "scatter": scatter_rows,
    "put_along_axis": put_along, "dynamic_slice": lambda x: x[0][window(x)], "dynamic_update_slice": set_window,
    "nonzero": lambda x: np.array(np.nonzero(x[0])).reshape(x[0].ndim, -1), "compress": lambda x: x[0][::2],
    "one_hot": lambda x: [(x[0][..., None] == np.arange(5)), np.zeros(x[0].shape + (0,))],
    # reduce
    "sum": reduction(lambda x, a: x.sum(axis=a, dtype=x.dtype)), "prod": reduction(lambda x, a: x.prod(axis=a, dtype=x.dtype)),
    "any": reduction(lambda x, a: (x != 0).any(axis=a)), "all": reduction(lambda x, a: (x != 0).all(axis=a)),
    "mean": reduction(lambda x, a: x.mean(axis=a)), "var": reduction(lambda x, a: x.var(axis=a)), "stddev": reduction(lambda x, a: x.std(axis=a)),
    "norm": reduction(lambda x, a: np.sqrt((x * x).sum(axis=a))), "logsumexp": reduction(lambda x, a: np.log(np.exp(x).sum(axis=a))),
    "argmax": lambda x: [np.argmax(x[0]), np.argmax(x[0], 0), np.argmax(x[0], -1, keepdims=True)] if x[0].ndim else [np.argmax(x[0])],
    "argmin": lambda x: [np.argmin(x[0]), np.argmin(x[0], 0), np.argmin(x[0], -1, keepdims=True)] if x[0].ndim else [np.argmin(x[0])],
    "cumsum": lambda x: [np.cumsum(x[0], 0, dtype=x[0].dtype), np.cumsum(x[0], -1, dtype=x[0].dtype)],
    "cumprod": lambda x: np.cumprod(x[0], -1, dtype=x[0].dtype), "cummax": lambda x: np.maximum.accumulate(x[0], -1),
    "cummin": lambda x: np.minimum.accumulate(x[0], -1), "sort": sort_rows,
    "argsort": lambda x: [stable(x[0], -1), stable(x[0], 0, True)], "top_k": signed_top, "searchsorted": searched,
    # contract
    "matmul": lambda x: np.matmul(x[0], x[1]), "dot": lambda x: np.dot(x[0], x[1]),
    "tensordot": lambda x: [np.tensordot(x[0], x[1], 2), np.tensordot(x[0], x[1], ((-1, -2), (1, 0)))],
    "vdot": lambda x: np.vdot(x[0], x[1]), "inner": lambda x: np.inner(x[0], x[1]), "outer": lambda x: np.outer(x[0], x[1]),
    "einsum": lambda x: [einsum("ij,jk->ik", *x), einsum("ij,kj->", *x), einsum("ii", x[0]), einsum("ii->i", x[0]), einsum("ij->ji", x[0]),
                         einsum("ij,ij->ij", *x), einsum("...i,...i->...", *x), einsum("ij,jk,kl->li", x[0], x[1], x[0]), einsum("ij,k...->ik...", *x)],
    "conv": lambda x: [conv(*x), conv(*x, (2, 1), (1, 2))],
    "conv_transpose": lambda x: [conv_transpose(*x), conv_transpose(*x, (2, 3), (1, 0))],
    "max_pool": lambda x: [pool(x[0], (2, 2), (2, 2), (0, 0), np.nanmax), pool(x[0], (2, 2), (1, 1), (1, 1), np.nanmax)],
    "avg_pool": lambda x: [pool(x[0], (2, 2), (2, 2), (0, 0), np.nanmean), pool(x[0], (2, 2), (1, 1), (1, 1), np.nanmean)],
    # network
    "softmax": lambda x: [softmax(x[0]), softmax(x[0], 0)], "log_softmax": lambda x: np.log(softmax(x[0])),
    "layer_norm": lambda x: [normalize(x[0], -1), 2 * normalize(x[0], None, .5) + 1],
    "rms_norm": lambda x: 2 * x[0] / np.sqrt((x[0] ** 2).mean(axis=-1, keepdims=True) + 1e-5),
    "batch_norm": lambda x: (lambda s: (x[0] - s) / np.sqrt(s + 1e-5) * s + s)(x[1].reshape((1, -1) + (1,) * (x[0].ndim - 2))),
    "group_norm": lambda x: normalize(x[0].reshape(x[0].shape[0], 2, -1), -1).reshape(x[0].shape) * x[1].reshape(
        (1, -1) + (1,) * (x[0].ndim - 2)) + x[1].reshape((1, -1) + (1,) * (x[0].ndim - 2)),
    "attention": lambda x: attention(*x),
    "lstm_cell": lambda x: list(lstm_step(x[0], x[1], x[1] * .5, weights(4 * x[1].shape[1], x[0]), weights(4 * x[1].shape[1], x[1]))),
    "gru_cell": lambda x: gru_step(x[0], x[1], weights(3 * x[1].shape[1], x[0]), weights(3 * x[1].shape[1], x[1])),
    "lstm": lambda x: recurrence(x[0], (x[1], x[1] * .5),
                                 lambda row, h, c: lstm_step(row, h, c, weights(4 * h.shape[1], x[0]), weights(4 * h.shape[1], h))),
    "gru": lambda x: recurrence(x[0], (x[1],), lambda row, h: (gru_step(row, h, weights(3 * h.shape[1], x[0]), weights(3 * h.shape[1], h)),)),
    "mse_loss": lambda x: ((x[0] - x[1]) ** 2).mean(), "cross_entropy": cross_entropy,
    # linalg
    "cholesky": lambda x: (lambda a: [np.linalg.cholesky(a), upper(a)])(dominant(x[0]) @ transposed(dominant(x[0]))),
    "triangular_solve": triangular,
    "cho_solve": lambda x: [system(np.tril(dominant(x[0])) @ transposed(np.tril(dominant(x[0]))), x[1]),
                            system(transposed(np.triu(dominant(x[0]))) @ np.triu(dominant(x[0])), x[1])],
    "solve": lambda x: system(dominant(x[0]), x[1]), "inv": lambda x: np.linalg.inv(dominant(x[0])), "det": lambda x: np.linalg.det(x[0]),
}


def lowest(x, sign):
    """What the extreme of nothing is."""
    if x.dtype == bool:
        return sign > 0
    return sign * np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max if sign > 0 else np.iinfo(x.dtype).min


ROWS["max"] = reduction(lambda x, a: x.max(axis=a, initial=lowest(x, -1)))
ROWS["min"] = reduction(lambda x, a: x.min(axis=a, initial=lowest(x, 1)))
for _symbol, _name in (("+", "add"), ("-", "subtract"), ("*", "multiply"), ("%", "fmod"), ("==", "equal"), ("!=", "not_equal"), ("<", "less"),
                       ("<=", "less_equal"), (">", "greater"), (">=", "greater_equal"), ("&", "bitwise_and"), ("|", "bitwise_or"),
                       ("^", "bitwise_xor"), ("<<", "left_shift"), (">>", "right_shift")):
    ROWS["operator" + _symbol] = ROWS[_name]


def divide(x):
    """Integers divide towards zero; by zero they give -1."""
    if x[0].dtype.kind == "f":
        return x[0] / x[1]
    a, b = np.broadcast_arrays(*x)
    return np.array([int(p) // int(q) if q and (p < 0) == (q < 0) else -(abs(int(p)) // abs(int(q))) if q else -1 for p, q in zip(a.ravel(), b.ravel())],
                    dtype=object).reshape(a.shape)


ROWS["divide"] = ROWS["operator/"] = divide
ROWS["operator/="] = lambda x: divide([x[0], np.asarray(2).astype(x[0].dtype)])


def converted(x, results):
    return [saturate(x[0], DTYPES[r]) if DTYPES[r] is not None else x[0] for r in results]


def as_bits(x, results, dtype):
    if dtype == "bf16":
        return [(x[0].astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)]
    return [x[0].astype(DTYPES[dtype]).view(DTYPES[results[0]])]


def read_operands(path, dtype):
    """Floats as f64, the rest as it is."""
    operands = {}
    with np.load(path) as file:
        for name in file.files:
            array = file[name]
            if array.dtype.kind == "V":  # bf16
                array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(array.shape)
            operands[int(name)] = array.astype(np.float64) if array.dtype.kind == "f" else array
    return operands


def as_words(array, dtype):
    """What the goldens hold: the bits of doubles, or integers."""
    array = np.asarray(array)
    if dtype in ("f64", "f32", "f16", "bf16"):
        array = array.astype(np.float64)
        if dtype in ("f32", "f16"):  # half the digits: they compress, and nobody looks at them
            array = array.astype(np.float32).astype(np.float64)
        return array.ravel().view(np.int64)
    if array.dtype == object:
        array = np.array([int(v) for v in array.ravel()], dtype=object)
    kind = DTYPES[dtype]
    values = [int(v) for v in array.ravel()]
    bits = np.dtype(kind).itemsize * 8
    if kind is np.bool_:
        return np.array([int(v != 0) for v in values], dtype=np.int64)
    signed = np.dtype(kind).kind == "i"
    wrapped = [v & ((1 << bits) - 1) for v in values]
    wrapped = [v - (1 << bits) if (signed or bits == 64) and v >> (bits - 1) else v for v in wrapped]
    return np.array(wrapped, dtype=np.int64)


def answers(stem, family, dtype):
    """The keys and the words of one program."""
    operands, keys, words = read_operands(stem + ".npz", dtype), [], []
    with open(stem + ".txt") as file:
        for line in file:
            left, results = (part.split() for part in line.split(" :"))
            key, x = left[0], [operands[int(k)] for k in left[1:]]
            name = key.rsplit("/", 2)[0]
            if name in WITHOUT or family == "random":
                keys.append(f"without {name} {WITHOUT.get(name, WITHOUT['random::uniform'])}")
                continue
            if name == "astype":
                found = converted(x, results)
            elif name == "bitcast":
                found = as_bits(x, results, dtype)
            else:
                found = ROWS[name](x)
            found = list(found) if isinstance(found, (list, tuple)) else [found]
            if len(found) != len(results):
                sys.exit(f"{stem}: {key} has {len(results)} results, the oracle {len(found)}")
            for number, (array, result) in enumerate(zip(found, results)):
                array = np.asarray(array)
                keys.append(" ".join([f"{key}:{number}", *map(str, array.shape)]))
                words.append(as_words(array, result))
    return "\n".join(dict.fromkeys(keys)) + "\n", np.concatenate([np.zeros(0, np.int64), *words])


def weighted(name, x):
    """What is differentiated; None when no result is a float."""
    found = ROWS[name](x)
    found = [np.asarray(f) for f in (found if isinstance(found, (list, tuple)) else [found])]
    floats = [(k, f) for k, f in enumerate(found) if f.dtype.kind == "f"]
    return sum(float((f.ravel() * np.cos(1.0 + np.arange(f.size) + 10 * k)).sum()) for k, f in floats) if floats else None


def derivative(name, x, operand, element):
    """By five points; nan where the slopes at both sides differ."""
    step = 2e-4

    def at(change):
        moved = [v.copy() for v in x]
        moved[operand].ravel()[element] += change
        return weighted(name, moved)

    middle, near = at(0.0), [at(s * 1e-6) for s in (-1, 1)]
    left, right = (middle - near[0]) / 1e-6, (near[1] - middle) / 1e-6
    value = (at(-2 * step) - 8 * at(-step) + 8 * at(step) - at(2 * step)) / (12 * step)
    scale = 1e-3 * max(1.0, abs(value))
    smooth = np.isfinite(value) and abs(left - right) < scale and abs(left - value) < scale
    return value if smooth else np.nan


def gradients(folder):
    """Keys KEY:OPERAND and the derivatives by that operand's elements, of all rows on f64."""
    keys, words = [], []
    for path in sorted(glob.glob(os.path.join(folder, "*-f64.txt"))):
        operands = read_operands(path[:-4] + ".npz", "f64")
        with open(path) as file:
            for line in file:
                key, *numbers = line.split(" :")[0].split()
                name, x = key.rsplit("/", 2)[0], [operands[int(k)] for k in numbers]
                if name in WITHOUT or name not in ROWS or weighted(name, x) is None:
                    continue
                for operand, array in enumerate(x):
                    values = [derivative(name, x, operand, e) for e in range(array.size)]
                    keys.append(" ".join([f"{key}:{operand}", *map(str, array.shape)]))
                    words.append(np.array(values, np.float64).view(np.int64))
    return "\n".join(keys) + "\n", np.concatenate(words)


def main():
    goldens = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
    os.makedirs(goldens, exist_ok=True)
    families = {}
    np.seterr(all="ignore")
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.txt"))):
        stem = path[:-4]
        family, dtype = os.path.basename(stem).rsplit("-", 1)
        keys, words = answers(stem, family, dtype)
        arrays = families.setdefault(family, {})
        arrays[dtype + ".keys"] = np.frombuffer(keys.encode(), np.uint8)
        arrays[dtype + ".values"] = words
    keys, words = gradients(sys.argv[1])
    families["gradients"] = {"f64.keys": np.frombuffer(keys.encode(), np.uint8), "f64.values": words}
    for family, arrays in families.items():
        np.savez_compressed(os.path.join(goldens, family + ".npz"), **arrays)


if __name__ == "__main__":
    main()
