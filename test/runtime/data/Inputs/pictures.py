# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures as sinter_data_dump reads them.

    pictures.py DUMP

PNGs are written here, pixel by pixel as the standard says, with every kind, depth and filter, interlaced and not; JPEGs and what they
hold are Pillow's (jpeg_gold.json).
"""
import base64
import json
import os
import random
import struct
import subprocess
import sys
import zlib

dump = sys.argv[1]
failures = 0
choice = random.Random(3)


process = subprocess.Popen([dump, "pictures", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read(content, channels=0):
    process.stdin.write(f"{channels} {content.hex()}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def expect(name, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"{name}:\n  required {wanted[:300]}\n  got      {got[:300]}")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(samples, depth):
    if depth >= 8:
        return b"".join(s.to_bytes(depth // 8, "big") for s in samples)
    bits = "".join(format(s, f"0{depth}b") for s in samples)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))


def filtered(rows, step):
    out, before = b"", b""
    for row in rows:
        kind = choice.randrange(5)
        before = before or bytes(len(row))
        line = bytearray()
        for i, x in enumerate(row):
            a, b, c = (row[i - step] if i >= step else 0), before[i], (before[i - step] if i >= step else 0)
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line.append((x - [0, a, b, (a + b) // 2, paeth][kind]) & 255)
        out += bytes([kind]) + bytes(line)
        before = row
    return out


PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(pixels, kind, depth, interlaced, extra=b""):
    """pixels[y][x] is a tuple of samples."""
    height, width = len(pixels), len(pixels[0])
    data = b""
    step = max(1, len(pixels[0][0]) * depth // 8)
    for x0, y0, dx, dy in PASSES if interlaced else [(0, 0, 1, 1)]:
        rows = [[s for p in row[x0::dx] for s in p] for row in pixels[y0::dy]]
        if rows and rows[0]:
            data += filtered([packed(r, depth) for r in rows], step)
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def line(pixels, dtype="ui8"):
    flat = [s for row in pixels for p in row for s in p]
    return f"image={dtype}[{len(pixels)}x{len(pixels[0])}x{len(pixels[0][0])}] " + " ".join(map(str, flat))


count = 0
for kind, channels, depths in ((0, 1, (1, 2, 4, 8, 16)), (2, 3, (8, 16)), (3, 1, (1, 2, 4, 8)), (4, 2, (8, 16)), (6, 4, (8, 16))):
    for depth in depths:
        for height, width in ((1, 1), (5, 7), (19, 13)):
            for interlaced in 0, 1:
                pixels = [[tuple(choice.randrange(1 << depth) for _ in range(channels)) for _ in range(width)] for _ in range(height)]
                dtype = "ui16" if depth == 16 else "ui8"
                name = f"kind {kind} depth {depth} {height}x{width} interlaced {interlaced}"
                count += 1
                if kind == 3:
                    palette = [tuple(choice.randrange(256) for _ in range(3)) for _ in range(1 << depth)]
                    alphas = [choice.randrange(256) for _ in range(len(palette) // 2)]
                    colours = chunk(b"PLTE", bytes(s for p in palette for s in p))
                    expect(name, read(png(pixels, kind, depth, interlaced, colours)), line([[palette[p[0]] for p in row] for row in pixels]))
                    with_alpha = [[(*palette[p[0]], alphas[p[0]] if p[0] < len(alphas) else 255) for p in row] for row in pixels]
                    expect(name + " alpha", read(png(pixels, kind, depth, interlaced, colours + chunk(b"tRNS", bytes(alphas)))), line(with_alpha))
                    continue
                scale = 255 // ((1 << depth) - 1) if depth < 8 else 1
                seen = [[tuple(s * scale for s in p) for p in row] for row in pixels]
                text = chunk(b"zTXt", b"k\0\0" + zlib.compress(b"x" * 100000))
                expect(name, read(png(pixels, kind, depth, interlaced, text)), line(seen, dtype))
                if kind in (0, 2):  # one colour is transparent
                    clear, full = pixels[0][0], 65535 if depth == 16 else 255
                    marked = [[(*s, 0 if p == clear else full) for s, p in zip(a, b)] for a, b in zip(seen, pixels)]
                    extra = chunk(b"tRNS", b"".join(s.to_bytes(2, "big") for s in clear))
                    expect(name + " clear", read(png(pixels, kind, depth, interlaced, extra)), line(marked, dtype))

# Other channels than the file's.
pixels = [[(10, 200, 30, 77), (255, 255, 255, 0)]]
four = png(pixels, 6, 8, 0)
gray = lambda p: (p[0] * 19595 + p[1] * 38470 + p[2] * 7471 + 32768) >> 16
expect("to 3", read(four, 3), line([[p[:3] for p in pixels[0]]]))
expect("to 2", read(four, 2), line([[(gray(p), p[3]) for p in pixels[0]]]))
expect("to 1", read(four, 1), line([[(gray(p),) for p in pixels[0]]]))
one = png([[(7,), (9,)]], 0, 8, 0)
expect("gray to 3", read(one, 3), line([[(7, 7, 7), (9, 9, 9)]]))
expect("gray to 4", read(one, 4), line([[(7, 7, 7, 255), (9, 9, 9, 255)]]))
expect("pnm to 3", read(b"P5 2 1 255 \x07\x09", 3), line([[(7, 7, 7), (9, 9, 9)]]))

# What is damaged, cut or too large.
whole = png([[(i, j, 0) for i in range(50)] for j in range(50)], 2, 8, 0)
for cut in (8, 20, 40, len(whole) - 20):
    expect(f"cut at {cut}", read(whole[:cut])[:45], "error a PNG picture could not be read: the fi")
damaged = bytearray(whole)
damaged[60] ^= 1
expect("damaged", read(bytes(damaged))[:38], "error a PNG picture could not be read:")
huge = lambda w, h: b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) + chunk(b"IDAT", b"x" * 100)
expect("huge", read(huge(1 << 20, 1 << 20)), "error a PNG picture could not be read: the file is too short for its pixels")
rows = 12000
bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", rows, rows, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(bytes(rows * (rows + 1)), 1))
expect("bomb", read(bomb), "error a PNG picture requires 1 to 134217728 pixels, got 12000x12000")
expect("wide", read(huge(0x7FFFFFFF, 1))[:38], "error a PNG picture could not be read:")
expect("none", read(b"GIF89a"), "error a picture requires PNG, JPEG or netpbm")
expect("empty", read(b""), "error a picture requires PNG, JPEG or netpbm")

# JPEG: within 2 of 255, as decoders may round in their own way.
with open(os.path.join(os.path.dirname(__file__), "jpeg_gold.json")) as f:
    gold = json.load(f)


def near(name, got, channels, wanted):
    global failures
    head = f"image=ui8[{gold['height']}x{gold['width']}x{channels}] "
    values = got[len(head) :].split() if got.startswith(head) else []
    if len(values) != len(wanted) or max(abs(int(a) - b) for a, b in zip(values, wanted)) > 2:
        failures += 1
        print(f"{name}: required {wanted[:8]}, got {got[:200]}")


unpacked = lambda text: zlib.decompress(base64.b64decode(text))
for name, picture in gold["pictures"].items():
    content = base64.b64decode(picture["file"])
    near(name, read(content), picture["channels"], unpacked(picture["pixels"]))
    near(name + " to 3", read(content, 3), 3, unpacked(picture["rgb"]))
    near(name + " to 1", read(content, 1), 1, unpacked(picture["gray"]))
    for cut in (3, 30, len(content) // 2, len(content) - 30):
        expect(f"{name} cut at {cut}", read(content[:cut])[:39], "error a JPEG picture could not be read:")
at = content.index(b"\xff\xc0") + 5
expect("huge JPEG", read(content[:at] + b"\xf0\0\xf0\0" + content[at + 4 :])[:31], "error a JPEG picture requires 1")
expect("large JPEG", read(content[:at] + b"\x20\0\x20\0" + content[at + 4 :]), "error a JPEG picture could not be read: the file is too short for its pixels")
print(f"{count} kinds of PNG, {len(gold['pictures'])} of JPEG, {failures} failures")
