#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops at native speed: loops/*.mlir and their gradients against JAX, torch and torch.compile, on one thread.

    loops.py BUILD [--seconds 0.5] [--processes 3] [--only NAME,...] [--peers NAME,...] [--json FILE]

Run by the Python that has the peers (`./dev bench loops` takes it from SINTER_PEERS); one that it lacks, or that cannot do
it, is left blank. Ours is timed by `sinter bench`, the peers by their fastest call on arrays that are ready. Each figure is
the median over processes, which alternate. `times` is the best peer's time over ours.
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
sys.path.insert(0, here)
import loop_programs

ROWS = [(name, False) for name in ("newton", "ode", "conjugate-gradient", "mlp")]
ROWS += [(name, True) for name in ("newton", "ode", "conjugate-gradient")]
COTANGENTS = {"newton": {"cotangent.x": ()}, "ode": {"cotangent.end": (60,)}, "conjugate-gradient": {"cotangent.x": (128,)}}


def cotangents(name):
    """What a gradient's inputs get beside the program's own: ones, and nothing for the residual."""
    import numpy as np

    found = {key: np.ones(shape, np.float32) for key, shape in COTANGENTS[name].items()}
    if name == "conjugate-gradient":
        found["cotangent.residual"] = np.float32(0)
    return found


def measure(peer, row, seconds):
    name, gradient = ROWS[row]
    call = loop_programs.PEERS[peer](name, gradient)
    for limit in (0.3 * seconds, seconds):
        times, end = [], time.perf_counter() + limit
        while not times or time.perf_counter() < end:
            start = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - start)
    print(json.dumps(statistics.median(times) * 1e-3))


def theirs(options, peer, row):
    environment = dict(os.environ, XLA_FLAGS="--xla_cpu_multi_thread_eigen=false", OMP_NUM_THREADS="1")
    command = [sys.executable, __file__, options.build, "--seconds", str(options.seconds), "--measure", peer, str(row)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    if options.verbose:
        print(f"{peer}: {done.stderr.strip().splitlines()[-1][:300]}", file=sys.stderr)
    return None


def ours(options, row, scratch):
    import numpy as np

    name, gradient = ROWS[row]
    sinter = os.path.join(options.build, "bin", "sinter")
    model, arrays = os.path.join(here, "loops", name + ".mlir"), loop_programs.inputs(name)
    if gradient:
        derived = os.path.join(scratch, "gradient.mlir")
        subprocess.run([sinter, "grad", model, "--mode", "vjp", "-o", derived], check=True)
        model = derived
        arrays.update(cotangents(name))
    figures = os.path.join(scratch, "figures.json")
    command = [sinter, "bench", model, "--threads", "1", "--seconds", str(options.seconds), "--json", figures]
    for key, array in arrays.items():
        np.save(os.path.join(scratch, key + ".npy"), array)
        command += ["--input", f"{key}=@{scratch}/{key}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(figures) as file:
        return json.load(file)["median_us"]


def title(row):
    name, gradient = ROWS[row]
    return name + (" gradient" if gradient else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each process")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--only", help="rows, separated by commas: ode, 'ode gradient', ...")
    parser.add_argument("--peers", default="jax,torch,torch.compile", help="peers, separated by commas; may be empty")
    parser.add_argument("--json", help="file to write the figures to")
    parser.add_argument("--verbose", action="store_true", help="say why a peer is left blank")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure[0], int(options.measure[1]), options.seconds)
    rows = range(len(ROWS))
    if options.only:
        wanted = options.only.split(",")
        rows = [row for row in rows if title(row) in wanted]
        if len(rows) != len(wanted):
            parser.error(f"--only requires names among {', '.join(map(title, range(len(ROWS))))}, got {options.only}")
    peers = [peer for peer in options.peers.split(",") if peer]
    print(f"{'program':<28} {'ours us':>10} " + " ".join(f"{peer + ' us':>16}" for peer in peers) + f" {'times':>8}")
    table = []
    for row in rows:
        us, them = [], {peer: [] for peer in peers}
        for _ in range(options.processes):
            with tempfile.TemporaryDirectory() as scratch:
                us.append(ours(options, row, scratch))
            for peer in peers:
                if None not in them[peer]:
                    them[peer].append(theirs(options, peer, row))
        figures = {peer: statistics.median(times) for peer, times in them.items() if times and None not in times}
        mine = statistics.median(us)
        cells = " ".join(f"{figures[peer]:>16.2f}" if peer in figures else " " * 16 for peer in peers)
        ratio = min(figures.values()) / mine if figures else None
        print(f"{title(row):<28} {mine:>10.2f} {cells} {ratio or 0:>8.1f}", flush=True)
        table.append({"program": title(row), "ours_us": mine, "peers_us": figures, "times": ratio})
    if options.json:
        with open(options.json, "w") as file:
            json.dump(table, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
