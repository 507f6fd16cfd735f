# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes mixed_goldens.json: torch's training of mixed.py's network with products in bf16 and f16, sums and weights in f32, and torch.amp.GradScaler.

usage: mixed_goldens.py FILE   (requires torch)"""
import json
import sys

import numpy as np
import torch

from mixed import CASES, STEPS, batch, weights


class Product(torch.autograd.Function):
    """a b of operands rounded to a type, and its gradients, too."""

    @staticmethod
    def forward(ctx, a, b, kind):
        ctx.kind = kind
        ctx.save_for_backward(a, b)
        return a.to(kind).float() @ b.to(kind).float()

    @staticmethod
    def backward(ctx, dy):
        (a, b), low = ctx.saved_tensors, lambda t: t.to(ctx.kind).float()
        return low(dy) @ low(b).T, low(a).T @ low(dy), None


def train(kind, scale):
    w1, w2 = (torch.tensor(w, requires_grad=True) for w in weights())
    optimizer = torch.optim.SGD([w1, w2], 0.1, momentum=0.9)
    options = {"init_scale": scale[0], "growth_factor": scale[1], "backoff_factor": scale[2], "growth_interval": scale[3]} if scale else {}
    scaler = torch.amp.GradScaler("cpu", enabled=scale is not None, **options)
    scales, losses = [], []
    for t in range(STEPS):
        x, target = map(torch.tensor, batch(t, scale is not None))
        y = Product.apply(torch.tanh(Product.apply(x, w1, kind)), w2, kind)
        loss = ((y - target) ** 2).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        losses.append(loss.item())
    return {"scales": scales, "losses": losses, "w1": w1.detach().numpy().ravel()[::16].tolist(), "w2": w2.detach().numpy().ravel()[::16].tolist()}


with open(sys.argv[1], "w") as file:
    json.dump({name: train(getattr(torch, kind), scale) for name, (kind, scale) in CASES.items()}, file, indent=1)
    file.write("\n")
