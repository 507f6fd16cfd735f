#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our time against other engines' on the same machine, in the same minutes.

    bench.py BUILD MODELS [NAME...] [options]

The Python that runs this has the peers that are measured; those that it lacks are named. Each figure is the median over processes
of the median over calls; the processes of the engines alternate, so that a slow minute hits all. The peak of multiply-adds and the
bandwidth of memory are measured between the turns. Absolute times are of this machine and this run only.
"""
import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import figures
import host
import report
import work
import zoo

ENGINES = ["sinter", "onnxruntime", "openvino", "torch", "compile", "jax"]
QUICK_ENGINES = ENGINES[:3]
PACKAGES = {"compile": "torch"}
BY_NAME = ("torch", "compile", "jax")  # they make the row themselves, one number of threads a process
HANGS = 900  # seconds; far above the longest


class Failed(Exception):
    pass


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS)
    if done.returncode:
        raise Failed(f"{' '.join(command[:4])} ... ended with {done.returncode}: {' '.join(done.stderr.split())[-300:]}")
    return done.stdout


def installed(engines):
    """Versions of the peers that this Python has, and the names of those that it lacks."""
    found, missing = {}, []
    for engine in engines:
        try:
            found[engine] = importlib.metadata.version(PACKAGES.get(engine, engine))
        except importlib.metadata.PackageNotFoundError:
            missing.append(engine)
    return found, missing


class Row:
    """A model's files, and what its processes said."""

    def __init__(self, name, options):
        self.name, self.notes, self.times, self.compiled = name, [], {}, {}
        self.model = zoo.model_path(name, options.folder, options.models)
        ending = ".smod" if options.precision == "f32" else f".{options.precision}.smod"
        self.inputs, self.module = (os.path.join(options.folder, name + end) for end in (".npz", ending))
        self.precision = options.precision
        self.missing = zoo.make(name, options.folder, options.models, sys.executable)
        if self.missing:
            self.notes.append(self.missing)

    def feeds(self):
        with np.load(self.inputs) as stored:
            return {key: stored[key] for key in stored.files}

    def compile(self, build):
        """Our module, kept while neither the compiler nor the model is newer."""
        said, sinter = self.module + ".json", os.path.join(build, "bin", "sinter")
        libraries = [os.path.join(build, "lib", f) for f in os.listdir(os.path.join(build, "lib"))]
        if zoo.newest(said) > zoo.newest(sinter, self.model, *libraries):
            with open(said) as file:
                self.compiled = json.load(file)
            return
        fixed = [f"--shape={n}={'x'.join(map(str, a.shape))}" for n, a in self.feeds().items() if a.ndim]
        start = time.monotonic()
        try:
            run([sinter, "compile", self.model, "-o", self.module, "--precision", self.precision, *fixed])
        except (Failed, subprocess.TimeoutExpired) as e:
            self.notes.append(str(e))
            return
        self.compiled = {"compile_s": time.monotonic() - start, "module_bytes": os.path.getsize(self.module)}
        with open(said, "w") as file:
            json.dump(self.compiled, file)

    def measure(self, engine, threads, options):
        path = self.module if engine == "sinter" else self.model
        if self.missing or (engine == "sinter" and not self.compiled) or engine in self.times.get("refused", ()):
            return
        for counts in [[t] for t in threads] if engine in BY_NAME else [threads]:
            library = [os.path.join(options.build, "lib", "libsinter_rt.so")] if engine == "sinter" else []
            command = [sys.executable, os.path.join(here, "worker.py"), engine, self.name, path, self.inputs, ",".join(map(str, counts)),
                       str(options.seconds), self.precision, *library]
            try:
                answers = json.loads(run(command))
            except (Failed, subprocess.TimeoutExpired) as e:
                answers = {str(counts[0]): {"error": str(e)}}
            for count, answer in answers.items():
                if "us" in answer:
                    self.times.setdefault((engine, int(count)), []).append(answer["us"])
                else:  # the next turns would say the same
                    self.times.setdefault("refused", set()).add(engine)
                    if "error" in answer:
                        self.notes.append(f"{engine}: {answer['error']}")
                    break

    def figures(self, threads, probe, needed):
        times = {engine: self.times.get((engine, threads), []) for engine in ENGINES}
        extra = {"runs": {e: t for e, t in times.items() if t}, **self.compiled}
        return figures.row(self.name, threads, times, needed, probe, extra)


def program_memory(row, options, scratch):
    """Peak memory of a model as a program of its own, in bytes, and the bytes of its weights."""
    program = os.path.join(scratch, row.name)
    run([os.path.join(options.build, "bin", "sinter"), "compile", row.model, "-o", program, "--emit=exe"])
    output = onnx.load(row.model, load_external_data=False).graph.output[0].name
    arguments = ["--threads", "1", "--output", f"{output}=@{scratch}/out.npy"]
    for key, array in row.feeds().items():
        np.save(os.path.join(scratch, key + ".npy"), array)
        arguments += ["--input", f"{key}=@{os.path.join(scratch, key)}.npy"]
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)")
    return int(run([sys.executable, "-c", code, program, *arguments]).split()[-1])


def parse():
    parser = argparse.ArgumentParser(prog="./dev bench")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("models", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", help="prefixes of the rows that are wanted; default all")
    parser.add_argument("--quick", action="store_true", help="fewer rows, onnxruntime and OpenVINO only, about five minutes on two quiet cores")
    parser.add_argument("--engines", help=f"default: those of {','.join(ENGINES)} that this Python has")
    parser.add_argument("--processes", type=int, default=5, help="of each engine and row (default 5)")
    parser.add_argument("--seconds", type=float, help="for each figure of a process (default 1, quick .12)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--precision", default="f32", choices=("f32", "bf16"),
                        help="what products multiply in, here and in OpenVINO (default f32); onnxruntime stays with f32, as it has no bf16 for CPUs")
    parser.add_argument("--prepare", action="store_true", help="make and compile the models, measure nothing")
    parser.add_argument("--compare", metavar="FILE", help="an earlier run's JSON: rows that became slower are named and the exit code is 1")
    parser.add_argument("--add", action="store_true", help="keep the rows of --json that are not measured now")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--html", help="file for the page")
    parser.add_argument("--results", action="store_true", help="keep the figures as data of this kind of host, in test/bench/results")
    options = parser.parse_intermixed_args()
    options.folder = os.path.join(os.path.dirname(os.path.abspath(options.build)), "bench")
    options.seconds = options.seconds or (0.12 if options.quick else 1.0)
    options.threads = sorted({int(t) for t in options.threads.split(",")})
    options.engines = options.engines.split(",") if options.engines else QUICK_ENGINES if options.quick else ENGINES
    unknown = [e for e in options.engines if e not in ENGINES]
    if unknown:
        parser.error(f"--engines takes {', '.join(ENGINES)}, got '{unknown[0]}'")
    if not zoo.chosen(options.names, options.quick):
        parser.error(f"no row's name starts with {' or '.join(options.names)}; rows: {' '.join(zoo.chosen([], options.quick))}")
    if options.precision != "f32":  # the others have f32 alone
        options.engines = [e for e in options.engines if e in ("sinter", "onnxruntime", "openvino")]
    if options.add and not options.json:
        parser.error("--add requires --json FILE")
    return options


def condensed(result):
    """What stays in test/bench/results: a line a row."""
    rows = [{k: v for k, v in r.items() if k != "runs"} for r in result["rows"]]
    head = json.dumps({k: v for k, v in result.items() if k not in ("rows", "comparison", "compared")}, indent=1)
    return head[:-2] + ',\n "rows": [\n  ' + ",\n  ".join(json.dumps(r) for r in rows) + "\n ]\n}\n"


def write(options, result):
    for path, text in ((options.json, json.dumps(result, indent=1) + "\n"), (options.html, report.page(result))):
        if path:
            with open(path, "w") as file:
                file.write(text)
            print("wrote", path)
    if options.results:
        ending = "" if options.precision == "f32" else "-" + options.precision
        path = os.path.join(here, "results", host.kind(result["host"]) + ending + ".json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(condensed(result))
        print("wrote", path)


def main():
    options = parse()
    os.makedirs(options.folder, exist_ok=True)
    before = None
    if options.compare:
        with open(options.compare) as file:
            before = json.load(file)
    described = host.describe()
    peers, missing = installed([e for e in options.engines if e != "sinter"])
    engines = [e for e in options.engines if e == "sinter" or e in peers]
    rows = [Row(name, options) for name in zoo.chosen(options.names, options.quick)]
    needed = {}
    for row in rows:
        if not row.missing:
            row.compile(options.build)
            needed[row.name] = work.cached(row.model, row.inputs, row.feeds)
    if options.prepare:
        return 1 if any(r.notes for r in rows) else 0

    most, probe = max(options.threads), host.Probe(options.folder)
    probe.measure(most)
    for turn in range(options.processes):
        for row in rows:
            for engine in engines if turn % 2 else engines[::-1]:
                row.measure(engine, options.threads[:: -1 if turn % 2 else 1], options)
        probe.measure(most)
    best = probe.best(most)
    notes = {r.name: r.notes for r in rows if r.notes}
    found = [r.figures(t, best, needed.get(r.name, (None, None))) for r in rows for t in options.threads]
    if missing:
        notes["peers"] = [f"not installed in this Python: {', '.join(missing)}"]
    if options.add and os.path.exists(options.json):
        with open(options.json) as file:
            old = json.load(file)
        measured = {r["name"] for r in found}
        found = [r for r in old["rows"] if r["name"] not in measured] + found
        found.sort(key=lambda r: zoo.ROWS.index(r["name"]))
        notes = {**{n: v for n, v in old["notes"].items() if n not in measured}, **notes}
    figures.add_speedups(found)
    version = run([os.path.join(options.build, "bin", "sinter"), "--version"]).splitlines()[0]
    result = {"host": described, "load_after": os.getloadavg()[0], "probe": best, "peers": peers, "processes": options.processes,
              "seconds": options.seconds, "precision": options.precision, "version": version, "date": time.strftime("%Y-%m-%d", time.gmtime()), "rows": found, "notes": notes,
              "means": figures.means(found)}
    lines = report.table(result)
    if before:
        result["comparison"], result["compared"] = figures.compare(before, result), os.path.basename(options.compare)
        lines += report.comparison(result["comparison"], result["compared"])
        if host.kind(before["host"]) != host.kind(described):
            lines.append(f"note: {options.compare} is of another kind of host ({before['host']['cpu']}, {before['host']['cores']} cores)")
    print("\n".join(lines))
    large = next((r for r in rows if r.name == "resnet50" and r.compiled and not options.quick), None)
    if large:
        with tempfile.TemporaryDirectory() as scratch:
            memory, weights = program_memory(large, options, scratch), needed["resnet50"][1]
            result["resnet50_program"] = {"peak_bytes": memory, "weights_bytes": weights}
            print(f"resnet50 as a program: peak memory {memory / 1e6:.0f} MB, {memory / weights:.2f} x its weights" if weights else "")
    write(options, result)
    failed = [r for r in rows if not r.missing and ("sinter" not in engines or not r.times.get(("sinter", options.threads[0])))]
    slower = any(r["slower"] for r in result.get("comparison", []))
    return 1 if slower or ("sinter" in engines and failed) else 0


if __name__ == "__main__":
    sys.exit(main())
