# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes samples of two classes, and checks by formulas in NumPy what a training measured of them, and what it wrote for
TensorBoard.

usage: train_validation.py data | metrics CHECKPOINT CURVE | events FILE CURVE | outputs CHECKPOINT |
damage FILE KIND"""
import csv
import json
import os
import struct
import sys

import numpy as np

M64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def data():
    random = np.random.default_rng(0)
    x = random.standard_normal((200, 3)).astype(np.float32)
    scores = x @ np.array([[1, 2], [0.5, -1], [0, 1]], np.float32)
    labels = (scores[:, 1] - scores[:, 0] + random.standard_normal(200) > 0).astype(np.int64)
    np.save("x.npy", x)
    np.save("labels.npy", labels)
    np.save("few_x.npy", x[:5])
    np.save("few_labels.npy", labels[:5])
    np.save("past.npy", labels + 1)
    with open("table.csv", "w") as f:
        f.write("a,b,c,labels\n")
        f.writelines(f"{row[0]!r},{row[1]!r},{row[2]!r},{label}\n" for row, label in zip(x.astype(float).tolist(), labels))
    columns = [{"name": name, "into": "x"} for name in "abc"] + [{"name": "labels", "kind": "identity", "buckets": 2}]
    with open("columns.json", "w") as f:
        json.dump({"columns": columns}, f)


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & M64
    return z ^ (z >> 31)


def draw(seed, epoch, position):
    z = mix(seed + GOLDEN & M64)
    z = mix(z + GOLDEN * (epoch + 1) & M64)
    return mix(z + GOLDEN * (position + 1) & M64)


def read_safetensors(path):
    with open(path, "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(size))
        rest = f.read()
    dtypes = {"F32": np.float32, "I64": np.int64, "U8": np.uint8, "U32": np.uint32}
    return {name: np.frombuffer(rest[slice(*entry["data_offsets"])], dtypes[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def read_curve(path):
    with open(path) as f:
        return list(csv.DictReader(f))


def expected(w):
    """Of the share of .25 that seed 5 chooses."""
    held = [i for i in range(200) if (draw(5, 0, i) >> 11) * 2.0**-53 >= 0.75]
    scores = np.load("x.npy")[held].astype(np.float64) @ w.astype(np.float64)
    labels = np.load("labels.npy")[held]
    predicted = scores.argmax(1)
    right = ((predicted == 1) & (labels == 1)).sum()
    difference = scores[:, 1] - scores[:, 0]
    pairs = difference[labels == 1][:, None] - difference[labels == 0][None, :]
    log = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    entropy = -log[np.arange(len(held)), labels].mean()
    return {"accuracy": (predicted == labels).mean(), "f1": 2 * right / ((predicted == 1).sum() + (labels == 1).sum()),
            "auc": ((pairs > 0) + (pairs == 0) / 2).mean(), "cross_entropy": entropy, "perplexity": np.exp(entropy), "top2": 1.0}


def metrics(checkpoint, curve):
    row = read_curve(curve)[-1]
    for name, wanted in expected(read_safetensors(checkpoint)["w"]).items():
        assert abs(float(row[name]) - wanted) < 1e-5, (name, row[name], wanted)
    print("metrics are those of NumPy after step", row["step"])


def crc32c(data):
    crc = M32 = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ M32


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(message):
    """Number and value of each field of a protocol buffer."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, message[at:at + size]
        at += size


def events(path, curve):
    with open(path, "rb") as f:
        file = f.read()
    found, at, versions = {}, 0, []
    while at < len(file):
        (length,) = struct.unpack_from("<Q", file, at)
        event = file[at + 12:at + 12 + length]
        crcs = struct.unpack_from("<I", file, at + 8) + struct.unpack_from("<I", file, at + 12 + length)
        assert crcs == (masked(file[at:at + 8]), masked(event)), "checksum"
        at += 16 + length
        parts = dict(fields(event))
        assert struct.unpack("<d", parts[1])[0] > 1.5e9, "wall time"
        if 3 in parts:
            versions.append(parts[3])
            continue
        (value,) = [value for number, value in fields(parts[5]) if number == 1]
        value = dict(fields(value))
        key = (parts[2], value[1].decode())
        assert key not in found, key
        found[key] = struct.unpack("<f", value[2])[0]
    assert versions == [b"brain.Event:2"], versions
    wanted = {}
    for row in read_curve(curve):
        for name, text in row.items():
            if name != "step" and text:
                wanted[int(row["step"]), name if name == "loss" else "validation/" + name] = float(text)
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    assert all(abs(found[key] - wanted[key]) < 1e-6 for key in wanted)
    print(len(found), "events are those of the curve")


def outputs(checkpoint):
    wanted = np.load("few_x.npy").astype(np.float64) @ read_safetensors(checkpoint)["w"]
    assert np.abs(np.load("few_y.npy") - wanted).max() < 1e-5
    print("outputs are those of the weights")


def damage(path, kind):
    with open(path, "rb") as f:
        file = bytearray(f.read())
    if kind == "flip":  # a bit of the last element
        file[-5] ^= 4
    elif kind == "cut":
        del file[-7:]
    else:
        file[:] = b""
    with open(path, "wb") as f:
        f.write(file)


if __name__ == "__main__":
    {"data": data, "metrics": metrics, "events": events, "outputs": outputs, "damage": damage}[sys.argv[1]](*sys.argv[2:])
