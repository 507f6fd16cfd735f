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
        x = np.random.default_rng(size).standard_normal((1, 2, size)).astype(np.float32)
        np.save(f"{folder}/x.npy", x)
        command = [sinter, "run", module, "--input", f"x=@{folder}/x.npy"]
        for output in outputs:
            command += ["--output", f"{output.name}=@{folder}/{output.name}.npy"]
        subprocess.run(command, check=True, capture_output=True)
        for node, output, wanted in zip(nodes, outputs, session.run(None, {"x": x})):
            found = np.load(f"{folder}/{output.name}.npy")
            if found.shape == wanted.shape and np.allclose(found, wanted, 1e-5, 1e-6):
                right += 1
                continue
            wrong += 1
            print(f"{node.op_type} {cases[int(output.name.strip('MaxPoolAverage'))]} of {size}: {found.shape} {wanted.shape}")
    print(f"{right} right, {wrong} wrong")


if __name__ == "__main__":
    main()
