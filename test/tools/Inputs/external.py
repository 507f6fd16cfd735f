# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""external.py FOLDER: models whose weights lie outside their folder: absolute, above, behind a link, and past the file's end; and
large weights at several offsets, in a file that holds them and in one that is too short."""
import os
import random
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

SIZES = {"a": 1 << 19, "b": 1 << 18, "c": 7, "d": 1 << 18}  # elements; d lies at no multiple of 16 bytes
offsets, end = {}, 0
for name, size in SIZES.items():
    offsets[name], end = end, end + 4 * size
numbers = (random.Random(1).getrandbits(8 * end)).to_bytes(end, "little")
for file, content in (("large.bin", numbers), ("large_short.bin", numbers[:-4])):
    with open(os.path.join(inside, file), "wb") as f:
        f.write(content)
    weights = []
    for name, size in SIZES.items():
        weight = TensorProto(name=name, data_type=TensorProto.INT32, dims=[size], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", file), ("offset", offsets[name]), ("length", 4 * size)):
            weight.external_data.add(key=key, value=str(value))
        weights.append(weight)
    nodes = [helper.make_node("Add", [f"x{name}", name], [f"y{name}"]) for name in SIZES]
    infos = [[helper.make_tensor_value_info(side + name, TensorProto.INT32, [size]) for name, size in SIZES.items()] for side in "xy"]
    graph = helper.make_graph(nodes, "g", *infos, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), os.path.join(inside, file[:-4] + ".onnx"))
