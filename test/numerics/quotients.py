#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quotients.py BUILD

Quotients and remainders of integers of 8, 16 and 32 bits, which vectors compute as floats: numbers of all lengths, multiples of the divisor and their neighbours, the greatest and the least
numbers, and zeros as divisors, in vectors and in what is left of them, against Python's integers."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime

TYPES = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16, "ui16": np.uint16, "i32": np.int32, "ui32": np.uint32}
PAIRS = 3003  # of each kind


def numbers(rng, kind, count):
    """Of each length of bits equally many, of both signs."""
    info = np.iinfo(kind)
    lengths = rng.integers(1, info.bits + 1, count)
    return np.array([rng.integers(0, 1 << int(length)) for length in lengths]).astype(np.uint64).astype(kind)


def pairs(rng, kind):
    """Dividends and divisors, the last of which are 0."""
    info = np.iinfo(kind)
    y = numbers(rng, kind, PAIRS)
    y[y == 0] = 1
    dividends = [numbers(rng, kind, PAIRS)]
    for near in (-1, 0, 1):
        factors = [int(q) % (info.max // abs(int(d)) + 1) for q, d in zip(numbers(rng, kind, PAIRS), y)]
        dividends.append(np.array([min(max(q * int(d) + near, info.min), info.max) for q, d in zip(factors, y)], kind))
    ends = np.array([info.min, info.min + 1, info.max - 1, info.max, 1], kind)
    ends = ends[ends != 0]
    zeros = numbers(rng, kind, 99)
    return (np.concatenate(dividends + [np.repeat(ends, len(ends)), zeros]), np.concatenate([y] * len(dividends) + [np.tile(ends, len(ends)), np.zeros_like(zeros)]))


def quotient(a, b, kind):
    """Toward zero; by zero all bits are set; the least number over -1 wraps."""
    info = np.iinfo(kind)
    q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else -1
    return (q - info.min) % (1 << info.bits) + info.min


def main():
    build = sys.argv[1]
    sinter, runtime = os.path.join(build, "bin", "sinter"), sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    rng, runs = np.random.default_rng(3), 0
    with tempfile.TemporaryDirectory() as folder:
        graph, module = os.path.join(folder, "t.mlir"), os.path.join(folder, "t.smod")
        for name, kind in TYPES.items():
            x, y = pairs(rng, kind)
            quotients = [quotient(int(a), int(b), kind) for a, b in zip(x, y)]
            rests = [int(np.fmod(int(a), int(b))) if b else int(a) for a, b in zip(x, y)]
            wanted = {"q": np.array(quotients, kind), "r": np.array(rests, kind)}
            type = f"tensor<{len(x)}x{name}>"
            with open(graph, "w") as file:
                file.write(f'func.func @main(%x: {type} {{sinter.name = "x"}}, %y: {type} {{sinter.name = "y"}}) -> ({type} {{sinter.name = "q"}}, {type} {{sinter.name = "r"}}) {{\n' +
                           "".join(f"  %{result} = sinter.{op} %x, %y : ({type}, {type}) -> {type}\n" for result, op in (("q", "div"), ("r", "rem"))) +
                           f"  return %q, %r : {type}, {type}\n}}\n")
            for target in levels.runnable():
                subprocess.run([sinter, "compile", graph, "--target", target, "-o", module, "--force"], check=True, capture_output=True, text=True)
                got = runtime.session(module, 1).run({"x": x, "y": y})
                for result, want in wanted.items():
                    wrong = np.flatnonzero(got[result] != want)
                    assert not len(wrong), (name, target, result, [(x[i], y[i], got[result][i], want[i]) for i in wrong[:4]])
                    runs += 1
    print(runs, "columns of quotients are those of Python's integers")


if __name__ == "__main__":
    main()
