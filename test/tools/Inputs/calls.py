# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""calls.py DEPTH TIMES: functions of which each calls the next TIMES times."""
import sys

depth, times = int(sys.argv[1]), int(sys.argv[2])
for level in range(depth):
    print(f"func.func {'private ' if level else ''}@f{level}(%x0: tensor<f32>) -> tensor<f32> {{")
    for k in range(times):
        callee = f"call @f{level + 1}(%x{k})" if level + 1 < depth else f"sinter.neg %x{k}"
        print(f"  %x{k + 1} = {callee} : (tensor<f32>) -> tensor<f32>")
    print(f"  return %x{times} : tensor<f32>\n}}")
