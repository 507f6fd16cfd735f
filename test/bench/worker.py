# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One engine's measurement of one row in a process of its own; bench.py starts these.

    worker.py ENGINE NAME FILE INPUTS THREADS SECONDS PRECISION [LIBRARY]

ENGINE is sinter, onnxruntime, openvino, torch, compile or jax; FILE a model or a compiled module (torch and JAX make the row
from its NAME), INPUTS an .npz, THREADS numbers with commas, measured one after the other, PRECISION what OpenVINO multiplies in. All engines have inputs and
outputs bound before the clock starts, and every call is timed. Prints one line of JSON: for each number of threads the median
and the least in microseconds and the count, or what the engine said against it.
"""
import json
import os
import sys
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "models")]


def prepare_onnxruntime(path, feeds, threads):
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)


def prepare_openvino(path, feeds, threads, precision):
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    if model.is_dynamic():
        try:
            model.reshape({name: list(array.shape) for name, array in feeds.items()})
        except RuntimeError:
            model = core.read_model(path)  # some graphs keep their open sizes
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, openvino.Tensor(array, shared_memory=True) if array.ndim else openvino.Tensor(array))
    return lambda: request.infer(share_outputs=True)


def prepare_torch(name, threads, compiled):
    import torch
    import torch_networks

    torch.set_num_threads(threads)
    module, inputs = torch_networks.module(name)
    module = module.eval()
    if compiled:
        module = torch.compile(module)

    def call():
        with torch.inference_mode():
            return module(*inputs)

    return call


def prepare_jax(name, threads):
    if threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # what JAX listens to
    import jax
    import jax.numpy as jnp
    import make_models

    key = jax.random.PRNGKey(0)
    if name in make_models.GEMMS:
        m, n, k = make_models.GEMMS[name]
        x, weights = jax.random.normal(key, (m, k)), [jax.random.normal(key, (k, n))]
    elif name.startswith("mlp"):
        x, weights = jax.random.normal(key, (1, 4)), [jax.random.normal(key, s) for s in ((4, 16), (16, 16), (16, 3))]
    else:
        raise KeyError(name)

    @jax.jit
    def run(x):
        for i, w in enumerate(weights):
            x = x @ w
            x = jnp.maximum(x, 0) if i + 1 < len(weights) else x
        return x

    return lambda: run(x).block_until_ready()


def prepare_sinter(path, feeds, threads, library):
    import sinter_runtime

    session = sinter_runtime.Runtime(library).session(path, threads)
    for name, array in feeds.items():
        session.set(name, array)
    return session.call


def prepare(engine, name, path, feeds, threads, precision, rest):
    if engine == "onnxruntime":
        return prepare_onnxruntime(path, feeds, threads)
    if engine == "openvino":
        return prepare_openvino(path, feeds, threads, precision)
    if engine in ("torch", "compile"):
        return prepare_torch(name, threads, engine == "compile")
    if engine == "jax":
        return prepare_jax(name, threads)
    return prepare_sinter(path, feeds, threads, *rest)


def measure(call, seconds):
    for limit in (0.3 * seconds, seconds):  # the first round warms up
        times, end = [], time.perf_counter() + limit
        while not times or time.perf_counter() < end:
            start = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - start)
    return {"us": float(np.median(times)) * 1e-3, "least_us": min(times) * 1e-3, "calls": len(times)}


def main():
    engine, name, path, inputs, threads, seconds, precision, *rest = sys.argv[1:]
    answers = os.dup(1)
    os.dup2(2, 1)  # what engines print is not an answer
    with np.load(inputs) as stored:
        feeds = {key: stored[key] for key in stored.files}
    found = {}
    for count in threads.split(","):
        try:
            found[count] = measure(prepare(engine, name, path, feeds, int(count), precision, rest), float(seconds))
        except ImportError as e:
            found[count] = {"missing": str(e).splitlines()[0]}
        except KeyError:
            found[count] = {"missing": f"{engine} has no form of this row"}
        except Exception as e:  # any engine may refuse a model
            found[count] = {"error": f"{type(e).__name__}: {' '.join(str(e).split())[:200]}"}
    os.write(answers, (json.dumps(found) + "\n").encode())


if __name__ == "__main__":
    main()
