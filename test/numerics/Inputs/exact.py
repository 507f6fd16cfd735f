# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers at which arithmetic goes wrong, what IEEE 754 says of them, and graphs that compute with them.

Nothing of Sinter's is used to say what is right: rounding is done on Fractions, functions come from NumPy and the C library."""

import math
import os
import subprocess
import tempfile
from fractions import Fraction

import ml_dtypes
import numpy as np

np.seterr(all="ignore")

FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
INTS = {k: np.dtype(v).type for k, v in
        {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "ui8": "u1", "ui16": "u2", "ui32": "u4", "ui64": "u8"}.items()}
TYPES = {**FLOATS, **INTS, "i1": np.bool_}
PRECISION = {"f64": (53, -1022, 1023), "f32": (24, -126, 127), "f16": (11, -14, 15), "bf16": (8, -126, 127)}
BITS = {"f64": np.uint64, "f32": np.uint32, "f16": np.uint16, "bf16": np.uint16}


def bits_of(array):
    return array.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize])


def round_exactly(value, dtype):
    """The Fraction (or integer) as Python's float, rounded once to nearest even in a float type."""
    precision, least, most = PRECISION[dtype]
    if value == 0:
        return 0.0
    size = abs(Fraction(value))
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - (precision - 1))
    count, rest = divmod(size, unit)
    if rest * 2 > unit or (rest * 2 == unit and count % 2 == 1):
        count += 1
    size = count * unit
    sign = -1 if value < 0 else 1
    return sign * (math.inf if size >= Fraction(2) ** (most + 1) else float(size))


def convert(value, source, target):
    """One number of `source` in `target`, by the dialect's rules: once rounded; truncated and saturated, NaN as 0; wrapped."""
    if target == "i1":
        return value != 0
    if target in FLOATS:
        value = float(value) if source in FLOATS else int(value)
        if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
            return value
        return round_exactly(Fraction(value), target)
    info = np.iinfo(INTS[target])
    if source in FLOATS:
        value = float(value)
        return 0 if math.isnan(value) else info.max if value >= info.max else info.min if value <= info.min else math.trunc(value)
    width = info.bits
    wrapped = int(value) % (1 << width)
    return wrapped - (1 << width) if info.min < 0 and wrapped >= 1 << (width - 1) else wrapped


def converted(array, source, target):
    return np.array([convert(x, source, target) for x in array.tolist()], dtype=TYPES[target])


def special_values(dtype, count=0):
    """Zeros, denormals, the borders of the normal numbers, infinities, NaN, halves, and `count` numbers of random bits."""
    if dtype == "i1":
        return np.array([False, True])
    if dtype in INTS:
        info = np.iinfo(INTS[dtype])
        values = {0, 1, 2, 3, 7, 8, 100, info.max, info.max - 1, info.max // 2, info.min, info.min + 1, -1, -2, -7, -128}
        # Halfway between two floats of fewer digits, and beside it.
        for precision in (8, 11, 24, 53):
            for exponent in (precision, precision + 1, precision + 9, 30, 62):
                middle = (1 << exponent) + (1 << max(exponent - precision, 0))
                values.update(sign * (middle + k) for sign in (1, -1) for k in (-1, 0, 1))
                values.update(sign * (3 * (1 << exponent) // 2 + (1 << max(exponent - precision, 0)) + k)
                              for sign in (1, -1) for k in (-1, 0, 1))
        return np.array(sorted(v for v in values if info.min <= v <= info.max), dtype=INTS[dtype])
    t = FLOATS[dtype]
    precision, least, most = PRECISION[dtype]
    tiny, epsilon = math.ldexp(1.0, least), math.ldexp(1.0, 1 - precision)
    values = [0.0, tiny * epsilon, 3 * tiny * epsilon, tiny / 2, tiny * (1 - epsilon), tiny, tiny * (1 + epsilon), epsilon / 2, epsilon, 0.1,
              0.5 - epsilon / 4, 0.5, 0.6, 1 - epsilon / 2, 1.0, 1 + epsilon, 1.5, 2.0, 2.5, 3.0, math.pi, 10.0, 20.0, 87.33, 88.72, 103.97, 105.0,
              255.0, 256.5, 300.0, 1 / epsilon, 1 / epsilon + 1, 1.5 / epsilon, math.ldexp(1.0, most // 2), math.ldexp(1.5, most // 2 + 1),
              math.ldexp(2 - epsilon, most), math.ldexp(1.0, most), math.inf, math.nan]
    if dtype == "f64":
        values += [708.39, 708.4, 709.78, 709.79, 744.44, 745.13, 745.14, 1e20, 1e200]
        # What two roundings, by way of f32, would get wrong in 16 bits.
        for p, exponents in ((11, (0, 5, -14, -20)), (8, (0, 100, -126, -130))):
            for e in exponents:
                half = max(e, {11: -14, 8: -126}[p]) - p
                values += [math.ldexp(1.0, e) + math.ldexp(1.0, half) + s * math.ldexp(1.0, e - 40) for s in (-1, 0, 1)]
    array = np.array(values + [-v for v in values], dtype=t)
    random = np.random.default_rng(5)
    if count:
        drawn = random.integers(0, 1 << (8 * array.itemsize), count, dtype=np.uint64).astype(BITS[dtype])
        array = np.concatenate([array, drawn.view(t), random.uniform(-12, 12, count).astype(t)])
    return array


def all_values(dtype):
    return np.arange(1 << 16, dtype=np.uint16).view(FLOATS[dtype])


def ulps(got, wanted, dtype):
    """|got - wanted| in units of the last place; 0 for two NaN and two equal infinities. `wanted` has more digits than the type."""
    precision, least, most = PRECISION[dtype]
    wanted = np.asarray(wanted)
    wide = got.astype(wanted.dtype)
    rounded = wanted.astype(FLOATS[dtype])
    same = (np.isnan(wide) & np.isnan(wanted)) | (rounded.astype(wanted.dtype) == wide)
    _, exponent = np.frexp(wanted)
    unit = np.ldexp(np.ones_like(wanted), np.maximum(np.where(np.isfinite(wanted) & (wanted != 0), exponent - 1, least), least) - (precision - 1))
    error = np.abs(wide - wanted) / unit
    return np.where(same, 0, np.where(np.isfinite(error), error, np.inf)).astype(np.float64)


class Graph:
    """A function in the dialect's text: operands and results are named, ops are called."""

    def __init__(self):
        self.inputs, self.outputs, self.lines, self.types, self.count = [], [], [], {}, 0

    def input(self, array, dtype):
        name = f"%x{len(self.inputs)}"
        # Floats travel as bits: NumPy's files know no bf16, and nothing may touch a NaN on the way.
        shape = "x".join(str(n) for n in array.shape) + ("x" if array.shape else "")
        carried = f"i{8 * array.itemsize}" if dtype in FLOATS else dtype
        self.inputs.append((name, f"tensor<{shape}{carried}>", bits_of(array).view(f"i{array.itemsize}") if dtype in FLOATS else array))
        self.types[name] = (shape, carried)
        return self.op("bitcast", name, attributes=f"element_type = {dtype}", dtype=dtype) if dtype in FLOATS else name

    def op(self, op, *operands, attributes="", dtype=None, shape=None, kind="", axes=None):
        name = f"%v{self.count}"
        self.count += 1
        first = self.types[operands[0]]
        self.types[name] = (first[0] if shape is None else shape, dtype or first[1])
        types = ", ".join(self.type(x) for x in operands)
        inside = f" {{{attributes}}}" if attributes else ""
        along = f" axes = {axes}" if axes else ""
        self.lines.append(f"  {name} = sinter.{op} {kind}{' ' if kind else ''}{', '.join(operands)}{along}{inside} : ({types}) -> {self.type(name)}")
        return name

    def type(self, value):
        return "tensor<%s%s>" % self.types[value]

    def constant(self, like, text):
        name = f"%v{self.count}"
        self.count += 1
        self.types[name] = self.types[like]
        self.lines.append(f"  {name} = sinter.constant dense<{text}> : {self.type(name)}")
        return name

    def convert(self, x, dtype):
        return self.op("convert", x, attributes=f"element_type = {dtype}", dtype=dtype)

    def output(self, value):
        shape, dtype = self.types[value]
        if dtype in FLOATS:
            value = self.op("bitcast", value, attributes=f"element_type = i{8 * np.dtype(FLOATS[dtype]).itemsize}", dtype=f"i{8 * np.dtype(FLOATS[dtype]).itemsize}")
        self.outputs.append((value, dtype))

    def text(self):
        arguments = ", ".join(f'{name}: {kind} {{sinter.name = "x{k}"}}' for k, (name, kind, _) in enumerate(self.inputs))
        kinds = [self.type(value) for value, _ in self.outputs]
        results = ", ".join(f'{kind} {{sinter.name = "y{k}"}}' for k, kind in enumerate(kinds))
        values = ", ".join(value for value, _ in self.outputs)
        return f"func.func @main({arguments}) -> ({results}) {{\n" + "\n".join(self.lines) + f"\n  return {values} : {', '.join(kinds)}\n}}\n"

    def run(self, sinter, *flags):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.mlir")
            with open(path, "w") as file:
                file.write(self.text())
            command = [sinter, "run", path, *flags]
            for k, (_, _, array) in enumerate(self.inputs):
                np.save(os.path.join(folder, f"x{k}.npy"), array)
                command += ["--input", f"x{k}=@{folder}/x{k}.npy"]
            for k in range(len(self.outputs)):
                command += ["--output", f"y{k}=@{folder}/y{k}.npy"]
            subprocess.run(command, check=True)
            results = [np.load(os.path.join(folder, f"y{k}.npy")) for k in range(len(self.outputs))]
        return [r.view(FLOATS[d]) if d in FLOATS else r for r, (_, d) in zip(results, self.outputs)]


class Report:
    def __init__(self):
        self.failures, self.checks = 0, 0

    def fail(self, text):
        self.failures += 1
        if self.failures <= 40:
            print(text)

    def same(self, name, got, wanted, operands, any_zero=False):
        """Equal bits, but for the bits of NaN."""
        self.checks += got.size
        wanted = np.asarray(wanted).astype(got.dtype)
        bad = bits_of(np.ascontiguousarray(got)) != bits_of(np.ascontiguousarray(wanted))
        if got.dtype.kind not in "iub":
            bad &= ~(np.isnan(got) & np.isnan(wanted))
            if any_zero:
                bad &= ~((got == 0) & (wanted == 0))
        for i in np.flatnonzero(bad.reshape(-1))[:3]:
            at = ", ".join(repr(np.broadcast_to(x, bad.shape).reshape(-1)[i]) for x in operands)
            self.fail(f"{name} ({at}): got {got.reshape(-1)[i]!r}, wanted {wanted.reshape(-1)[i]!r}")

    def near(self, name, got, wanted, dtype, bound, operands):
        self.checks += got.size
        error = ulps(got, wanted, dtype)
        signs = (got == 0) & (np.asarray(wanted) == 0) & (np.signbit(got) != np.signbit(wanted))
        for i in np.flatnonzero((error > bound) | signs)[:3]:
            at = ", ".join(repr(x[i]) for x in operands)
            self.fail(f"{name} ({at}): got {got[i]!r}, wanted {wanted[i]!r}: {error[i]:.3g} ulp of {bound}")

    def finish(self):
        print(f"{self.checks} numbers, {self.failures} wrong")
        raise SystemExit(1 if self.failures else 0)
