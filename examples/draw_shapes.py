#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures for train_pictures.cpp, drawn without any library: discs, squares, triangles and rings of any colour, size and place, on noise.

    draw_shapes.py FOLDER [--each 120] [--side 24]

Of each kind `--each` go to FOLDER/train/KIND/NUMBER.png and a quarter as many to FOLDER/held_out/KIND; every third is a .ppm."""
import argparse
import os
import random
import struct
import zlib


def is_inside(kind, x, y):
    """Whether a point is in a shape whose radius is 1."""
    if kind == "square":
        return max(abs(x), abs(y)) < 0.85
    if kind == "triangle":
        return y < 0.6 and y > 1.7 * abs(x) - 1
    return (0.3 if kind == "ring" else 0) <= x * x + y * y < 1


def draw(kind, side, choice):
    """Rows of bytes, three a pixel."""
    radius = choice.uniform(0.25, 0.42) * side
    left, top = (choice.uniform(radius, side - radius) for _ in range(2))
    ground = [choice.randrange(256) for _ in range(3)]
    colour = [(value + choice.randrange(80, 176)) % 256 for value in ground]
    rows = []
    for y in range(side):
        row = bytearray()
        for x in range(side):
            here = colour if is_inside(kind, (x + 0.5 - left) / radius, (y + 0.5 - top) / radius) else ground
            row += bytes(min(max(value + choice.randrange(-20, 21), 0), 255) for value in here)
        rows.append(bytes(row))
    return rows


def png(rows, side):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b"")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--each", type=int, default=120, help="pictures of a kind that are trained on")
    parser.add_argument("--side", type=int, default=24, help="pixels in a row")
    options = parser.parse_args()
    choice = random.Random(1)
    count = 0
    for part, pictures in (("train", options.each), ("held_out", max(options.each // 4, 1))):
        for kind in ("disc", "ring", "square", "triangle"):
            folder = os.path.join(options.folder, part, kind)
            os.makedirs(folder, exist_ok=True)
            for i in range(pictures):
                rows = draw(kind, options.side, choice)
                suffix = "ppm" if i % 3 == 2 else "png"
                with open(os.path.join(folder, f"{i:03}.{suffix}"), "wb") as f:
                    f.write(b"P6 %d %d 255 " % (options.side, options.side) + b"".join(rows) if suffix == "ppm" else png(rows, options.side))
                count += 1
    print(f"{count} pictures")


main()
