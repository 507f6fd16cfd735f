# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NumPy (f64) makes of trainings whose tables move by rows, by the mean of the gradients of several batches: the oracle of
test/compiler/train/sparse.cpp, which reads sparse_sums.txt. python sparse_sums.py > sparse_sums.txt

The model, its batches and its optimizers are those of sparse_goldens.py; moved by each batch they give torch's numbers, which
is checked first. Each line is a name, the optimizer's and how many batches it sums, and numbers: losses of steps, then the rows of the table."""
import os

import numpy as np

ROWS, WIDTH, STEPS = 11, 3, 20


def fill(shape, seed, scale=0.6):
    count = int(np.prod(shape))
    return np.array([(((i + 1) * (37 + 2 * seed)) % 97 / 97 - 0.5) * scale for i in range(count)]).reshape(shape)


def batch(t):
    ids = [[0, 4, 4, 9, 1, 3, 9, 10, 2][(i + t) % 9] for i in range(9)]
    return ids, [0, 3, 3, 7, 9], fill((9,), 20 + t, 2), [(5 * i + t) % 7 for i in range(4)]


class Sgd:
    def __init__(self, x, of_rows):
        pass

    def move(self, x, at, g, t):
        x[at] -= 0.2 * g


class Adagrad:
    def __init__(self, x, of_rows):
        self.sum = np.zeros_like(x)

    def move(self, x, at, g, t):
        self.sum[at] += g * g
        x[at] -= 0.1 / (1 + 0.1 * t) * g / (np.sqrt(self.sum[at]) + 1e-10)


class Adam:  # of rows: torch's SparseAdam
    def __init__(self, x, of_rows):
        self.m, self.v, self.of_rows = np.zeros_like(x), np.zeros_like(x), of_rows

    def move(self, x, at, g, t):
        self.m[at] += 0.2 * (g - self.m[at])
        self.v[at] += 0.05 * (g * g - self.v[at])
        first, root = 1 - 0.8 ** (t + 1), np.sqrt(1 - 0.95 ** (t + 1))
        if self.of_rows:
            x[at] -= 0.05 * root / first * self.m[at] / (np.sqrt(self.v[at]) + 1e-8)
        else:
            x[at] -= 0.05 / first * self.m[at] / (np.sqrt(self.v[at]) / root + 1e-8)


class Ftrl:
    def __init__(self, x, of_rows):
        self.z, self.n = np.zeros_like(x), np.zeros_like(x)

    def move(self, x, at, g, t):
        old, w = self.n[at], x[at]
        new = old + g * g
        z = self.z[at] + g - (np.sqrt(new) - np.sqrt(old)) / 0.3 * w
        self.z[at], self.n[at] = z, new
        x[at] = np.where(np.abs(z) > 0.02, (np.sign(z) * 0.02 - z) / ((1 + np.sqrt(new)) / 0.3 + 0.1), 0)


def train(kind, batches):
    table, weight, bias = fill((ROWS, WIDTH), 0), fill((2, WIDTH), 1), fill((2,), 2)
    movers = [kind(table, True), kind(weight, False), kind(bias, False)]
    losses, sums, rows = [], None, set()
    for t in range(STEPS):
        ids, splits, weights, single = batch(t)
        h = table[single].copy()
        for b in range(4):
            bag = range(splits[b], splits[b + 1])
            for i in bag:
                h[b] += table[ids[i]] * (1 / len(bag) + weights[i])
        a = np.tanh(h)
        error = a @ weight.T + bias - fill((4, 2), 200 + t, 2)
        losses.append((error * error).mean())
        dy = 2 * error / error.size
        dh, dtable = (dy @ weight) * (1 - a * a), np.zeros_like(table)
        for b in range(4):
            bag = range(splits[b], splits[b + 1])
            dtable[single[b]] += dh[b]
            for i in bag:
                dtable[ids[i]] += dh[b] * (1 / len(bag) + weights[i])
        rows |= {*ids, *single}
        found = [dtable, dy.T @ a, dy.sum(0)]
        sums = found if sums is None else [s + g for s, g in zip(sums, found)]
        if (t + 1) % batches == 0:
            at = sorted(rows)
            for mover, x, g, which in zip(movers, (table, weight, bias), sums, (at, slice(None), slice(None))):
                mover.move(x, which, g[which] / batches, t // batches)
            sums, rows = None, set()
    return losses + table.ravel().tolist()


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "sparse_goldens.txt")) as file:
    torchs = {line.split()[0]: np.array([float(word) for word in line.split()[1:]]) for line in file}
for name, kind in {"sgd": Sgd, "adagrad": Adagrad, "adam": Adam, "ftrl": Ftrl}.items():
    assert np.abs(np.array(train(kind, 1)) - torchs[name]).max() < 1e-13, name
    for count in (2, 3):
        print(name + str(count), *[repr(float(v)) for v in train(kind, count)])
