#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops at native speed: loops/*.mlir against the same programs in JAX, on one thread, in the same minutes.

    loops.py BUILD [--seconds 0.5] [--processes 3]

Needs a Python with jax and numpy (the one that runs this). Ours is timed by `sinter bench`, JAX by its fastest call: a compiled
function on arrays that are on the device, waiting for the result. Each figure is the median over processes, which alternate.
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
NAMES = ["newton", "ode", "conjugate-gradient", "mlp"]


def inputs(name):
    import numpy as np

    random = np.random.default_rng(5)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    if name == "newton":
        return {"a": np.float32(27)}
    if name == "ode":
        return {"a": draw(60, 60) / 8, "b": draw(60), "x": draw(60)}
    if name == "conjugate-gradient":
        root = draw(128, 128) / 11
        return {"a": (root @ root.T + np.eye(128, dtype=np.float32)).astype(np.float32), "b": draw(128)}
    return {"x": draw(1, 4)}


def program(name):
    import jax
    import jax.numpy as jnp

    if name == "newton":

        def run(a):
            def body(state):
                n, x, _ = state
                step = (x * x * x - a) / (3 * x * x)
                return n + 1, x - step, step

            start = (0, jnp.float32(1), jnp.float32(1))
            return jax.lax.while_loop(lambda s: jnp.abs(s[2]) > 1e-6, body, start)

    elif name == "ode":

        def run(a, b, x):
            return jax.lax.fori_loop(0, 614, lambda i, x: x + 0.01 * (jnp.tanh(a @ x + b) - x), x)

    elif name == "conjugate-gradient":

        def run(a, b):
            def body(state):
                n, x, r, p, rho = state
                q = a @ p
                alpha = rho / (p @ q)
                x, r = x + alpha * p, r - alpha * q
                following = r @ r
                return n + 1, x, r, r + following / rho * p, following

            start = (0, jnp.zeros_like(b), b, b, b @ b)
            return jax.lax.while_loop(lambda s: (s[4] > 1e-10) & (s[0] < 128), body, start)

    else:
        weights = [0.1 * jnp.ones(shape, jnp.float32) for shape in ((4, 16), (16, 16), (16, 3))]

        def run(x):
            for weight in weights[:-1]:
                x = jnp.tanh(x @ weight + 0.1)
            return x @ weights[-1] + 0.1

    return jax.jit(run)


def peer(name, seconds):
    import jax

    arrays = [jax.device_put(array) for array in inputs(name).values()]
    run = program(name)
    call = lambda: jax.block_until_ready(run(*arrays))
    for limit in (0.3 * seconds, seconds):
        times, end = [], time.perf_counter() + limit
        while not times or time.perf_counter() < end:
            start = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - start)
    print(json.dumps(statistics.median(times) * 1e-3))


def ours(options, name, scratch):
    import numpy as np

    path = os.path.join(scratch, "figures.json")
    command = [os.path.join(options.build, "bin", "sinter"), "bench", os.path.join(here, "loops", name + ".mlir"), "--threads", "1",
               "--seconds", str(options.seconds), "--json", path]
    for key, array in inputs(name).items():
        np.save(os.path.join(scratch, key + ".npy"), array)
        command += ["--input", f"{key}=@{scratch}/{key}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(path) as file:
        return json.load(file)["median_us"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each process")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return peer(options.peer, options.seconds)
    environment = dict(os.environ, XLA_FLAGS="--xla_cpu_multi_thread_eigen=false", OMP_NUM_THREADS="1")
    print(f"{'program':<20} {'ours us':>10} {'jax us':>10} {'times':>7}")
    for name in NAMES:
        us, them = [], []
        for _ in range(options.processes):
            with tempfile.TemporaryDirectory() as scratch:
                us.append(ours(options, name, scratch))
            command = [sys.executable, __file__, options.build, "--seconds", str(options.seconds), "--peer", name]
            them.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout))
        ours_us, jax_us = statistics.median(us), statistics.median(them)
        print(f"{name:<20} {ours_us:>10.2f} {jax_us:>10.2f} {jax_us / ours_us:>7.1f}")


if __name__ == "__main__":
    main()
