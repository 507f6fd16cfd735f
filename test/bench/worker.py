# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One measurement in a process of its own; bench.py starts these.

    worker.py ort|sinter FILE CASE THREADS SECONDS [LIBRARY]

FILE is a model or a compiled module, CASE names its inputs. Both engines have inputs and outputs bound before
the clock starts, and every call is timed. Prints one line of JSON: the median and the least in microseconds,
and the count.
"""
import json
import os
import sys
import time

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "models"))
import sample_inputs
import sinter_runtime


def feeds(case, model):
    if case in sample_inputs.CASES:
        return sample_inputs.cases(case)[0][1][0]
    import onnx

    found = {}
    for value in onnx.load(model).graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        found[value.name] = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    return found


def prepare_ort(path, case, threads):
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in feeds(case, path).items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)


def prepare_sinter(path, case, threads, library):
    session = sinter_runtime.Runtime(library).session(path, threads)
    for name, array in feeds(case, os.path.splitext(path)[0] + ".onnx").items():
        session.set(name, array)
    return session.call


def measure(call, seconds):
    for limit in (0.3 * seconds, seconds):  # the first round warms up
        times, end = [], time.perf_counter() + limit
        while not times or time.perf_counter() < end:
            start = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - start)
    return {"us": float(np.median(times)) * 1e-3, "least_us": min(times) * 1e-3, "calls": len(times)}


def main():
    engine, path, case, threads, seconds = sys.argv[1:6]
    if engine == "ort":
        call = prepare_ort(path, case, int(threads))
    else:
        call = prepare_sinter(path, case, int(threads), sys.argv[6])
    print(json.dumps(measure(call, float(seconds))))


if __name__ == "__main__":
    main()
