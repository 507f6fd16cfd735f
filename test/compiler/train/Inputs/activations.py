# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""activations.py SINTER LIBRARY FOLDER [TARGET]: a residual network of convolutions trains under --precision=bf16 in less than .7 of the arena, also of that of
bf16,activation=f32; the first loss is that of f32 within 1 %, and means of losses over 20 steps are within 3 % of the first ones."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models"))
from sinter_runtime import Runtime

SINTER, LIBRARY, FOLDER, TARGET = (*sys.argv[1:], "native")[:4]
WIDTH, BATCH, SIZE, BLOCKS, STEPS = 32 if TARGET == "native" else 16, 16, 16, 8, 80  # the other has narrow vectors
random = np.random.default_rng(7)


def network():
    weights, nodes = [], []

    def weight(name, *shape):
        fan = np.prod(shape[1:]) if len(shape) > 1 else 1
        weights.append(numpy_helper.from_array((random.standard_normal(shape) * np.sqrt(1.5 / fan)).astype(np.float32), name))
        return name

    nodes.append(helper.make_node("Conv", ["x", weight("first", WIDTH, 1, 3, 3)], ["h0"], pads=[1, 1, 1, 1]))
    for k in range(BLOCKS):
        nodes += [helper.make_node("Relu", [f"h{k}"], [f"r{k}"]),
                  helper.make_node("Conv", [f"r{k}", weight(f"a{k}", WIDTH, WIDTH, 3, 3)], [f"s{k}"], pads=[1, 1, 1, 1]), helper.make_node("Tanh", [f"s{k}"], [f"t{k}"]),
                  helper.make_node("Conv", [f"t{k}", weight(f"b{k}", WIDTH, WIDTH, 3, 3)], [f"u{k}"], pads=[1, 1, 1, 1]),
                  helper.make_node("Add", [f"h{k}", f"u{k}"], [f"h{k + 1}"])]
    nodes += [helper.make_node("Relu", [f"h{BLOCKS}"], ["last"]), helper.make_node("GlobalAveragePool", ["last"], ["mean"]), helper.make_node("Flatten", ["mean"], ["flat"]),
              helper.make_node("Gemm", ["flat", weight("head", 10, WIDTH), "bias"], ["scores"], transB=1)]
    weights.append(numpy_helper.from_array(np.zeros(10, np.float32), "bias"))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (BATCH, 1, SIZE, SIZE))],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, (BATCH, 10))], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "net.onnx")


rows, columns = np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij")
kinds = [(a, b) for a in (0, 2, 4, 6) for b in (1, 3, 5)][:10]  # waves, of which a class has one at any phase
batches = []
for _ in range(STEPS):
    labels = random.integers(0, 10, BATCH)
    waves = [np.sin(2 * np.pi * (kinds[k][0] * rows + kinds[k][1] * columns) / SIZE + random.uniform(0, 6)) for k in labels]
    batches.append(((np.array(waves)[:, None] + 0.3 * random.standard_normal((BATCH, 1, SIZE, SIZE))).astype(np.float32), labels))


def train(precision):
    subprocess.run([SINTER, "train-step", "net.onnx", "--loss", "cross_entropy", "--optimizer", "sgd:lr=0.004,momentum=0.9", "--precision", precision, "--target", TARGET, "-o", "step.smod", "--force"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    session = Runtime(LIBRARY).session("step.smod", 2)
    losses = [float(session.run({"x": x, "labels": labels})["loss"]) for x, labels in batches]
    return np.array(losses), session.memory().arena


os.makedirs(FOLDER, exist_ok=True)
os.chdir(FOLDER)
network()
(f32, whole), (bf16, half), (exact, most) = (train(p) for p in ("f32", "bf16", "bf16,activation=f32"))
means = [curve.reshape(-1, 20).mean(1) for curve in (f32, bf16, exact)]
print("losses", *(np.round(m, 4) for m in means), "arena", whole, half, most)
assert means[0][-1] < 0.3 * means[0][0], "nothing is learned"
assert half < 0.7 * whole and half < 0.7 * most, (whole, half, most)
for mean in means[1:]:
    assert np.abs(mean - means[0]).max() < 0.03 * means[0][0], means
assert abs(bf16[0] / f32[0] - 1) < 0.01, (bf16[0], f32[0])
print("activations in 16 bits train alike")
