# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps with dropout, by ONNX and by random_bits in control flow.

usage: dropout.py SINTER LIBRARY FOLDER"""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
from sinter_runtime import Runtime

# The same draw for each row, in a branch of a scan.
NESTED = """
func.func @main(%x: tensor<32x8xf32> {sinter.name = "x"}, %w: tensor<8xf32> {sinter.state = "w", sinter.initial = dense<1.0> : tensor<8xf32>})
    -> (tensor<f32> {sinter.name = "loss"}) {
  %yes = sinter.constant dense<true> : tensor<i1>
  %rows = sinter.scan () over(%x) captures(%w, %yes) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
      : (tensor<32x8xf32>, tensor<8xf32>, tensor<i1>) -> tensor<32x8xf32> body {
  ^bb0(%row: tensor<8xf32>, %v: tensor<8xf32>, %p: tensor<i1>):
    %y = sinter.cond %p (%row, %v) : (tensor<i1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> then {
    ^bb0(%r: tensor<8xf32>, %u: tensor<8xf32>):
      %key = sinter.constant dense<[1, 2, 3, 4]> : tensor<4xui32>
      %bits = sinter.random_bits %key {type = tensor<8xui32>} : (tensor<4xui32>) -> tensor<8xui32>
      %number = sinter.convert %bits {element_type = f32} : (tensor<8xui32>) -> tensor<8xf32>
      %half = sinter.constant dense<2147483648.0> : tensor<8xf32>
      %keep = sinter.compare lt %number, %half : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
      %zero = sinter.constant dense<0.0> : tensor<8xf32>
      %kept = sinter.select %keep, %r, %zero : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %product = sinter.mul %kept, %u : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      sinter.yield(%product) : tensor<8xf32>
    } else {
    ^bb0(%r: tensor<8xf32>, %u: tensor<8xf32>):
      sinter.yield(%r) : tensor<8xf32>
    }
    sinter.yield(%y) : tensor<8xf32>
  }
  %loss = sinter.reduce add %rows axes = [0, 1] : (tensor<32x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
"""


def dropout(path, ratio=0.5, training=True):
    node = helper.make_node
    nodes = [node("Mul", ["x", "w"], ["p"], name="product"), node("Dropout", ["p", "ratio", "training"], ["d"], name="drop"),
             node("Dropout", ["d", "ratio", "training"], ["e"], name="again"), node("ReduceSum", ["e"], ["loss"], keepdims=0)]
    constants = {"w": np.ones(8, np.float32), "ratio": np.float32(ratio), "training": np.bool_(training)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", T.FLOAT, [32, 8])],
                              [helper.make_tensor_value_info("loss", T.FLOAT, []), helper.make_tensor_value_info("e", T.FLOAT, [32, 8])],
                              [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


class Checker:
    def __init__(self, sinter, library, folder):
        self.sinter, self.runtime, self.folder, self.failures = sinter, Runtime(library), folder, 0
        self.x = (np.arange(32 * 8) % 7 + 1).astype(np.float32).reshape(32, 8)

    def require(self, holds, message):
        if not holds:
            self.failures += 1
            print(message)

    def compile(self, model, name, *flags, optimizer="sgd:lr=0"):
        path = os.path.join(self.folder, name + ".smod")
        done = subprocess.run([self.sinter, "train-step", os.path.join(self.folder, model), "--loss", "loss", "--optimizer", optimizer,
                               "-o", path, *flags], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr}")
        return path

    def losses(self, session, count):
        return [float(session.run({"x": self.x})["loss"]) for _ in range(count)]

    def check(self, model, name, values):
        """`values`: how many losses the draws may give at least."""
        path, other = self.compile(model, name), self.compile(model, name + "-7", "--seed", "7")
        session = self.runtime.session(path)
        losses = self.losses(session, 8)
        self.require(len(set(losses)) >= values, f"{name}: draws repeat: {losses}")
        self.require(self.losses(self.runtime.session(path, 2), 8) == losses, f"{name}: draws depend on threads")
        self.require(self.losses(self.runtime.session(other), 8) != losses, f"{name}: seeds do not matter")
        first = self.runtime.session(path)
        self.losses(first, 3)
        file = os.path.join(self.folder, "half.safetensors")
        first.save(file)
        second = self.runtime.session(other)
        second.load(file)
        self.require(self.losses(second, 5) == losses[3:], f"{name}: draws after a stop are not those of a run without one")

    def check_onnx(self):
        dropout(os.path.join(self.folder, "dropout.onnx"))
        self.check("dropout.onnx", "drop", 8)
        sessions = self.runtime.sessions(os.path.join(self.folder, "drop.smod"), ("step", "infer"))
        self.losses(sessions["step"], 1)
        self.require(np.array_equal(sessions["infer"].run({"x": self.x})["e"], self.x), "infer: drops something")
        # What is kept is scaled, gradients go where values went, and two nodes draw apart.
        session = self.runtime.session(self.compile("dropout.onnx", "drop-sgd", optimizer="sgd:lr=1"))
        loss, moved = self.losses(session, 1)[0], 1 - session.state("w").astype(np.float64)
        self.require(loss == moved.sum() and loss % 4 == 0, f"dropout: loss {loss}, gradient {moved}")
        self.require(0.1 < loss / (4 * self.x.sum()) < 0.4, f"dropout: keeps {loss / (4 * self.x.sum())} of the values, a quarter is right")
        for ratio, training, wanted in ((0, True, self.x.sum()), (1, True, 0), (0.5, False, self.x.sum())):
            dropout(os.path.join(self.folder, "plain.onnx"), ratio, training)
            session = self.runtime.session(self.compile("plain.onnx", "plain", optimizer="sgd:lr=1"))
            self.require(self.losses(session, 1)[0] == wanted, f"dropout: ratio {ratio} gives another loss than {wanted}")
            self.require(np.isfinite(session.state("w")).all(), f"dropout: ratio {ratio} has no gradient")

    def check_nested(self):
        with open(os.path.join(self.folder, "nested.mlir"), "w") as file:
            file.write(NESTED)
        self.check("nested.mlir", "nested", 6)


def main(sinter, library, folder):
    os.makedirs(folder, exist_ok=True)
    checker = Checker(sinter, library, folder)
    checker.check_onnx()
    checker.check_nested()
    np.save(os.path.join(folder, "x.npy"), np.tile(checker.x, (3, 1)))
    print("failed" if checker.failures else "all draws are right")
    sys.exit(checker.failures > 0)


main(*sys.argv[1:])
