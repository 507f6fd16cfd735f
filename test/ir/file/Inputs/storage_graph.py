# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a graph with constants of each element type that nothing computes in: repeated, few, and 100,001 of 4 bits, half of the bytes of a file."""
import random

random.seed(1)
count = 100001
large = lambda: bytes(random.randrange(16) for _ in range(count)).hex().upper()
bytes8 = bytes(range(256)).hex().upper()
values = []
print("func.func @main(%a: tensor<3x5xi4>, %b: tensor<?x2xf8E5M2>) -> (tensor<3x5xi4>, tensor<?x2xf8E5M2>, "
      f"tensor<{count}xi4>, tensor<{count}xui4>, tensor<5xi4>, tensor<7xui4>, tensor<256xf8E4M3FN>, tensor<256xf8E5M2>, tensor<3xf8E4M3FN>) {{")
for name, text, kind in [("c", "dense_resource<c>", f"tensor<{count}xi4>"), ("d", "dense_resource<d>", f"tensor<{count}xui4>"), ("e", "dense<[-8, -1, 0, 7, 3]>", "tensor<5xi4>"),
                         ("f", "dense<9>", "tensor<7xui4>"), ("g", f'dense<"0x{bytes8}">', "tensor<256xf8E4M3FN>"), ("h", f'dense<"0x{bytes8}">', "tensor<256xf8E5M2>"),
                         ("i", "dense<[0.5, -448.0, 0.0]>", "tensor<3xf8E4M3FN>")]:
    print(f"  %{name} = sinter.constant {text} : {kind}")
    values.append((name, kind))
print("  return %a, %b, " + ", ".join("%" + name for name, _ in values) + " : tensor<3x5xi4>, tensor<?x2xf8E5M2>, " + ", ".join(kind for _, kind in values))
print("}")
print('{-#\n  dialect_resources: {\n    builtin: {\n      c: "0x01000000' + large() + '",\n      d: "0x01000000' + large() + '"\n    }\n  }\n#-}')
