# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""decoders.py SINTER FOLDER [all] [LAYERS...]: decoders with dynamic batch and sequence, as exporters write them, compiled once and
compared with onnxruntime at three sizes. Prints `N right, N wrong` and a line for each wrong one.

The graphs follow what torch exports of Llama, Mistral, Qwen2, Phi3 (rotary embeddings, grouped heads), Bloom and MPT (ALiBi), BART
and Marian (encoder and decoder), with the masks of several generations of transformers: every size comes from Shape, Gather
and Concat, positions from Range, masks from comparisons, Where, Trilu, Expand and slices."""
import itertools
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HIDDEN, HEADS, HEAD, WORDS = 16, 4, 4, 23


class Builder:
    def __init__(self, seed):
        self.nodes, self.weights, self.count = [], [], 0
        self.random = np.random.default_rng(seed)

    def __getattr__(self, op):
        def add(*inputs, outputs=1, **attributes):
            self.count += 1
            names = [f"{op}_{self.count}_{k}" for k in range(outputs)]
            self.nodes.append(helper.make_node(op, [self.value(i) for i in inputs], names, **attributes))
            return names[0] if outputs == 1 else names
        return add

    def value(self, given):
        if isinstance(given, str):
            return given
        return self.constant(np.asarray(given, np.int64))

    def constant(self, array):
        self.count += 1
        self.weights.append(numpy_helper.from_array(np.array(array, order="C"), f"w{self.count}"))
        return f"w{self.count}"

    def number(self, x, dtype=np.float32):
        return self.constant(np.array(x, dtype))

    def weight(self, *shape):
        return self.constant((self.random.standard_normal(shape) * 0.3).astype(np.float32))

    def size(self, x, axis):
        return self.Gather(self.Shape(x), axis, axis=0)

    def list(self, *sizes):
        """A list of sizes: numbers, and names of scalars."""
        return self.Concat(*[self.Unsqueeze(s, [0]) if isinstance(s, str) else [s] for s in sizes], axis=0)

    def range(self, end, start=0):
        return self.Range(start, end, 1)


def positions(b, ids, past):
    length = b.size(ids, 1)
    if past is None:
        return length, length, b.range(length)
    before = b.size(past, 2)
    total = b.Add(before, length)
    return length, total, b.Range(before, total, 1)


LEAST = np.finfo(np.float32).min


def mask_by_comparison(b, ids, mask, length, total, at):
    """transformers 4.5x: kv <= q and mask[kv], expanded to [batch, 1, q, kv], then a where."""
    kv = b.range(total)
    causal = b.LessOrEqual(b.Unsqueeze(kv, [0, 1, 2]), b.Unsqueeze(at, [0, 1, 3]))
    if mask:
        causal = b.And(causal, b.Unsqueeze(b.Cast(mask, to=TensorProto.BOOL), [1, 2]))
    causal = b.Expand(causal, b.list(b.size(ids, 0), 1, length, total))
    return b.Where(causal, b.number(0.0), b.number(LEAST))


def mask_by_product(b, ids, mask, length, total, at):
    """transformers 4.4x: triu(full) * (range > position), expanded; padding by masked_fill on a slice."""
    full = b.Expand(b.number(LEAST), b.list(length, total))
    full = b.Where(b.Equal(length, 1), full, b.Trilu(full, b.number(1, np.int64), upper=1))
    behind = b.Greater(b.range(total), b.Reshape(at, [-1, 1]))
    causal = b.Expand(b.Unsqueeze(b.Mul(full, b.Cast(behind, to=TensorProto.FLOAT)), [0, 1]), b.list(b.size(ids, 0), 1, length, total))
    if mask:
        wide = b.Unsqueeze(mask, [1, 2])
        sliced = b.Slice(causal, [0], b.Unsqueeze(b.size(mask, 1), [0]), [3])
        padding = b.Equal(b.Add(sliced, b.Cast(wide, to=TensorProto.FLOAT)), b.number(0.0))
        causal = b.Where(padding, b.number(LEAST), sliced)
    return causal


def mask_by_fill(b, ids, mask, length, total, at):
    """BART: full(min) filled with 0 where range < (range + 1).view(size, 1)."""
    full = b.Expand(b.number(LEAST), b.list(total, total))
    condition = b.range(b.size(full, 1))
    less = b.Less(condition, b.Reshape(b.Add(condition, 1), b.list(b.size(full, 1), 1)))
    causal = b.Where(less, b.number(0.0), full)
    causal = b.Slice(causal, b.Unsqueeze(b.Sub(total, length), [0]), b.Unsqueeze(total, [0]), [0])
    causal = b.Expand(b.Unsqueeze(causal, [0, 1]), b.list(b.size(ids, 0), 1, length, total))
    return b.Add(causal, mask_of_padding(b, mask, ids, length)) if mask else causal


def mask_of_padding(b, mask, ids, length):
    inverted = b.Sub(b.number(1.0), b.Cast(b.Unsqueeze(mask, [1, 2]), to=TensorProto.FLOAT))
    expanded = b.Expand(inverted, b.list(b.size(ids, 0), 1, length, b.size(mask, 1)))
    return b.Where(b.Cast(expanded, to=TensorProto.BOOL), b.number(-1e30), expanded)


MASKS = {"comparison": mask_by_comparison, "product": mask_by_product, "fill": mask_by_fill}


def rms_norm(b, x):
    mean = b.ReduceMean(b.Pow(x, b.number(2.0)), axes=[-1], keepdims=1)
    return b.Mul(b.Mul(x, b.Reciprocal(b.Sqrt(b.Add(mean, b.number(1e-5))))), b.weight(HIDDEN))


def layer_norm(b, x):
    return b.LayerNormalization(x, b.weight(HIDDEN), b.weight(HIDDEN), axis=-1)


def rotate(b, x, cos, sin):
    half = HEAD // 2
    left, right = b.Slice(x, [0], [half], [3]), b.Slice(x, [half], [2**63 - 1], [3])
    return b.Add(b.Mul(x, cos), b.Mul(b.Concat(b.Neg(right), left, axis=-1), sin))


def rotary(b, at):
    frequencies = b.constant((100.0 ** -(np.arange(0, HEAD, 2) / HEAD)).astype(np.float32).reshape(1, -1, 1))
    angles = b.Transpose(b.MatMul(frequencies, b.Cast(b.Unsqueeze(at, [0, 1]), to=TensorProto.FLOAT)), perm=[0, 2, 1])
    angles = b.Unsqueeze(b.Concat(angles, angles, axis=-1), [1])
    return b.Cos(angles), b.Sin(angles)


def repeat_heads(b, x, times):
    if times == 1:
        return x
    sizes = [b.size(x, k) for k in range(4)]
    wide = b.Expand(b.Unsqueeze(x, [2]), b.list(sizes[0], sizes[1], times, sizes[2], HEAD))
    return b.Reshape(wide, b.list(sizes[0], b.Mul(sizes[1], times), sizes[2], HEAD))


def split_heads(b, x, heads):
    shape = b.list(b.size(x, 0), b.size(x, 1), heads, HEAD)
    return b.Transpose(b.Reshape(x, shape), perm=[0, 2, 1, 3])


def attention(b, x, memory, mask, kind, tables, alibi, past):
    kv_heads = 2 if kind == "rotary" else HEADS
    q = split_heads(b, b.MatMul(x, b.weight(HIDDEN, HIDDEN)), HEADS)
    k = split_heads(b, b.MatMul(memory, b.weight(HIDDEN, kv_heads * HEAD)), kv_heads)
    v = split_heads(b, b.MatMul(memory, b.weight(HIDDEN, kv_heads * HEAD)), kv_heads)
    if tables:
        q, k = rotate(b, q, *tables), rotate(b, k, *tables)
    if past:
        k, v = b.Concat(past[0], k, axis=2), b.Concat(past[1], v, axis=2)
    present = (k, v)
    k, v = repeat_heads(b, k, HEADS // kv_heads), repeat_heads(b, v, HEADS // kv_heads)
    scores = b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), b.number(HEAD ** -0.5))
    if alibi:
        scores = b.Add(scores, alibi)
    if mask:
        keys = b.Unsqueeze(b.size(k, 2), [0])
        scores = b.Add(scores, b.Slice(mask, [0], keys, [3], [1]))
    weights = b.Softmax(scores, axis=-1)
    mixed = b.Transpose(b.MatMul(weights, v), perm=[0, 2, 1, 3])
    shape = b.list(b.size(x, 0), b.size(x, 1), HIDDEN)
    return b.MatMul(b.Reshape(mixed, shape), b.weight(HIDDEN, HIDDEN)), present


def slopes(b, mask, ids, total):
    """Bloom: slopes times the number of words so far; MPT without a mask: slopes times 1 - total .. 0."""
    slope = b.constant((2.0 ** -np.arange(1, HEADS + 1)).astype(np.float32).reshape(1, HEADS, 1, 1))
    if mask:
        counted = b.Mul(b.Sub(b.CumSum(mask, b.number(-1, np.int64)), 1), mask)
        return b.Mul(slope, b.Cast(b.Unsqueeze(counted, [1, 2]), to=TensorProto.FLOAT))
    away = b.Range(b.Sub(1, total), 1, 1)
    return b.Mul(slope, b.Cast(b.Reshape(away, b.list(1, 1, 1, total)), to=TensorProto.FLOAT))


def feed_forward(b, x):
    inner = b.MatMul(x, b.weight(HIDDEN, 24))
    return b.MatMul(b.Mul(inner, b.Sigmoid(inner)), b.weight(24, HIDDEN))


def decoder(kind, layers, masking, with_mask, with_past, seed=0):
    """An ONNX model; kind is rotary, alibi or encoded."""
    b = Builder(seed)
    info = helper.make_tensor_value_info
    inputs = [info("ids", TensorProto.INT64, ["batch", "sequence"])]
    mask = "mask" if with_mask else None
    if with_mask:
        inputs.append(info("mask", TensorProto.INT64, ["batch", "total"]))
    pasts = [None] * layers
    heads = 2 if kind == "rotary" else HEADS
    if with_past:
        pasts = [(f"past_key{i}", f"past_value{i}") for i in range(layers)]
        inputs += [info(n, TensorProto.FLOAT, ["batch", heads, "past", HEAD]) for pair in pasts for n in pair]
    memory, memory_mask = None, None
    if kind == "encoded":
        inputs.append(info("source", TensorProto.INT64, ["batch", "from"]))
        inputs.append(info("source_mask", TensorProto.INT64, ["batch", "from"]))
        memory = b.Gather(b.weight(WORDS, HIDDEN), "source", axis=0)
        places = b.Gather(b.weight(64, HIDDEN), b.Add(b.range(b.size("source", 1)), 2), axis=0)
        memory = layer_norm(b, b.Add(memory, places))
        own = mask_of_padding(b, "source_mask", "source", b.size("source", 1))
        for _ in range(layers):
            memory = layer_norm(b, b.Add(memory, attention(b, memory, memory, own, kind, None, None, None)[0]))
            memory = layer_norm(b, b.Add(memory, feed_forward(b, memory)))
        memory_mask = mask_of_padding(b, "source_mask", "ids", b.size("ids", 1))
    x = b.Gather(b.weight(WORDS, HIDDEN), "ids", axis=0)
    length, total, at = positions(b, "ids", pasts[0][0] if with_past else None)
    causal = MASKS[masking](b, "ids", mask, length, total, at)
    tables = rotary(b, at) if kind == "rotary" else None
    alibi = slopes(b, mask, "ids", total) if kind == "alibi" else None
    norm = rms_norm if kind == "rotary" else layer_norm
    outputs = []
    for past in pasts:
        y = norm(b, x)
        y, present = attention(b, y, y, causal, kind, tables, alibi, past)
        outputs += present if with_past else []
        x = b.Add(x, y)
        if memory:
            x = b.Add(x, attention(b, norm(b, x), memory, memory_mask, kind, None, None, None)[0])
        x = b.Add(x, feed_forward(b, norm(b, x)))
    b.nodes.append(helper.make_node("MatMul", [norm(b, x), b.weight(HIDDEN, WORDS)], ["logits"]))
    results = [info("logits", TensorProto.FLOAT, ["batch", "sequence", WORDS])]
    results += [info(n, TensorProto.FLOAT, ["batch", heads, f"{n}_size", HEAD]) for n in outputs]
    graph = helper.make_graph(b.nodes, "decoder", inputs, results, b.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def feeds(model, batch, length, past, seed):
    random = np.random.default_rng(seed)
    sizes = {"batch": batch, "sequence": length, "past": past, "total": length + (past if any(i.name.startswith("past") for i in model.graph.input) else 0), "from": length + 3}
    made = {}
    for i in model.graph.input:
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in i.type.tensor_type.shape.dim]
        if i.name.endswith("mask"):
            made[i.name] = np.ones(shape, np.int64)
            made[i.name][-1, -1 if i.name == "source_mask" else 0] = 0 if batch > 1 else 1
        elif i.type.tensor_type.elem_type == TensorProto.INT64:
            made[i.name] = random.integers(0, WORDS, shape)
        else:
            made[i.name] = random.standard_normal(shape).astype(np.float32)
    return made


def check(sinter, model, path):
    """"" when compiled results are right at three sizes, else what is wrong."""
    onnx.save(model, path)
    module = path.replace(".onnx", ".smod")
    done = subprocess.run([sinter, "compile", path, "-o", module], capture_output=True, text=True)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr.strip().splitlines()[0][:300]}"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for batch, length, past in ((1, 1, 3), (2, 7, 0), (3, 18, 5)):
        given = feeds(model, batch, length, past, length)
        expected = session.run(None, given)
        command = [sinter, "run", module]
        for name, array in given.items():
            np.save(f"{path}.{name}.npy", array)
            command += ["--input", f"{name}=@{path}.{name}.npy"]
        results = [f"{path}.{output.name}.out.npy" for output in model.graph.output]
        for output, file in zip(model.graph.output, results):
            command += ["--output", f"{output.name}=@{file}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return f"run with {batch}x{length}+{past}: exit {done.returncode}: {done.stderr.strip()[:300]}"
        for output, file, wanted in zip(model.graph.output, results, expected):
            got = np.load(file)
            if got.shape != wanted.shape or not np.allclose(got, wanted, rtol=1e-3, atol=1e-4):
                return f"{output.name} with {batch}x{length}+{past}: {got.shape} for {wanted.shape}, differs"
    return ""


def main():
    sinter, folder, layers = sys.argv[1], sys.argv[2], sys.argv[3:] or ["2"]
    onnxruntime.set_default_logger_severity(4)
    os.makedirs(folder, exist_ok=True)
    right = wrong = 0
    kinds, everything = ("rotary", "alibi", "encoded"), "all" in layers
    for count in [int(n) for n in layers if n != "all"] or [1, 2, 4, 8]:
        for i, (kind, masking) in enumerate(itertools.product(kinds, MASKS)):
            # In short a mask of the words for every second, and keys and values of the past for every third.
            given = itertools.product((True, False), repeat=2) if everything else [(i % 2 == 0, i % 3 == 2)]
            for with_mask, with_past in given:
                name = f"{kind}-{masking}{'-mask' if with_mask else ''}{'-past' if with_past else ''}-{count}"
                model = decoder(kind, count, masking, with_mask, with_past)
                problem = check(sinter, model, os.path.join(folder, name + ".onnx"))
                right, wrong = right + (not problem), wrong + bool(problem)
                if problem:
                    print(f"{name}: {problem}", flush=True)
    print(f"{right} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
