# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the best checkpoint of a training in memory with one of a training whose tables lie in folders: its files of
rows, and what else it has.

usage: best_rows.py WHOLE.safetensors FOLDER INPUT=TABLE..."""
import glob
import json
import sys

import numpy as np

DTYPES = {"F32": np.float32, "I64": np.int64, "U8": np.uint8, "U32": np.uint32, "U64": np.uint64, "BOOL": np.bool_}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    entries = json.loads(data[8 : 8 + size])
    body = data[8 + size :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in entries.items()
        if name != "__metadata__"
    }


whole, few = read(sys.argv[1]), read(sys.argv[2] + "/best.safetensors")
tables, compared = dict(pair.split("=") for pair in sys.argv[3:]), 0
for source, table in tables.items():
    files = glob.glob(f"{sys.argv[2]}/best-*-{source}-*.safetensors")
    assert len(files) == 1, files
    part = read(files[0])
    for name in part:
        if name == "rows" or name.startswith("rows."):
            continue
        rows = np.zeros_like(whole[name])  # what nobody wrote
        rows[part["rows"]] = part[name]
        assert np.array_equal(rows, whole[name]), name
        compared += 1
for name in whole:
    if not name.startswith("trainer.") and not any(name == t or name.endswith("." + t) for t in tables.values()):
        assert np.array_equal(whole[name], few[name]), name
        compared += 1
print(f"{compared} states are alike")
