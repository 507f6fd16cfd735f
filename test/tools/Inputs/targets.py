# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer y = tanh(x W + b) + t whose product each target packs in its own way: `targets.py make` writes model.mlir, x.npy
and what NumPy makes of it, expected.npy; `targets.py compare FILE...` compares outputs with that."""
import sys

import numpy as np

ROWS, K, N = 5, 64, 96


def dense(values):
    return 'dense<"0x' + values.astype("<f4").tobytes().hex().upper() + '">'


def make():
    random = np.random.default_rng(1)
    w = random.standard_normal((K, N)).astype(np.float32) / 8
    b = random.standard_normal(N).astype(np.float32)
    x = random.standard_normal((ROWS, K)).astype(np.float32)
    contract = "element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>"
    y, row = f"tensor<?x{N}xf32>", f"tensor<{N}xf32>"
    with open("model.mlir", "w") as file:
        file.write(f"""
func.func @main(%x: tensor<?x{K}xf32> {{sinter.name = "x", sinter.dims = ["n", {K}]}}) -> ({y} {{sinter.name = "y"}}) {{
  %w = sinter.constant {dense(w)} : tensor<{K}x{N}xf32>
  %b = sinter.constant {dense(b)} : {row}
  %p = sinter.dot_general %x, %w {{{contract}}} : (tensor<?x{K}xf32>, tensor<{K}x{N}xf32>) -> {y}
  %c = sinter.broadcast %b like(%p) axes = [1] {{type = {y}}} : ({row}, {y}) -> {y}
  %s = sinter.add %p, %c : ({y}, {y}) -> {y}
  %t = sinter.tanh %s : ({y}) -> {y}
  return %t : {y}
}}
""")
    np.save("x.npy", x)
    np.save("expected.npy", np.tanh(x.astype(np.float64) @ w + b).astype(np.float32))


def compare(paths):
    expected = np.load("expected.npy")
    for path in paths:
        worst = np.abs(np.load(path) - expected).max()
        print(f"{path}: {'agrees' if worst < 1e-5 else f'is off by {worst}'}")


if sys.argv[1] == "make":
    make()
else:
    compare(sys.argv[2:])
