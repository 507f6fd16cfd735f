# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the program of test/runtime/train/lookup*.test for tables of 500, 60 and 90 rows, and its data."""
import numpy as np

for name, rows in ("whole", 500), ("few", 60), ("more", 90):
    table, ids, y, bags = f"tensor<{rows}x4xf32>", "tensor<8x3xi64>", "tensor<8x4xf32>", "tensor<8x3x4xf32>"
    with open(name + ".mlir", "w") as file:
        file.write(f"""func.func @main(%ids: {ids} {{sinter.name = "ids"}}, %table: {table} {{sinter.state = "table"}},
    %scale: tensor<4xf32> {{sinter.state = "scale", sinter.initial = dense<1.5> : tensor<4xf32>}}) -> ({y} {{sinter.name = "y"}}) {{
  %rows = sinter.gather %table, %ids {{axis = 0 : i64}} : ({table}, {ids}) -> {bags}
  %sums = sinter.reduce add %rows axes = [1] : ({bags}) -> {y}
  %scales = sinter.broadcast %scale axes = [1] {{type = {y}}} : (tensor<4xf32>) -> {y}
  %y = sinter.mul %sums, %scales : ({y}, {y}) -> {y}
  return %y : {y}
}}
""")
rng = np.random.default_rng(1)
np.save("ids.npy", (rng.random((160, 3)) ** 3 * 500).astype(np.int64))
np.save("y.npy", rng.standard_normal((160, 4)).astype(np.float32))
