#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transposes.py BUILD

Axes in other orders, some read from their ends, against NumPy: shapes below, at and above the sizes of vectors, last axes that stay where they are (pairs of f32
are moved as one element), all types of 1 to 8 bytes, to the bit, on each level of CPU that this machine can run, some of sizes that only running tells. Images whose few channels become last, with sums, other types and
borders on the way, of sizes that are known and unknown."""
import itertools
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
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i8": np.int8, "ui8": np.uint8, "i16": np.int16, "i64": np.int64, "f16": np.float16,
         "bf16": ml_dtypes.bfloat16}
SHAPES = [(5,), (40, 23, 2), (6, 40, 23, 2), (3, 19, 5, 2), (17, 2, 2), (1, 33, 16, 2, 2, 1), (5, 16, 2), (2, 2, 16, 2), (7, 9, 11, 2), (31, 33), (16, 4, 16), (9, 18, 3),
          (4, 16, 4, 4), (2, 2, 2, 2), (64, 2, 64)]


def image(number, rng):
    """The text of one image's way, its input, what comes out."""
    channels, known = int(rng.integers(1, 6)), rng.integers(3) > 0
    shape = (int(rng.integers(1, 3)), channels, *(int(rng.choice([1, 2, 7, 15, 16, 17, 33, 64])) for _ in range(2)))
    kind, low, high = str(rng.choice(["f32", "f64", "i8", "i32"])), [int(n) for n in rng.integers(0, 3, 2)], [int(n) for n in rng.integers(0, 3, 2)]
    padded = (*shape[:2], *(s + a + b for s, a, b in zip(shape[2:], low, high)))
    order = (0, 2, 3, 1)
    tensor = lambda sizes, kind: f"tensor<{'x'.join(str(s) if known or s == channels else '?' for s in sizes)}x{kind}>"
    x, c, p, y = tensor(shape, "f32"), tensor(shape, kind), tensor(padded, kind), tensor([padded[k] for k in order], kind)
    array = lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
    text = (f'func.func @i{number}(%x: {x} {{sinter.name = "x"}}) -> ({y} {{sinter.name = "y"}}, {y} {{sinter.name = "z"}}) {{\n  %s = sinter.add %x, %x : ({x}, {x}) -> {x}\n'
            f"  %c = sinter.convert %s {{element_type = {kind}}} : ({x}) -> {c}\n  %v = sinter.constant dense<{7 if kind[0] == 'i' else 7.0}> : tensor<{kind}>\n"
            f"  %p = sinter.pad %c, %v {{low = {array([0, 0, *low])}, high = {array([0, 0, *high])}, interior = {array([0] * 4)}}} : ({c}, tensor<{kind}>) -> {p}\n"
            f"  %y = sinter.transpose %p {{permutation = {array(order)}}} : ({p}) -> {y}\n  %z = sinter.neg %y : ({y}) -> {y}\n  return %y, %z : {y}, {y}\n}}\n")
    value = rng.integers(-60, 60, shape).astype(np.float32)
    expected = np.pad((2 * value).astype(TYPES[kind]), [(0, 0), (0, 0), *zip(low, high)], constant_values=7).transpose(order)
    return text, value, {"y": expected, "z": -expected}


def main():
    build = sys.argv[1]
    rng = np.random.default_rng(5)
    cases = []
    for shape in SHAPES:
        orders = list(itertools.permutations(range(len(shape))))
        for order in orders if len(orders) <= 24 else [orders[i] for i in rng.choice(len(orders), 24, replace=False)]:
            for kind in TYPES if len(cases) % 3 == 0 else ["f32"]:
                ends = [int(rng.integers(len(shape)))] if len(cases) % 4 == 1 else []
                cases.append((f"f{len(cases)}", shape, order, ends, kind))
    text = ""
    for number, (name, shape, order, ends, kind) in enumerate(cases):
        told = ["?" if number % 5 in (1, 2) and rng.integers(2) else size for size in shape]  # what only running tells is not
        x, y = (f"tensor<{'x'.join(map(str, sizes))}x{kind}>" for sizes in (told, [told[k] for k in order]))
        text += f'func.func @{name}(%x: {x} {{sinter.name = "x"}}) -> {y} {{\n'
        if ends:
            text += f"  %r = sinter.reverse %x {{axes = array<i64: {ends[0]}>}} : ({x}) -> {x}\n"
        text += f"  %y = sinter.transpose %{'r' if ends else 'x'} {{permutation = array<i64: {', '.join(map(str, order))}>}} : ({x}) -> {y}\n  return %y : {y}\n}}\n"
    images = [image(i, rng) for i in range(80)]
    # A turned matrix that all pixels read has fewer axes than the result.
    x = rng.integers(-60, 60, (3, 17)).astype(np.float32)
    spread = np.broadcast_to((x + x).T, (2, 5, 17, 3))
    images.append((
        f'func.func @i{len(images)}(%x: tensor<3x17xf32> {{sinter.name = "x"}}) -> (tensor<2x5x17x3xf32> {{sinter.name = "y"}}) {{\n'
        "  %s = sinter.add %x, %x : (tensor<3x17xf32>, tensor<3x17xf32>) -> tensor<3x17xf32>\n"
        "  %t = sinter.transpose %s {permutation = array<i64: 1, 0>} : (tensor<3x17xf32>) -> tensor<17x3xf32>\n"
        "  %y = sinter.broadcast %t axes = [2, 3] {type = tensor<2x5x17x3xf32>} : (tensor<17x3xf32>) -> tensor<2x5x17x3xf32>\n"
        "  return %y : tensor<2x5x17x3xf32>\n}\n", x, {"y": spread}))
    text += "".join(made for made, _, _ in images)
    runtime, wrong = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so")), 0
    for level in levels.runnable():
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/m.mlir", "w") as file:
                file.write(text)
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.mlir", "--target", level, "-o", f"{folder}/m.smod"], check=True, stderr=subprocess.DEVNULL)
            sessions = runtime.sessions(f"{folder}/m.smod", [case[0] for case in cases] + [f"i{i}" for i in range(len(images))])
            for i, (_, x, expected) in enumerate(images):
                got = sessions[f"i{i}"].run({"x": x})
                if not all(np.array_equal(got[name], value) for name, value in expected.items()):
                    wrong += 1
                    print(f"{level}: image {i} of {x.shape}")
            for name, shape, order, ends, kind in cases:
                x = rng.integers(0, 256, (*shape, np.dtype(TYPES[kind]).itemsize), np.uint8).view(TYPES[kind])[..., 0]
                x[x != x] = 3  # where bf16 is widened on the way, signaling NaNs become quiet ones
                expected = np.transpose(np.flip(x, ends) if ends else x, order)
                got = next(iter(sessions[name].run({"x": x}).values()))
                if got.dtype != x.dtype or got.shape != expected.shape or got.tobytes() != expected.tobytes():
                    wrong += 1
                    print(f"{level}: {kind} {shape} to {order}, {ends} from the end")
    print(f"{len(cases)} transposes and {len(images)} images, {wrong} wrong")
    sys.exit(wrong > 0)


main()
