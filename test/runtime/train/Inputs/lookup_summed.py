# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lookup_summed.py SINTER: trains the program of lookup.py with a table of 500 rows in a folder by gradients that are summed over three batches, ends and
goes on in the middle of sums, and compares losses and what is predicted then with NumPy in f64."""
import os
import shutil
import subprocess
import sys

import numpy as np

sinter = sys.argv[1]
SUMMED, STEPS, BATCH = 3, 50, 8
ids, target = np.load("ids.npy"), np.load("y.npy").astype(np.float64)


class Adagrad:
    text, moments = "adagrad:lr=0.1", 1

    def move(self, value, gradient, moments, step):
        moments[0] += gradient**2
        value -= 0.1 * gradient / (np.sqrt(moments[0]) + 1e-10)


class Adam:
    text, moments = "adam:lr=0.05", 2

    def move(self, value, gradient, moments, step):
        moments[0] += 0.1 * (gradient - moments[0])
        moments[1] += 0.001 * (gradient**2 - moments[1])
        value -= 0.05 * moments[0] / (1 - 0.9**step) / (np.sqrt(moments[1] / (1 - 0.999**step)) + 1e-8)


class Sgd:
    text, moments = "sgd:lr=0.5", 0

    def move(self, value, gradient, moments, step):
        value -= 0.5 * gradient


def model(optimizer):
    """Losses of all steps, and what is predicted of all samples then."""
    table, scale = np.zeros((500, 4)), np.full(4, 1.5)
    tables, scales = [np.zeros_like(table) for _ in range(optimizer.moments)], [np.zeros_like(scale) for _ in range(optimizer.moments)]
    losses, sum_table, sum_scale, seen = [], np.zeros_like(table), np.zeros_like(scale), set()
    for at in range(STEPS):
        some = np.arange(at * BATCH, (at + 1) * BATCH) % len(ids)
        sums = table[ids[some]].sum(1)
        difference = sums * scale - target[some]
        losses.append(np.mean(difference**2))
        gradient = 2 / difference.size * difference
        np.add.at(sum_table, ids[some].ravel(), np.repeat(gradient * scale, 3, 0))
        sum_scale += (gradient * sums).sum(0)
        seen |= set(ids[some].ravel())
        if at % SUMMED < SUMMED - 1:
            continue
        rows = sorted(seen)
        part, parts = table[rows], [moment[rows] for moment in tables]
        optimizer.move(part, sum_table[rows] / SUMMED, parts, at // SUMMED + 1)
        table[rows] = part
        for moment, values in zip(tables, parts):
            moment[rows] = values
        optimizer.move(scale, sum_scale / SUMMED, scales, at // SUMMED + 1)
        sum_table[:], sum_scale[:], seen = 0, 0, set()
    return losses, table[ids].sum(1) * scale


def run(*arguments):
    done = subprocess.run([sinter, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


for optimizer in Adagrad(), Adam(), Sgd():
    name = type(optimizer).__name__.lower()
    shutil.rmtree("numpy.rows", ignore_errors=True)
    if os.path.exists("numpy.safetensors"):
        os.remove("numpy.safetensors")
    for rows in "few", "more":
        run("train-step", f"{rows}.mlir", "--loss", "mse", "--optimizer", f"{optimizer.text},accumulate={SUMMED}", "--sparse", "table", "-o", f"numpy.{rows}.smod")
    lines = []
    for number, (steps, rows) in enumerate(((7, "more"), (11, "few"), (29, "more"), (STEPS, "more"))):
        run("train", f"numpy.{rows}.smod", "--data", "ids=@ids.npy", "--data", "target=@y.npy", "--steps", str(steps), "--threads", "1", "--curve", "numpy.csv",
            "--rows", "ids=@numpy.rows,table=table" + (",rows=500" if number == 0 else ""), "--save", "numpy.safetensors",
            *(["--resume", "numpy.safetensors"] if number else []))
    losses = np.loadtxt("numpy.csv", delimiter=",", skiprows=1)[:, 1]
    wanted, predictions = model(optimizer)
    np.testing.assert_allclose(losses, wanted, rtol=2e-5)
    np.save("numpy.x.npy", ids[:BATCH])
    run("run", "numpy.more.smod", "--function", "infer", "--load", "numpy.safetensors", "--rows", "ids=@numpy.rows,table=table", "--input", "ids=@numpy.x.npy",
        "--output", "y=@numpy.y.npy", "--force")
    np.testing.assert_allclose(np.load("numpy.y.npy"), predictions[:BATCH], rtol=2e-4, atol=2e-5)
    print(f"{name}: losses and predictions as NumPy's")
