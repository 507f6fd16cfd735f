# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a program with two tables, of 500 and 300 rows and of 60 and 40, and its data."""
import numpy as np

for name, users, items in ("whole", 500, 300), ("few", 60, 40):
    ids, y, bags = "tensor<8x3xi64>", "tensor<8x4xf32>", "tensor<8x3x4xf32>"
    u, i = f"tensor<{users}x4xf32>", f"tensor<{items}x4xf32>"
    with open(name + ".mlir", "w") as file:
        file.write(f"""func.func @main(%user: {ids} {{sinter.name = "user"}}, %item: {ids} {{sinter.name = "item"}},
    %users: {u} {{sinter.state = "users"}}, %items: {i} {{sinter.state = "items"}},
    %scale: tensor<4xf32> {{sinter.state = "scale", sinter.initial = dense<1.5> : tensor<4xf32>}}) -> ({y} {{sinter.name = "y"}}) {{
  %a = sinter.gather %users, %user {{axis = 0 : i64}} : ({u}, {ids}) -> {bags}
  %b = sinter.gather %items, %item {{axis = 0 : i64}} : ({i}, {ids}) -> {bags}
  %c = sinter.add %a, %b : ({bags}, {bags}) -> {bags}
  %sums = sinter.reduce add %c axes = [1] : ({bags}) -> {y}
  %scales = sinter.broadcast %scale axes = [1] {{type = {y}}} : (tensor<4xf32>) -> {y}
  %y = sinter.mul %sums, %scales : ({y}, {y}) -> {y}
  return %y : {y}
}}
""")
rng = np.random.default_rng(2)
np.save("user.npy", (rng.random((160, 3)) ** 3 * 500).astype(np.int64))
np.save("item.npy", (rng.random((160, 3)) ** 3 * 300).astype(np.int64))
np.save("y.npy", rng.standard_normal((160, 4)).astype(np.float32))
