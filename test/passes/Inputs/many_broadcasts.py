# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""many_broadcasts.py COUNT: a function of so many pairs of broadcasts, each pair to a size of its own that an argument gives."""
import sys

count = range(int(sys.argv[1]))
sizes = ", ".join(f"%s{i}: tensor<1xi64>" for i in count)
results = ", ".join(["tensor<?xf32>"] * 2 * len(count))
print(f"func.func @many(%b: tensor<f32>, {sizes}) -> ({results}) {{")
for name in ("v", "w"):
    for i in count:
        print(f"  %{name}{i} = sinter.broadcast %b shape(%s{i}) axes = [] {{type = tensor<?xf32>}} : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>")
print("  return " + ", ".join(f"%{name}{i}" for name in ("v", "w") for i in count) + f" : {results}\n}}")
