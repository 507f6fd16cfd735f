# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""open_pools.py SINTER FOLDER: MaxPool and AveragePool in ceil mode over rows whose size only the call tells, for all windows, strides
and pads up to 3, against onnxruntime. Prints `N right, N wrong` and each wrong one."""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper


def compare(sinter, module, folder, feeds, outputs, expected, describe):
    """Runs `module`; returns how many outputs are `expected` and how many are not, and prints what `describe` says of these."""
    command = [sinter, "run", module]
    for name, value in feeds.items():
        np.save(f"{folder}/{name}.npy", value)
        command += ["--input", f"{name}=@{folder}/{name}.npy"]
    for output in outputs:
        command += ["--output", f"{output.name}=@{folder}/{output.name}.npy"]
    subprocess.run(command, check=True, capture_output=True)
    wrong = 0
    for k, (output, wanted) in enumerate(zip(outputs, expected)):
        found = np.load(f"{folder}/{output.name}.npy")
        if found.shape != wanted.shape or not np.allclose(found, wanted, 1e-5, 1e-6):
            wrong += 1
            print(f"{describe(k)}: {found.shape} {wanted.shape}")
    return len(outputs) - wrong, wrong


def main():
    sinter, folder = sys.argv[1:]
    onnxruntime.set_default_logger_severity(4)
    os.makedirs(folder, exist_ok=True)
    cases = [
        dict(kernel_shape=[kernel], strides=[stride], dilations=[dilation], pads=[low, high], ceil_mode=1)
        for kernel in (1, 2, 3)
        for stride in (1, 2, 3)
        for dilation in (1, 2)[: kernel]
        for low in range(kernel)
        for high in range(kernel)
    ]
    nodes, outputs = [], []
    for op in ("MaxPool", "AveragePool"):
        for k, case in enumerate(cases):
            nodes.append(helper.make_node(op, ["x"], [f"{op}{k}"], **case))
            outputs.append(helper.make_tensor_value_info(f"{op}{k}", TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "pools", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, "n"])], outputs)
    path, module = f"{folder}/pools.onnx", f"{folder}/pools.smod"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    subprocess.run([sinter, "compile", path, "-o", module], check=True, capture_output=True)
    right = wrong = 0
    for size in range(5, 14):
        feeds = {"x": np.random.default_rng(size).standard_normal((1, 2, size)).astype(np.float32)}
        found = compare(sinter, module, folder, feeds, outputs, session.run(None, feeds), lambda k: f"{nodes[k].op_type} {cases[k % len(cases)]} of {size}")
        right, wrong = right + found[0], wrong + found[1]
    print(f"{right} right, {wrong} wrong")


if __name__ == "__main__":
    main()
