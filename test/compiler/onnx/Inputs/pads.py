# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pads.py SINTER FOLDER: Pad with negative amounts, which remove before the rest is padded, in every mode: amounts in the file or
given to the call, sizes known or not, as code and as reference, against onnxruntime. Prints `N right, N wrong` and each wrong one."""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

MODES = ("constant", "edge", "reflect", "wrap")
# Rows before, columns before, rows after, columns after, of 3 rows and 7 columns.
AMOUNTS = ((0, -1, 0, 0), (0, 0, 0, -1), (0, -1, 0, -2), (0, -2, 0, 3), (1, 3, -1, -2), (-1, 4, 1, -2), (-2, 0, 0, -6), (1, 2, 2, 1), (0, -6, 0, 0))
# What leaves too few elements to pad with, by mode: onnxruntime refuses them all.
TOO_MANY = (("reflect", (0, -4, 0, 3)), ("reflect", (0, 0, 0, 7)), ("edge", (0, -7, 0, 1)), ("wrap", (2, -4, 0, -4)), ("edge", (0, -5, 0, -3)))


def model(cases, dims, given):
    """One Pad for each case; its amounts are an input where `given`."""
    inputs, weights, nodes, outputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)], [], [], []
    for k, (mode, amounts) in enumerate(cases):
        if given:
            inputs.append(helper.make_tensor_value_info(f"p{k}", TensorProto.INT64, [4]))
        else:
            weights.append(helper.make_tensor(f"p{k}", TensorProto.INT64, [4], amounts))
        nodes.append(helper.make_node("Pad", ["x", f"p{k}"], [f"y{k}"], mode=mode))
        outputs.append(helper.make_tensor_value_info(f"y{k}", TensorProto.FLOAT, None))
    return helper.make_model(helper.make_graph(nodes, "pads", inputs, outputs, weights), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main():
    sinter, folder = sys.argv[1:]
    onnxruntime.set_default_logger_severity(4)
    os.makedirs(folder, exist_ok=True)
    right = wrong = 0
    x = np.arange(21, dtype=np.float32).reshape(3, 7)
    np.save(f"{folder}/x.npy", x)

    def run(path, cases, given, *flags):
        command = [sinter, "run", path, "--input", f"x=@{folder}/x.npy", *flags]
        for k, (_, amounts) in enumerate(cases):
            np.save(f"{folder}/p{k}.npy", np.array(amounts))
            command += ["--output", f"y{k}=@{folder}/y{k}.npy"] + (["--input", f"p{k}=@{folder}/p{k}.npy"] if given else [])
        return subprocess.run(command, capture_output=True, text=True)

    def note(problem):
        nonlocal right, wrong
        right, wrong = right + (not problem), wrong + bool(problem)
        if problem:
            print(problem)

    every = [(mode, amounts) for mode in MODES for amounts in AMOUNTS]
    path = f"{folder}/pads.onnx"
    for dims, given in (([3, 7], False), (["a", "b"], False), ([3, 7], True), (["a", "b"], True)):
        kind = f"{'given' if given else 'constant'} amounts, sizes {dims}"
        onnx.save(model(every, dims, given), path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        expected = session.run(None, {"x": x} | ({f"p{k}": np.array(c[1]) for k, c in enumerate(every)} if given else {}))
        for flag in ("-O2", "-O0", "--reference"):
            done = run(path, every, given, flag)
            if done.returncode != 0:
                note(f"{kind}, {flag}: exit {done.returncode}: {done.stderr}")
                continue
            for k, (case, wanted) in enumerate(zip(every, expected)):
                got = np.load(f"{folder}/y{k}.npy")
                note("" if np.array_equal(got, wanted) else f"{kind}, {flag}: {case}: {got.tolist()} for {wanted.tolist()}")
        for case in TOO_MANY if dims != [3, 7] or not given else ():
            onnx.save(model([case], dims, given), path)
            for flag in ("-O2", "--reference"):
                done = run(path, [case], given, flag)
                said = "elements to take from on axis" in done.stderr or "a result size of at least 0" in done.stderr
                note("" if done.returncode in (1, 6) and said else f"{kind}, {flag}: {case}: exit {done.returncode}: {done.stderr}")
    print(f"{right} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
