#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports MobileNetV2, ResNet-50, MiniLM-L6 and BERT-base from torch, with random weights of a fixed seed.

    export_torch.py FOLDER [name...]

The batch norms of the two vision models are given real statistics by a few forward passes, so that values
keep a sane size through all layers. The two encoders are written here as the graph that their usual
implementation exports: dynamic batch and sequence, heads split by `view` on run-time sizes, an additive mask.
"""
import math
import os
import sys

import torch
from torch import nn

# Newer versions export in another way by default, which gives weights names of its own.
EXPORTER = {} if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5) else {"dynamo": False}


class Embeddings(nn.Module):
    def __init__(self, words, hidden, positions=512):
        super().__init__()
        self.word = nn.Embedding(words, hidden)
        self.position = nn.Embedding(positions, hidden)
        self.kind = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.register_buffer("ids", torch.arange(positions).unsqueeze(0))

    def forward(self, tokens, kinds):
        position = self.position(self.ids[:, : tokens.size(1)])
        return self.norm(self.word(tokens) + self.kind(kinds) + position)


class Attention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.out = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)

    def split(self, x):
        return x.view(x.size()[:-1] + (self.heads, self.size)).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size) + mask
        y = torch.matmul(torch.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        y = y.view(y.size()[:-2] + (self.heads * self.size,))
        return self.norm(self.out(y) + x)


class Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.attention = Attention(hidden, heads)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)


class Encoder(nn.Module):
    def __init__(self, layers, hidden, heads, words=30522, pooler=True):
        super().__init__()
        self.embeddings = Embeddings(words, hidden)
        self.layers = nn.ModuleList(Layer(hidden, heads) for _ in range(layers))
        self.pooler = nn.Linear(hidden, hidden) if pooler else None

    def forward(self, input_ids, attention_mask, token_type_ids):
        mask = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
        x = self.embeddings(input_ids, token_type_ids)
        for layer in self.layers:
            x = layer(x, mask)
        return (x, torch.tanh(self.pooler(x[:, 0]))) if self.pooler else (x,)


def encoder(layers, hidden, heads, pooler):
    model = Encoder(layers, hidden, heads, pooler=pooler).eval()
    for p in model.parameters():
        if p.dim() == 2:
            nn.init.normal_(p, 0, 0.04)
    tokens = torch.randint(0, 30522, (1, 128))
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    outputs = ["last_hidden_state", "pooler_output"][: 2 if pooler else 1]
    axes = {n: {0: "batch", 1: "sequence"} for n in inputs + outputs[:1]}
    if pooler:
        axes["pooler_output"] = {0: "batch"}
    return model, (tokens, torch.ones_like(tokens), torch.zeros_like(tokens)), inputs, outputs, axes


def vision(build):
    model = build(weights=None)
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    for m in norms:
        m.momentum = None  # plain average
        nn.init.uniform_(m.weight, 0.5, 1.0)
        nn.init.normal_(m.bias, 0, 0.1)
    model.train()
    with torch.no_grad():
        for _ in range(2):
            model(torch.randn(2, 3, 224, 224))
    return model.eval(), (torch.randn(1, 3, 224, 224),), ["input"], ["logits"], None


def build(name):
    if name == "minilm":
        return encoder(6, 384, 12, False)
    if name == "bert":
        return encoder(12, 768, 12, True)
    import torchvision

    return vision({"mobilenetv2": torchvision.models.mobilenet_v2, "resnet50": torchvision.models.resnet50}[name])


def main():
    folder, names = sys.argv[1], sys.argv[2:] or ["mobilenetv2", "resnet50", "minilm", "bert"]
    os.makedirs(folder, exist_ok=True)
    for name in names:
        torch.manual_seed(20)
        model, args, inputs, outputs, axes = build(name)
        final = os.path.join(folder, name + ".onnx")
        torch.onnx.export(model, args, final + ".part", opset_version=17, input_names=inputs, output_names=outputs,
                          dynamic_axes=axes, **EXPORTER)
        os.replace(final + ".part", final)
        print("wrote", final, flush=True)


if __name__ == "__main__":
    main()
