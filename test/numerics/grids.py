#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""grids.py BUILD

grid_sample against NumPy in f64: one to three spatial axes, every mode and padding, one channel to some forty (eight and more are read with channels last), sizes that running
tells, between convolutions' layouts and alone, positions far outside and such that are no numbers, f32, f64 and f16, on each level of CPU that this machine can run. The same bits
as at -O0, where channels stay first."""
import itertools
import sys

import numpy as np

import cases

KINDS = {"f32": (np.float32, 2e-6), "f64": (np.float64, 1e-13), "f16": (np.float16, 2e-3)}


def mirrored(x, low, high):
    """Positions mirrored at both ends until they lie inside."""
    if high <= low:
        return np.where((x < low) | (x > high), low, x)
    far = np.mod(x - low, 2 * (high - low))
    return np.where((x < low) | (x > high), low + np.minimum(far, 2 * (high - low) - far), x)


def taps(grid, size, mode, padding, corners):
    """(index, weight) arrays of what is read along one axis; no weight where zeros are read."""
    with np.errstate(invalid="ignore"):
        x = (grid + 1) / 2 * (size - 1) if corners else ((grid + 1) * size - 1) / 2
    x = np.where(np.isnan(x), 0, x)
    low, high = (0, size - 1) if corners else (-0.5, size - 0.5)
    if mode == "nearest":
        x = np.rint(x)
    if padding == "edge" and mode != "cubic":
        x = np.clip(x, 0, size - 1)
    elif padding == "reflect":
        x = mirrored(x, low, high)
    x = np.clip(x, -4, size + 3)
    floor = np.floor(x)
    t, a = x - floor, -0.75
    far, near = (lambda d: a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a), (lambda d: (a + 2) * d**3 - (a + 3) * d**2 + 1)
    pairs = {"nearest": [(x, np.ones_like(x))], "linear": [(floor, 1 - t), (floor + 1, t)],
             "cubic": [(floor - 1, far(1 + t)), (floor, near(t)), (floor + 1, near(1 - t)), (floor + 2, far(2 - t))]}[mode]
    result = []
    for index, weight in pairs:
        if padding == "reflect":
            index = np.trunc(mirrored(index, low, high))
        inside = (index >= 0) & (index < size)
        result.append((np.clip(index, 0, size - 1).astype(int), np.where(inside, weight, 0) if padding == "constant" else weight))
    return result


class Case:
    def __init__(self, number):
        self.name, rng = f"g{number}", np.random.default_rng(number)
        pick = lambda *values: values[rng.integers(len(values))]
        self.kind = pick("f32", "f32", "f32", "f64", "f16")
        self.padding, self.corners = pick("constant", "edge", "reflect"), pick(True, False)
        spatial = pick(1, 2, 2, 2, 3)
        self.mode = pick("linear", "linear", "nearest", "cubic") if spatial < 3 else pick("linear", "nearest")
        batch, channels = pick(1, 2), pick(1, 3, 7, 8, 9, 16, 21, 32, 40)
        self.shape = [batch, channels, *(int(n) for n in rng.integers(1, 12, spatial))]
        self.places = [int(n) for n in rng.integers(1, 14, spatial)]
        self.running = pick(False, False, True)  # sizes of places and images are known at run time only
        self.last = pick(None, "result", "both")  # channels are last around it
        self.x = rng.standard_normal(self.shape).astype(KINDS[self.kind][0])
        grid = rng.uniform(-1.4, 1.4, [batch, *self.places, spatial])
        grid[rng.uniform(size=grid.shape) < 0.04] = pick(np.nan, *([] if self.padding == "reflect" else [np.inf, -np.inf]), 1e4, -77.0, -1.0, 1.0)
        self.grid = grid.astype(KINDS[self.kind][0])

    def text(self):
        rank = len(self.shape)
        first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
        size = lambda n: "?" if self.running else n
        tensor = lambda shape: f"tensor<{'x'.join(map(str, shape))}x{self.kind}>"
        x = [self.shape[0], self.shape[1], *map(size, self.shape[2:])]
        grid, y = [self.shape[0], *map(size, self.places), rank - 2], [*x[:2], *map(size, self.places)]
        turn = lambda shape, order: [shape[i] for i in order]
        given, result = (turn(x, last) if self.last == "both" else x), (turn(y, last) if self.last else y)
        lines = [f'func.func @{self.name}(%a: {tensor(given)} {{sinter.name = "x"}}, %g: {tensor(grid)} {{sinter.name = "g"}}) -> {tensor(result)} {{']
        if self.last == "both":
            lines.append(f"  %x = sinter.transpose %a {{permutation = array<i64: {', '.join(map(str, first))}>}} : ({tensor(given)}) -> {tensor(x)}")
        source = "x" if self.last == "both" else "a"
        lines.append(f"  %y = sinter.grid_sample %{source}, %g {{mode = #sinter<resize_mode {self.mode}>, padding = #sinter<pad_mode {self.padding}>, "
                     f"align_corners = {str(self.corners).lower()}}} : ({tensor(x)}, {tensor(grid)}) -> {tensor(y)}")
        if self.last:
            lines.append(f"  %z = sinter.transpose %y {{permutation = array<i64: {', '.join(map(str, last))}>}} : ({tensor(y)}) -> {tensor(result)}")
        return "\n".join(lines + [f"  return %{'z' if self.last else 'y'} : {tensor(result)}", "}", ""])

    def inputs(self):
        return {"x": np.ascontiguousarray(np.moveaxis(self.x, 1, -1)) if self.last == "both" else self.x, "g": self.grid}

    def check(self, got):
        x, grid, spatial = self.x.astype(np.float64), self.grid.astype(np.float64), len(self.places)
        axes = [taps(grid[..., spatial - 1 - k], self.shape[2 + k], self.mode, self.padding, self.corners) for k in range(spatial)]
        rows, images = np.moveaxis(x, 1, -1), np.arange(self.shape[0]).reshape(-1, *[1] * spatial)
        expected = np.zeros([self.shape[0], *self.places, self.shape[1]])
        scale = np.zeros_like(expected)
        for chosen in itertools.product(*axes):
            weight = np.prod([w for _, w in chosen], axis=0)[..., None]
            values = rows[(images, *(i for i, _ in chosen))]
            expected += weight * values
            scale += np.abs(weight * values)
        if not self.last:
            expected, scale = np.moveaxis(expected, -1, 1), np.moveaxis(scale, -1, 1)
        # Positions are f64: what they are off by, times the slope between two elements.
        allowed = KINDS[self.kind][1] * scale + 1e-14 * np.abs(x).max()
        assert got.shape == expected.shape and np.all(np.abs(got - expected) <= allowed), self.text()


if __name__ == "__main__":
    cases.check_pairs(sys.argv[1], [Case(i) for i in range(120)], ("-O0", "-O2"), "grid samples")
