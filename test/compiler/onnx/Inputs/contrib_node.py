# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One node of onnxruntime's own domain, by onnxruntime and by `sinter run`."""
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

onnxruntime.set_default_logger_severity(4)


def make_model(op, values, constants, kinds, domain="com.microsoft", opened=(), version=17, **attributes):
    """The model and what it is fed. `values`: name -> array, in the order of the operator's inputs (None: left out); those that `constants` does not name are fed, those in `opened` with sizes
    that are known at run time only. `kinds`: the element types of the outputs, None for one that is not wanted."""
    names = [name if value is not None else "" for name, value in values.items()]
    given = {name: value for name, value in values.items() if value is not None}
    sizes = lambda name: [f"{name}_{k}" for k in range(given[name].ndim)] if name in opened else given[name].shape
    info = lambda name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(given[name].dtype), sizes(name))
    feeds = {name: value for name, value in given.items() if name not in constants}
    outputs = [f"out{k}" if kind else "" for k, kind in enumerate(kinds)]
    graph = helper.make_graph([helper.make_node(op, names, outputs, domain=domain, **attributes)], "g", [info(name) for name in feeds],
                              [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(outputs, kinds) if kind], [numpy_helper.from_array(given[name], name) for name in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)], ir_version=8 if version < 19 else 10), feeds


def run_model(sinter, model, feeds):
    """The outputs by us (None after an error) and what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/m.onnx")
        outputs = [output.name for output in model.graph.output]
        args = [f"--output={name}=@{folder}/{name}.npy" for name in outputs]
        for name, value in feeds.items():
            np.save(f"{folder}/{name}.npy", value)
            args.append(f"--input={name}=@{folder}/{name}.npy")
        done = subprocess.run([sinter, "run", f"{folder}/m.onnx", *args], capture_output=True, text=True)
        return [np.load(f"{folder}/{name}.npy") for name in outputs] if done.returncode == 0 else None, done.stderr.strip()


def run_ours(sinter, op, values, constants, kinds, **settings):
    """The same of the model of make_model."""
    return run_model(sinter, *make_model(op, values, constants, kinds, **settings))


def run_both(sinter, op, values, constants, kinds, **settings):
    """The outputs of the model of make_model by onnxruntime, those by us (None after an error) and what was printed."""
    model, feeds = make_model(op, values, constants, kinds, **settings)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    return expected, *run_model(sinter, model, feeds)
