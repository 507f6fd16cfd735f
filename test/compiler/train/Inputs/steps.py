# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles training steps of small models and compares losses, weights and moments with training by hand in f64.

usage: steps.py SINTER LIBRARY FOLDER"""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
import reference as r
from sinter_runtime import Runtime

RANDOM = np.random.default_rng(7)


def normal(*shape):
    return (RANDOM.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32)


def save(path, nodes, inputs, output, initializers):
    graph = helper.make_graph(nodes, "g", inputs, [output], [numpy_helper.from_array(v, n) for n, v in initializers.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def mlp(path):
    p = {"w0": normal(4, 8), "b0": normal(8), "w1": normal(8, 8), "b1": normal(8), "w2": normal(8, 3), "b2": normal(3)}
    node = helper.make_node
    save(path, [node("Gemm", ["x", "w0", "b0"], ["h0"]), node("Relu", ["h0"], ["r0"]), node("Gemm", ["r0", "w1", "b1"], ["h1"]),
                node("Tanh", ["h1"], ["r1"]), node("Gemm", ["r1", "w2", "b2"], ["y"])],
         [helper.make_tensor_value_info("x", T.FLOAT, ["n", 4])], helper.make_tensor_value_info("y", T.FLOAT, ["n", 3]), p)
    return p, [r.Gemm("w0", "b0"), r.Relu(), r.Gemm("w1", "b1"), r.Tanh(), r.Gemm("w2", "b2")]


def wide(path):
    """Of fixed sizes that products write the next weights of, by tiles that do not divide them."""
    p = {"w0": normal(35, 530), "b0": normal(530), "w1": normal(530, 390), "b1": normal(390), "w2": normal(390, 17), "b2": normal(17)}
    node = helper.make_node
    save(path, [node("Gemm", ["x", "w0", "b0"], ["h0"]), node("Tanh", ["h0"], ["r0"]), node("Gemm", ["r0", "w1", "b1"], ["h1"]),
                node("Tanh", ["h1"], ["r1"]), node("Gemm", ["r1", "w2", "b2"], ["y"])],
         [helper.make_tensor_value_info("x", T.FLOAT, [24, 35])], helper.make_tensor_value_info("y", T.FLOAT, [24, 17]), p)
    return p, [r.Gemm("w0", "b0"), r.Tanh(), r.Gemm("w1", "b1"), r.Tanh(), r.Gemm("w2", "b2")]


def convnet(path):
    p = {"k0": normal(6, 3, 3, 3), "scale": 1 + 0.1 * normal(6), "bias": normal(6), "mean": np.zeros(6, np.float32),
         "variance": np.ones(6, np.float32), "k1": normal(8, 6, 3, 3), "w": normal(8, 5), "b": normal(5)}
    node = helper.make_node
    save(path, [node("Conv", ["x", "k0"], ["c0"], pads=[1, 1, 1, 1]),
                node("BatchNormalization", ["c0", "scale", "bias", "mean", "variance"], ["n0", "mean2", "variance2"], training_mode=1,
                     momentum=0.8, epsilon=1e-3),
                node("Relu", ["n0"], ["r0"]), node("MaxPool", ["r0"], ["p0"], kernel_shape=[2, 2], strides=[2, 2]),
                node("Conv", ["p0", "k1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]), node("Tanh", ["c1"], ["t1"]),
                node("GlobalAveragePool", ["t1"], ["a"]), node("Flatten", ["a"], ["f"]), node("Gemm", ["f", "w", "b"], ["y"])],
         [helper.make_tensor_value_info("x", T.FLOAT, ["n", 3, 8, 8])], helper.make_tensor_value_info("y", T.FLOAT, ["n", 5]), p)
    return p, [r.Conv("k0", 1, 1), r.BatchNorm("scale", "bias", "mean", "variance", 0.8, 1e-3), r.Relu(), r.MaxPool2(),
               r.Conv("k1", 2, 1), r.Tanh(), r.GlobalMean(), r.Gemm("w", "b")]


def labelled(shape, classes, count, outside=0):
    """Batches of one size, then of another."""
    for k in range(count):
        n = 6 if k < count - 1 else 4
        labels = RANDOM.integers(0, classes, n)
        labels[:outside] = -100
        yield RANDOM.standard_normal((n, *shape)).astype(np.float32), labels


OPTIMIZERS = ["sgd:lr=0.1", "sgd:lr=0.1,momentum=0.9,weight_decay=0.01", "sgd:lr=0.1,momentum=0.9,dampening=0.5",
              "sgd:lr=0.1,momentum=0.9,nesterov=1,clip=0.1", "adam:lr=0.01", "adam:lr=0.01,weight_decay=0.1,schedule=step,every=2,factor=0.5",
              "adamw:lr=0.01,warmup=3,schedule=cosine,steps=4,final=0.1", "adagrad:lr=0.05,lr_decay=0.1",
              "rmsprop:lr=0.01,momentum=0.5", "rmsprop:lr=0.01,alpha=0.9", "lamb:lr=0.02,weight_decay=0.05"]


def options_of(text):
    kind, _, rest = text.partition(":")
    return kind, {k: v if k == "schedule" else float(v) for k, v in (part.split("=") for part in rest.split(","))}


class Checker:
    def __init__(self, sinter, library, folder):
        self.sinter, self.runtime, self.folder, self.failures = sinter, Runtime(library), folder, 0

    def require(self, name, got, wanted, tolerance):
        error = np.max(np.abs(np.asarray(got, np.float64) - wanted), initial=0) / max(np.max(np.abs(wanted), initial=0), 1e-3)
        if not error <= tolerance:
            self.failures += 1
            print(f"{name}: error {error:.2e}, at most {tolerance:.0e} is allowed")

    def check(self, name, model, loss, optimizer, batches, label, flags=()):
        path = os.path.join(self.folder, name)
        parameters, layers = model(path + ".onnx")
        kind, options = options_of(optimizer)
        expected, weights, moments = r.train(layers, getattr(r, loss), kind, options, parameters, batches)
        command = [self.sinter, "train-step", path + ".onnx", "--loss", loss, "--optimizer", optimizer, "-o", path + ".smod", *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr}")
        states = {}
        for threads in (1, 3):
            session = self.runtime.session(path + ".smod", threads)
            losses = [session.run({"x": x, label: y})["loss"] for x, y in batches]
            states[threads] = {n: session.state(n) for n in session.states}
            session.close()
        what = f"{name} {optimizer}"
        self.require(what + " losses", losses, expected, 1e-5)
        for n, value in {**weights, **moments}.items():
            self.require(f"{what} {n}", states[1][n], value, 3e-4)
        if states[1]["optimizer.step"] != len(batches):
            self.failures += 1
            print(f"{what}: requires {len(batches)} steps, counted {states[1]['optimizer.step']}")
        for n in states[1]:
            if states[1][n].tobytes() != states[3][n].tobytes():
                self.failures += 1
                print(f"{what} {n}: the bits depend on the number of threads")

    def check_resume(self):
        """Saved half way and loaded by another session, the second half gives the same bits; infer sees what step wrote."""
        path = os.path.join(self.folder, "resume")
        parameters, layers = convnet(path + ".onnx")
        batches = list(labelled((3, 8, 8), 5, 6))
        subprocess.run([self.sinter, "train-step", path + ".onnx", "--loss", "cross_entropy", "--optimizer", "adamw:lr=0.01", "-o",
                        path + ".smod"], check=True, capture_output=True)
        through = self.runtime.sessions(path + ".smod", ("step", "infer"))
        losses = [through["step"].run({"x": x, "labels": y})["loss"].tobytes() for x, y in batches]
        first = self.runtime.sessions(path + ".smod", ("step", "infer"))
        half = [first["step"].run({"x": x, "labels": y})["loss"].tobytes() for x, y in batches[:3]]
        first["step"].save(path + ".safetensors")
        second = self.runtime.sessions(path + ".smod", ("step", "infer"), threads=2)
        second["step"].load(path + ".safetensors")
        half += [second["step"].run({"x": x, "labels": y})["loss"].tobytes() for x, y in batches[3:]]
        if half != losses or any(through["step"].state(n).tobytes() != second["step"].state(n).tobytes() for n in through["step"].states):
            self.failures += 1
            print("resume: the bits are not those of a run without a stop")
        p = {n: through["infer"].state(n).astype(np.float64) for n in through["infer"].states}
        x = y = batches[0][0].astype(np.float64)
        for layer in layers:
            if isinstance(layer, r.BatchNorm):
                scale, bias, mean, variance = (p[n][:, None, None] for n in layer.names)
                y = (y - mean) / np.sqrt(variance + layer.epsilon) * scale + bias
            else:
                y = layer.forward(p, y)
        self.require("infer", through["infer"].run({"x": x.astype(np.float32)})["y"], y, 1e-5)


def main(sinter, library, folder):
    os.makedirs(folder, exist_ok=True)
    checker = Checker(sinter, library, folder)
    for k, optimizer in enumerate(OPTIMIZERS):
        checker.check(f"mlp{k}", mlp, "cross_entropy", optimizer, list(labelled((4,), 3, 6, outside=k % 2)), "labels")
    batches = [(RANDOM.standard_normal((24, 35)).astype(np.float32), RANDOM.integers(0, 17, 24)) for _ in range(4)]
    # Not the ones whose first steps have a gradient's sign: among so many are some that are near zero, of which rounding decides it.
    for k, optimizer in enumerate(o for o in OPTIMIZERS if not o.startswith(("adagrad", "rmsprop"))):
        smooth = "" if optimizer.startswith("sgd") else ",eps=0.001"
        checker.check(f"wide{k}", wide, "cross_entropy", optimizer + smooth, batches, "labels")
    targets = [(x, RANDOM.standard_normal((len(x), 3)).astype(np.float32)) for x, _ in labelled((4,), 3, 4)]
    checker.check("mse", mlp, "mse", "sgd:lr=0.1,momentum=0.9", targets, "target")
    checker.check("plain", mlp, "mse", "sgd:lr=0.1,momentum=0.9", targets, "target", ["-O0"])
    for k, optimizer in enumerate(("sgd:lr=0.1,momentum=0.9", "adamw:lr=0.01")):
        checker.check(f"conv{k}", convnet, "cross_entropy", optimizer, list(labelled((3, 8, 8), 5, 5)), "labels")
    checker.check_resume()
    print("failed" if checker.failures else "all steps agree")
    sys.exit(checker.failures > 0)


main(*sys.argv[1:])
