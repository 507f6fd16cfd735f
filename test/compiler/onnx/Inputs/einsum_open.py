# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""einsum_open.py SINTER: equations whose operands have axes of one element, and axes that do not fit, against NumPy, with known sizes and with open ones."""
import sys

import numpy as np
from onnx import TensorProto

from contrib_node import run_ours

RNG = np.random.default_rng(1)
DIFFER = "dot_general requires equal sizes"
SQUARE = "found 3 and 1", "einsum got 1 elements along an axis, requires 3 as along another with its label"
CASES = [
    ("ij,ij->ij", (1, 3), (4, 3)), ("ij,ij->ij", (4, 3), (1, 3)), ("ij,ij->ij", (4, 3), (4, 1)), ("ij,ij->ij", (4, 1), (1, 3)), ("i,i->", (1,), (5,)), ("i,i->", (5,), (1,)), ("i,i->i", (0,), (1,)),
    ("bij,bjk->bik", (1, 2, 3), (4, 3, 5)), ("bij,bjk->bik", (4, 2, 3), (1, 3, 5)), ("bij,bjk->bik", (4, 2, 1), (4, 3, 5)), ("...ij,...jk->...ik", (1, 2, 3), (4, 3, 5)),
    ("...ij,...jk->...ik", (1, 4, 2, 3), (6, 1, 3, 5)), ("...ij,jk->...ik", (6, 4, 2, 3), (3, 5)), ("i,j->ij", (1,), (3,)), ("ii->i", (3, 3)), ("ij,ij,ij->i", (1, 3), (4, 1), (4, 3)), ("ij,jk->ik", (2, 0), (0, 3)),
    ("ij->", (0, 3)), ("bij,bjk->bik", (4, 2, 3), (3, 3, 5)), ("bij,bjk->bik", (4, 2, 3), (4, 2, 5)), ("ii->i", (3, 1)),
]


def main():
    sinter, failures = sys.argv[1], 0
    for equation, *shapes in CASES:
        values = {f"x{k}": RNG.standard_normal(shape).astype(np.float32) for k, shape in enumerate(shapes)}
        try:
            expected = np.asarray(np.einsum(equation, *values.values()))
        except ValueError:
            expected = None
        for opened in ((), tuple(values)):
            got, printed = run_ours(sinter, "Einsum", values, [], [TensorProto.FLOAT], domain="", opened=opened, equation=equation)
            if expected is None:
                isRight = got is None and (SQUARE[bool(opened)] in printed if equation == "ii->i" else (DIFFER if opened else "node of 'out0' (Einsum): dot_general requires dim(lhs") in printed)
            else:
                isRight = got is not None and got[0].shape == expected.shape and np.allclose(got[0], expected, 1e-5, 1e-5)
            if not isRight:
                failures += 1
                print(f"{equation} {shapes} {opened}: {got} for {expected} {printed}")
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
