# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model has to do at least: multiply-adds of its products, and bytes that must be read or written once."""
import json
import math
import os

import onnx
from onnx import TensorProto, helper, shape_inference

SIZES = {TensorProto.FLOAT: 4, TensorProto.INT64: 8, TensorProto.INT32: 4, TensorProto.DOUBLE: 8, TensorProto.FLOAT16: 2}


def operations(model, feeds):
    """(floating-point operations, bytes), each None where a shape that it needs stays unknown."""
    for value in model.graph.input:  # the inputs' sizes, so that inference finds the others
        if value.name in feeds:
            kind = value.type.tensor_type.elem_type
            value.CopyFrom(helper.make_tensor_value_info(value.name, kind, feeds[value.name].shape))
    try:
        model = shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # a model that inference refuses has no figure, and runs all the same
        return None, None
    graph, shapes = model.graph, {}
    for value in [*graph.input, *graph.output, *graph.value_info]:
        kind = value.type.tensor_type
        if kind.HasField("shape") and all(d.HasField("dim_value") for d in kind.shape.dim):
            shapes[value.name] = [d.dim_value for d in kind.shape.dim]
    weights = {w.name: w for w in graph.initializer}
    shapes.update({n: list(w.dims) for n, w in weights.items()})
    try:
        flops = sum(node_operations(n, shapes) for n in graph.node)
    except KeyError:
        flops = None
    # A table is read by rows, all other weights whole.
    tables = {n.input[0] for n in graph.node if n.op_type == "Gather"}
    others = {i for n in graph.node if n.op_type != "Gather" for i in n.input}
    read = sum(math.prod(w.dims) * SIZES.get(w.data_type, 1) for n, w in weights.items() if n not in tables or n in others)
    read += sum(a.nbytes for a in feeds.values())
    if all(o.name in shapes for o in graph.output):
        read += sum(4 * math.prod(shapes[o.name]) for o in graph.output)
    return flops, read


def node_operations(node, shapes):
    if node.op_type in ("If", "Loop", "Scan"):
        raise KeyError(node.op_type)
    if node.op_type == "MatMul":
        return 2 * math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
    if node.op_type == "Gemm":
        transposed = any(a.name == "transA" and a.i for a in node.attribute)
        return 2 * math.prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if transposed else 1]
    if node.op_type == "Conv":
        return 2 * math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
    if node.op_type == "ConvTranspose":
        return 2 * math.prod(shapes[node.input[0]]) * math.prod(shapes[node.input[1]][1:])
    if node.op_type in ("LSTM", "GRU", "RNN"):
        steps, batch, _ = shapes[node.input[0]]
        return 2 * steps * batch * (math.prod(shapes[node.input[1]]) + math.prod(shapes[node.input[2]]))
    return 0


def cached(path, inputs, feeds):
    """(operations, bytes) of a model's file, kept beside its inputs."""
    kept = inputs + ".work.json"
    scripts = (os.path.abspath(__file__), path, inputs)
    if os.path.exists(kept) and os.path.getmtime(kept) > max(os.path.getmtime(p) for p in scripts):
        with open(kept) as file:
            return tuple(json.load(file))
    found = operations(onnx.load(path), feeds())
    with open(kept, "w") as file:
        json.dump(found, file)
    return found
