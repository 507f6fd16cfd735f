#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""windows.py BUILD

Chains of convolutions whose tensors are larger than a cache (backends/schedule/Windows), channels last, against NumPy in f64 by a bound times the sum of magnitudes: pointwise, depthwise and pointwise ones, with strides, dilations and borders, several images,
widths and channels that are no whole tiles or vectors. On one thread, on three and on thirteen, with equal bits."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

# images, height, width, channels: of the input, between, of the result; then window, stride, dilation and border of the depthwise convolution
CASES = [
    (1, 112, 112, 16, 96, 24, 3, 2, 1, 1),
    (3, 56, 56, 24, 144, 24, 3, 1, 1, 1),
    (4, 61, 47, 20, 100, 100, 5, 1, 1, 2),
    (10, 37, 41, 8, 72, 17, 3, 1, 3, 3),
    (6, 90, 33, 12, 65, 3, 5, 2, 1, 0),
    (8, 28, 28, 32, 192, 64, 3, 2, 1, 1),
    (1, 3, 6000, 8, 64, 16, 3, 1, 1, 1),
]


def tensor(shape):
    return f"tensor<{''.join(f'{s}x' for s in shape)}f32>"


def convolve(x, w, stride, dilation, border):
    """x: images, height, width, channels; w: filters, taps, taps, channels, or 1 for a depthwise one."""
    taps, depthwise = w.shape[1], w.shape[3] == 1
    padded = np.pad(x, [(0, 0), (border, border), (border, border), (0, 0)])
    rows, columns = ((size + 2 * border - dilation * (taps - 1) - 1) // stride + 1 for size in x.shape[1:3])
    result = np.zeros((x.shape[0], rows, columns, w.shape[0]))
    for i in range(taps):
        for j in range(taps):
            seen = padded[:, i * dilation : i * dilation + (rows - 1) * stride + 1 : stride, j * dilation : j * dilation + (columns - 1) * stride + 1 : stride]
            result += seen * w[:, i, j, 0] if depthwise else seen @ w[:, i, j].T
    return result


class Case:
    def __init__(self, number, sizes):
        random = np.random.default_rng(number)
        images, height, width, channels, between, filters, taps, stride, dilation, border = sizes
        self.x = random.standard_normal((images, height, width, channels), np.float32)
        draw = lambda *shape: random.standard_normal(shape, np.float32)
        self.layers = [(draw(between, 1, 1, channels), (1, 1, 0)), (draw(between, taps, taps, 1), (stride, dilation, border)), (draw(filters, 1, 1, between), (1, 1, 0))]

    def expected(self):
        """What comes out, with maxima of 0 behind the first two layers, and how large an error may be."""
        y, magnitude = self.x.astype(np.float64), np.abs(self.x).astype(np.float64)
        for k, (w, window) in enumerate(self.layers):
            y, magnitude = convolve(y, w, *window), convolve(magnitude, np.abs(w), *window)
            y = np.maximum(y, 0) if k < 2 else y
        return y, 2e-6 * magnitude

    def text(self):
        array = lambda number: f"array<i64: {number}, {number}>"
        shape, name, lines = self.x.shape, "x", []
        for k, (w, (stride, dilation, border)) in enumerate(self.layers):
            groups = w.shape[0] if w.shape[3] == 1 else 1
            rows, columns = ((size + 2 * border - dilation * (w.shape[1] - 1) - 1) // stride + 1 for size in shape[1:3])
            result = (shape[0], rows, columns, w.shape[0])
            lines += [f'%w{k} = sinter.constant dense<"0x{w.tobytes().hex().upper()}"> : {tensor(w.shape)}',
                      f"%y{k} = sinter.convolution %{name}, %w{k} {{strides = {array(stride)}, low = {array(border)}, high = {array(border)}, input_dilation = {array(1)}, dilation = {array(dilation)}, "
                      f"groups = {groups} : i64, layout = #sinter<conv_layout channels_last>, element_type = f32}} : ({tensor(shape)}, {tensor(w.shape)}) -> {tensor(result)}"]
            shape, name = result, f"y{k}"
            if k < 2:
                lines += [f"%z{k} = sinter.constant dense<0.0> : {tensor(shape)}", f"%m{k} = sinter.max %{name}, %z{k} : ({tensor(shape)}, {tensor(shape)}) -> {tensor(shape)}"]
                name = f"m{k}"
        body = "".join(f"  {line}\n" for line in lines)
        return f'func.func @main(%x: {tensor(self.x.shape)} {{sinter.name = "x"}}) -> ({tensor(shape)} {{sinter.name = "y"}}) {{\n{body}  return %{name} : {tensor(shape)}\n}}\n'


def main():
    build = sys.argv[1]
    sinter, runtime = os.path.join(build, "bin", "sinter"), sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    chains = 0
    with tempfile.TemporaryDirectory() as folder:
        graph, module = os.path.join(folder, "c.mlir"), os.path.join(folder, "c.smod")
        for number, sizes in enumerate(CASES):
            case = Case(number, sizes)
            expected, bound = case.expected()
            with open(graph, "w") as file:
                file.write(case.text())
            for target in levels.runnable():
                compile_it = lambda *options: subprocess.run([sinter, "compile", graph, "--target", target, *options], check=True, capture_output=True, text=True).stdout
                compile_it("-o", module, "--force")
                chains += compile_it("--emit=schedule", "-o", "-").count("schedule.chain [")
                results = []
                for threads in (1, 3, 13): # of as many, kernels run one after the other
                    session = runtime.session(module, threads)
                    session.set("x", case.x)
                    session.call()
                    results.append(session.result("y"))
                assert all(np.array_equal(result, results[0]) for result in results), (target, sizes, "threads")
                off = np.abs(results[0] - expected) - bound
                assert (off <= 0).all(), (target, sizes, off.max())
    assert chains >= len(CASES), chains
    print(chains, "chains of convolutions agree with NumPy")


if __name__ == "__main__":
    main()
