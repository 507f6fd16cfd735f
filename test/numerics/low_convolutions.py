#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""low_convolutions.py BUILD [TARGET...]

Convolutions whose filters are no constants, and their two gradients, under --precision=bf16: against NumPy in f64 on operands that are rounded to bf16, by 1e-5
of the sum of magnitudes; the types took part. With strides, borders, dilation, groups, one spatial axis and several, channels that fill no vector, at -O0 too, and on two
threads with equal bits. For the targets that are named; by default some that this machine can run."""
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

# images, channels, outputs, space, taps, strides, low, high, dilation, groups
CASES = [(2, 32, 40, (9, 9), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1), (2, 16, 16, (8, 8), (1, 1), (1, 1), (0, 0), (0, 0), (1, 1), 1),
         (3, 34, 48, (11, 7), (1, 1), (1, 1), (0, 0), (0, 0), (1, 1), 1), (1, 64, 18, (10, 12), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 1),
         (2, 20, 33, (9, 9), (5, 3), (1, 2), (2, 0), (1, 1), (1, 1), 1), (1, 32, 32, (12, 12), (3, 3), (1, 1), (2, 2), (2, 2), (2, 2), 1),
         (2, 48, 96, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 3), (2, 17, 20, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1),
         (2, 24, 24, (40,), (5,), (1,), (2,), (2,), (1,), 1), (1, 16, 32, (5, 6, 5), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
         (2, 600, 32, (4, 4), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1), (4, 64, 128, (2, 2), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 1)]


def sums(case, x, w, dy):
    """Result, gradient by x and by w."""
    images, channels, outputs, space, taps, strides, low, high, dilation, groups = case
    axes = len(space)
    padded = np.pad(x, [(0, 0), (0, 0), *zip(low, high)])
    y, dx, dw = np.zeros(dy.shape), np.zeros(padded.shape), np.zeros(w.shape)
    c, o = channels // groups, outputs // groups
    for g, tap in itertools.product(range(groups), np.ndindex(*taps)):
        ins, outs = slice(g * c, g * c + c), slice(g * o, g * o + o)
        places = tuple(slice(tap[k] * dilation[k], tap[k] * dilation[k] + (dy.shape[2 + k] - 1) * strides[k] + 1, strides[k]) for k in range(axes))
        seen, at = padded[(slice(None), ins, *places)], (outs, slice(None), *tap)
        y[:, outs] += np.einsum("nc...,oc->no...", seen, w[at])
        dx[(slice(None), ins, *places)] += np.einsum("no...,oc->nc...", dy[:, outs], w[at])
        dw[at] += np.einsum("nos,ncs->oc", dy[:, outs].reshape(images, o, -1), seen.reshape(images, c, -1))
    inner = tuple(slice(a, a + s) for a, s in zip(low, space))
    return y, dx[(slice(None), slice(None), *inner)], dw


def shape_of(case):
    images, _, outputs, space, taps, strides, low, high, dilation, _ = case
    return (images, outputs, *((s + a + b - d * (t - 1) - 1) // k + 1 for s, t, k, a, b, d in zip(space, taps, strides, low, high, dilation)))


def text(case):
    images, channels, outputs, space, taps, strides, low, high, dilation, groups = case
    kind = lambda shape: "tensor<" + "x".join(map(str, shape)) + "xf32>"
    array = lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
    x, w, y = kind((images, channels, *space)), kind((outputs, channels // groups, *taps)), kind(shape_of(case))
    return (f'func.func @main(%x: {x} {{sinter.name = "x"}}, %w: {w} {{sinter.name = "w"}}) -> ({y} {{sinter.name = "y"}}) {{\n'
            f"  %0 = sinter.convolution %x, %w {{strides = {array(strides)}, low = {array(low)}, high = {array(high)}, input_dilation = {array([1] * len(space))}, "
            f"dilation = {array(dilation)}, groups = {groups} : i64, layout = #sinter<conv_layout channels_first>, element_type = f32}} : ({x}, {w}) -> {y}\n"
            f"  return %0 : {y}\n}}\n")


def main():
    build = sys.argv[1]
    sinter, runtime = os.path.join(build, "bin", "sinter"), sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    targets = sys.argv[2:] or levels.runnable()
    random, runs = np.random.default_rng(3), 0
    with tempfile.TemporaryDirectory() as folder:
        graph, gradient, module = (os.path.join(folder, n) for n in ("c.mlir", "g.mlir", "c.smod"))
        for case in CASES:
            images, channels, outputs, space, taps, *_, groups = case
            x, w, dy = (random.standard_normal(s).astype(np.float32)
                        for s in ((images, channels, *space), (outputs, channels // groups, *taps), shape_of(case)))
            rounded = [t.astype(ml_dtypes.bfloat16).astype(np.float64) for t in (x, w, dy)]
            wanted, magnitudes, exact = sums(case, *rounded), sums(case, *map(np.abs, rounded)), sums(case, *(t.astype(np.float64) for t in (x, w, dy)))
            with open(graph, "w") as file:
                file.write(text(case))
            subprocess.run([sinter, "grad", graph, "--mode", "vjp", "-o", gradient, "--force"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for options in [["--target", t] for t in targets] + [["-O0"], ["-O1"]]:
                subprocess.run([sinter, "compile", gradient, "--precision", "bf16", "-o", module, "--force", *options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                results = []
                for threads in (1, 2):
                    session = runtime.session(module, threads)
                    for name, value in zip(session.inputs, (x, w, dy)):
                        session.set(name, value)
                    session.call()
                    results.append([session.result(name) for name in session.outputs])
                assert len(results[0]) == 3, session.outputs
                for value, again, sum_, magnitude, unrounded, name in zip(*results, wanted, magnitudes, exact, ("y", "dx", "dw")):
                    assert np.array_equal(value, again), (case, options, name, "threads")
                    least = 1e-5 * magnitude
                    # What has few channels or few readers stays f32.
                    isRounded = (np.abs(value - sum_) <= least).all()
                    isExact = (np.abs(value - unrounded) <= least).all()
                    few = channels // groups < 16 or outputs < 16
                    odd = name != "dw" and (channels // groups % 2 == 1 if name == "y" else outputs // groups % 2 == 1)
                    assert isExact if odd else isRounded or few and isExact, (case, options, name, np.abs(value - sum_).max(), np.abs(value - unrounded).max())
                runs += 1
    print(runs, "runs agree with NumPy")


if __name__ == "__main__":
    main()
