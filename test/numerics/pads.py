#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pads.py BUILD

Tensors that are padded and cropped by constants after ops on their elements, in order and with few channels behind their pixels, of all widths around those of vectors and of several types,
against NumPy to the bit."""
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

WIDTHS = (1, 5, 15, 16, 17, 33, 64)
AROUND = ((1, 1), (3, 0), (0, 2), (20, 19), (-1, 2), (2, -1))  # of the last axis; of the one before it the other way round
TYPES = {"f32": np.float32, "ui8": np.uint8}


def padded(x, low, high, fill):
    """NumPy's pad, with axes that are cropped."""
    x = np.pad(x, [(max(l, 0), max(h, 0)) for l, h in zip(low, high)], constant_values=fill)
    return x[tuple(slice(max(-l, 0), x.shape[axis] - max(-h, 0)) for axis, (l, h) in enumerate(zip(low, high)))]


def main():
    build = sys.argv[1]
    sinter, runtime = os.path.join(build, "bin", "sinter"), sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    random, count = np.random.default_rng(1), 0
    with tempfile.TemporaryDirectory() as folder:
        graph, module = os.path.join(folder, "p.mlir"), os.path.join(folder, "p.smod")
        functions, cases = [], []
        for (kind, dtype), width, (low, high), channels in itertools.product(TYPES.items(), WIDTHS, AROUND, (None, 3)):
            shape = (channels or 2, 4, width)
            lows, highs = (0, high, low), (0, low, high)
            x = random.integers(0, 200, shape).astype(dtype)
            want = padded(x + dtype(3), lows, highs, 7)
            if want.size == 0:
                continue
            if channels:
                want = want.transpose(1, 2, 0)
            t, p = (f"tensor<{'x'.join(map(str, s))}x{kind}>" for s in (shape, tuple(s + l + h for s, l, h in zip(shape, lows, highs))))
            r, dot = f"tensor<{'x'.join(map(str, want.shape))}x{kind}>", ".0" if kind == "f32" else ""
            move = f"  %q = sinter.transpose %p {{permutation = array<i64: 1, 2, 0>}} : ({p}) -> {r}\n" if channels else ""
            functions.append(f'func.func @f{len(cases)}(%x: {t} {{sinter.name = "x"}}) -> ({r} {{sinter.name = "y"}}) {{\n  %t = sinter.constant dense<3{dot}> : {t}\n'
                             f"  %f = sinter.constant dense<7{dot}> : tensor<{kind}>\n  %a = sinter.add %x, %t : ({t}, {t}) -> {t}\n"
                             f"  %p = sinter.pad %a, %f {{low = array<i64: {', '.join(map(str, lows))}>, high = array<i64: {', '.join(map(str, highs))}>, interior = array<i64: 0, 0, 0>}}"
                             f" : ({t}, tensor<{kind}>) -> {p}\n{move}  return {'%q' if channels else '%p'} : {r}\n}}\n")
            cases.append((x, np.ascontiguousarray(want)))
        with open(graph, "w") as file:
            file.write("".join(functions))
        for target in levels.runnable():
            subprocess.run([sinter, "compile", graph, "--target", target, "-o", module, "--force"], check=True, capture_output=True, text=True)
            for number, session in enumerate(runtime.sessions(module, [f"f{i}" for i in range(len(cases))]).values()):
                x, want = cases[number]
                got = session.run({"x": x})["y"]
                assert np.array_equal(got, want), (target, x.dtype, x.shape, got, want)
                count += 1
    print(count, "padded tensors are those of NumPy")


if __name__ == "__main__":
    main()
