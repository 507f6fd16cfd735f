#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our time against onnxruntime's on the same machine, in the same minutes.

    bench.py BUILD MODELS [NAME...] [--processes 5] [--seconds 1] [--threads 1,2] [--json FILE]

Each figure is the median over processes of the median over calls; the processes of the two engines alternate,
so that a slow minute hits both. GEMM and convolutions are also given as a share of the peak of one core,
measured in the same run. Absolute times are of this machine and this run only.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "models")]
import make_models
import sample_inputs

SMALL = ["mlp_4_16_16_3", "lstm_2x512"]


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} ... ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def peak_gflops(scratch):
    binary = os.path.join(scratch, "peak")
    if not os.path.exists(binary):
        run(["clang-22", "-std=gnu11", "-O2", "-ffp-contract=fast", os.path.join(here, "peak.c"), "-o", binary])
    return float(run([binary]))


def compile_model(options, model, case, output, emit=()):
    fixed = []
    if case in sample_inputs.CASES:
        feeds = sample_inputs.cases(case)[0][1][0]
        fixed = [f"--shape={n}={'x'.join(map(str, a.shape))}" for n, a in feeds.items() if a.ndim]
    start = time.monotonic()
    run([os.path.join(options.build, "bin", "sinter"), "compile", model, "-o", output, *emit, *fixed])
    return time.monotonic() - start


def children_peak_bytes(command):
    """The largest resident size that `command` had."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)")
    return int(run([sys.executable, "-c", code, *command]).split()[-1])


def program_memory(options, scratch, name="resnet50"):
    """Peak memory of a model as a program of its own, in bytes, and the bytes of its weights."""
    import numpy as np
    import onnx

    model = os.path.join(options.models, name + ".onnx")
    program = os.path.join(scratch, name)
    compile_model(options, model, name, program, ["--emit=exe"])
    arguments = []
    for key, array in sample_inputs.cases(name)[0][1][0].items():
        path = os.path.join(scratch, key + ".npy")
        np.save(path, array)
        arguments += ["--input", f"{key}=@{path}"]
    weights = sum(len(w.raw_data) for w in onnx.load(model).graph.initializer)
    return children_peak_bytes([program, *arguments, "--threads", "1", "--output", f"logits=@{scratch}/logits.npy"]), weights


def row(options, name, threads, times, peak, compiled):
    ours, ort = (statistics.median(r["us"] for r in times[e]) if times[e] else None for e in ("sinter", "ort"))
    work = make_models.WORK.get(name)
    share = work / ours * 1e-3 / peak if work and ours and threads == 1 else None
    return {
        "name": name, "threads": threads, "sinter_us": ours, "onnxruntime_us": ort,
        "ratio": ours / ort if ours and ort else None, "share_of_peak": share,
        "onnxruntime_share_of_peak": work / ort * 1e-3 / peak if work and ort and threads == 1 else None,
        "compile_s": compiled.get("seconds"), "module_bytes": compiled.get("bytes"), "error": compiled.get("error"),
        "processes": times,
    }


def show(value, pattern):
    return pattern.format(value) if value is not None else "-"


def table(rows):
    print(f"{'model':<22} {'threads':>7} {'ours us':>11} {'ort us':>11} {'ratio':>6} {'of peak':>8} {'ort':>8} {'compile':>8} {'MB':>7}")
    for r in rows:
        print(f"{r['name']:<22} {r['threads']:>7} {show(r['sinter_us'], '{:.1f}'):>11} {show(r['onnxruntime_us'], '{:.1f}'):>11} "
              f"{show(r['ratio'], '{:.2f}'):>6} {show(r['share_of_peak'], '{:.1%}'):>8} "
              f"{show(r['onnxruntime_share_of_peak'], '{:.1%}'):>8} {show(r['compile_s'], '{:.1f} s'):>8} "
              f"{show(r['module_bytes'] and r['module_bytes'] / 1e6, '{:.1f}'):>7}" + (f"  {r['error']}" if r["error"] else ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("names", nargs="*", help="prefixes of the rows that are wanted; default all")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each process")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--json", help="file for all figures")
    options = parser.parse_intermixed_args()
    threads = [int(t) for t in options.threads.split(",")]
    library = os.path.join(options.build, "lib", "libsinter_rt.so")

    with tempfile.TemporaryDirectory() as scratch:
        peaks = [peak_gflops(scratch)]
        make_models.make(scratch)
        models = {n: os.path.join(scratch, n + ".onnx") for n in [*make_models.WORK, *SMALL]}
        models.update({n: os.path.join(options.models, n + ".onnx") for n in sample_inputs.CASES})
        if options.names:
            models = {n: p for n, p in models.items() if n.startswith(tuple(options.names))}
        if not models:
            sys.exit(f"bench: no model's name starts with {' or '.join(options.names)}")
        compiled = {}
        for name, path in models.items():
            module = os.path.join(scratch, name + ".smod")
            try:
                seconds = compile_model(options, path, name, module)
                compiled[name] = {"seconds": seconds, "bytes": os.path.getsize(module), "module": module}
            except RuntimeError as e:
                compiled[name] = {"error": str(e).replace("\n", " ")}
        times = {(n, t): {"sinter": [], "ort": []} for n in models for t in threads}
        for turn in range(options.processes):
            for (name, count), found in times.items():
                engines = [("ort", models[name], []), ("sinter", compiled[name].get("module"), [library])]
                for engine, path, extra in engines if turn % 2 else engines[::-1]:
                    if not path:
                        continue
                    command = [sys.executable, os.path.join(here, "worker.py"), engine, path, name, str(count), str(options.seconds), *extra]
                    try:
                        found[engine].append(json.loads(run(command)))
                    except RuntimeError as e:
                        compiled[name]["error"] = str(e).replace("\n", " ")
            peaks.append(peak_gflops(scratch))
        peak = max(peaks)
        rows = [row(options, n, t, found, peak, compiled[n]) for (n, t), found in times.items()]
        print(f"{platform.machine()}, {os.cpu_count()} cores, f32 peak of one core {peak:.1f} GFLOP/s; "
              f"median of {options.processes} processes, {options.seconds:g} s each")
        table(rows)
        result = {"peak_gflops": peaks, "rows": rows}
        if "resnet50" in models and "error" not in compiled["resnet50"]:
            try:
                memory, weights = program_memory(options, scratch)
                result["resnet50_program"] = {"peak_bytes": memory, "weights_bytes": weights}
                print(f"resnet50 as a program: peak memory {memory / 1e6:.0f} MB, {memory / weights:.2f} x its weights")
            except RuntimeError as e:
                print(f"resnet50 as a program: {e}")
        slow = [f"{r['name']} ({r['ratio']:.2f}, {r['threads']} threads)" for r in rows if r["ratio"] and r["ratio"] > 1.5]
        print("slower than 1.5 x onnxruntime:", ", ".join(slow) or "none")
    if options.json:
        with open(options.json, "w") as f:
            json.dump(result, f, indent=1)
        print("wrote", options.json)
    return 1 if any(r["error"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
