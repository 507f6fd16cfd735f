#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""This build against another checkout's: inference, training steps and loops, in turns.

    against.py BUILD MODELS TREE [NAME...] [--threads 1,2] [--processes 5] [--seconds 0.4] [--json FILE] [--before COMMAND] [--after COMMAND]

TREE is a checkout of another version with its own build/release. Both compile every row (NAME: prefixes of rows); then processes
of both take turns, each with the runtime and the module of its side. A figure is the median over processes of the median over
calls. A row is slower by the rule of figures.compare: by more than 3 % (10 % below 20 us) and three standard errors; then, and where no row can be compared, the
exit code is 1. What only one side compiles is named. Rows of training need a Python with torch and onnx, others one with onnx.

--before and --after are shell commands to run around each row's timing, to hold other work on the machine.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import figures
import loop_programs
import loops
import zoo

TRAINING = ["mlp", "gpt", "resnet18", "lstm", "lstm1k"]
SIDES = ("before", "now")


class Row:
    """A row's name, and how a side's `sinter` makes its module, of which feeds."""

    def __init__(self, name, make):
        self.name, self.make = name, make


def inference_rows(options):
    for name in zoo.chosen([], False):
        def make(sinter, module, name=name):
            missing = zoo.make(name, options.folder, options.models, sys.executable)
            if missing:
                raise RuntimeError(missing)
            feeds = dict(np.load(os.path.join(options.folder, name + ".npz")))
            fixed = [f"--shape={n}={'x'.join(map(str, a.shape))}" for n, a in feeds.items() if a.ndim]
            run([sinter, "compile", zoo.model_path(name, options.folder, options.models), "-o", module, *fixed])
            return feeds

        yield Row(name, make)


def training_rows(options):
    for name in TRAINING:
        def make(sinter, module, name=name):
            import train_models

            model = os.path.join(options.folder, f"step_{name}.onnx")
            if zoo.newest(model) < zoo.newest(train_models.__file__):
                train_models.export(name, model)
            run([sinter, "train-step", model, "--loss", "cross_entropy", "--optimizer", train_models.MODELS[name],
                 "--trainable", "^([^m]|m[^a])", "-o", module])
            return dict(zip(("x", "labels"), train_models.data(name)))

        yield Row("step " + name, make)


def loop_rows(options):
    for index, (name, gradient) in enumerate(loops.ROWS):
        def make(sinter, module, name=name, gradient=gradient):
            model, feeds = os.path.join(here, "loops", name + ".mlir"), loop_programs.inputs(name)
            if gradient:
                derived = module + ".mlir"
                run([sinter, "grad", model, "--mode", "vjp", "-o", derived])
                model, feeds = derived, {**feeds, **loops.cotangents(name)}
            run([sinter, "compile", model, "-o", module])
            return feeds

        yield Row("loop " + loops.title(index), make)


def run(command):
    """Of the checkout whose `sinter` it is, also where that was built in another folder."""
    libraries = os.path.join(os.path.dirname(os.path.dirname(command[0])), "lib")
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, LD_LIBRARY_PATH=libraries))
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:3])}: {' '.join(done.stderr.split())[-200:]}")


def compiled(row, trees, options):
    """For each side (module, inputs), or None where it cannot."""
    found = {}
    for side, tree in trees.items():
        module = os.path.join(options.folder, f"against-{side}-{row.name.replace(' ', '-')}.smod")
        try:
            feeds = row.make(os.path.join(tree, "bin", "sinter"), module)
            np.savez(module + ".npz", **feeds)
            found[side] = (module, module + ".npz")
        except (RuntimeError, ImportError) as e:
            print(f"{row.name}: {side}: {e}", flush=True)
    return found if len(found) == len(trees) else None


def worker(module, inputs, threads, seconds, library, scripts):
    """Prints the median of calls in us. `scripts` holds the sinter_runtime.py that belongs to the library."""
    sys.path.insert(0, scripts)
    import sinter_runtime
    from worker import measure

    if int(threads) == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    session = sinter_runtime.Runtime(library).session(module, int(threads))
    with np.load(inputs) as stored:
        for name in stored.files:
            session.set(name, stored[name])
    print(json.dumps(measure(session.call, float(seconds))))


def measured(files, trees, scripts, threads, options):
    times = {side: [] for side in SIDES}
    for turn in range(options.processes):
        for side in SIDES if turn % 2 else SIDES[::-1]:
            command = [sys.executable, os.path.abspath(__file__), "--worker", *files[side], str(threads), str(options.seconds),
                       os.path.join(trees[side], "lib", "libsinter_rt.so"), scripts[side]]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{side}: {' '.join(done.stderr.split())[-200:]}")
            times[side].append(json.loads(done.stdout)["us"])
    return times


def result(name, threads, times):
    return {"rows": [{"name": name, "threads": threads, "engines": {"sinter": figures.summary(times)}}]}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench against")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("models", help=argparse.SUPPRESS)
    parser.add_argument("tree", help="a checkout of another version with its build/release")
    parser.add_argument("names", nargs="*", help="prefixes of rows; default all")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each process")
    parser.add_argument("--before", help="shell command")
    parser.add_argument("--after", help="shell command")
    parser.add_argument("--json", help="file for all figures; rows that it holds are not measured again")
    options = parser.parse_intermixed_args()
    options.folder = os.path.join(os.path.dirname(os.path.abspath(options.build)), "bench")
    os.makedirs(options.folder, exist_ok=True)
    trees = {"before": os.path.join(os.path.abspath(options.tree), "build", "release"), "now": os.path.abspath(options.build)}
    scripts = {"before": os.path.join(os.path.abspath(options.tree), "test", "models"), "now": os.path.join(here, "..", "models")}
    if not os.path.exists(os.path.join(trees["before"], "bin", "sinter")):
        parser.error(f"{options.tree} requires a built build/release/bin/sinter")
    rows = [r for r in (*inference_rows(options), *training_rows(options), *loop_rows(options))
            if not options.names or r.name.startswith(tuple(options.names))]
    if not rows:
        parser.error(f"no row's name starts with {' or '.join(options.names)}")
    kept = {}
    if options.json and os.path.exists(options.json):
        with open(options.json) as file:
            kept = json.load(file)
    print(f"{'row':<28} {'threads':>7} {'before us':>12} {'now us':>12} {'change':>9}")
    slower, compared = [], 0
    for row in rows:
        counts = [int(t) for t in options.threads.split(",") if f"{row.name}/{t}" not in kept]
        files = compiled(row, trees, options) if counts else None
        for threads in counts if files else []:
            if options.before:
                subprocess.run(options.before, shell=True, check=True)
            try:
                kept[f"{row.name}/{threads}"] = measured(files, trees, scripts, threads, options)
            except RuntimeError as e:
                print(f"{row.name}: {e}", flush=True)
            finally:
                if options.after:
                    subprocess.run(options.after, shell=True, check=True)
        for threads in map(int, options.threads.split(",")):
            times = kept.get(f"{row.name}/{threads}")
            if not times:
                continue
            [found] = figures.compare(*(result(row.name, threads, times[side]) for side in SIDES))
            error = "" if found["error"] is None else f" +- {100 * found['error']:.1f}"
            print(f"{row.name:<28} {threads:>7} {found['before_us']:>12.1f} {found['now_us']:>12.1f} {100 * found['change']:>+8.1f} %{error}"
                  + ("  SLOWER" if found["slower"] else ""), flush=True)
            compared += 1
            if found["slower"]:
                slower.append(f"{row.name}/{threads}")
        if options.json:
            with open(options.json, "w") as file:
                json.dump(kept, file)
    print(f"{len(slower)} of {compared} figures are slower" + (": " + ", ".join(slower) if slower else ""))
    return 1 if slower or not compared else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    else:
        sys.exit(main())
