#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""token_images.py SINTER

Tokens that become images, as in the head of SegFormer: maps of several sizes are resized to one, joined and combined by a convolution of one tap. And relative positions as in
DeBERTa: a product with a table of which known positions read a part. Against NumPy in f64, by a bound of the type times the sum of magnitudes."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def resized(x, size, mode):
    """x [N, C, H, W] with `size` rows and columns, by half pixels."""
    for axis in (2, 3):
        at = (np.arange(size) + 0.5) * x.shape[axis] / size - 0.5
        low = np.floor(at if mode == "linear" else np.ceil(at - 0.5)).astype(int)
        share = (at - low if mode == "linear" else np.zeros(size)).reshape((-1, 1) if axis == 2 else (-1,))
        taken = [np.take(x, np.clip(low + k, 0, x.shape[axis] - 1), axis) for k in (0, 1)]
        x = taken[0] * (1 - share) + taken[1] * share
    return x


def head(random, mode, sizes, channels, filters):
    """The model of a head, its inputs, what it should give and the sum of magnitudes."""
    size, nodes, inputs, parts, constants = max(sizes), [], {}, [], {"w": random.standard_normal((filters, len(sizes) * channels, 1, 1)).astype(np.float32)}
    for k, own in enumerate(sizes):
        inputs[f"x{k}"] = random.standard_normal((2, own * own, channels)).astype(np.float32)
        constants[f"image{k}"] = np.array([2, channels, own, own])
        constants["sizes"] = np.array([2, channels, size, size])
        nodes += [helper.make_node("Transpose", [f"x{k}"], [f"t{k}"], perm=[0, 2, 1]), helper.make_node("Reshape", [f"t{k}", f"image{k}"], [f"i{k}"]),
                  helper.make_node("Resize", [f"i{k}", "", "", "sizes"], [f"r{k}"], mode=mode, coordinate_transformation_mode="half_pixel")]
        parts.append(inputs[f"x{k}"].astype(np.float64).transpose(0, 2, 1).reshape(2, channels, own, own))
    nodes += [helper.make_node("Concat", [f"r{k}" for k in range(len(sizes))], ["c"], axis=1), helper.make_node("Conv", ["c", "w"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    w = constants["w"][:, :, 0, 0].astype(np.float64)
    joined = np.concatenate([resized(part, size, mode) for part in parts], 1)
    magnitudes = np.concatenate([resized(np.abs(part), size, mode) for part in parts], 1)
    combine = lambda w, x: np.einsum("oc,nchw->nohw", w, x)
    return nodes, inputs, constants, np.maximum(combine(w, joined), 0), combine(np.abs(w), magnitudes)


def positions(random, low, high):
    inputs, table = {"x": random.standard_normal((2, 5, 8)).astype(np.float32)}, random.standard_normal((2, 8, 100)).astype(np.float32)
    at = random.integers(low, high, (2, 5, 7), endpoint=True)
    nodes = [helper.make_node("MatMul", ["x", "table"], ["p"]), helper.make_node("GatherElements", ["p", "at"], ["y"], axis=2)]
    product = inputs["x"].astype(np.float64) @ table.astype(np.float64)
    magnitudes = np.abs(inputs["x"]).astype(np.float64) @ np.abs(table).astype(np.float64)
    return nodes, inputs, {"table": table, "at": at}, np.take_along_axis(product, at, 2), np.take_along_axis(magnitudes, at, 2)


def check(sinter, folder, name, nodes, inputs, constants, expected, magnitudes):
    model = os.path.join(folder, "model.onnx")
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(k, TensorProto.FLOAT, x.shape) for k, x in inputs.items()],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, expected.shape)], [numpy_helper.from_array(x, k) for k, x in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), model)
    command = [sinter, "run", model, "--output", f"y=@{folder}/y.npy"]
    for k, x in inputs.items():
        np.save(f"{folder}/{k}.npy", x)
        command += ["--input", f"{k}=@{folder}/{k}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    error = np.abs(np.load(f"{folder}/y.npy") - expected)
    if not (error <= 1e-6 * magnitudes).all():
        sys.exit(f"{name}: off by {np.max(error / magnitudes):.1e} of the sum of magnitudes")


def main():
    random, count = np.random.default_rng(7), 0
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("linear", "nearest"):
            for sizes in ((8, 4, 2), (6,), (4, 8, 8), (3, 7)):
                for channels, filters in ((32, 16), (5, 3), (4, 40)):
                    check(sys.argv[1], folder, f"{mode} {sizes} {channels} {filters}", *head(random, mode, sizes, channels, filters))
                    count += 1
        for low, high in ((0, 99), (17, 30), (40, 99), (63, 64)):
            check(sys.argv[1], folder, f"positions {low} to {high}", *positions(random, low, high))
            count += 1
    print(f"{count} graphs agree with NumPy")


main()
