# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains with states and activations in mapped files: the same bits as in memory, files without names that hold what they should, errors of a
disk without room and of a folder that is none, a child that may not touch them.

usage: memory_folder.py SINTER LIBRARY FOLDER"""
import os
import resource
import signal
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
from sinter_runtime import Error, Runtime

DOT = "element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>"
ROWS, WIDTH = 64, 256
WEIGHT, PART = f"tensor<{WIDTH}x{WIDTH}xf32>", f"tensor<{ROWS}x{WIDTH}xf32>"
MODEL = f"""
func.func @main(%x: {PART} {{sinter.name = "x"}}, %a: {WEIGHT} {{sinter.state = "a"}}, %b: {WEIGHT} {{sinter.state = "b"}}) -> ({PART} {{sinter.name = "y"}}) {{
  %p = sinter.dot_general %x, %a {{{DOT}}} : ({PART}, {WEIGHT}) -> {PART}
  %h = sinter.tanh %p : ({PART}) -> {PART}
  %y = sinter.dot_general %h, %b {{{DOT}}} : ({PART}, {WEIGHT}) -> {PART}
  return %y : {PART}
}}
"""
failures = 0


def require(holds, message):
    global failures
    if not holds:
        failures += 1
        print(message)


def mapped(folder):
    """Bytes of files of `folder` that this process maps, and how many they are."""
    sizes = []
    with open("/proc/self/maps", encoding="utf-8") as file:
        for line in file:
            if os.path.realpath(folder) in line:
                first, last = (int(part, 16) for part in line.split()[0].split("-"))
                sizes.append(last - first)
    return sum(sizes), len(sizes)


def message_of(call):
    try:
        call()
    except Error as error:
        return str(error)
    return "no error"


def main(sinter, library, folder):
    model, module, place = (os.path.join(folder, name) for name in ("model.mlir", "step.smod", "disk"))
    os.mkdir(place)
    with open(model, "w", encoding="utf-8") as file:
        file.write(MODEL)
    subprocess.run([sinter, "train-step", model, "--loss", "mse", "--optimizer", "adam:lr=1e-3", "--init", "1", "-o", module], check=True,
                   capture_output=True)
    runtime = Runtime(library)
    random = np.random.default_rng(1)
    batches = [{"x": random.standard_normal((ROWS, WIDTH)).astype(np.float32), "target": random.standard_normal((ROWS, WIDTH)).astype(np.float32)}
               for _ in range(8)]
    usual, there = runtime.session(module), runtime.session(module, folder=place)
    for k, batch in enumerate(batches):
        require(usual.run(batch)["loss"].tobytes() == there.run(batch)["loss"].tobytes(), f"another loss in step {k}")
        if k == 3:  # a file takes their place
            path = os.path.join(folder, "half.safetensors")
            there.save(path)
            there.load(path)
    for name in usual.states:
        require(usual.state(name).tobytes() == there.state(name).tobytes(), f"another state {name}")
    size, count = mapped(place)
    arena = there.memory().arena
    require(count == 7 and 6 * 4 * WIDTH * WIDTH + arena <= size <= 6 * 4 * WIDTH * WIDTH + arena + 8192, f"{count} files of {size} bytes are mapped")
    require(not os.listdir(place), f"files have names: {os.listdir(place)}")
    child = os.fork()
    if not child:
        refusal = "belongs to the process that made" if "belongs" in message_of(lambda: there.run(batches[0])) else "none"
        os._exit(0 if refusal != "none" and "belong" in message_of(lambda: there.save(path)) else 1)
    require(os.waitpid(child, 0)[1] == 0, "a child used the files of its parent")
    there.close()
    require(mapped(place) == (0, 0), "files stay mapped")

    message = message_of(lambda: runtime.session(module, folder=os.path.join(folder, "none")))
    require(f"no memory for state 'a' of 262144 bytes in folder '{folder}/none': No such file or directory" in message, message)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200000, resource.RLIM_INFINITY))
    message = message_of(lambda: runtime.session(module, folder=place))
    require(f"no memory for state 'a' of 262144 bytes in folder '{place}': File too large" in message, message)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * WIDTH * WIDTH, resource.RLIM_INFINITY))
    full = runtime.session(module, folder=place)
    message = message_of(lambda: full.run(batches[0]))
    require(f"no memory for an arena of {arena} bytes in folder '{place}': File too large" in message, message)
    print("folders hold" if not failures else f"{failures} failures")
    sys.exit(failures > 0)


main(*sys.argv[1:])
