# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps whose loss is over sizes that only running tells, against training by hand in f64.

usage: computed_sizes.py SINTER LIBRARY FOLDER

Three models of one weight: the scores of all words of all sentences in one axis, the scores of the rows whose first number is
positive, and as many classes as there are samples."""
import os
import subprocess
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper, save

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
from sinter_runtime import Error, Runtime

WEIGHT = (np.arange(12).reshape(3, 4) % 5 / 5 - 0.3).astype(np.float32)
RATE = 0.1
node = helper.make_node
MODELS = {
    "words": (["n", "t", 3], [node("MatMul", ["x", "w"], ["s"]), node("Reshape", ["s", "rows"], ["y"])]),
    "kept": (["n", 3], [node("MatMul", ["x", "w"], ["s"]), node("Gather", ["x", "zero"], ["first"], axis=1),
                        node("Greater", ["first", "low"], ["is"]), node("NonZero", ["is"], ["at"]),
                        node("Transpose", ["at"], ["places"]), node("GatherND", ["s", "places"], ["y"])]),
    "pairs": (["n", 3], [node("MatMul", ["x", "w"], ["s"]), node("Transpose", ["s"], ["st"]), node("MatMul", ["s", "st"], ["y"])]),
}


def write(path, kind):
    shape, nodes = MODELS[kind]
    constants = {"w": WEIGHT, "rows": np.array([-1, 4]), "zero": np.array(0), "low": np.array(0, np.float32)}
    used = {name for n in nodes for name in n.input}
    graph = helper.make_graph(nodes, kind, [helper.make_tensor_value_info("x", T.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", T.FLOAT, [None, None])],
                              [numpy_helper.from_array(v, k) for k, v in constants.items() if k in used])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def scores(kind, x, w):
    """Scores, and the weight's gradient for one of the scores."""
    if kind == "words":
        x = x.reshape(-1, 3)
    if kind == "kept":
        x = x[x[:, 0] > 0]
    s = x @ w
    if kind == "pairs":
        return s @ s.T, lambda d: x.T @ ((d + d.T) @ s)
    return s, lambda d: x.T @ d


def loss_of(loss, y, wanted):
    """The loss and its gradient by y."""
    if loss == "mse":
        return np.mean((y - wanted) ** 2), 2 * (y - wanted) / y.size
    p = np.exp(y - y.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    valid, rows = wanted >= 0, np.arange(len(wanted))
    d = p * valid[:, None]
    d[rows[valid], wanted[valid]] -= 1
    return -np.log(p[rows[valid], wanted[valid]]).mean(), d / valid.sum()


def check(runtime, sinter, folder, kind, loss):
    random = np.random.default_rng(5)
    path = os.path.join(folder, f"{kind}_{loss}")
    write(path + ".onnx", kind)
    subprocess.run([sinter, "train-step", path + ".onnx", "--loss", loss, "--optimizer", f"sgd:lr={RATE}", "-o", path + ".smod"], check=True)
    session, w, name = runtime.session(path + ".smod"), WEIGHT.astype(np.float64), "target" if loss == "mse" else "labels"
    for n in (5, 3, 8, 1):
        x = random.standard_normal((n, 7, 3) if kind == "words" else (n, 3)).astype(np.float32)
        x[0, ..., 0] = 1
        y, backward = scores(kind, x.astype(np.float64), w)
        wanted = random.standard_normal(y.shape).astype(np.float32) if loss == "mse" else random.integers(0, y.shape[1], len(y))
        if loss != "mse" and len(y) > 1:
            wanted[-1] = -100
        value, d = loss_of(loss, y, wanted)
        w = w - RATE * backward(d)
        got = session.run({"x": x, name: wanted})["loss"]
        assert abs(got - value) <= 1e-5 * abs(value) and np.abs(session.state("w") - w).max() < 1e-5, (kind, loss, n, got, value)
        if n == 8:  # fewer, one, and more
            before = session.state("w")
            for other in (wanted[:-1], wanted[:1], np.concatenate([wanted, wanted])):
                try:
                    session.run({"x": x, name: other})
                    print(f"{kind} {loss}: {len(other)} rows are taken for {len(wanted)}")
                except Error as error:
                    assert str(len(other)) in str(error) and str(len(wanted)) in str(error), error
            assert np.array_equal(before, session.state("w")), "a step that fails changes nothing"


def main(sinter, library, folder):
    os.makedirs(folder, exist_ok=True)
    runtime = Runtime(library)
    for kind in MODELS:
        for loss in ("cross_entropy", "mse"):
            check(runtime, sinter, folder, kind, loss)
    random = np.random.default_rng(1)
    np.save(os.path.join(folder, "x.npy"), random.standard_normal((10, 7, 3)).astype(np.float32))
    np.save(os.path.join(folder, "labels.npy"), random.integers(0, 4, 70))
    np.save(os.path.join(folder, "few.npy"), random.integers(0, 4, 69))
    print("all sizes agree")


main(*sys.argv[1:])
