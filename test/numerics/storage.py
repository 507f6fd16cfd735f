#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""storage.py BUILD

8-bit floats and 4-bit integers through the C ABI: conversions from and to each element type, moves, and constants. Values come from ml_dtypes and a plain formula: the
nearest of all numbers of the format, the even one of two, found in a table."""
import os
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

FLOATS = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
HALVES = {"i4": ml_dtypes.int4, "ui4": ml_dtypes.uint4}
STORED = {**FLOATS, **HALVES}
COMPUTED = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32,
            "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64}
NUMBERS = {"f8E4M3FN": 14, "f8E5M2": 15, "i4": 16, "ui4": 17, "bf16": 4}
for name, number in NUMBERS.items():
    kind = {**STORED, **COMPUTED}[name]
    sinter_runtime.DTYPES[number] = kind
    sinter_runtime.CODES[np.dtype(kind)] = number


def pack(values):
    bits = np.append(values.view(np.uint8).ravel() & 15, np.zeros(values.size % 2, np.uint8))
    return (bits[0::2] | bits[1::2] << 4).astype(np.uint8)


def unpack(packed, kind, count):
    halves = np.stack([packed & 15, packed >> 4], axis=1).ravel()[:count].astype(np.int16)
    return (halves if kind == ml_dtypes.uint4 else (halves ^ 8) - 8).astype(kind)


def run(session, array):
    """The result of a session for its input, which lie packed where they have 4 bits."""
    runtime, lib = session.runtime, session.runtime.lib
    isHalf = array.dtype in (ml_dtypes.int4, ml_dtypes.uint4)
    bytes = sinter_runtime.aligned(pack(array) if isHalf else np.ascontiguousarray(array))
    view = sinter_runtime.Tensor(data=bytes.ctypes.data, dtype=sinter_runtime.CODES[array.dtype], rank=array.ndim)
    view.dims[: array.ndim] = array.shape
    runtime.check(lib.sinter_session_set_input(session.handle, 0, sinter_runtime.c.byref(view)))
    session.call()
    view = sinter_runtime.Tensor()
    runtime.check(lib.sinter_session_output(session.handle, 0, sinter_runtime.c.byref(view)))
    if view.dtype not in (16, 17):
        return sinter_runtime.copy_of(view)
    shape = tuple(view.dims[: view.rank])
    count = int(np.prod(shape, dtype=np.int64))
    raw = (sinter_runtime.c.c_uint8 * ((count + 1) // 2)).from_address(view.data)
    packed = np.frombuffer(raw, np.uint8).copy()
    if count % 2 and packed[-1] >> 4:
        raise SystemExit("the half that is left is not 0")
    return unpack(packed, sinter_runtime.DTYPES[view.dtype], count).reshape(shape)


def table(kind):
    """The finite numbers of a format that are not negative, by their bytes."""
    numbers = np.arange(128, dtype=np.uint8).view(kind).astype(np.float64)
    return numbers[np.isfinite(numbers)]


def nearest(values, kind):
    """Bytes: the nearest number, the even byte of two; what lies beyond is the greatest."""
    numbers, wide = table(kind), np.asarray(values, np.longdouble)  # which holds 64-bit integers
    magnitude = np.minimum(np.where(np.isnan(wide), 0, np.abs(wide)), numbers[-1])
    above = np.clip(np.searchsorted(numbers, magnitude), 1, len(numbers) - 1)
    low, high = magnitude - numbers[above - 1], numbers[above] - magnitude
    byte = np.where((high < low) | ((high == low) & (above % 2 == 0)), above, above - 1)
    byte = np.where(np.isnan(wide), 0x7F if kind == ml_dtypes.float8_e4m3fn else 0x7E, byte)
    return (byte | np.where(np.signbit(wide), 0x80, 0)).astype(np.uint8)


def draw(name):
    """Numbers of a type: what formats hold, what lies between two of them and beside that, and any."""
    kind = COMPUTED[name]
    rng = np.random.default_rng(1)
    if name == "i1":
        return rng.integers(0, 2, 33).astype(bool)
    if np.issubdtype(kind, np.integer):
        info = np.iinfo(kind)
        edges = [v for k in range(64) for v in (2**k - 1, 2**k, 2**k + 1, -(2**k), 464, 465, 61439, 61440, 72, 88) if info.min <= v <= info.max]
        return np.concatenate([np.array(edges, kind), np.arange(-300, 300).astype(kind), rng.integers(info.min, info.max, 2001, dtype=kind, endpoint=True)])
    exact = np.concatenate([table(k) for k in FLOATS.values()])
    middles = np.concatenate([(t[1:] + t[:-1]) / 2 for t in map(table, FLOATS.values())] + [[464.0, 61440.0, 480.0, 65536.0, 0.5, 7.5, 8.5, 15.5, 16.5]])
    values = np.concatenate([exact, middles, middles * (1 + 2.0**-40), middles * (1 - 2.0**-40), middles * (1 + 2.0**-20), rng.uniform(-600, 600, 999),
                             rng.normal(0, 1e-2, 500), rng.normal(0, 1e4, 500), [np.inf, np.nan, 1e30, 1e-30]])
    with np.errstate(over="ignore"):
        return np.concatenate([values, -values]).astype(kind)


def stored(name):
    if name in FLOATS:
        return np.arange(256, dtype=np.uint8).view(FLOATS[name])
    low = -8 if name == "i4" else 0
    return np.tile(np.arange(low, low + 16), 3)[:45].astype(HALVES[name])


def to_integer(values, kind, low, high):
    whole = np.trunc(np.where(np.isnan(values), 0, values).astype(np.longdouble))
    return np.clip(whole, low, high).astype(np.uint64 if high > 2**63 else np.int64).astype(kind)


def expected(values, name):
    """`values` of any type by the rules of `convert`."""
    floats = not (values.dtype == bool or np.issubdtype(values.dtype, np.integer) or values.dtype in (ml_dtypes.int4, ml_dtypes.uint4))
    if name in FLOATS:
        wide = values.astype(np.int64 if values.dtype != np.uint64 else np.uint64) if not floats else values.astype(np.float64)
        return nearest(wide, FLOATS[name]).view(FLOATS[name])
    if name in HALVES:
        low = -8 if name == "i4" else 0
        if floats:
            return to_integer(values.astype(np.float64), HALVES[name], low, low + 15)
        bits = values.astype(np.int64 if values.dtype != np.uint64 else np.uint64).astype(np.uint64) & np.uint64(15)
        return unpack(pack(bits.astype(np.uint8)), HALVES[name], values.size)
    kind = COMPUTED[name]
    if name == "i1":
        return values.astype(np.float64) != 0
    if np.issubdtype(kind, np.integer) and floats:
        info = np.iinfo(kind)
        return to_integer(values.astype(np.float64), kind, info.min, info.max)
    return (values.astype(np.float32) if floats else values.astype(np.int64)).astype(kind)


def same(got, wanted):
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    if got.dtype in FLOATS.values():
        return np.array_equal(got.view(np.uint8), wanted.view(np.uint8))
    return np.array_equal(got.astype(np.float64), wanted.astype(np.float64), equal_nan=True)


def main():
    build = sys.argv[1]
    text, cases = [], []

    def add(name, values, wanted, body, result):
        source = next(k for k, v in {**STORED, **COMPUTED}.items() if v == values.dtype)
        shape = "?" if values.ndim == 1 else "x".join(map(str, values.shape))
        text.append(f"func.func @{name}(%x: tensor<{shape}x{source}>) -> {result} {{\n{body}\n}}\n")
        cases.append((name, values, wanted))

    def convert(source, target, size="?"):
        a, b = f"tensor<{size}x{source}>", f"tensor<{size}x{target}>"
        return f"  %r = sinter.convert %x {{element_type = {target}}} : ({a}) -> {b}\n  return %r : {b}", b

    some = {"f8E4M3FN": ["f64", "f32", "bf16", "i64"], "f8E5M2": ["f32", "f16", "ui8"], "i4": ["f32", "i8"], "ui4": ["f64", "ui32"]}
    for name in STORED:
        for other in some[name]:
            values = draw(other)
            add(f"{other}_to_{name}", values, expected(values, name), *convert(other, name))
            values = stored(name)
            add(f"{name}_to_{other}", values, expected(values, other), *convert(name, other))
        for other in {"f8E4M3FN": ["f8E5M2", "i4"], "i4": ["i4"], "ui4": ["ui4"]}.get(name, []):
            values = stored(name)
            add(f"{name}_to_{other}", values, expected(values, other) if name != other else values, *convert(name, other))
        # transposed, a row left out, one after the other, of odd size
        values = stored(name)[:45].reshape(9, 5)
        a, t, s, r = (f"tensor<{n}x{name}>" for n in ("9x5", "5x9", "3x9", "63"))
        add(f"moves_{name}", values, np.concatenate([values.T[1:4], values.T[0:4]]).ravel(), f"""  %t = sinter.transpose %x {{permutation = array<i64: 1, 0>}} : ({a}) -> {t}
  %a = sinter.slice %t {{starts = array<i64: 1, 0>, limits = array<i64: 4, 9>, steps = array<i64: 1, 1>}} : ({t}) -> {s}
  %b = sinter.slice %t {{starts = array<i64: 0, 0>, limits = array<i64: 4, 9>, steps = array<i64: 1, 1>}} : ({t}) -> tensor<4x9x{name}>
  %c = sinter.concatenate %a, %b {{axis = 0 : i64}} : ({s}, tensor<4x9x{name}>) -> tensor<7x9x{name}>
  %r = sinter.reshape %c {{type = {r}}} : (tensor<7x9x{name}>) -> {r}
  return %r : {r}""", r)
        # a constant of many elements beside an input that says nothing
        weights = np.tile(stored(name), 30)[:1111]
        hex = weights.view(np.uint8).copy()
        hex &= 15 if name in HALVES else 255
        c, f = f"tensor<1111x{name}>", "tensor<1111xf32>"
        add(f"constant_{name}", np.zeros((1, 1111), np.float32), expected(weights, "f32")[None], f"""  %w = sinter.constant dense<"0x{hex.tobytes().hex().upper()}"> : {c}
  %v = sinter.convert %w {{element_type = f32}} : ({c}) -> {f}
  %b = sinter.broadcast %v axes = [1] {{type = tensor<1x1111xf32>}} : ({f}) -> tensor<1x1111xf32>
  %r = sinter.add %x, %b : (tensor<1x1111xf32>, tensor<1x1111xf32>) -> tensor<1x1111xf32>
  return %r : tensor<1x1111xf32>""", "tensor<1x1111xf32>")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/m.mlir", "w") as file:
            file.write("".join(text))
        tool = os.path.join(build, "bin", "sinter")
        subprocess.run([tool, "compile", f"{folder}/m.mlir", "-o", f"{folder}/m.smod"], check=True)
        runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
        sessions = runtime.sessions(f"{folder}/m.smod", [case[0] for case in cases])
        for name, values, wanted in cases:
            got = run(sessions[name], values)
            if not same(got, wanted):
                wrong += 1
                g, w = got.ravel(), wanted.ravel()
                where = [i for i in range(min(g.size, w.size)) if g[i] != w[i] and not (np.isnan(np.float64(g[i])) and np.isnan(np.float64(w[i])))][:3] if g.size == w.size else []
                print(f"{name}: {got.dtype} {got.shape} for {wanted.dtype} {wanted.shape}", [(values.ravel()[i] if values.size == g.size else i, g[i], w[i]) for i in where])
    print(f"{len(cases)} functions, {wrong} wrong")
    sys.exit(wrong > 0)


main()
