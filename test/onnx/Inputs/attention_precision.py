# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attention_precision.py SINTER FOLDER: attention in bf16 and f16 against the same formula in f64, for onnx's node tests in those types.

The expected numbers of these node tests round after every step (also each partial sum of a softmax), so they are off by
more than a unit in the last place themselves. What is required here is that ours are no further from the exact numbers,
in the worst element and on average (root of the mean square)."""
import os
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")
import ml_dtypes
import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases
from onnx.reference.ops.op_attention import _compute_attention

BITS = {ml_dtypes.bfloat16: 7, np.float16: 10}  # of a fraction
INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")


def widened(value):
    return value.astype(np.float64) if value.dtype.type in BITS else value


def exact_of(node, inputs):
    names = [name for name, given in zip(INPUTS, node.input) if given]
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    return _compute_attention(**{name: widened(value) for name, value in zip(names, inputs)}, **attributes)[0]


def run(sinter, folder, case, inputs):
    os.makedirs(folder)
    model = f"{folder}/model.onnx"
    onnx.save(case.model, model)
    words = []
    for port, value in zip(case.model.graph.input, inputs):
        value.tofile(f"{folder}/{port.name}.raw")
        words += ["--input", f"{port.name}=@{folder}/{port.name}.raw"]
    result = f"{folder}/result.npy"
    subprocess.run([sinter, "run", model, *words, "--output", f"{case.model.graph.output[0].name}=@{result}"], check=True)
    return np.load(result).view(inputs[0].dtype)


def main():
    sinter, folder = sys.argv[1:]
    cases = {case.name: case for case in collect_testcases(None)
             if case.name.startswith("test_attention_") and case.data_sets[0][0][0].dtype.type in BITS}
    failed = 0
    for name, case in sorted(cases.items()):
        inputs, (expected, *_) = case.data_sets[0]
        plain = cases[name.removesuffix("_expanded")]
        exact = exact_of(plain.model.graph.node[0], inputs)
        unit = 2.0 ** (np.floor(np.log2(np.abs(exact) + 1e-30)) - BITS[expected.dtype.type])  # in the last place

        def error(value):
            units = np.abs(value.astype(np.float64) - exact) / unit
            return units.max(), np.sqrt((units**2).mean())

        (ours_worst, ours), (data_worst, data) = error(run(sinter, f"{folder}/{name}", case, inputs)), error(expected)
        good = ours_worst <= data_worst and ours <= data
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name}: ours {ours_worst:.2f} units at most, {ours:.2f} on average; "
              f"expected numbers {data_worst:.2f}, {data:.2f}")
    print(f"{len(cases) - failed} nearer, {failed} further")
    sys.exit(failed != 0 or not cases)


main()
