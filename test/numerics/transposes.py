#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transposes.py BUILD [--count N]

Transposes of numbers of one to eight bytes against NumPy, to the bit: two to four axes, sizes around those of vectors and short ones,
on one thread and on two."""
import os
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

sinter_runtime.DTYPES[4] = ml_dtypes.bfloat16
sinter_runtime.CODES[np.dtype(ml_dtypes.bfloat16)] = 4
KINDS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "ui8": np.uint8, "i16": np.int16,
         "i32": np.int32, "i64": np.int64}
SIZES = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50)


def main():
    build = sys.argv[1]
    count = int(sys.argv[3]) if sys.argv[2:3] == ["--count"] else 90
    random = np.random.default_rng(6)
    tensor = lambda shape, kind: f"tensor<{''.join(f'{s}x' for s in shape)}{kind}>"
    inputs, names, lines, results, cases = [], [], [], [], []
    for i in range(count):
        kind = list(KINDS)[i % len(KINDS)]
        rank = int(random.integers(2, 5))
        shape, order = [int(random.choice(SIZES)) for _ in range(rank)], [int(k) for k in random.permutation(rank)]
        bits = random.integers(0, 256, (*shape, np.dtype(KINDS[kind]).itemsize), np.uint8)
        cases.append((np.ascontiguousarray(bits).view(KINDS[kind])[..., 0], order))
        source, result = tensor(shape, kind), tensor([shape[k] for k in order], kind)
        inputs.append(f'%x{i}: {source} {{sinter.name = "x{i}"}}')
        names.append(f'{result} {{sinter.name = "y{i}"}}')
        lines.append(f"  %y{i} = sinter.transpose %x{i} {{permutation = array<i64: {', '.join(map(str, order))}>}} : ({source}) -> {result}\n")
        results.append(result)
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    with tempfile.TemporaryDirectory() as folder:
        graph, module = os.path.join(folder, "t.mlir"), os.path.join(folder, "t.smod")
        with open(graph, "w") as file:
            file.write(f"func.func @main({', '.join(inputs)}) -> ({', '.join(names)}) {{\n{''.join(lines)}"
                       f"  return {', '.join(f'%y{i}' for i in range(count))} : {', '.join(results)}\n}}\n")
        for target in levels.runnable():
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", graph, "-o", module, "--target", target, "--force"], check=True,
                           stdout=subprocess.DEVNULL)
            for threads in (1, 2):
                session = runtime.session(module, threads)
                for i, (x, _) in enumerate(cases):
                    session.set(f"x{i}", x)
                session.call()
                for i, (x, order) in enumerate(cases):
                    got, want = np.ascontiguousarray(session.result(f"y{i}")), np.ascontiguousarray(x.transpose(order))
                    assert np.array_equal(got.view(np.uint8), want.view(np.uint8)), (target, threads, x.dtype, x.shape, order)
    print("transposes agree with NumPy")


if __name__ == "__main__":
    main()
