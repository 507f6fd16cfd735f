# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""export_models.py SINTER DATA NAME...: ONNX's node tests, imported and exported again, must satisfy onnx.checker and give the expected
outputs in onnxruntime. NAME is a folder below DATA; what is not supported, here or there, is skipped and counted.

Prints `N right, N wrong, N skipped` and a line for each wrong one."""
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

onnxruntime.set_default_logger_severity(4)


def tensors(folder, stem):
    found = []
    while os.path.exists(path := os.path.join(folder, f"{stem}_{len(found)}.pb")):
        with open(path, "rb") as f:
            found.append(onnx.TensorProto.FromString(f.read()))
    return [numpy_helper.to_array(tensor) for tensor in found]


def runs(model, folder):
    """What onnxruntime makes of the model, and what is expected; None where it does not run it."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    data = os.path.join(folder, "test_data_set_0")
    inputs = dict(zip([i.name for i in session.get_inputs()], tensors(data, "input")))
    return session.run(None, inputs), tensors(data, "output")


def same(actual, expected):
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{list(actual.shape)} for {expected.dtype}{list(expected.shape)}"
    wide = [array.astype(numpy.float64) for array in (actual, expected)]
    if numpy.allclose(*wide, rtol=1e-3, atol=1e-5 if actual.dtype != numpy.float16 else 1e-2, equal_nan=True):
        return ""
    return f"differs by {numpy.nanmax(numpy.abs(wide[0] - wide[1]))}"


def check(sinter, folder, scratch):
    """"" when right, None when skipped, else what is wrong."""
    source, graph, exported = os.path.join(folder, "model.onnx"), os.path.join(scratch, "a.sinter"), os.path.join(scratch, "b.onnx")
    for command in ([source, graph], [graph, exported]):
        done = subprocess.run([sinter, "convert", *command], capture_output=True, text=True, timeout=120)
        if done.returncode == 3:
            return None
        if done.returncode != 0:
            return done.stderr.strip()
    try:
        onnx.checker.check_model(exported, full_check=True)
    except Exception as error:
        return "checker: " + str(error).strip().splitlines()[0]
    try:
        runs(source, folder)
    except Exception:
        return None  # onnxruntime does not run the original either
    try:
        actual, expected = runs(exported, folder)
    except Exception as error:
        return "onnxruntime: " + str(error).strip()[:300]
    problems = [same(a, e) for a, e in zip(actual, expected)]
    return next(filter(None, problems), "")


def main():
    sinter, data, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    right, wrong, skipped = 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            problem = check(sinter, os.path.join(data, name), scratch)
            if problem is None:
                skipped += 1
            elif problem:
                wrong += 1
                print(f"{name}: {problem}")
            else:
                right += 1
    print(f"{right} right, {wrong} wrong, {skipped} skipped")


main()
