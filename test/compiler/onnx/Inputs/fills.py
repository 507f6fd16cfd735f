# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fills.py SINTER FOLDER: models in which one number fills more than a module stores (16 MiB): values against NumPy."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

sinter, folder = sys.argv[1:]
LONG, SIDE = 5 << 20, 2304
value = numpy_helper.from_array(np.array([1.5], np.float32), "value")
ints = {"s": [LONG], "a": 0, "k": [4], "s2": [SIDE, SIDE], "at": [[3], [5]]}
nodes = [h.make_node("ConstantOfShape", ["s"], ["f"], value=value), h.make_node("ConstantOfShape", ["s2"], ["w"], value=value),
         h.make_node("ConstantOfShape", ["s2"], ["z"]), h.make_node("CumSum", ["f", "a"], ["sums"]), h.make_node("TopK", ["f", "k"], ["t", "places"], axis=0),
         h.make_node("MatMul", ["x", "w"], ["product"]), h.make_node("ScatterND", ["z", "at", "x"], ["rows"]), h.make_node("Identity", ["f"], ["all"])]
outputs = ["sums", "places", "product", "rows", "all"]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [2, SIDE])],
                     [h.make_tensor_value_info(name, T.INT64 if name == "places" else T.FLOAT, None) for name in outputs],
                     [numpy_helper.from_array(np.array(numbers, np.int64), name) for name, numbers in ints.items()])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])
model.ir_version = 8
path = os.path.join(folder, "fills")
onnx.save(model, path + ".onnx")
x = np.random.default_rng(0).standard_normal((2, SIDE)).astype(np.float32)
np.save(path + "-x.npy", x)
# Without folding, so that nothing but the numbers themselves could be stored.
subprocess.run([sinter, "compile", path + ".onnx", "-O0", "-o", path + ".smod"], check=True, stdout=subprocess.DEVNULL)
assert os.path.getsize(path + ".smod") < 100_000, os.path.getsize(path + ".smod")
to = [word for name in outputs for word in ("--output", f"{name}=@{path}-{name}.npy")]
subprocess.run([sinter, "run", path + ".smod", "--input", f"x=@{path}-x.npy", *to], check=True, stdout=subprocess.DEVNULL)
rows = np.zeros((SIDE, SIDE), np.float32)
rows[[3, 5]] = x
expected = {"sums": np.cumsum(np.full(LONG, 1.5)), "places": np.arange(4), "product": np.repeat(1.5 * x.astype(np.float64).sum(1, keepdims=True), SIDE, 1),
            "rows": rows, "all": np.full(LONG, 1.5)}
for name, wanted in expected.items():
    np.testing.assert_allclose(np.load(f"{path}-{name}.npy"), wanted, rtol=1e-6, atol=1e-4, err_msg=name)
