# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on a GPU against NumPy in f64, and the time of a call beside torch's, as a table and as JSON. Needs numpy and a build, no network.

    on_a_gpu.py BUILD [--small] [--seconds S] [--tolerance T] [--json FILE]

`--small` is for the PTX machine, as SINTER_CUDA_DRIVER. Times are of whole calls, from host memory to host memory, for torch as well: copies are
part of both, so they say little of kernels alone. Ends with 1 on a wrong result. What has no peer installed has no ratio. Attention, convolutional
models, training steps and bf16 are not here yet."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../models"))
from sinter_runtime import Runtime


def module(arguments, results, body):
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}\n"


def product(n):
    t = f"tensor<{n}x{n}xf32>"
    return (module(f"%a: {t}, %b: {t}", t, f"""  %c = sinter.dot_general %a, %b {{lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32}} : ({t}, {t}) -> {t}
  return %c : {t}"""), [(n, n), (n, n)], lambda a, b: a @ b, lambda t, a, b: a @ b)


def softmax(rows, columns):
    t = f"tensor<{rows}x{columns}xf32>"

    def expected(x):
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return (module(f"%x: {t}", t, f"  %y = sinter.softmax %x {{axis = 1 : i64}} : ({t}) -> {t}\n  return %y : {t}"), [(rows, columns)], expected,
            lambda t, x: t.softmax(x, 1))


def pointwise(count):
    t = f"tensor<{count}xf32>"
    return (module(f"%x: {t}, %y: {t}", t, f"""  %s = sinter.sin %x : ({t}) -> {t}
  %m = sinter.mul %s, %y : ({t}, {t}) -> {t}
  %r = sinter.tanh %m : ({t}) -> {t}
  return %r : {t}"""), [(count,), (count,)], lambda x, y: np.tanh(np.sin(x) * y), lambda t, x, y: t.tanh(t.sin(x) * y))


def total(rows, columns):
    t, r = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    return (module(f"%x: {t}", r, f"  %s = sinter.reduce add %x axes = [1] : ({t}) -> {r}\n  return %s : {r}"), [(rows, columns)], lambda x: x.sum(1),
            lambda t, x: x.sum(1))


def cases(small):
    if small:
        return {"product f32 48": product(48), "softmax 8x200": softmax(8, 200), "pointwise 3000": pointwise(3000), "sum 4x500": total(4, 500)}
    return {"product f32 1024": product(1024), "product f32 4096": product(4096), "softmax 4096x4096": softmax(4096, 4096), "pointwise 2^24": pointwise(1 << 24),
            "sum 4096x4096": total(4096, 4096)}


def median_of(call, seconds):
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def torch_time(run, feeds, seconds):
    """Seconds of a call of torch on the GPU, copies included; None without torch or a GPU that it sees."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = False  # as f32 here
    tensors = [torch.from_numpy(x) for x in feeds]
    return median_of(lambda: run(torch, *(x.cuda() for x in tensors)).cpu(), seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--tolerance", type=float, default=1e-5, help="of the largest magnitude")
    parser.add_argument("--json")
    options = parser.parse_args()
    runtime = Runtime(os.path.join(options.build, "lib/libsinter_rt.so"))
    random, rows = np.random.default_rng(1), []
    print(f"{'case':20} {'error':>9} {'ms/call':>9} {'torch':>9}  result")
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, shapes, expected, peer) in cases(options.small).items():
            with open(folder + "/m.mlir", "w", encoding="utf-8") as file:
                file.write(text)
            subprocess.run([os.path.join(options.build, "bin/sinter"), "compile", folder + "/m.mlir", "--target=cpu+cuda", "-o", folder + "/m.smod", "--force"], check=True, stdout=subprocess.DEVNULL)
            feeds = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
            session = runtime.session(folder + "/m.smod")
            first = next(iter(session.run(dict(zip(session.inputs, feeds))).values()))
            want = expected(*(x.astype(np.float64) for x in feeds))
            error = float(np.abs(first - want).max() / np.abs(want).max())
            again = next(iter(session.run({}).values()))
            right = error <= options.tolerance and first.tobytes() == again.tobytes()  # not so for NaN
            ours, theirs = median_of(session.call, options.seconds), torch_time(peer, feeds, options.seconds)
            session.close()
            rows.append({"case": name, "error": error, "seconds": ours, "torch_seconds": theirs, "right": right})
            print(f"{name:20} {error:9.1e} {ours * 1e3:9.3f} {f'{theirs * 1e3:9.3f}' if theirs else '        -'}  {'right' if right else 'WRONG'}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0 if rows and all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
