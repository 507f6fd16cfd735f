# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes mirrored_digits.onnx, which is checked in: a small network that torch has trained to read digits.npz mirrored along the
diagonal, for examples/fine_tune.cpp to teach the digits as they are. Run by hand where torch and onnx are."""

import os

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

folder = os.path.dirname(os.path.abspath(__file__))
digits = numpy.load(os.path.join(folder, "digits.npz"))
x = torch.tensor(digits["images"].astype("f") / 16).view(-1, 1, 8, 8).transpose(2, 3).contiguous()
y = torch.tensor(digits["labels"])
torch.manual_seed(1)
conv1, conv2, head = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1), nn.Linear(256, 10)
net = nn.Sequential(conv1, nn.ReLU(), nn.MaxPool2d(2), conv2, nn.ReLU(), nn.Flatten(), head)
optimizer = torch.optim.Adam(net.parameters(), 3e-3)
for epoch in range(20):
    for rows in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        optimizer.step()
print("mirrored:", (net(x).argmax(1) == y).float().mean().item(),
      "as they are:", (net(x.transpose(2, 3)).argmax(1) == y).float().mean().item())

weights = {name + "." + part: getattr(module, part).detach().numpy()
           for name, module in (("conv1", conv1), ("conv2", conv2), ("head", head)) for part in ("weight", "bias")}
conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
nodes = [
    helper.make_node("Conv", ["x", "conv1.weight", "conv1.bias"], ["a"], **conv),
    helper.make_node("Relu", ["a"], ["b"]),
    helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Conv", ["c", "conv2.weight", "conv2.bias"], ["d"], **conv),
    helper.make_node("Relu", ["d"], ["e"]),
    helper.make_node("Flatten", ["e"], ["f"]),
    helper.make_node("Gemm", ["f", "head.weight", "head.bias"], ["y"], transB=1),
]
graph = helper.make_graph(nodes, "mirrored_digits", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 8, 8])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])],
                          [numpy_helper.from_array(value, name) for name, value in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, os.path.join(folder, "mirrored_digits.onnx"))
