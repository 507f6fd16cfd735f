# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""text2onnx.py IN OUT: writes a model given in ONNX's text form (lines that start with # are left out)."""
import sys

import onnx.parser

with open(sys.argv[1]) as file:
    text = "".join(line for line in file if not line.lstrip().startswith("#"))
with open(sys.argv[2], "wb") as file:
    file.write(onnx.parser.parse_model(text).SerializeToString())
