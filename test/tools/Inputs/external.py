# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""external.py FOLDER: models whose weights lie outside their folder: absolute, above, behind a link, and past the file's end."""
import os
import sys

import onnx
from onnx import TensorProto, helper

folder = sys.argv[1]
with open(os.path.join(folder, "outside.bin"), "wb") as f:
    f.write(bytes(64))
inside = os.path.join(folder, "models")
os.mkdir(inside)
os.symlink("../outside.bin", os.path.join(inside, "link.bin"))
with open(os.path.join(inside, "short.bin"), "wb") as f:
    f.write(bytes(4))
places = {"absolute": os.path.join(os.path.abspath(folder), "outside.bin"), "above": "../outside.bin", "link": "link.bin",
          "short": "short.bin", "missing": "missing.bin"}
for name, place in places.items():
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", place), ("offset", "0"), ("length", "16")):
        weight.external_data.add(key=key, value=value)
    info = lambda tensor: helper.make_tensor_value_info(tensor, TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [info("x")], [info("y")], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with open(os.path.join(inside, name + ".onnx"), "wb") as f:
        f.write(model.SerializeToString())
