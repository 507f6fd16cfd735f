# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""large.py KIND COUNT: writes KIND.onnx, `inputs` that one Concat reads, or the parts of a `split` that a chain reads, with lengths that are `known`
or an `open` input, or `constants` that one Concat reads beside an input."""
import sys

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

kind, count = sys.argv[1], int(sys.argv[2])
info, weights = h.make_tensor_value_info, []
if kind in ("inputs", "constants"):
    names = [f"x{i}" for i in range(count)]
    if kind == "constants":
        weights = [numpy_helper.from_array(np.array([i, -i], np.float32), name) for i, name in enumerate(names[1:])]
    inputs = [info(name, T.FLOAT, [2]) for name in (names if kind == "inputs" else names[:1])]
    nodes = [h.make_node("Concat", names, ["y"], axis=0)]
else:
    lengths = np.ones(count, np.int64)
    inputs = [info("x", T.FLOAT, [count, 2])]
    if kind == "known":
        weights = [numpy_helper.from_array(lengths, "lengths")]
    else:
        inputs.append(info("lengths", T.INT64, [count]))
    parts = [f"p{i}" for i in range(count)]
    nodes = [h.make_node("Split", ["x", "lengths"], parts, axis=0)]
    last = parts[0]
    for i, part in enumerate(parts[1:]):
        nodes.append(h.make_node(("Add", "Mul", "Max")[i % 3], [last, part], [f"v{i}"]))
        last = f"v{i}"
    nodes.append(h.make_node("Identity", [last], ["y"]))
graph = h.make_graph(nodes, "g", inputs, [info("y", T.FLOAT, None)], weights)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), f"{kind}.onnx")
