# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a table with `train-step --sparse` and by NumPy, and in a C program, whose losses and rows are the same bits.

usage: sparse_step.py SINTER LIBRARY FOLDER CC..."""
import json
import os
import struct
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models"))
from sinter_runtime import Runtime

ROWS, WIDTH, BATCH, EACH, STEPS, RATE = 50, 8, 6, 4, 10, 0.05
SINTER, LIBRARY, FOLDER = sys.argv[1:4]
CC = sys.argv[4:]


def write(path, tied, dtype=np.float32, batch=BATCH):
    rng = np.random.default_rng(1)
    table = rng.standard_normal((ROWS, WIDTH)).astype(dtype)
    head = rng.standard_normal((WIDTH, 1)).astype(dtype)
    nodes = [h.make_node("Gather", ["table", "ids"], ["rows"], axis=0),
             h.make_node("ReduceSum", ["rows", "axes"], ["bags"], keepdims=0),
             h.make_node("Gather", ["table", "first"], ["more"], axis=0),
             h.make_node("Add", ["bags", "more"], ["all"]),
             h.make_node("MatMul", ["all", "head"], ["y"])]
    if tied:
        nodes[-1:] = [h.make_node("Transpose", ["table"], ["turned"]), h.make_node("MatMul", ["all", "turned"], ["y"])]
    graph = h.make_graph(
        nodes, "tables", [h.make_tensor_value_info("ids", T.INT64, [batch, EACH]), h.make_tensor_value_info("first", T.INT64, [batch])],
        [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(np.dtype(dtype)), [batch, ROWS if tied else 1])],
        [nh.from_array(table, "table"), nh.from_array(head, "head"), nh.from_array(np.array([1]), "axes")][: None if not tied else 3])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    return table.astype(np.float64), head.astype(np.float64)


def step(model, optimizer, pattern, out):
    return subprocess.run([SINTER, "train-step", model, "--loss", "mse", "--optimizer", optimizer, "--sparse", pattern, "-o", out, "--force"],
                          stderr=subprocess.PIPE, text=True)


class Adam:
    def __init__(self, x):
        self.m, self.v, self.t = np.zeros_like(x), np.zeros_like(x), 0

    def move(self, x, rows, g, lazy):
        self.t += 1
        self.m[rows] += 0.1 * (g - self.m[rows])
        self.v[rows] += 0.001 * (g * g - self.v[rows])
        fix1, fix2 = 1 - 0.9**self.t, np.sqrt(1 - 0.999**self.t)
        root = np.sqrt(self.v[rows])
        x[rows] -= RATE / fix1 * self.m[rows] * (fix2 / (root + 1e-8) if lazy else 1 / (root / fix2 + 1e-8))


class Adagrad:
    def __init__(self, x):
        self.sum = np.zeros_like(x)

    def move(self, x, rows, g, lazy):
        self.sum[rows] += g * g
        x[rows] -= RATE * g / (np.sqrt(self.sum[rows]) + 1e-10)


class Sgd:
    def __init__(self, x):
        pass

    def move(self, x, rows, g, lazy):
        x[rows] -= RATE * g


class Ftrl:
    def __init__(self, x):
        self.z, self.n = np.zeros_like(x), np.zeros_like(x)

    def move(self, x, rows, g, lazy):
        n = self.n[rows] + g * g
        z = self.z[rows] + g - (np.sqrt(n) - np.sqrt(self.n[rows])) / RATE * x[rows]
        self.n[rows], self.z[rows] = n, z
        x[rows] = -z / ((1 + np.sqrt(n)) / RATE)  # l1 = l2 = 0, beta = 1


def train(name, kind, options="", summed=1, dtype=np.float32, tolerance=1e-4):
    """Moves once in `summed` steps, by the mean of their gradients."""
    model, optimizer = os.path.join(FOLDER, "model.onnx"), f"{name}:lr={RATE}{options}"
    table, head = write(model, tied=False, dtype=dtype)
    done = step(model, optimizer, "^table$", os.path.join(FOLDER, "step.smod"))
    assert done.returncode == 0, done.stderr
    session = Runtime(LIBRARY).session(os.path.join(FOLDER, "step.smod"), 2)
    begin, of_table, of_head, seen = table.copy(), kind(table), kind(head), set()
    rng = np.random.default_rng(2)
    batches, losses = open(os.path.join(FOLDER, "batches"), "wb"), []
    dense, dhead, rows, what = np.zeros_like(table), np.zeros_like(head), set(), name + options
    for t in range(STEPS):
        ids, first = rng.integers(-10, 20, (BATCH, EACH)), rng.integers(0, 20, BATCH)
        y = rng.standard_normal((BATCH, 1)).astype(dtype)
        session.set("ids", ids)
        session.set("first", first)
        session.set("target", y)
        session.call()
        losses.append(float(session.result("loss")).hex())
        batches.write(ids.tobytes() + first.tobytes() + y.tobytes())
        x = table[ids].sum(1) + table[first]
        error = x @ head - y
        assert abs(session.result("loss") - (error * error).mean()) < tolerance, (what, t)
        dy = 2 * error / BATCH / summed
        dx = dy @ head.T
        np.add.at(dense, ids.ravel() % ROWS, np.repeat(dx, EACH, 0))
        np.add.at(dense, first, dx)
        dhead += x.T @ dy
        rows |= set((ids.ravel() % ROWS).tolist()) | set(first.tolist())
        if (t + 1) % summed == 0:
            at = np.array(sorted(rows))
            of_head.move(head, np.arange(WIDTH), dhead, lazy=False)
            of_table.move(table, at, dense[at], lazy=True)
            seen |= rows
            dense[:], dhead[:], rows = 0, 0, set()
    got = session.state("table")
    others = sorted(set(range(ROWS)) - seen)
    assert others and (got[others] == begin[others].astype(dtype)).all()
    assert np.abs(got - table).max() < tolerance, np.abs(got - table).max()
    print(f"{what}: losses and rows as NumPy's, other rows untouched", flush=True)
    batches.close()
    if dtype == np.float32:
        in_c(what, optimizer, losses, session)


def in_c(name, optimizer, losses, session):
    """The same batches in a C program over the step's object file."""
    model, path = os.path.join(FOLDER, "model.onnx"), lambda *parts: os.path.join(FOLDER, *parts)
    done = step(model, optimizer, "^table$", path("step.o"))
    assert done.returncode == 0, done.stderr
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sparse_main.c")
    subprocess.run([*CC, "-I" + FOLDER, source, path("step.o"), os.path.join(os.path.dirname(LIBRARY), "libsinter_rt.a"),
                    "-lm", "-ldl", "-lpthread", "-o", path("main")], check=True)
    ran = subprocess.run([path("main"), path("batches"), path("states.safetensors")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert [float.fromhex(line) for line in ran.stdout.split()] == [float.fromhex(loss) for loss in losses], (ran.stdout, losses)
    with open(path("states.safetensors"), "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    assert sorted(set(header) - {"__metadata__"}) == sorted(session.states), header
    for state in session.states:
        begin, end = header[state]["data_offsets"]
        assert data[begin:end] == session.state(state).tobytes(), (name, state)
    print(f"{name}: a C program's losses, rows and moments are the same bits", flush=True)


def by_chunks():
    """2,600 lookups of rows of 512 bytes, more than move at once: rows and moments against NumPy, on one thread and on two."""
    rows, width, count = 4000, 128, 2600
    rng = np.random.default_rng(3)
    table = rng.standard_normal((rows, width)).astype(np.float32)
    nodes = [h.make_node("Gather", ["table", "ids"], ["y"], axis=0)]
    graph = h.make_graph(nodes, "rows", [h.make_tensor_value_info("ids", T.INT64, [count])], [h.make_tensor_value_info("y", T.FLOAT, [count, width])],
                         [nh.from_array(table, "table")])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, os.path.join(FOLDER, "rows.onnx"))
    done = step(os.path.join(FOLDER, "rows.onnx"), f"adam:lr={RATE}", "^table$", os.path.join(FOLDER, "rows.smod"))
    assert done.returncode == 0, done.stderr
    sessions = [Runtime(LIBRARY).session(os.path.join(FOLDER, "rows.smod"), threads) for threads in (1, 2)]
    x, begin, moves, seen = table.astype(np.float64), table.copy(), Adam(table.astype(np.float64)), set()
    for t in range(3):
        ids = rng.integers(-50, [2000, 20, 3900][t], count)  # in the second step most trips have no row
        target = rng.standard_normal((count, width)).astype(np.float32)
        for session in sessions:
            session.set("ids", ids)
            session.set("target", target)
            session.call()
        g = np.zeros_like(x)
        np.add.at(g, ids % rows, 2 * (x[ids] - target) / target.size)
        used = np.unique(ids % rows)
        seen |= set(used.tolist())
        moves.move(x, used, g[used], lazy=True)
    others = sorted(set(range(rows)) - seen)
    for name, wanted in (("table", x), ("optimizer.mean.table", moves.m), ("optimizer.square.table", moves.v)):
        got = [session.state(name) for session in sessions]
        assert got[0].tobytes() == got[1].tobytes(), name
        assert np.abs(got[0] - wanted).max() <= 2e-5 * max(np.abs(wanted).max(), 1e-30), (name, np.abs(got[0] - wanted).max())
    assert others and (got[0][others] == 0).all() and (sessions[0].state("table")[others] == begin[others]).all()
    print("by chunks: rows and moments as NumPy's with one thread and two", flush=True)


train("adam", Adam)
train("adagrad", Adagrad)
train("adagrad", Adagrad, ",accumulate=3", 3)
for kind in Adam, Adagrad, Sgd, Ftrl:
    train(kind.__name__.lower(), kind, ",accumulate=3", 3, np.float64, 1e-12)
by_chunks()
write(os.path.join(FOLDER, "tied.onnx"), tied=True)
write(os.path.join(FOLDER, "open.onnx"), tied=False, batch="n")
for model, optimizer, pattern in (("open", "sgd:lr=1,accumulate=2", "table"), ("tied", "sgd:lr=1", "table"), ("model", "sgd:lr=1", "tables"), ("model", "lamb:lr=1", "table"), ("model", "sgd:lr=1", "(")):
    done = step(os.path.join(FOLDER, model + ".onnx"), optimizer, pattern, os.path.join(FOLDER, "other.smod"))
    assert done.returncode in (1, 2), done.returncode
    print(done.stderr.splitlines()[0] if done.stderr else "nothing")
