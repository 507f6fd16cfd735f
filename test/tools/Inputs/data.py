# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files for data.test, and what becomes of them.

    data.py make                 in the current folder
    data.py convert SINTER       from format to format
"""
import csv
import gzip
import json
import os
import struct
import subprocess
import sys

import numpy


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def field(key, data):
    return bytes([key, len(data)]) + data


def tfrecord(name, examples):
    """Each example a list of (name, key of the kind, content of the list)."""
    with open(name, "wb") as f:
        for example in examples:
            entries = b"".join(field(10, field(10, n.encode()) + field(18, field(kind, content))) for n, kind, content in example)
            data = field(10, entries)
            size = struct.pack("<Q", len(data))
            f.write(size + struct.pack("<I", masked_crc(size)) + data + struct.pack("<I", masked_crc(data)))


def make():
    for name, separator in (("t.csv", ","), ("t.tsv", "\t")):
        with open(name, "w", newline="") as f:
            writer = csv.writer(f, delimiter=separator)
            writer.writerow(["id", "value", "word", "truth"])
            for i in range(40):
                writer.writerow([i, "" if i == 1 else i / 2 if i else 0.5, "" if i == 1 else 'a "b", c' if i % 2 == 0 else "d", "y\nz" if i == 1 else "x"])
    rng = numpy.random.default_rng(0)
    numpy.savez("a.npz", x=rng.standard_normal((20, 3)).astype("f4"), n=rng.integers(-9, 9, 20))
    numpy.save("x.npy", rng.standard_normal((20, 2, 2)))
    with open("m.idx", "wb") as f:
        f.write(bytes([0, 0, 8, 2]) + struct.pack(">II", 5, 3) + bytes(range(15)))
    with open("bad.csv", "w") as f:
        f.write("a,b\n1,2\n3\n")
    tfrecord("bytes.tfrecord", [[("b", 10, field(10, b"\xff\xfe"))]])
    tfrecord("mixed.tfrecord", [[("f", 26, field(10, b"\x05"))], [("f", 10, field(10, b"x"))]])


def convert(sinter):
    failures = 0

    def run(source, target):
        subprocess.run([sinter, "data", "convert", source, target], check=True, capture_output=True)
        return target

    def expect(what, holds):
        nonlocal failures
        if not holds:
            failures += 1
            print("differs:", what)

    def lines(name):
        with (gzip.open if name.endswith(".gz") else open)(name, "rt") as f:
            return [json.loads(line) for line in f]

    def table(name, separator=","):
        with (gzip.open if name.endswith(".gz") else open)(name, "rt", newline="") as f:
            return list(csv.reader(f, delimiter=separator))

    rows = [r if i == 0 else [r[0], r[1] or "nan", r[2], r[3]] for i, r in enumerate(table("t.csv"))]
    same = lambda a, b: a[0] == b[0] and all(x[0] == y[0] and (x[1] == y[1] or float(x[1]) == float(y[1])) and x[2:] == y[2:] for x, y in zip(a, b)) and len(a) == len(b)
    expect("csv, jsonl", [r["id"] for r in lines(run("t.csv", "t.jsonl"))] == list(range(40)))
    expect("jsonl.gz", lines(run("t.csv", "t.jsonl.gz")) == lines("t.jsonl"))
    expect("jsonl, csv", same(rows, table(run("t.jsonl", "u.csv"))))
    expect("csv, tsv.gz", same(rows, table(run("t.csv", "u.tsv.gz"), "\t")))
    expect("csv, tfrecord, csv", same([[r[i] for i in (0, 1, 2, 3)] for r in rows], table(run(run("t.csv", "t.tfrecord.gz"), "v.csv"))))
    with numpy.load("a.npz") as a:
        for name in "b.safetensors", "b.npz", "b.jsonl":
            run("a.npz", name)
            with numpy.load(run(name, "c" + name.replace(".", "") + ".npz")) as b:
                expect(name, all((a[k] == b[k].astype(a[k].dtype)).all() and a[k].shape == b[k].shape for k in a.files))
        records = lines(run(run("a.npz", "b.tfrecord"), "d.jsonl"))
        expect("npz, tfrecord, jsonl", numpy.array_equal(numpy.array([r["x"] for r in records], "f4"), a["x"]) and [r["n"] for r in records] == a["n"].tolist())
    expect("npy", numpy.array_equal(numpy.array([r["x"] for r in lines(run("x.npy", "x.jsonl"))]), numpy.load("x.npy")))
    expect("idx, npy", numpy.array_equal(numpy.load(run("m.idx", "m.npy")), numpy.arange(15, dtype="u1").reshape(5, 3)))
    expect("nothing beside", not [f for f in os.listdir(".") if ".tmp" in f])
    print(failures, "failures")


make() if sys.argv[1] == "make" else convert(sys.argv[2])
