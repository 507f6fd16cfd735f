#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""winograd.py SINTER [TARGET...]

Convolutions that --fast-math computes by Winograd's method against NumPy in f64: over odd sizes, images smaller than a tile, uneven padding, batches, channels that
fill no vector, a batch that the call tells, what follows a convolution, and one and two threads, which have to give the same bits. Errors are at most 4e-7 of the
largest input times the sum of a filter's magnitudes (REWRITES.md)."""
import os
import subprocess
import sys
import tempfile

import numpy as np

BOUND = 4e-7
DECIDING = "x86-64-v4"  # where the method pays depends on caches
# images (None: 3, known at run time only), channels, height, width, outputs, (top, left, bottom, right), adds x and cuts at zero, by Winograd's method on DECIDING
CASES = [
    (1, 64, 56, 56, 64, (1, 1, 1, 1), True, True),
    (2, 32, 13, 17, 48, (1, 0, 2, 1), False, True),
    (3, 16, 30, 31, 100, (1, 1, 1, 1), False, True),
    (1, 128, 28, 28, 128, (1, 1, 1, 1), True, True),
    (1, 256, 14, 14, 256, (1, 1, 1, 1), True, True),
    (5, 24, 6, 40, 24, (0, 0, 0, 0), False, True),
    (4, 64, 4, 4, 64, (1, 1, 1, 1), True, True),
    (9, 64, 3, 3, 64, (1, 1, 1, 1), True, True),
    (2, 48, 10, 10, 40, (3, 3, 3, 3), False, True),
    (None, 64, 21, 10, 64, (1, 1, 1, 1), True, True),
    (1, 512, 7, 7, 512, (1, 1, 1, 1), True, False),  # the transformed filter would be read for four tiles
    (1, 64, 1, 2, 64, (1, 1, 1, 1), True, False),
    (1, 3, 32, 32, 32, (1, 1, 1, 1), False, False),
]


def graph(case, weights, bias):
    images, channels, height, width, outputs, pads, follows, _ = case
    batch = "?" if images is None else images
    result = f"tensor<{batch}x{outputs}x{height + pads[0] + pads[2] - 2}x{width + pads[1] + pads[3] - 2}xf32>"
    source, taps = f"tensor<{batch}x{channels}x{height}x{width}xf32>", f"tensor<{outputs}x{channels}x3x3xf32>"
    spread = f"sinter.broadcast %b like(%0) axes = [1] {{type = {result}}} : (tensor<{outputs}xf32>, {result}) -> {result}" if images is None else \
        f"sinter.broadcast %b axes = [1] {{type = {result}}} : (tensor<{outputs}xf32>) -> {result}"
    text = f"""func.func @main(%x: {source} {{sinter.name = "x"}}) -> ({result} {{sinter.name = "y"}}) {{
  %w = sinter.constant dense<"0x{weights.tobytes().hex().upper()}"> : {taps}
  %b = sinter.constant dense<"0x{bias.tobytes().hex().upper()}"> : tensor<{outputs}xf32>
  %0 = sinter.convolution %x, %w {{strides = array<i64: 1, 1>, low = array<i64: {pads[0]}, {pads[1]}>, high = array<i64: {pads[2]}, {pads[3]}>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32}} : ({source}, {taps}) -> {result}
  %1 = {spread}
  %2 = sinter.add %0, %1 : ({result}, {result}) -> {result}
"""
    last = "%2"
    if follows:
        text += f"  %3 = sinter.add %2, %x : ({result}, {result}) -> {result}\n  %4 = sinter.max %3, %1 : ({result}, {result}) -> {result}\n"
        last = "%4"
    return text + f"  return {last} : {result}\n}}\n"


def expected(case, x, weights, bias):
    pads = case[5]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    y = np.einsum("nchwij,ocij->nohw", windows, weights.astype(np.float64), optimize=True) + bias[:, None, None]
    return np.maximum(y + x, np.broadcast_to(bias[:, None, None], y.shape)) if case[6] else y


def takes_winograd(sinter, model, target):
    command = [sinter, "compile", model, "--emit=schedule", "--fast-math", "--target", target]
    return "#sinter.schedule<winograd" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    sinter, targets = sys.argv[1], sys.argv[2:] or ["native"]
    wrong = used = 0
    with tempfile.TemporaryDirectory() as folder:
        model, given, got = (os.path.join(folder, name) for name in ("m.mlir", "x.npy", "y.npy"))
        for number, case in enumerate(CASES):
            rng = np.random.default_rng(number)
            images, channels, height, width, outputs = case[:5]
            x = rng.standard_normal((images or 3, channels, height, width)).astype(np.float32)
            weights = rng.uniform(-1, 1, (outputs, channels, 3, 3)).astype(np.float32)
            bias = rng.standard_normal(outputs).astype(np.float32)
            with open(model, "w") as f:
                f.write(graph(case, weights, bias))
            np.save(given, x)
            y = expected(case, x, weights, bias)
            bound = np.abs(x).max() * np.abs(weights).sum(axis=(1, 2, 3))[:, None, None] * BOUND
            takes = takes_winograd(sinter, model, DECIDING)
            if takes != case[7]:
                print(f"{case}: {'takes' if takes else 'does not take'} Winograd's method on {DECIDING}")
                wrong += 1
            for target in targets:
                flags = ["--fast-math", "--target", target]
                used += takes_winograd(sinter, model, target)
                bits = set()
                for threads in "1", "2":
                    subprocess.run([sinter, "run", model, *flags, "--threads", threads, "--input", f"x=@{given}", "--output", f"y=@{got}"], check=True)
                    result = np.load(got)
                    bits.add(result.tobytes())
                    error = float((np.abs(result - y) / bound).max())
                    if not error <= 1 or result.shape != y.shape:
                        print(f"{case} for {target}, {threads} threads: off by {error:.3g} bounds")
                        wrong += 1
                if "-v" in sys.argv or os.environ.get("VERBOSE"):
                    print(case, target, takes, f"{error:.3g} bounds")
                if len(bits) != 1:
                    print(f"{case} for {target}: other bits on two threads")
                    wrong += 1
    print(f"{used} by Winograd's method, {wrong} wrong")
    sys.exit(wrong != 0)


main()
