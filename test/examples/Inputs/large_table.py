# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the states of a table in memory with the snapshots of one in a folder: rows that nobody moved are zeros.

usage: large_table.py STATES SNAPSHOT..."""
import json
import struct
import sys

import numpy as np


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    types = {"F32": np.float32, "I64": np.int64, "U32": np.uint32}
    return {name: np.frombuffer(data[slice(*one["data_offsets"])], types[one["dtype"]]).reshape(one["shape"])
            for name, one in header.items() if name != "__metadata__"}


states = {name: value for name, value in read(sys.argv[1]).items() if name in ("table", "optimizer.sum.table")}
found = {name: np.zeros_like(value) for name, value in states.items()}
rows = set()
for path in sys.argv[2:]:
    snapshot = read(path)
    assert (np.diff(snapshot["rows"]) > 0).all()
    rows |= set(snapshot["rows"].tolist())
    for name, value in found.items():
        value[snapshot["rows"]] = snapshot[name]
assert len(states) == 2 and 400 < len(rows) < 20000, len(rows)
for name, value in states.items():
    assert np.abs(value).max() > 0 and value.tobytes() == found[name].tobytes(), name
print("rows are those of the table in memory")
