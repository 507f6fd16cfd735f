# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""crashing_case.py SINTER FOLDER: a case that is expected to fail but crashes, hangs, or fails as is expected."""
import os
import signal
import subprocess
import sys
import time

import numpy as np
from onnx import numpy_helper
from onnx.parser import parse_model

SINTER, FOLDER = sys.argv[1:]
ENDLESS = """<ir_version: 8, opset_import: ["" : 17]>
g (float x) => (float z) {
  n = Constant<value = int64 {1000000000000000}>()
  c = Constant<value = bool {1}>()
  z = Loop(n, c, x) <body = b (int64 k, bool go, float s) => (bool more, float next) { more = Identity(go)
    next = Sin(s) }>
}"""
WRONG = '<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float z) { z = Neg(x) }'


def case(name, text):
    data = f"{FOLDER}/{name}/node/test_case/test_data_set_0"
    os.makedirs(data)
    with open(f"{FOLDER}/{name}/node/test_case/model.onnx", "wb") as file:
        file.write(parse_model(text).SerializeToString())
    for kind in ("input_0", "output_0"):
        with open(f"{data}/{kind}.pb", "wb") as file:
            file.write(numpy_helper.from_array(np.float32(1)).SerializeToString())
    return f"{FOLDER}/{name}"


def check(folder, limit):
    return subprocess.Popen([SINTER, "check", "--onnx-tests", folder, "-j", "1", "--time-limit", str(limit), "--expected-failures",
                             f"{FOLDER}/expected.txt"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


with open(f"{FOLDER}/expected.txt", "w", encoding="utf-8") as file:
    file.write("node/test_case fails\n")
endless = case("endless", ENDLESS)
program = check(endless, 100)
children = f"/proc/{program.pid}/task/{program.pid}/children"
while program.poll() is None and not open(children).read().split():
    time.sleep(0.01)
time.sleep(0.3)
os.kill(int(open(children).read().split()[0]), signal.SIGSEGV)
print("crash", program.wait(), program.stdout.read())
program = check(endless, 1)
print("hang", program.wait(), program.stdout.read())
program = check(case("wrong", WRONG), 100)
print("wrong", program.wait(), program.stdout.read())
