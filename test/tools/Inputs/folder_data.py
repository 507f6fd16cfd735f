# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of one pixel (pictures/) and sounds of three frames (sounds/), in folders that are their labels, and the same as arrays."""
import os
import random
import struct

import numpy

choice = random.Random(4)
pixels, sounds, labels = [], [], []
for label, folder in enumerate(("dark", "light")):
    os.makedirs(f"pictures/{folder}")
    os.makedirs(f"sounds/{folder}")
    for i in range(25):
        pixel = [choice.randrange(128) + 127 * label for _ in range(3)]
        with open(f"pictures/{folder}/{i:02}.ppm", "wb") as f:
            f.write(b"P6 1 1 255 " + bytes(pixel))
        sound = [choice.randrange(-32768, 32767) for _ in range(4)]
        head = struct.pack("<HHIIHH", 1, 2, 8000, 32000, 4, 16)
        frames = sound[: 2 + 2 * (i % 2)]  # one frame or two of two channels
        data = struct.pack(f"<{len(frames)}h", *frames)
        with open(f"sounds/{folder}/{i:02}.wav", "wb") as f:
            f.write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + head + b"data" + struct.pack("<I", len(data)) + data)
        pixels.append(numpy.float32(pixel) / numpy.float32(255))
        mono = [(numpy.float32(a) / 32768 + numpy.float32(b) / 32768) / numpy.float32(2) for a, b in zip(frames[::2], frames[1::2])]
        sounds.append(mono + [0] * (3 - len(mono)))
        labels.append(label)
numpy.save("pixels.npy", numpy.float32(pixels))
numpy.save("sounds.npy", numpy.float32(sounds))
numpy.save("labels.npy", numpy.int64(labels))
os.makedirs("flat")
os.makedirs("none")
for name, content in (("flat/x.ppm", b"P6 1 1 255 abc"), ("none/x.txt", b"x")):
    with open(name, "wb") as f:
        f.write(content)
os.makedirs("mixed/a")
for name, content in (("mixed/a/1.ppm", b"P6 1 1 255 abc"), ("mixed/a/2.ppm", b"P6 2 1 255 abcdef")):
    with open(name, "wb") as f:
        f.write(content)
with open("book.txt", "w") as f:
    f.write("the cat sat on the mat, the dog sat on the cat\n" * 20)
