# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attention_rows.py SINTER LIBRARY FOLDER: rows of ONNX's Attention and of onnxruntime's GroupQueryAttention that see few keys or none, against a formula in f64. Masks of booleans and of floats with
infinities, as wide as the keys or narrower, causal queries behind a past, windows and caps, with sizes that are known or open. A row that sees nothing is zero, and so are its gradients."""
import itertools
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models"))
from sinter_runtime import Runtime

SINTER, LIBRARY, FOLDER = sys.argv[1:]
HEADS, SIZE = 2, 8
random = np.random.default_rng(11)


def attention(q, k, v, seen, bias, cap):
    """[1, heads, rows, size] in f64; rows that see nothing are zero."""
    scores = q.astype(float) @ k.astype(float).swapaxes(2, 3) / np.sqrt(SIZE)
    scores = np.tanh(scores / cap) * cap if cap else scores
    seen = np.broadcast_to(seen & (bias > -np.inf), scores.shape)
    scores = np.where(seen, scores + np.where(bias > -np.inf, bias, 0), -1e30)
    shares = np.exp(scores - scores.max(3, keepdims=True)) * seen
    return shares / np.maximum(shares.sum(3, keepdims=True), 1e-30) @ v.astype(float)


def save(nodes, inputs, name, constants=()):
    infos = [helper.make_tensor_value_info(n, TensorProto.BOOL if x.dtype == bool else helper.np_dtype_to_tensor_dtype(x.dtype), dims) for n, x, dims in inputs]
    output = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", infos, [output], list(constants))
    opsets = [helper.make_opsetid("", 25), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), name)


def run(model, feeds):
    subprocess.run([SINTER, "compile", model, "-o", "m.smod", "--force"], check=True, capture_output=True)
    session = Runtime(LIBRARY).session("m.smod", 1)
    results = session.run(feeds)
    session.close()
    return results


wrong = runs = 0


def check(what, got, expected):
    global wrong, runs
    runs += 1
    if got.shape != expected.shape or not np.allclose(got, expected, 1e-4, 1e-5):
        wrong += 1
        print(what, got.shape, np.nanmax(np.abs(got - expected)) if got.shape == expected.shape else expected.shape, np.isnan(got).sum(), "NaN")


def case(causal, past, mask, open_sizes, cap, left, narrower):
    rows, fresh = 5, 5
    columns = past + fresh
    draw = lambda length: random.standard_normal((1, HEADS, length, SIZE)).astype(np.float32)
    q, k, v = draw(rows), draw(fresh), draw(fresh)
    feeds = {"q": q, "k": k, "v": v}
    inputs = [("q", q, list(q.shape)), ("k", k, [1, HEADS, "fresh" if open_sizes else fresh, SIZE]), ("v", v, [1, HEADS, "fresh" if open_sizes else fresh, SIZE])]
    names = ["q", "k", "v", "", "", ""]
    seen, bias = np.ones((rows, columns), bool), np.zeros((rows, columns))
    if mask:
        width = columns - narrower
        allowed = random.random((rows, width)) < 0.7
        allowed[1] = False
        allowed[0, : past + 1] = False  # all that a causal query may see
        names[3] = "mask"
        feeds["mask"] = allowed if mask == "bool" else np.where(allowed, random.standard_normal((rows, width)), -np.inf).astype(np.float32)
        inputs.append(("mask", feeds["mask"], [rows, width]))
        seen[:, :width], seen[:, width:] = allowed, False
        if mask == "float":
            bias[:, :width] = feeds["mask"]
    if past:
        feeds["pk"], feeds["pv"] = draw(past), draw(past)
        inputs += [(n, feeds[n], [1, HEADS, "past" if open_sizes else past, SIZE]) for n in ("pk", "pv")]
        names[4:6] = ["pk", "pv"]
    i, j = np.arange(rows)[:, None] + past, np.arange(columns)[None]
    if causal:
        seen = seen & (j <= i)
    attributes = {"is_causal": int(causal), "softcap": float(cap)}
    if left >= 0:
        attributes["left_window_size"] = left
        seen = seen & (i - j <= left)
    keys, values = (np.concatenate([feeds[p], x], 2) if past else x for p, x in (("pk", k), ("pv", v)))
    while names and not names[-1]:
        names.pop()
    node = helper.make_node("Attention", names, ["y"], **attributes)
    save([node], inputs, "m.onnx")
    what = f"causal {causal} past {past} mask {mask} open {open_sizes} cap {cap} left {left} narrower {narrower}"
    check(what, run("m.onnx", feeds)["y"], attention(q, keys, values, seen, bias, cap))
    if open_sizes or past:
        return
    # The gradients of a sum, by keys of which each is moved a little.
    save([node, helper.make_node("ReduceSum", ["y"], ["loss"], keepdims=0)], inputs, "l.onnx")
    subprocess.run([SINTER, "grad", "l.onnx", "-o", "g.sinter", "--wrt", "^[qkv]$", "--force"], check=True, capture_output=True)
    got = run("g.sinter", feeds)
    loss = lambda: attention(feeds["q"], feeds["k"], feeds["v"], seen, bias, cap).sum()
    for name in "qkv":
        x, expected = feeds[name].astype(float), np.zeros(feeds[name].shape)
        for at in itertools.product(*map(range, x.shape)):
            ends = []
            for step in (1e-4, -1e-4):
                feeds[name] = x.copy()
                feeds[name][at] += step
                ends.append(loss())
            expected[at] = (ends[0] - ends[1]) / 2e-4
        feeds[name] = x.astype(np.float32)
        check(f"gradient by {name}: {what}", got[f"grad.{name}"], expected)


def group_case(past, cap, window, rows_open):
    """GroupQueryAttention of one head of keys for two of queries."""
    rows, width = 4, 16
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    q, k, v = draw(1, rows, 2 * width), draw(1, rows, width), draw(1, rows, width)
    feeds = {"q": q, "k": k, "v": v, "lengths": np.array([past + rows - 1], np.int32), "total": np.array([past + rows], np.int32)}
    inputs = [(n, feeds[n], [1, "rows" if rows_open else rows, feeds[n].shape[2]]) for n in "qkv"]
    names = ["q", "k", "v", "", "", "lengths", "total"]
    if past:
        feeds["pk"], feeds["pv"] = draw(1, 1, past, width), draw(1, 1, past, width)
        inputs += [(n, feeds[n], list(feeds[n].shape)) for n in ("pk", "pv")]
        names[3:5] = ["pk", "pv"]
    inputs += [(n, feeds[n], [1]) for n in ("lengths", "total")]
    node = helper.make_node("GroupQueryAttention", names, ["y", "presentk", "presentv"], domain="com.microsoft", num_heads=2, kv_num_heads=1, softcap=float(cap), scale=1 / np.sqrt(SIZE),
                            local_window_size=window)
    save([node], inputs, "m.onnx")
    split = lambda x: x.reshape(1, -1, x.shape[2] // width, width).swapaxes(1, 2)
    keys, values = (np.concatenate([feeds[p], split(x)], 2) if past else split(x) for p, x in (("pk", k), ("pv", v)))
    i, j = np.arange(rows)[:, None] + past, np.arange(past + rows)[None]
    seen = (j <= i) & ((i - j < window) | (window < 0))
    y = attention(split(q), keys, values, seen, np.zeros(seen.shape), cap).swapaxes(1, 2).reshape(1, rows, -1)
    check(f"groups past {past} cap {cap} window {window} open {rows_open}", run("m.onnx", feeds)["y"], y)


os.makedirs(FOLDER, exist_ok=True)
os.chdir(FOLDER)
for causal, past, mask, open_sizes in itertools.product((False, True), (0, 3), (None, "bool", "float"), (False, True)):
    for cap, left, narrower in ((0, -1, 0), (0, -1, 2), (3, -1, 0), (0, 1, 0)):
        if mask or not narrower:
            case(causal, past, mask, open_sizes, cap, left, narrower)
for past, cap, window, rows_open in itertools.product((0, 3), (0, 2), (-1, 2), (False, True)):
    group_case(past, cap, window, rows_open)
print(f"{runs} results, {wrong} wrong")
