# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""zero_points.py BUILD: MatMulInteger with zero points of every form, constant and not, against NumPy."""
import os
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "models"))
import sinter_runtime

# a, b, zero point of a and of b by shape (None: left out), which of b and the zero points are constants
CASES = [((5, 17), (17, 33), (), None, "b a"), ((5, 17), (17, 33), (5,), (33,), "b"), ((5, 17), (17, 33), (1,), (1,), "b ab"), ((2, 3, 4), (4, 9), (), (), ""),
         ((2, 3, 4), (2, 4, 9), (3,), (9,), "ab"), ((4, 3), (2, 3, 8), (), (8,), "b ab"), ((7,), (7, 6), (), (6,), "b"), ((2, 3, 4), (2, 4, 5), (2, 3, 1), (2, 1, 5), "b a")]


def main():
    build, wrong = sys.argv[1], 0
    runtime = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so"))
    rng = np.random.default_rng(1)
    for number, (a_shape, b_shape, a_zero, b_zero, constants) in enumerate(CASES):
        types = [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8), (np.int8, np.uint8)][number % 4]
        draw = lambda shape, kind: rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind, endpoint=True)
        values = {"A": draw(a_shape, types[0]), "B": draw(b_shape, types[1])}
        names = ["A", "B", "", ""]
        if a_zero is not None:
            values["AZ"], names[2] = np.asarray(draw(a_zero, types[0])), "AZ"
        if b_zero is not None:
            values["BZ"], names[3] = np.asarray(draw(b_zero, types[1])), "BZ"
        fixed = [name for name in values if {"B": "b", "AZ": "a", "BZ": "ab", "A": "-"}[name] in constants.split()]
        wide = {name: value.astype(np.int64) for name, value in values.items()}
        line = lambda zero, rows: zero.reshape(-1, 1) if rows and zero.ndim == 1 else zero
        expected = np.matmul(wide["A"] - line(wide.get("AZ", np.int64(0)), len(a_shape) > 1), wide["B"] - wide.get("BZ", np.int64(0)))
        info = lambda name, value: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        graph = helper.make_graph([helper.make_node("MatMulInteger", names, ["Y"])], "g", [info(name, value) for name, value in values.items() if name not in fixed],
                                  [helper.make_tensor_value_info("Y", TensorProto.INT32, expected.shape)], [numpy_helper.from_array(values[name], name) for name in fixed])
        with tempfile.TemporaryDirectory() as folder:
            save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), f"{folder}/m.onnx")
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.onnx", "-o", f"{folder}/m.smod"], check=True, stderr=subprocess.DEVNULL)
            got = runtime.session(f"{folder}/m.smod").run({name: value for name, value in values.items() if name not in fixed})["Y"]
        if not np.array_equal(got, expected):
            wrong += 1
            print(f"case {number}: {np.sum(got != expected)} of {expected.size} wrong")
    print(f"{len(CASES)} products, {wrong} wrong")
    sys.exit(wrong > 0)


main()
