# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes digits.npz, which is checked in: scikit-learn's load_digits (UCI's optical recognition of handwritten digits, Alpaydin &
Kaynak 1998, CC BY 4.0) as u8 [1797, 64] from 0 to 16, and its labels. Run by hand where scikit-learn is."""

import os

import numpy
from sklearn.datasets import load_digits

digits = load_digits()
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.npz")
numpy.savez_compressed(path, images=digits.data.astype(numpy.uint8), labels=digits.target.astype(numpy.int64))
