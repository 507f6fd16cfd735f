# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""col2im.py SINTER FOLDER: Col2Im with sizes in the file or given to the call, as code and as reference, against onnxruntime. Prints
`N right, N wrong` and each wrong one."""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

# Image, block, strides, dilations, pads before and after.
CASES = (([5, 5], [1, 5], [1, 1], [1, 1], [0, 0, 0, 0]), ([5, 6], [2, 3], [1, 1], [1, 1], [0, 0, 0, 0]), ([7, 6], [2, 3], [2, 2], [1, 1], [0, 0, 0, 0]),
         ([6, 7], [2, 2], [1, 1], [3, 2], [0, 0, 0, 0]), ([5, 5], [3, 3], [1, 2], [1, 1], [1, 0, 2, 1]), ([8, 7], [3, 2], [3, 2], [2, 3], [2, 1, 1, 0]),
         ([4, 4], [4, 4], [1, 1], [1, 1], [0, 0, 0, 0]), ([3, 3], [1, 1], [2, 2], [1, 1], [0, 0, 0, 0]), ([9], [4], [2], [1], [1, 2]), ([11], [3], [1], [4], [0, 0]),
         ([4, 5, 3], [2, 2, 2], [1, 1, 1], [1, 1, 1], [0, 0, 0, 0, 0, 0]), ([5, 4, 6], [2, 1, 3], [2, 1, 1], [1, 1, 2], [1, 0, 1, 0, 1, 1]))


def columns(case, random):
    image, block, strides, dilations, pads = map(np.array, case)
    windows = (image + pads[: len(image)] + pads[len(image):] - dilations * (block - 1) - 1) // strides + 1
    return random.standard_normal((2, 3 * block.prod(), windows.prod())).astype(np.float32)


def fold(case, x):
    """What the operator's definition says: each element of a window is added where it comes from."""
    image, block, strides, dilations, pads = map(np.array, case)
    windows = (image + pads[: len(image)] + pads[len(image):] - dilations * (block - 1) - 1) // strides + 1
    result = np.zeros((x.shape[0], 3, *image))
    parts = x.reshape(x.shape[0], 3, *block, *windows)
    for tap in np.ndindex(*block):
        for window in np.ndindex(*windows):
            at = np.array(tap) * dilations + np.array(window) * strides - pads[: len(image)]
            if (at >= 0).all() and (at < image).all():
                result[(slice(None), slice(None), *at)] += parts[(slice(None), slice(None), *tap, *window)]
    return result


def model(listed, given):
    inputs, weights, nodes, outputs = [], [], [], []
    for k, (case, x) in enumerate(listed):
        inputs.append(helper.make_tensor_value_info(f"x{k}", TensorProto.FLOAT, x.shape))
        for name, sizes in (("i", case[0]), ("b", case[1])):
            if given:
                inputs.append(helper.make_tensor_value_info(f"{name}{k}", TensorProto.INT64, [len(sizes)]))
            else:
                weights.append(helper.make_tensor(f"{name}{k}", TensorProto.INT64, [len(sizes)], sizes))
        nodes.append(helper.make_node("Col2Im", [f"x{k}", f"i{k}", f"b{k}"], [f"y{k}"], strides=case[2], dilations=case[3], pads=case[4]))
        outputs.append(helper.make_tensor_value_info(f"y{k}", TensorProto.FLOAT, None))
    return helper.make_model(helper.make_graph(nodes, "col2im", inputs, outputs, weights), opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def main():
    sinter, folder = sys.argv[1:]
    onnxruntime.set_default_logger_severity(4)
    os.makedirs(folder, exist_ok=True)
    random, right, wrong = np.random.default_rng(8), 0, 0
    listed = [(case, columns(case, random)) for case in CASES]
    path = f"{folder}/m.onnx"
    for given in (False, True):
        onnx.save(model(listed, given), path)
        feeds = {f"x{k}": x for k, (_, x) in enumerate(listed)}
        if given:
            feeds |= {f"{name}{k}": np.array(case[i]) for k, (case, _) in enumerate(listed) for i, name in enumerate("ib")}
        expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)
        for k, (case, x) in enumerate(listed):
            if max(case[3]) > 1 and len(case[0]) != 2:  # onnxruntime 1.31 dilates two axes only
                expected[k] = fold(case, x)
        words = []
        for name, value in feeds.items():
            np.save(f"{folder}/{name}.npy", value)
            words += ["--input", f"{name}=@{folder}/{name}.npy"]
        for k in range(len(listed)):
            words += ["--output", f"y{k}=@{folder}/y{k}.npy"]
        for way in ("-O2", "--reference") if given else ("-O2", "-O0", "--reference"):
            subprocess.run([sinter, "run", path, way, *words], check=True)
            for k, ((case, _), wanted) in enumerate(zip(listed, expected)):
                got = np.load(f"{folder}/y{k}.npy")
                good = got.shape == wanted.shape and np.abs(got - wanted).max(initial=0) <= 1e-5
                right, wrong = right + good, wrong + (not good)
                if not good:
                    print(f"{'given' if given else 'known'} sizes, {way}: {case}: {got.shape} for {wanted.shape}: {got.tolist()} for {wanted.tolist()}")
    print(f"{right} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
