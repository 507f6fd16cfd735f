# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes an ONNX model whose loss is sum((x w + b)^2), of an input of integers or floats, with initializers w and b."""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

path, kind = sys.argv[1:]
integer = kind == "integers"
nodes = [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT)] if integer else [helper.make_node("Identity", ["x"], ["f"])]
nodes += [helper.make_node("Gemm", ["f", "w", "b"], ["y"]), helper.make_node("Mul", ["y", "y"], ["z"]),
          helper.make_node("ReduceSum", ["z"], ["loss"], keepdims=0)]
inputs = [helper.make_tensor_value_info("x", TensorProto.INT64 if integer else TensorProto.FLOAT, [2, 3])]
outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
w = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(3, 4) / 7, "layer.w")
b = numpy_helper.from_array(np.arange(4, dtype=np.float32) / 3, "layer.b")
nodes[1].input[1], nodes[1].input[2] = "layer.w", "layer.b"
save(helper.make_model(helper.make_graph(nodes, "weights", inputs, outputs, [w, b]), opset_imports=[helper.make_opsetid("", 17)],
                       ir_version=8), path)
