# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""narrow_losses.py BUILD FOLDER: the loss and the step of a linear model in f16 and f32 whose outputs are in the hundreds."""
import os
import subprocess
import sys

import numpy as np
from onnx import helper, numpy_helper, save

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "models"))
import sinter_runtime

build, folder = sys.argv[1:]
runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
rng = np.random.default_rng(1)
RATE, WIDTH = 2.0**-12, 2.0


def huber(d):
    return np.where(np.abs(d) < WIDTH, d * d / 2, WIDTH * (np.abs(d) - WIDTH / 2))


# of a difference, or of an output and a target: the loss of an element and its slope
LOSSES = {"mse": (lambda y, t: (y - t) ** 2, lambda y, t: 2 * (y - t)), "l1": (lambda y, t: np.abs(y - t), lambda y, t: np.sign(y - t)),
          f"huber:delta={WIDTH}": (lambda y, t: huber(y - t), lambda y, t: np.clip(y - t, -WIDTH, WIDTH)),
          f"smooth_l1:beta={WIDTH}": (lambda y, t: huber(y - t) / WIDTH, lambda y, t: np.clip((y - t) / WIDTH, -1, 1)),
          "bce": (lambda y, t: np.maximum(y, 0) - y * t + np.log1p(np.exp(-np.abs(y))), lambda y, t: 1 / (1 + np.exp(-y)) - t),
          "kl": (lambda y, t: t * (np.log(t) - y), lambda y, t: -t)}
wrong = runs = 0
for kind in (np.float16, np.float32):
    w, x = rng.standard_normal((8, 4)).astype(kind), (rng.standard_normal((64, 8)) * 100).astype(kind)
    code = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", code, [64, 8])], [helper.make_tensor_value_info("y", code, [64, 4])], [numpy_helper.from_array(w, "w")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), f"{folder}/m.onnx")
    y = (x.astype(np.float64) @ w.astype(np.float64)).astype(kind).astype(np.float64)
    for loss, (value, slope) in LOSSES.items():
        target = (rng.random((64, 4)) + 0.1 if loss in ("bce", "kl") else y + rng.standard_normal((64, 4)) * 1000).astype(kind)
        subprocess.run([os.path.join(build, "bin", "sinter"), "train-step", f"{folder}/m.onnx", "--loss", loss, "--optimizer", f"sgd:lr={RATE}", "-o", f"{folder}/step.smod"], check=True, stderr=subprocess.DEVNULL)
        step = runtime.session(f"{folder}/step.smod")
        told = step.run({"x": x, "target": target})["loss"]
        t = target.astype(np.float64)
        wanted, stepped = value(y, t).mean(), w - RATE * (x.astype(np.float64).T @ slope(y, t)) / y.size
        near, moved = abs(told / wanted - 1), np.abs(step.state("w") - stepped).max()
        runs += 1
        if told.dtype != np.float32 or not near < 1e-3 or not moved < 4 * np.finfo(kind).eps * (1 + np.abs(stepped).max()):
            wrong += 1
            print(f"{loss} of {np.dtype(kind)}: {told} instead of {wanted}, weights are {moved} off")
        step.close()
print(f"{runs} losses, {wrong} wrong")
