# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole networks written as ONNX graphs with random weights: no torch is needed, and every machine measures the same nodes.

The batch norms of the vision models are folded into the convolutions, as torch's exporter does.
"""
import math

import numpy as np
from make_models import Graph

TOKENS, CACHED, WORDS = 128, 255, 50257


def conv(g, x, inside, outside, kernel, stride=1, groups=1, gain=2.0):
    pad = kernel // 2
    weight = g.weight(outside, inside // groups, kernel, kernel, scale=math.sqrt(gain / (inside // groups * kernel * kernel)))
    return g.node("Conv", x, weight, g.weight(outside, scale=0.1), kernel_shape=[kernel] * 2, strides=[stride] * 2, group=groups,
                  pads=[pad] * 4, dilations=[1, 1])


def classify(g, x, channels):
    x = g.node("Flatten", g.node("GlobalAveragePool", x), axis=1)
    return g.node("Gemm", x, g.weight(1000, channels, scale=0.03), g.weight(1000, scale=0.1), transB=1)


def resnet50(name):
    g = Graph(name, {"input": (1, 3, 224, 224)})
    x = g.node("Relu", conv(g, "input", 3, 64, 7, 2))
    x, inside = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            y = g.node("Relu", conv(g, x, inside, width, 1))
            y = g.node("Relu", conv(g, y, width, width, 3, step))
            y = conv(g, y, width, 4 * width, 1, gain=0.2)
            if block == 0:
                x = conv(g, x, inside, 4 * width, 1, step, gain=1.0)
            x, inside = g.node("Relu", g.node("Add", y, x)), 4 * width
    return g, classify(g, x, inside)


def mobilenetv2(name):
    g = Graph(name, {"input": (1, 3, 224, 224)})
    six = g.constant(0.0), g.constant(6.0)
    x, inside = g.node("Clip", conv(g, "input", 3, 32, 3, 2), *six), 32
    for expand, outside, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                            (6, 320, 1, 1)):
        for block in range(blocks):
            step, width = stride if block == 0 else 1, expand * inside
            y = g.node("Clip", conv(g, x, inside, width, 1), *six) if expand > 1 else x
            y = g.node("Clip", conv(g, y, width, width, 3, step, width), *six)
            y = conv(g, y, width, outside, 1, gain=1.0)
            x = g.node("Add", x, y) if step == 1 and inside == outside else y
            inside = outside
    return g, classify(g, g.node("Clip", conv(g, x, inside, 1280, 1), *six), 1280)


def linear(g, x, inside, outside):
    return g.node("Add", g.node("MatMul", x, g.weight(inside, outside, scale=0.04)), g.weight(outside, scale=0.02))


def norm(g, x, size, epsilon):
    return g.node("LayerNormalization", x, g.constant(np.ones(size)), g.weight(size, scale=0.02), axis=-1, epsilon=epsilon)


def attention(g, x, tokens, hidden, heads, mask, past=None):
    """The result and the keys and values that a decoder hands on."""
    size = hidden // heads

    def split(y):
        return g.node("Transpose", g.node("Reshape", y, g.integers(1, tokens, heads, size)), perm=[0, 2, 1, 3])

    q, k, v = (split(linear(g, x, hidden, hidden)) for _ in range(3))
    if past:
        k, v = g.node("Concat", past[0], k, axis=2), g.node("Concat", past[1], v, axis=2)
    scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.node("Div", scores, g.constant(math.sqrt(size)))
    if mask:
        scores = g.node("Add", scores, mask)
    y = g.node("Transpose", g.node("MatMul", g.node("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    return linear(g, g.node("Reshape", y, g.integers(1, tokens, hidden)), hidden, hidden), k, v


def encoder(name, layers, hidden, heads, words=30522):
    """BERT: norms after the sums, GELU by erf."""
    g = Graph(name, {n: (1, TOKENS) for n in ("input_ids", "attention_mask", "token_type_ids")}, ids=("input_ids", "attention_mask", "token_type_ids"))
    mask = g.node("Cast", g.node("Unsqueeze", "attention_mask", g.integers(1, 2)), to=1)
    mask = g.node("Mul", g.node("Sub", g.constant(1.0), mask), g.constant(np.finfo(np.float32).min))
    tables = [g.node("Gather", g.weight(rows, hidden, scale=0.04), ids) for rows, ids in ((words, "input_ids"), (2, "token_type_ids"))]
    x = g.node("Add", g.node("Add", *tables), g.weight(TOKENS, hidden, scale=0.04))
    x = norm(g, x, hidden, 1e-12)
    for _ in range(layers):
        y, _, _ = attention(g, x, TOKENS, hidden, heads, mask)
        x = norm(g, g.node("Add", y, x), hidden, 1e-12)
        y = linear(g, x, hidden, 4 * hidden)
        erf = g.node("Add", g.node("Erf", g.node("Div", y, g.constant(math.sqrt(2)))), g.constant(1.0))
        y = g.node("Mul", g.node("Mul", y, erf), g.constant(0.5))
        x = norm(g, g.node("Add", linear(g, y, 4 * hidden, hidden), x), hidden, 1e-12)
    return g, x


def gpt2(name, tokens, cached, layers=12, hidden=768, heads=12):
    """GPT-2 small: norms before, GELU by tanh. With `cached` tokens it takes and gives keys and values; logits of the last token."""
    past = {f"past_{i}_{kind}": (1, heads, cached, hidden // heads) for i in range(layers) for kind in "kv"} if cached else {}
    g = Graph(name, {"input_ids": (1, tokens), **past}, ids=("input_ids",))
    table = g.weight(WORDS, hidden, scale=0.04)
    positions = g.weight(1024, hidden, scale=0.02)
    place = g.node("Gather", positions, g.constant(np.arange(cached, cached + tokens), np.int64))
    x = g.node("Add", g.node("Gather", table, "input_ids"), place)
    mask = g.constant(np.triu(np.full((tokens, tokens), -1e9, np.float32), 1)) if tokens > 1 else None
    results = []
    for i in range(layers):
        carried = (f"past_{i}_k", f"past_{i}_v") if cached else None
        y, k, v = attention(g, norm(g, x, hidden, 1e-5), tokens, hidden, heads, mask, carried)
        results += [k, v]
        x = g.node("Add", x, y)
        y = linear(g, norm(g, x, hidden, 1e-5), hidden, 4 * hidden)
        cube = g.node("Mul", g.node("Mul", g.node("Mul", y, y), y), g.constant(0.044715))
        tanh = g.node("Tanh", g.node("Mul", g.node("Add", y, cube), g.constant(math.sqrt(2 / math.pi))))
        y = g.node("Mul", g.node("Mul", y, g.constant(0.5)), g.node("Add", tanh, g.constant(1.0)))
        x = g.node("Add", x, linear(g, y, 4 * hidden, hidden))
    x = norm(g, x, hidden, 1e-5)
    if tokens > 1:
        x = g.node("Slice", x, g.integers(tokens - 1), g.integers(tokens), g.integers(1))
    return g, g.node("MatMul", x, g.node("Transpose", table, perm=[1, 0])), *results


MODELS = {
    "mobilenetv2": mobilenetv2,
    "resnet50": resnet50,
    "minilm": lambda name: encoder(name, 6, 384, 12),
    "bert_base": lambda name: encoder(name, 12, 768, 12),
    "gpt2_prefill": lambda name: gpt2(name, TOKENS, 0),
    "gpt2_decode": lambda name: gpt2(name, 1, CACHED),
}
