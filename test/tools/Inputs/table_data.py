# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table, its numbers as arrays, and the arrays in the order that shuffling by seed 3 gives the rows."""
import json
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "data", "Inputs"))
from pipelines import draw, permutation  # the model of shuffling that pipelines are compared with

def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def field(key, data):
    return bytes([key, len(data)]) + data


random = np.random.default_rng(0)
x = random.standard_normal((100, 3)).astype(np.float32)
y = x @ np.array([[1, 2], [0.5, -1], [0, 1]], np.float32)
np.save("x.npy", x)
np.save("y.npy", y)
order = permutation(100, draw(3, 0, 0), 0)
np.save("moved_x.npy", x[order])
np.save("moved_y.npy", y[order])
names = ["a", "b", "c", "y0", "y1"]
with open("t.csv", "w") as f:
    f.write(",".join(names) + "\n" + "".join(",".join(repr(float(v)) for v in row) + "\n" for row in np.concatenate([x, y], 1)))
with open("t.tfrecord", "wb") as f:
    for row in np.concatenate([x, y], 1):
        entries = b"".join(field(10, field(10, n.encode()) + field(18, field(18, field(10, struct.pack("<f", v))))) for n, v in zip(names, row))
        data = field(10, entries)
        size = struct.pack("<Q", len(data))
        f.write(size + masked_crc(size) + data + masked_crc(data))
with open("bad.csv", "w") as f:
    f.write("a,b,c,y0,y1\nx,1,1,1,1\n")
columns = [{"name": n, "into": "x" if n in "abc" else "target"} for n in names]


def write(name, columns):
    with open(name, "w") as f:
        json.dump({"columns": columns}, f)


write("columns.json", columns)
write("alone.json", columns[:3])
write("open.json", [{**columns[0], "normalize": True}, *columns[1:]])
write("ids.json", [{"name": "x", "kind": "bucketed", "key": "a", "boundaries": [0]}, *columns[3:]])
