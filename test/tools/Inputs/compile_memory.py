# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile_memory.py SINTER: the peak memory (VmHWM) of compiling a model whose weights lie in a file beside it, over the weights: at most 1.3 with --map-tensors, for 4-bit codes
and for f32. What the compiler takes without any weights, which a model of one small matrix tells, is not counted: it does not grow with them."""
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

MOST = 1.3
BLOCK = 32


class Model:
    """`layers` square matrices of `size`, one after another."""

    def __init__(self, folder, kind, size, layers):
        self.path, self.weights, self.bytes = os.path.join(folder, f"{kind}{size}.onnx"), [], 0
        rng = np.random.default_rng(size)
        nodes = []
        with open(self.path + ".data", "wb") as file:
            for layer in range(layers):
                names = ["x" if layer == 0 else f"t{layer}"]
                if kind == "int4":
                    names.append(self.tensor(file, f"codes{layer}", rng.integers(0, 256, (size, size // BLOCK, BLOCK // 2), dtype=np.uint8)))
                    names.append(self.tensor(file, f"scales{layer}", rng.uniform(0.001, 0.01, (size, size // BLOCK)).astype(np.float32)))
                    nodes.append(helper.make_node("MatMulNBits", names, [f"t{layer + 1}"], domain="com.microsoft", K=size, N=size, bits=4, block_size=BLOCK))
                else:
                    names.append(self.tensor(file, f"matrix{layer}", rng.standard_normal((size, size), dtype=np.float32)))
                    nodes.append(helper.make_node("MatMul", names, [f"t{layer + 1}"]))
        ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, size))] for name in ("x", f"t{layers}")]
        graph = helper.make_graph(nodes, "g", *ends, self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10), self.path)

    def tensor(self, file, name, array):
        file.seek(-file.tell() % 4096, os.SEEK_CUR)
        tensor = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", os.path.basename(self.path) + ".data"), ("offset", file.tell()), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        array.tofile(file)
        self.bytes += array.nbytes
        self.weights.append(tensor)
        return name


def peak_of(sinter, model):
    """VmHWM of a compilation in bytes, files included; wait4's ru_maxrss would count this process as well, from before exec."""
    process, peak = subprocess.Popen([sinter, "compile", model.path, "--map-tensors", "--force", "-o", model.path + ".smod"], stdout=subprocess.DEVNULL), 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as file:
                peak = max([peak] + [int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM")])
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.002)
    assert process.returncode == 0, process.returncode
    return peak


def main():
    for kind, size, layers in (("int4", 4096, 20), ("f32", 2048, 12)):
        with tempfile.TemporaryDirectory() as folder:
            small, large = Model(folder, kind, 64, 1), Model(folder, kind, size, layers)
            own, peak = peak_of(sys.argv[1], small), peak_of(sys.argv[1], large)
        ratio = (peak - own) / large.bytes
        print(f"{kind}: {'at most' if ratio <= MOST else 'MORE THAN'} {MOST} times the weights")
        print(f"{kind}: {large.bytes / 2**20:.0f} MiB of weights, peak {peak / 2**20:.0f} MiB, {own / 2**20:.0f} MiB without weights, {ratio:.2f} times", file=sys.stderr)


main()
