# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares arrays of f32 with the first one to a millionth. usage: close.py EXPECTED.npy FILE.npy..."""
import sys

import numpy as np

expected = np.load(sys.argv[1])
for name in sys.argv[2:]:
    assert np.abs(np.load(name) - expected).max() < 1e-6 * np.abs(expected).max(), name
print(f"{len(sys.argv) - 2} are close")
