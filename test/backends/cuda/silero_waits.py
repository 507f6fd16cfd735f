# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often the host waits for the GPU in a call of Silero VAD, on the PTX machine, for batches of several sizes.

    silero_waits.py SINTER BUILD MODEL FOLDER"""
import ctypes
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models"))
from sinter_runtime import Error, Runtime

KINDS = ["wait", "to host", "graph", "launch"]


def main():
    sinter, build, model, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    module = os.path.join(folder, "silero_vad.smod")
    subprocess.run([sinter, "compile", model, "--target", "cpu+cuda", "-o", module], check=True, stdout=subprocess.DEVNULL)
    machine = ctypes.CDLL(os.environ["SINTER_CUDA_DRIVER"], mode=ctypes.RTLD_GLOBAL)
    machine.sinterPtxCount.restype = ctypes.c_uint64
    session = Runtime(os.path.join(build, "lib", "libsinter_rt.so")).session(module)

    def feeds(rows, states):
        return {"input": np.zeros((rows, 576), np.float32), "state": np.zeros((2, states, 128), np.float32), "sr": np.array(16000, np.int64)}

    for batch in (1, 3):
        before = [machine.sinterPtxCount(kind.encode()) for kind in KINDS]
        session.run(feeds(batch, batch))
        print(f"batch {batch}:", *(f"{kind} {machine.sinterPtxCount(kind.encode()) - n}" for kind, n in zip(KINDS, before)))
    try:
        session.run(feeds(2, 3))
        print("no error")
    except Error as error:
        print(f"error: {error}")


main()
