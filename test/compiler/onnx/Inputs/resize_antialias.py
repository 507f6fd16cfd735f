# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""resize_antialias.py SINTER: Resize with antialias in every mode and by every rule of coordinates against onnxruntime: floats to 2e-5, 8-bit integers to 1 (it sums weights of 22 bits).
onnxruntime bounds int8 as if it were uint8, so that the reference for it is NumPy's sum of weights. Prints `N right, N wrong` and each wrong one."""
import itertools
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from contrib_node import run_model

RNG = np.random.default_rng(5)
right = wrong = 0


def judge(title, got, expected, bound):
    global right, wrong
    if got is not None and got.shape == expected.shape and got.dtype == expected.dtype and np.abs(got.astype(np.float64) - expected).max() <= bound:
        right += 1
        return
    wrong += 1
    print(f"{title}: {None if got is None else (got.shape, got.dtype)} for {expected.shape} {expected.dtype}", "" if got is None or got.shape != expected.shape else np.abs(got.astype(float) - expected).max())


def model_of(nodes, inputs, constants, kind):
    outputs = [helper.make_tensor_value_info(node.output[0], kind, None) for node in nodes]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def check(sinter, title, nodes, inputs, constants, feeds, kind, bound):
    model = model_of(nodes, inputs, constants, kind)
    got, printed = run_model(sinter, model, feeds)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    for k, node in enumerate(nodes):
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        judge(f"{title} {list(node.input)} {attributes} {printed[:200]}", got and got[k], expected[k], bound)


def weights(before, after):
    """The rows of a linear filter with antialias."""
    scale = after / before
    centers = (np.arange(after) + 0.5) / scale
    taps = np.arange(-8 * before, 9 * before)
    parts = np.maximum(1 - np.abs((taps + 0.5 - centers[:, None]) * min(scale, 1)), 0)
    rows = np.zeros((after, before))
    for tap, part in zip(np.clip(taps, 0, before - 1), parts.T):
        rows[:, tap] += part
    return rows / rows.sum(1, keepdims=True)


def main():
    sinter = sys.argv[1]
    onnxruntime.set_default_logger_severity(4)
    rules = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize")
    constants = {"roi": np.array([0, 0, 0.1, 0.2, 1, 1, 0.9, 1.15], np.float32), "scales": np.array([1, 1, 0.37, 0.61], np.float32), "wide": np.array([1, 1, 0.4, 2.3], np.float32),
                 "sizes": np.array([1, 2, 5, 29])}
    nodes = []
    cases = [(rule, k % 2) for k, rule in enumerate(rules)] + [("half_pixel", 1)]
    for mode, (rule, outside), how in itertools.product(("linear", "cubic"), cases, ("scales", "sizes", "open")):
        inputs = ["x", "roi" if rule == "tf_crop_and_resize" else "", *([how] if how == "scales" else ["", how])]
        nodes.append(helper.make_node("Resize", inputs, [f"out{len(nodes)}"], antialias=1, mode=mode, coordinate_transformation_mode=rule, exclude_outside=outside, extrapolation_value=3.0))
    for extra in ({"cubic_coeff_a": -0.5}, {"axes": [3, 2]}, {"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}, {"axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}):
        name = "pair" if "axes" in extra else "sizes"
        nodes.append(helper.make_node("Resize", ["x", "", "", name], [f"out{len(nodes)}"], antialias=1, mode="cubic", **extra))
    nodes.append(helper.make_node("Resize", ["x", "", "wide"], [f"out{len(nodes)}"], antialias=1, mode="linear"))
    constants["pair"] = np.array([6, 9])
    feeds = {"x": RNG.standard_normal((1, 2, 13, 17)).astype(np.float32), "open": np.array([1, 2, 7, 11])}
    for shape in (("n", "c", "h", "w"), feeds["x"].shape):
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info("open", TensorProto.INT64, [4])]
        check(sinter, shape, nodes, inputs, constants, feeds, TensorProto.FLOAT, 2e-5)
    for kind in (np.uint8, np.int32):
        x = RNG.integers(0, 255, (1, 2, 33, 47)).astype(kind)
        cases = [helper.make_node("Resize", ["x", "", "", name], [f"{mode}_{name}"], antialias=1, mode=mode) for mode in ("linear", "cubic") for name in ("less", "more")]
        element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        check(sinter, kind.__name__, cases, [helper.make_tensor_value_info("x", element, x.shape)], {"less": np.array([1, 2, 12, 60]), "more": np.array([1, 2, 40, 50])}, {"x": x}, element, 1)
    x = RNG.integers(-128, 127, (1, 2, 33, 47)).astype(np.int8)
    for name, sizes in (("less", (12, 60)), ("least", (1, 1)), ("one", (33, 5)), ("more", (66, 94))):
        model = model_of([helper.make_node("Resize", ["x", "", "", "s"], ["out"], antialias=1, mode="linear")], [helper.make_tensor_value_info("x", TensorProto.INT8, x.shape)],
                         {"s": np.array([1, 2, *sizes])}, TensorProto.INT8)
        got, printed = run_model(sinter, model, {"x": x})
        judge(f"int8 {name} {printed}", got and got[0], np.round(weights(33, sizes[0]) @ np.round(x @ weights(47, sizes[1]).T)).astype(np.int8), 1)
    print(f"{right} right, {wrong} wrong")


main()
