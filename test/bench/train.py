#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps against torch, torch.compile and JAX, on the same machine, in the same minutes.

    train.py BUILD [NAME...] [--threads 1,2] [--engines ours,ahead,jitted,torch,compile,jax] [--precision bf16] [--processes 3] [--rounds 5] [--seconds 0.5] [--json FILE]

Needs a Python with torch, torchvision, jax and onnx (the one that runs this). JAX is left out where train_models.py has no form of a network for it. Ours is the artifact of `sinter train-step` from an ONNX file, called through the
runtime. `ahead` and `jitted` are the same networks in C++ (train_steps.cpp: mlp, gpt, resnet18), compiled ahead of time and when called. A process of each engine is made ready, then they take turns of --seconds; a figure is the median over processes of the median over
steps. Memory is the largest resident size of a process less what the same process had before it made the model; the code of the framework is in neither.
With one thread a process is bound to one core, which is what JAX listens to.

With --precision bf16 or f16 products and convolutions multiply in that type: `sinter train-step --precision`, torch.autocast. JAX has nothing of the
kind and is left out. The loss of f16 is scaled by the rule of torch's GradScaler on both sides.

--before and --after are shell commands to run around the timed part, to hold other work on the machine.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "models")]
import train_models

ENGINES = ["ours", "torch", "compile", "jax"]
WITHOUT = {"jax": train_models.WITHOUT_JAX}
CXX = {"ahead": ["mlp", "gpt", "resnet18"], "jitted": ["mlp", "gpt", "resnet18"]}  # engines of train_steps.cpp, and their networks


def status(field):
    """A size of this process in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field + ":"))


def make_step(engine, name, threads, library, module, precision):
    """A function that does one step, and the resident size before the model was made."""
    if engine == "ours":
        from sinter_runtime import Runtime

        runtime = Runtime(library)
        before = status("VmRSS")
        session = runtime.session(module, threads)
        for key, array in zip(("x", "labels"), train_models.data(name)):
            session.set(key, array)

        def step():
            session.call()
            return float(session.result("loss"))

        return step, before
    if engine == "jax":
        import jax

        jax.block_until_ready(jax.numpy.zeros(8) + 1)
        before = status("VmRSS")
        return train_models.jax_step(name), before
    import torch

    torch.set_num_threads(threads)
    before = status("VmRSS")
    return train_models.torch_step(name, engine == "compile", precision), before


def worker(arguments):
    """Answers each number of seconds on its standard input with the times of steps."""
    engine, name, threads, library, module, precision = arguments
    threads = int(threads)
    if threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    answers = os.dup(1)
    os.dup2(2, 1)
    step, before = make_step(engine, name, threads, library, module, precision)
    losses = [step() for _ in range(3)]

    def answer(value):
        os.write(answers, (json.dumps(value) + "\n").encode())

    answer({"losses": losses})
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while not times or time.perf_counter() < end:
            start = time.perf_counter_ns()
            step()
            times.append(time.perf_counter_ns() - start)
        answer({"ms": [t * 1e-6 for t in times], "bytes": status("VmHWM") - before})


class Process:
    def __init__(self, engine, name, threads, library, module, precision):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        command = [sys.executable, os.path.abspath(__file__), "--worker", engine, name, str(threads), library, module, precision]
        if engine in CXX:
            steps = os.path.join(os.path.dirname(library), "..", "bin", "sinter_train_steps")
            command = [steps, engine, name, str(threads), module + ".cxx.smod"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.engine, self.times, self.bytes = engine, [], 0
        self.losses = self.answer()["losses"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.engine} ended with {self.process.wait()}")
        return json.loads(line)

    def measure(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.times += answer["ms"]
        self.bytes = answer["bytes"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(options, name, threads, library, module):
    """For each engine that has the network the median time of its processes in ms, and their largest memory in bytes."""
    engines = [engine for engine in options.engines if name not in WITHOUT.get(engine, [])]
    found = {engine: [] for engine in engines}
    for _ in range(options.processes):
        processes = [Process(engine, name, threads, library, module, options.precision) for engine in engines]
        try:
            if options.before:
                subprocess.run(options.before, shell=True, check=True)
            for turn in range(options.rounds):
                for process in processes if turn % 2 else processes[::-1]:
                    process.measure(options.seconds)
        finally:
            if options.after:
                subprocess.run(options.after, shell=True, check=True)
            for process in processes:
                process.end()
        for process in processes:
            found[process.engine].append({"ms": statistics.median(process.times), "bytes": process.bytes, "losses": process.losses})
    row = {"name": name, "threads": threads, "precision": options.precision}
    for engine, runs in found.items():
        row[engine] = {"ms": statistics.median(r["ms"] for r in runs), "bytes": max(r["bytes"] for r in runs), "processes": runs}
    return row


def show(row, engines):
    peers = [e for e in engines if e in row and e != "ours" and e not in CXX]
    times = min(row[e]["ms"] for e in peers) / row["ours"]["ms"] if peers and "ours" in engines else None
    pairs = [pair for pair in (("ahead", "ours"), ("jitted", "ahead")) if set(pair) <= set(engines)]
    print(f"{row['name']:<10} {row['threads']:>7}" + "".join(f" {row[e]['ms']:>8.2f} ms {row[e]['bytes'] / 1e6:>6.0f} MB" if e in row else f"{'-':>22}" for e in engines)
          + (f" {times:>7.2f}" if times else "")
          + "".join(f"  {a}/{b} {row[a]['ms'] / row[b]['ms']:.3f}" for a, b in pairs), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", help="default all: " + ", ".join(train_models.MODELS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16", "f16"])
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each turn")
    parser.add_argument("--before", help="shell command")
    parser.add_argument("--after", help="shell command")
    parser.add_argument("--json", help="file for all figures")
    options = parser.parse_intermixed_args()
    options.engines = [e for e in options.engines.split(",") if options.precision == "f32" or e != "jax" and e not in CXX]
    options.names = options.names or [n for n in train_models.MODELS if all(n in CXX.get(e, train_models.MODELS) for e in options.engines)]
    for name in options.names:
        for engine in options.engines:
            if name not in CXX.get(engine, train_models.MODELS):
                parser.error(f"{engine} has no {name}")
    library = os.path.join(options.build, "lib", "libsinter_rt.so")
    rows = []
    print(f"{'step':<10} {'threads':>7}" + "".join(f" {e:>21}" for e in options.engines) + f" {'times':>7}")
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names:
            model, module = (os.path.join(scratch, name + suffix) for suffix in (".onnx", ".smod"))
            if "ours" in options.engines:
                train_models.export(name, model)
                # All but masks are trained.
                command = [os.path.join(options.build, "bin", "sinter"), "train-step", model, "--loss", "cross_entropy", "--optimizer",
                           train_models.MODELS[name], "--trainable", "^([^m]|m[^a])", "--precision", options.precision, "-o", module]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for threads in map(int, options.threads.split(",")):
                rows.append(measure(options, name, threads, library, module))
                show(rows[-1], options.engines)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2:])
    else:
        main()
