#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that move the rows of a large table, against torch's EmbeddingBag with sparse gradients, in the same minutes.

    tables.py BUILD [--rows 1000000,10000000] [--optimizers adagrad,adam] [--engines ours,torch] [--threads 1] [--bags 4096]
              [--each 20] [--ids uniform,zipf] [--rounds 4] [--steps 6] [--json FILE]

A table [rows, 64] in f32, bags of --each ids, the sum of a bag times a vector against a target. Ours is the artifact of `sinter
train-step --sparse`, called through the runtime; torch's is SparseAdam or Adagrad. The engines of a row take turns of --steps
steps, of which each has other ids. A figure is the median of all steps but the first turn's; memory is the resident size
afterwards less that before the model was made, over what table and moments hold.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "models")]
WIDTH = 64


def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))


def program(rows, bags, each):
    table, out = f"tensor<{rows}x{WIDTH}xf32>", f"tensor<{bags}x{WIDTH}xf32>"
    ids, splits, head, y = f"tensor<{bags * each}xi64>", f"tensor<{bags + 1}xi64>", f"tensor<{WIDTH}x1xf32>", f"tensor<{bags}x1xf32>"
    contract = "element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>"
    return f"""func.func @main(%ids: {ids} {{sinter.name = "ids"}}, %splits: {splits} {{sinter.name = "splits"}},
                %table: {table} {{sinter.state = "table"}},
                %head: {head} {{sinter.state = "head", sinter.initial = dense<0.1> : {head}}}) -> ({y} {{sinter.name = "y"}}) {{
  %sums = sinter.bag_sum %table, %ids, %splits : ({table}, {ids}, {splits}) -> {out}
  %y = sinter.dot_general %sums, %head {{{contract}}} : ({out}, {head}) -> {y}
  return %y : {y}
}}
"""


class Ids:
    """Other ids for each step: uniform ones, or Zipf's with exponent 1.05, spread over the table."""

    def __init__(self, kind, rows, count):
        self.rng, self.kind, self.rows, self.count = np.random.default_rng(1), kind, rows, count
        if kind == "zipf":
            self.below = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -1.05)

    def __call__(self):
        if self.kind == "uniform":
            return self.rng.integers(0, self.rows, self.count)
        rank = np.searchsorted(self.below, self.rng.random(self.count) * self.below[-1])
        return rank * 7368787 % self.rows


def our_step(library, module, threads, o):
    from sinter_runtime import Runtime

    session = Runtime(library).session(module, threads)
    session.set("splits", np.arange(0, o["bags"] * o["each"] + 1, o["each"]))
    session.set("target", np.ones((o["bags"], 1), np.float32))

    def step(ids):
        session.set("ids", ids)
        start = time.perf_counter()
        session.call()
        return time.perf_counter() - start, float(session.result("loss"))

    return step


def torch_step(threads, o):
    import torch

    torch.set_num_threads(threads)
    bags = torch.nn.EmbeddingBag(o["rows"], WIDTH, mode="sum", sparse=True, _weight=torch.zeros(o["rows"], WIDTH))
    head = torch.nn.Linear(WIDTH, 1, bias=False)
    torch.nn.init.constant_(head.weight, 0.1)
    if o["optimizer"] == "adam":
        moves = [torch.optim.SparseAdam(bags.parameters(), lr=0.01), torch.optim.Adam(head.parameters(), lr=0.01)]
    else:
        moves = [torch.optim.Adagrad(bags.parameters(), lr=0.01), torch.optim.Adagrad(head.parameters(), lr=0.01)]
    splits, y = torch.arange(o["bags"]) * o["each"], torch.ones(o["bags"], 1)

    def step(ids):
        ids = torch.from_numpy(ids)
        start = time.perf_counter()
        for move in moves:
            move.zero_grad()
        loss = ((head(bags(ids, splits)) - y) ** 2).mean()
        loss.backward()
        for move in moves:
            move.step()
        return time.perf_counter() - start, loss.item()

    return step


def worker(text):
    """Answers each number of steps on its standard input with their times."""
    o = json.loads(text)
    if o["threads"] == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    answers = os.dup(1)
    os.dup2(2, 1)
    ids = Ids(o["ids"], o["rows"], o["bags"] * o["each"])
    if o["engine"] == "torch":
        import torch  # its code is in no figure

        (torch.ones(4, requires_grad=True) * 2).sum().backward()
    before = resident()
    step = torch_step(o["threads"], o) if o["engine"] == "torch" else our_step(o["library"], o["module"], o["threads"], o)
    for line in sys.stdin:
        done = [step(ids()) for _ in range(int(line))]
        answer = {"ms": [1e3 * seconds for seconds, _ in done], "loss": done[-1][1], "bytes": resident() - before}
        os.write(answers, (json.dumps(answer) + "\n").encode())


class Process:
    def __init__(self, o):
        environment = dict(os.environ, OMP_NUM_THREADS=str(o["threads"]), MKL_NUM_THREADS=str(o["threads"]))
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker", json.dumps(o)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        self.times = []

    def turn(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"an engine ended with {self.process.wait()}")
        self.last = json.loads(line)
        return self.last["ms"]


def measure(options, folder, rows, optimizer, ids):
    source, module = os.path.join(folder, "table.mlir"), os.path.join(folder, "step.smod")
    with open(source, "w") as file:
        file.write(program(rows, options.bags, options.each))
    subprocess.run([os.path.join(options.build, "bin/sinter"), "train-step", source, "--loss", "mse", "--optimizer", f"{optimizer}:lr=0.01", "--sparse",
                    "table", "-o", module, "--force"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shared = {"rows": rows, "optimizer": optimizer, "ids": ids, "bags": options.bags, "each": options.each, "threads": options.threads, "module": module,
              "library": os.path.join(options.build, "lib/libsinter_rt.so")}
    processes = {engine: Process({**shared, "engine": engine}) for engine in options.engines}
    for turn in range(options.rounds):
        for process in processes.values():
            times = process.turn(options.steps)
            process.times += times if turn else []
    held = 4 * WIDTH * rows * {"adam": 3, "adagrad": 2, "sgd": 1}[optimizer]
    row = {"rows": rows, "optimizer": optimizer, "ids": ids}
    for engine, process in processes.items():
        process.process.stdin.close()
        process.process.wait()
        row[engine] = {"ms": statistics.median(process.times), "best": min(process.times), "memory": process.last["bytes"] / held, "loss": process.last["loss"]}
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    for name, value in (("--rows", "1000000,10000000"), ("--optimizers", "adagrad,adam"), ("--engines", "ours,torch"), ("--ids", "uniform")):
        parser.add_argument(name, default=value, type=lambda text: text.split(","))
    for name, value in (("--threads", 1), ("--bags", 4096), ("--each", 20), ("--rounds", 4), ("--steps", 6)):
        parser.add_argument(name, default=value, type=int)
    parser.add_argument("--json")
    options = parser.parse_args()
    found = []
    print(f"bags {options.bags} of {options.each}, threads {options.threads}; ms: median (best); memory: of table and moments")
    with tempfile.TemporaryDirectory() as folder:
        for optimizer in options.optimizers:
            for ids in options.ids:
                for rows in map(int, options.rows):
                    row = measure(options, folder, rows, optimizer, ids)
                    found.append(row)
                    print(f"{optimizer:<8} {ids:<8} {rows:>9}" + "".join(
                        f"  {e}: {row[e]['ms']:7.1f} ({row[e]['best']:6.1f}) {row[e]['memory']:5.2f}x" for e in options.engines), flush=True)
                    if len(options.engines) > 1 and abs(row["ours"]["loss"] - row["torch"]["loss"]) > 1e-3 * abs(row["torch"]["loss"]):
                        sys.exit(f"losses differ: {row}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    worker(sys.argv[2]) if sys.argv[1:2] == ["--worker"] else main()
