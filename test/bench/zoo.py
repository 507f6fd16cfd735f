# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of the benchmark: what each is called, how its model is made, which inputs it gets.

Models are kept in a folder between runs: NAME.onnx, and NAME.npz with its inputs. Those made here are made again when a script
that makes them is newer.
"""
import os
import subprocess
import sys

import numpy as np
import onnx

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "models")]
import make_models
import networks
import sample_inputs

PACKAGED = ["silero_vad", "magika", "pp_ocrv4_rec", "pp_ocrv4_det", "ppocr_cls"]
EXPORTED = ["mobilenetv3", "efficientnet_b0", "convnext_t", "vit_b", "swin_t", "densenet121", "whisper_tiny_encoder"]
BUILT = {**make_models.MODELS, **networks.MODELS}
ROWS = [*BUILT, *EXPORTED, *PACKAGED]
QUICK = ["mlp_4_16_16_3", "gemm_64", "gemm_256", "gemm_512", "gemm_1024", "lstm_2x512", "mobilenetv2", "resnet50", "minilm", "bert_base",
         "silero_vad", "magika", "pp_ocrv4_rec", "ppocr_cls"]


def chosen(names, quick):
    """The rows whose names start with one of `names`, in the order of the table."""
    rows = QUICK if quick else ROWS
    return [r for r in rows if not names or r.startswith(tuple(names))]


def build(name, path):
    graph, *outputs = BUILT[name](name)
    graph.save(path, *outputs)


def feeds(name, model):
    if name in sample_inputs.CASES and name in PACKAGED:
        return sample_inputs.cases(name)[0][1][0]
    random, found = np.random.default_rng(1), {}
    weights = {w.name for w in model.graph.initializer}
    for value in model.graph.input:
        if value.name in weights:
            continue
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type != onnx.TensorProto.INT64:
            found[value.name] = random.standard_normal(shape).astype(np.float32)
        elif value.name == "input_ids":
            found[value.name] = random.integers(0, 30000, shape)
        else:  # a mask that lets all pass, kinds that are all the same
            found[value.name] = np.full(shape, value.name == "attention_mask", np.int64)
    return found


def newest(*paths):
    return max((os.path.getmtime(p) for p in paths if os.path.exists(p)), default=0)


def make(name, folder, packaged, torch_python):
    """Makes the model's files; returns what is missing, in words, or nothing."""
    path, inputs = (os.path.join(folder, name + end) for end in (".onnx", ".npz"))
    if name in PACKAGED:
        path = os.path.join(packaged, name + ".onnx")
        if not os.path.exists(path):
            return f"{name}.onnx is not in {packaged}: its package could not be fetched"
    elif name in BUILT:
        if newest(path) < newest(*(os.path.join(here, f) for f in ("make_models.py", "networks.py"))):
            build(name, path)
    elif newest(path) < newest(os.path.join(here, "torch_networks.py")):
        done = subprocess.run([torch_python, os.path.join(here, "torch_networks.py"), folder, name], capture_output=True, text=True)
        if done.returncode or not os.path.exists(path):
            said = (done.stdout + done.stderr).strip().splitlines() or ["it was not exported"]
            return f"it is exported from torch: {said[-1]}"
    if newest(inputs) < newest(path, os.path.join(here, "zoo.py")):
        np.savez(inputs, **feeds(name, onnx.load(path, load_external_data=False)))
    return None


def model_path(name, folder, packaged):
    return os.path.join(packaged if name in PACKAGED else folder, name + ".onnx")
