#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""selections.py BUILD [TARGET...]

Distinct elements, and boxes that stay after others suppress them, against NumPy to the bit. Lengths are around those at which orders change their method, known and unknown; numbers are random, of few
values, NaN with payloads and zeros of both signs. Boxes have ties among scores, scores that are NaN, corners in any order, no area, and all numbers that may stay around those of a vector's lanes."""
import sys

import numpy as np

import cases

TYPES = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "ui16": np.uint16, "i64": np.int64, "i1": np.bool_}
LENGTHS = [0, 1, 2, 17, 64, 129, 256, 257, 1000, 2500]


def tensor(sizes, kind):
    return f"tensor<{''.join(f'{s}x' for s in sizes)}{kind}>"


class Distinct:
    def __init__(self, number, rng):
        self.name, self.kind, self.length = f"u{number}", list(TYPES)[number % len(TYPES)], LENGTHS[number // len(TYPES) % len(LENGTHS)]
        self.isSorted, self.known, self.axis = bool(rng.integers(2)), bool(rng.integers(2)), int(rng.integers(2))
        dtype = TYPES[self.kind]
        x = rng.integers(0, max(2, self.length // int(rng.choice([1, 3, 20]))), self.length)
        if dtype in (np.float32, np.float64):
            x = x.astype(dtype) - dtype(self.length // 3)
            x[rng.integers(0, 9, self.length) == 0] = np.nan
            x[rng.integers(0, 9, self.length) == 0] = -0.0
            bits = x.view(f"u{dtype().itemsize}")
            bits[np.isnan(x)] |= rng.integers(4, size=int(np.isnan(x).sum())).astype(bits.dtype)
        # The other axis has one element: what is compared is single ones.
        self.x = (x % 2 > 0 if dtype is np.bool_ else x.astype(dtype)).reshape((self.length, 1) if self.axis == 0 else (1, self.length))

    def text(self):
        sizes = list(self.x.shape) if self.known else ["?" if i == self.axis else 1 for i in range(2)]
        x, y = tensor(sizes, self.kind), tensor(["?" if i == self.axis else 1 for i in range(2)], self.kind)
        types = [y, "tensor<?xi64>", tensor([sizes[self.axis]], "i64"), "tensor<?xi64>"]
        named = ", ".join(f'{t} {{sinter.name = "{n}"}}' for t, n in zip(types, "yfic"))
        return (f'func.func @{self.name}(%x: {x} {{sinter.name = "x"}}) -> ({named}) {{\n  %r:4 = sinter.unique %x {{axis = {self.axis}, sorted = {str(self.isSorted).lower()}}} : '
                f"({x}) -> ({', '.join(types)})\n  return %r#0, %r#1, %r#2, %r#3 : {', '.join(types)}\n}}\n")

    def __str__(self):
        return f"distinct {self.kind} of {self.x.shape}, sorted {self.isSorted}, known {self.known}"

    def run(self, sessions):
        x = self.x.ravel()
        groups, first, counts, inverse = [], [], [], []
        order = sorted(range(len(x)), key=lambda i: (x[i] != x[i], 0 if x[i] != x[i] else x[i], i))
        same = lambda a, b: a == b or (a != a and b != b)
        groupOf = [0] * len(x)
        for rank, i in enumerate(order):
            if rank == 0 or not same(x[order[rank - 1]], x[i]):
                first.append(i)
                counts.append(0)
            groupOf[i] = len(first) - 1
            counts[-1] += 1
        numbers = list(range(len(first))) if self.isSorted else sorted(range(len(first)), key=lambda g: first[g])
        place = {g: n for n, g in enumerate(numbers)}
        first, counts = [first[g] for g in numbers], [counts[g] for g in numbers]
        got = sessions[self.name].run({"x": self.x})
        expected = {"f": first, "c": counts, "i": [place[g] for g in groupOf]}
        return got["y"].tobytes() == x[first].tobytes() and all(np.array_equal(got[n], np.array(v, np.int64)) for n, v in expected.items())


class Boxes:
    def __init__(self, number, rng):
        self.name, self.count = f"b{number}", int(rng.choice([0, 1, 7, 16, 17, 33, 100, 400, 700]))
        self.batches, self.kinds, self.known, self.center = int(rng.integers(1, 3)), int(rng.integers(1, 4)), bool(rng.integers(2)), bool(rng.integers(2))
        shape = (self.batches, self.count, 2)
        low, size = rng.uniform(0, 40, shape), rng.choice([0, 1, 8, 15], shape) * rng.uniform(0.5, 1.5, shape)
        if self.center:
            self.boxes = np.concatenate([low, size], 2).astype(np.float32)
        else:
            swap = rng.integers(2, size=shape) > 0
            self.boxes = np.concatenate([np.where(swap, low, low + size), np.where(swap, low + size, low)], 2).astype(np.float32)
        self.scores = np.round(rng.uniform(0, 1, (self.batches, self.kinds, self.count)) * 20).astype(np.float32) / np.float32(20)
        self.scores[rng.integers(0, 30, self.scores.shape) == 0] = np.nan
        self.most, self.threshold, self.least = int(rng.choice([0, 1, 5, 16, 17, 40, 10**6])), np.float32(rng.choice([0, 0.3, 0.7])), np.float32(rng.choice([-1, 0.25, 2]))

    def text(self):
        count = self.count if self.known else "?"
        boxes, scores = tensor([self.batches, count, 4], "f32"), tensor([self.batches, self.kinds, count], "f32")
        types = [boxes, scores, "tensor<i64>", "tensor<f32>", "tensor<f32>"]
        arguments = ", ".join(f'%{n}: {t} {{sinter.name = "{n}"}}' for n, t in zip("bsmtl", types))
        return (f"func.func @{self.name}({arguments}) -> (tensor<?x3xi64> {{sinter.name = \"r\"}}) {{\n  %r = sinter.non_max_suppression %b, %s, %m, %t, %l "
                f"{{center_point_box = {str(self.center).lower()}}} : ({', '.join(types)}) -> tensor<?x3xi64>\n  return %r : tensor<?x3xi64>\n}}\n")

    def __str__(self):
        return f"{vars(self)}"[:600]

    def corners(self, box):
        if self.center:
            half = np.float32(0.5)
            return box[1] - box[3] * half, box[0] - box[2] * half, box[1] + box[3] * half, box[0] + box[2] * half
        return min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])

    def overlaps(self, a, c):
        height, width = min(a[2], c[2]) - max(a[0], c[0]), min(a[3], c[3]) - max(a[1], c[1])
        areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, c)]
        if not (height > 0 and width > 0 and areas[0] > 0 and areas[1] > 0):
            return False
        common = height * width
        return common / (areas[0] + areas[1] - common) > self.threshold

    def run(self, sessions):
        rows = []
        for batch in range(self.batches):
            corners = [self.corners(box) for box in self.boxes[batch]]
            for kind in range(self.kinds):
                score = self.scores[batch, kind]
                kept = []
                for box in sorted((i for i in range(self.count) if score[i] > self.least), key=lambda i: (-score[i], i)):
                    if len(kept) < self.most and not any(self.overlaps(corners[box], corners[other]) for other in kept):
                        kept.append(box)
                rows += [(batch, kind, box) for box in kept]
        inputs = {"b": self.boxes, "s": self.scores, "m": np.array(self.most), "t": np.array(self.threshold), "l": np.array(self.least)}
        return np.array_equal(sessions[self.name].run(inputs)["r"], np.array(rows, np.int64).reshape(-1, 3))


def main():
    build, chosen = sys.argv[1], sys.argv[2:]
    rng = np.random.default_rng(5)
    all_cases = [Distinct(i, rng) for i in range(2 * len(TYPES) * len(LENGTHS))] + [Boxes(i, rng) for i in range(60)]
    cases.check(build, chosen, all_cases, strides=(2, 9), noun="selections")


main()
