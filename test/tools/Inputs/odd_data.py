# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files as editors and other programs write them, for test/tools/data.test."""
import os

import numpy as np


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


mark = b"\xef\xbb\xbf"
write("marked.csv", mark + b"id,v\n1,2.5\n")
write("marked.jsonl", mark + b'{"id": 1}\n{"id": 2}\n')
write("marked.txt", mark + "σ\nx\n".encode())
for suffix, text in (("csv", "id,v\n1,2\n"), ("jsonl", '{"id": 1}\n'), ("txt", "a\nb\n")):
    write("wide." + suffix, text.encode("utf-16"))
write("nested.jsonl", b'{"a": 1, "b": {"c": [2, {}]}, "r": [[1, 2], [3]]}\n{"a": 2, "b": null, "r": 7}\n')
np.save("half.npy", np.array([0.5, -2, np.inf, 65504], np.float16))
write("endless.csv", b"v\n1\ninf\n")
write("endless.json", b'{"columns": [{"name": "v", "normalize": true}]}')
step = bytes([10, 2, 10, 0])  # tf.train.FeatureLists: an entry
for folder in "sounds", "drawings":
    os.makedirs(f"{folder}/a", exist_ok=True)
write("sounds/a/empty.wav", b"")
write("drawings/a/x.gif", b"GIF89a")


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def frame(record):
    length = len(record).to_bytes(8, "little")
    return length + masked(crc32c(length)).to_bytes(4, "little") + record + masked(crc32c(record)).to_bytes(4, "little")


def field(key, content):
    return bytes([key, len(content)]) + content


def example(number):
    value = field(26, field(10, bytes([number % 128 | 128, number // 128])))
    return field(10, field(10, field(10, b"id") + field(18, value)))


write("sequence.tfrecord", frame(bytes([10, 0, 18, len(step)]) + step))
odd = {0: b"\x0a\x7f", 5: field(10, b"\xff"), 1500: b"\xff" * 9, 1501: field(10, field(10, field(10, b"id") + field(18, field(10, field(10, b"text"))))), 2999: b"x"}
write("odd.tfrecord", b"".join(frame(odd.get(i, example(i))) for i in range(3000)))
write("all_odd.tfrecord", frame(odd[0]) + frame(odd[1500]))
