# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""open_same.py SINTER FOLDER: Conv, ConvInteger, MaxPool with its positions, AveragePool and LpPool with auto_pad SAME_UPPER and SAME_LOWER over pictures whose sizes only the call tells, for windows up to 4 by
strides up to 3, against onnxruntime, which takes dilated windows and those of fewer elements than strides with the pads that ONNX's formula gives. Prints `N right, N wrong` and each wrong one."""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from open_pools import compare


def with_pads(model, size):
    """`model` with pads instead of auto_pad where windows are dilated or less than strides, for pictures of `size`."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for node in result.graph.node:
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        kernel = given.get("kernel_shape") or next(list(c.dims)[2:] for c in model.graph.initializer if c.name == node.input[1])
        dilations = given.get("dilations", [1, 1])
        if dilations == [1, 1] and all(k >= s for k, s in zip(kernel, given["strides"])):
            continue
        totals = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0) for n, s, k, d in zip(size, given["strides"], kernel, dilations)]
        low = [total // 2 if given["auto_pad"] == b"SAME_UPPER" else total - total // 2 for total in totals]
        del node.attribute[[a.name for a in node.attribute].index("auto_pad")]
        node.attribute.append(helper.make_attribute("pads", [*low, *(total - begin for total, begin in zip(totals, low))]))
    return onnxruntime.InferenceSession(result.SerializeToString(), providers=["CPUExecutionProvider"])


def main():
    sinter, folder = sys.argv[1:]
    onnxruntime.set_default_logger_severity(4)
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(7)
    nodes, outputs, constants, titles = [], [], [], []

    def add(op, inputs, kinds, **attributes):
        names = [f"{op}{len(nodes)}_{k}" for k in range(len(kinds))]
        nodes.append(helper.make_node(op, inputs, names, **attributes))
        outputs.extend(helper.make_tensor_value_info(name, kind, None) for name, kind in zip(names, kinds))
        titles.extend([f"{op} {attributes}"] * len(kinds))

    def constant(value):
        name = f"w{len(constants)}"
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    real, whole = TensorProto.FLOAT, TensorProto.INT32
    for pad in ("SAME_UPPER", "SAME_LOWER"):
        for kernel, strides, dilations in (([3, 3], [2, 2], [1, 1]), ([1, 1], [2, 2], [1, 1]), ([2, 3], [3, 2], [1, 2]), ([3, 4], [2, 1], [2, 1]), ([2, 1], [3, 3], [1, 1]), ([4, 2], [3, 2], [1, 1])):
            window = dict(strides=strides, dilations=dilations, auto_pad=pad)
            add("Conv", ["x", constant(rng.standard_normal((3, 2, *kernel)).astype(np.float32)), constant(np.float32([1, 2, 3]))], [real], **window)
            add("ConvInteger", ["bytes", constant(rng.integers(-5, 5, (3, 2, *kernel)).astype(np.int8)), constant(np.uint8(7))], [whole], **window)
            add("MaxPool", ["x"], [real, TensorProto.INT64], kernel_shape=kernel, **window)
            if dilations == [1, 1]:
                add("AveragePool", ["x"], [real], kernel_shape=kernel, strides=strides, auto_pad=pad)
                add("AveragePool", ["x"], [real], kernel_shape=kernel, strides=strides, auto_pad=pad, count_include_pad=1)
                add("LpPool", ["x"], [real], kernel_shape=kernel, strides=strides, auto_pad=pad)
    inputs = [helper.make_tensor_value_info(name, kind, [1, 2, "h", "w"]) for name, kind in (("x", real), ("bytes", TensorProto.UINT8))]
    path, module = f"{folder}/same.onnx", f"{folder}/same.smod"
    model = helper.make_model(helper.make_graph(nodes, "same", inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    subprocess.run([sinter, "compile", path, "-o", module], check=True, capture_output=True)
    right = wrong = 0
    for size in ([5, 6], [6, 7], [7, 8], [8, 5], [9, 12], [1, 4], [10, 1], [11, 13], [12, 9]):
        feeds = {"x": rng.standard_normal((1, 2, *size)).astype(np.float32), "bytes": rng.integers(0, 255, (1, 2, *size)).astype(np.uint8)}
        found = compare(sinter, module, folder, feeds, outputs, with_pads(model, size).run(None, feeds), lambda k: f"{titles[k]} {outputs[k].name} of {size}")
        right, wrong = right + found[0], wrong + found[1]
    print(f"{right} right, {wrong} wrong")


if __name__ == "__main__":
    main()
