# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mutate.py SINTER MODEL...: changed copies of models must be compiled or refused with exit code 3, 6 or 7 and one line."""
import os
import random
import subprocess
import sys

source = random.Random(1)
sinter, problems = sys.argv[1], []
for model in sys.argv[2:]:
    with open(model, "rb") as f:
        original = f.read()
    for number in range(30):
        content = bytearray(original)
        for _ in range(source.choice((1, 2, 8))):
            content[source.randrange(len(content))] = source.randrange(256)
        with open("mutated.onnx", "wb") as f:
            f.write(content)
        done = subprocess.run([sinter, "compile", "-O0", "--emit=graph", "mutated.onnx", "-o", "mutated.mlir"],
                              capture_output=True, text=True, errors="replace", timeout=300)
        refused = done.returncode in (1, 3, 6, 7) and done.stderr.startswith("sinter: error: ") and not os.path.exists("mutated.mlir")
        if done.returncode != 0 and done.returncode != 3 and done.stderr.count("\n") != 1:
            refused = False
        if done.returncode != 0 and not refused:
            problems.append(f"{model}, change {number}: exit code {done.returncode}: {done.stderr}")
        if os.path.exists("mutated.mlir"):
            os.remove("mutated.mlir")
sys.exit("\n".join(problems) if problems else 0)
