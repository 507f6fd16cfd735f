#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rounded_bytes.py BUILD

Floats that are rounded, moved by a zero point and narrowed to bytes, stored and made floats again, against NumPy to the bit: halves between numbers, their neighbours, numbers around
and far beyond the range of a byte and of an integer of 32 bits, infinities, NaN and zeros of both signs; in vectors, in what is left of them, and with zero points that keep
and that change the sum; and the greatest of such floats under a window."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

TYPES = {"ui8": np.uint8, "i8": np.int8}
ZEROS = [0, 1, 7, 128, -5]  # added before


def numbers():
    halves = np.arange(-700, 700, dtype=np.float32) / 2
    near = np.concatenate([np.nextafter(halves, np.float32(s)) for s in (-np.inf, np.inf)])
    far = np.float32(2.0) ** np.arange(8, 127, 7, dtype=np.float32)
    rest = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 2**31, -(2**31), 2**23 + 1, 1e-40], np.float32)
    return np.concatenate([halves, near, far, -far, rest]).astype(np.float32)


def expected(x, zero, kind):
    info = np.iinfo(TYPES[kind])
    moved = np.rint(x) + np.float32(zero)
    return np.where(np.isnan(moved), 0, np.clip(moved, info.min, info.max)).astype(TYPES[kind])


def main():
    build = sys.argv[1]
    sinter, runtime = os.path.join(build, "bin", "sinter"), sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    x = numbers()
    n, runs = len(x), 0
    lines, outputs, wanted = [], [], []
    one, pooled = f"tensor<{n}xf32>", f"tensor<{(n - 1) // 2 + 1}xf32>"
    ends = np.full(1, -np.inf, np.float32)
    for kind in TYPES:
        for zero in ZEROS:
            k, narrow, wide = len(wanted), f"tensor<{n}x{kind}>", f"tensor<{n}xi32>"
            lines += [f"%z{k} = sinter.constant dense<{zero}.0> : {one}", f"%i{k} = sinter.constant dense<{zero}> : {wide}",
                      f"%r{k} = sinter.round %x : ({one}) -> {one}", f"%a{k} = sinter.add %r{k}, %z{k} : ({one}, {one}) -> {one}",
                      f"%b{k} = sinter.convert %a{k} {{element_type = {kind}}} : ({one}) -> {narrow}",
                      f"%w{k} = sinter.convert %b{k} {{element_type = i32}} : ({narrow}) -> {wide}",
                      f"%s{k} = sinter.sub %w{k}, %i{k} : ({wide}, {wide}) -> {wide}", f"%f{k} = sinter.convert %s{k} {{element_type = f32}} : ({wide}) -> {one}",
                      f"%t{k} = sinter.constant dense<0.3> : {one}", f"%c{k} = sinter.convert %b{k} {{element_type = f32}} : ({narrow}) -> {one}",
                      f"%m{k} = sinter.mul %c{k}, %t{k} : ({one}, {one}) -> {one}",
                      f"%p{k} = sinter.reduce_window max %m{k} {{window = array<i64: 3>, strides = array<i64: 2>, low = array<i64: 1>, high = array<i64: 1>, dilations = array<i64: 1>}} : "
                      f"({one}) -> {pooled}"]
            outputs += [(f"%b{k}", f"b{k}", narrow), (f"%f{k}", f"f{k}", one), (f"%p{k}", f"p{k}", pooled)]
            byte = expected(x, zero, kind)
            scaled = np.concatenate([ends, byte.astype(np.float32) * np.float32(0.3), ends])
            wanted.append({"b": byte, "f": byte.astype(np.float32) - zero, "p": np.lib.stride_tricks.sliding_window_view(scaled, 3)[::2].max(axis=1)})
    with tempfile.TemporaryDirectory() as folder:
        for together in (True, False):  # bytes and floats of one kernel, and floats alone
            kept = [o for o in outputs if together or o[1][0] != "b"]
            graph, module = os.path.join(folder, "b.mlir"), os.path.join(folder, "b.smod")
            with open(graph, "w") as file:
                types = ", ".join(f'{t} {{sinter.name = "{name}"}}' for _, name, t in kept)
                file.write(f'func.func @main(%x: {one} {{sinter.name = "x"}}) -> ({types}) {{\n' + "".join(f"  {line}\n" for line in lines) +
                           f"  return {', '.join(v for v, _, _ in kept)} : {', '.join(t for _, _, t in kept)}\n}}\n")
            for target in levels.runnable():
                for level in "02":
                    subprocess.run([sinter, "compile", graph, "--target", target, "-O", level, "-o", module, "--force"], check=True, capture_output=True, text=True)
                    session = runtime.session(module, 1)
                    session.set("x", x)
                    session.call()
                    for _, name, _ in kept:
                        want, got = wanted[int(name[1:])][name[0]], session.result(name)
                        assert np.array_equal(got, want), (target, level, name, x[got != want][:5], got[got != want][:5], want[got != want][:5])
                        assert not np.signbit(got[got == 0]).any(), (target, level, name, "zeros")
                        runs += 1
    print(runs, "results of rounded bytes are those of NumPy")


if __name__ == "__main__":
    main()
