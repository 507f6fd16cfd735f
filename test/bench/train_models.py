# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models whose training steps train.py times, in torch and in JAX, each as its users would write it.

A row of MODELS gives the optimizer as `sinter train-step` takes it and the steps of the peers. The model that is exported for us and
the one that torch trains hold the same weights; JAX starts from weights of its own, with the same shapes.
"""
import functools
import math
import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))

MODELS = {"mlp": "sgd:lr=0.01,momentum=0.9", "gpt": "adamw:lr=0.001", "resnet18": "sgd:lr=0.01,momentum=0.9",
          "mobilenetv2": "sgd:lr=0.01,momentum=0.9", "vit": "adamw:lr=0.001", "lstm": "sgd:lr=1,clip=1", "lstm1k": "sgd:lr=1,clip=1"}
WITHOUT_JAX = ["mobilenetv2", "vit"]
IMAGES = {"resnet18": (8, 3, 32, 32), "mobilenetv2": (8, 3, 96, 96), "vit": (2, 3, 224, 224)}  # of ten classes
SIZES = {"layers": 6, "width": 384, "heads": 6, "length": 256, "words": 96, "batch": 4}
WORDS = {"lstm": 10000, "lstm1k": 1000}  # of a two-layer language model, 16 rows of 35 steps


def data(name):
    """The inputs and labels of a step, the same for all engines."""
    random = np.random.default_rng(5)
    if name == "mlp":
        return random.standard_normal((128, 784)).astype(np.float32), random.integers(0, 10, 128)
    if name in IMAGES:
        return random.standard_normal(IMAGES[name]).astype(np.float32), random.integers(0, 10, IMAGES[name][0])
    if name in WORDS:
        return tuple(random.integers(0, WORDS[name], (35, 16)) for _ in range(2))
    shape = SIZES["batch"], SIZES["length"]
    return random.integers(0, SIZES["words"], shape), random.integers(0, SIZES["words"], shape)


# torch ----------------------------------------------------------------------------------------------------------


def residual(inside, outside, stride):
    """Two convolutions beside a shortcut, as in ResNet-18."""
    from torch import nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.norm1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside)
            self.conv2, self.norm2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)
            self.short = None
            if stride != 1 or inside != outside:
                self.short = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

        def forward(self, x):
            y = nn.functional.relu(self.norm1(self.conv1(x)))
            y = self.norm2(self.conv2(y))
            return nn.functional.relu(y + (self.short(x) if self.short else x))

    return Residual()


RESNET = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]


def torch_model(name, exported=False):
    """`exported` asks for attention that the exporter can write; the same weights in the same order."""
    import torch
    from torch import nn

    torch.manual_seed(5)
    if name == "mlp":
        return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    if name == "resnet18":
        return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                             *(residual(*sizes) for sizes in RESNET), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    if name == "mobilenetv2":
        import torchvision

        return torchvision.models.mobilenet_v2(weights=None, num_classes=10, dropout=0)
    if name == "vit":  # ViT-S/16
        import torchvision

        return torchvision.models.VisionTransformer(224, 16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536, num_classes=10)
    import train_torch

    if name in WORDS:
        return train_torch.Lstm(WORDS[name], 256)
    model = train_torch.Gpt(*(SIZES[n] for n in ("layers", "width", "heads", "length", "words")))
    if not exported:
        for block in model.blocks:
            block.forward = functools.partial(fused_block, block)
    return model


def fused_block(block, x, mask):
    from torch.nn import functional as F

    b, t, w = x.shape
    q, k, v = (y.view(b, t, block.heads, block.size).transpose(1, 2) for y in block.qkv(block.norms[0](x)).split(w, dim=2))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, w)
    x = x + block.out(y)
    return x + block.down(F.gelu(block.up(block.norms[1](x))))


def export(name, path):
    import warnings

    import torch

    model = torch_model(name, exported=True).train()
    x = torch.from_numpy(data(name)[0])
    options = {} if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5) else {"dynamo": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (x,), path, opset_version=17, do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING,
                          input_names=["x"], output_names=["scores"], **options)


def torch_step(name, compiled, precision="f32"):
    """A function that does one training step and returns the loss; below f32 under autocast."""
    import torch
    from torch.nn import functional as F

    model = torch_model(name).train()
    x, labels = (torch.from_numpy(a) for a in data(name))
    if name in ("gpt", "vit"):
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    elif name in WORDS:
        optimizer = torch.optim.SGD(model.parameters(), 1.0, fused=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, fused=True)

    kind = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[precision]
    scaler = torch.amp.GradScaler("cpu", enabled=precision == "f16")

    def loss_of(x, labels):
        with torch.autocast("cpu", kind, enabled=precision != "f32"):
            scores = model(x).float()
        return F.cross_entropy(scores.view(-1, scores.shape[-1]), labels.view(-1))

    if compiled:
        loss_of = torch.compile(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x, labels)
        scaler.scale(loss).backward()
        if name in WORDS:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    return step


# JAX ------------------------------------------------------------------------------------------------------------


def jax_linear(random, inside, outside):
    bound = 1 / math.sqrt(inside)
    return {"w": random.uniform(-bound, bound, (inside, outside)).astype(np.float32), "b": np.zeros(outside, np.float32)}


def jax_mlp(random):
    weights = [jax_linear(random, *sizes) for sizes in ((784, 512), (512, 512), (512, 10))]

    def scores(weights, x):
        import jax

        for layer in weights[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        return x @ weights[-1]["w"] + weights[-1]["b"]

    return weights, scores


def jax_gpt(random):
    import jax
    import jax.numpy as jnp

    width, heads, length, words = (SIZES[n] for n in ("width", "heads", "length", "words"))
    norm = lambda: {"scale": np.ones(width, np.float32), "shift": np.zeros(width, np.float32)}
    block = lambda: {"norms": [norm(), norm()], "qkv": jax_linear(random, width, 3 * width), "out": jax_linear(random, width, width),
                     "up": jax_linear(random, width, 4 * width), "down": jax_linear(random, 4 * width, width)}
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    weights = {"word": draw(words, width), "place": 0.02 * draw(length, width), "blocks": [block() for _ in range(SIZES["layers"])],
               "norm": norm(), "head": jax_linear(random, width, words)["w"]}

    def normed(p, x):
        mean = x.mean(-1, keepdims=True)
        spread = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(spread + 1e-5) * p["scale"] + p["shift"]

    def scores(weights, ids):
        x = weights["word"][ids] + weights["place"]
        b, t, w = x.shape
        for p in weights["blocks"]:
            y = normed(p["norms"][0], x) @ p["qkv"]["w"] + p["qkv"]["b"]
            q, k, v = jnp.split(y.reshape(b, t, 3 * heads, w // heads), 3, axis=2)
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(b, t, w)
            x = x + y @ p["out"]["w"] + p["out"]["b"]
            y = jax.nn.gelu(normed(p["norms"][1], x) @ p["up"]["w"] + p["up"]["b"], approximate=False)
            x = x + y @ p["down"]["w"] + p["down"]["b"]
        return normed(weights["norm"], x) @ weights["head"]

    return weights, scores


def jax_resnet18(random):
    import jax

    draw = lambda size, inside, outside: (random.standard_normal((size, size, inside, outside)) * math.sqrt(2 / (size * size * outside))).astype(np.float32)
    norm = lambda channels: {"scale": np.ones(channels, np.float32), "shift": np.zeros(channels, np.float32)}
    blocks = []
    for inside, outside, stride in RESNET:
        p = {"conv1": draw(3, inside, outside), "norm1": norm(outside), "conv2": draw(3, outside, outside), "norm2": norm(outside)}
        if stride != 1 or inside != outside:
            p |= {"conv0": draw(1, inside, outside), "norm0": norm(outside)}
        blocks.append(p)
    weights = {"conv": draw(7, 3, 64), "norm": norm(64), "blocks": blocks, "head": jax_linear(random, 512, 10)}
    strides = [stride for _, _, stride in RESNET]

    def conv(x, w, stride):
        pad = (w.shape[0] - 1) // 2
        return jax.lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def normed(p, x, running):
        mean, spread = x.mean((0, 1, 2)), x.var((0, 1, 2))
        running.append((mean, spread))
        return (x - mean) * jax.lax.rsqrt(spread + 1e-5) * p["scale"] + p["shift"]

    def scores(weights, x):
        running = []
        x = jax.nn.relu(normed(weights["norm"], conv(x.transpose(0, 2, 3, 1), weights["conv"], 2), running))
        x = jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)])
        for p, stride in zip(weights["blocks"], strides):
            y = jax.nn.relu(normed(p["norm1"], conv(x, p["conv1"], stride), running))
            y = normed(p["norm2"], conv(y, p["conv2"], 1), running)
            if "conv0" in p:
                x = normed(p["norm0"], conv(x, p["conv0"], stride), running)
            x = jax.nn.relu(x + y)
        return x.mean((1, 2)) @ weights["head"]["w"] + weights["head"]["b"], running

    return weights, scores


def jax_lstm(random, words):
    import jax
    import jax.numpy as jnp

    width, bound = 256, 1 / 16
    draw = lambda *shape: random.uniform(-bound, bound, shape).astype(np.float32)
    layer = lambda: {"w": draw(width, 4 * width), "r": draw(width, 4 * width), "b": draw(4 * width)}
    weights = {"word": random.standard_normal((words, width)).astype(np.float32), "layers": [layer(), layer()],
               "head": jax_linear(random, width, words)}

    def scores(weights, ids):
        x = weights["word"][ids]
        for p in weights["layers"]:
            def cell(state, inputs, r=p["r"]):
                h, c = state
                i, f, g, o = jnp.split(inputs + h @ r, 4, -1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            zero = jnp.zeros((x.shape[1], width))
            x = jax.lax.scan(cell, (zero, zero), x @ p["w"] + p["b"])[1]
        return x @ weights["head"]["w"] + weights["head"]["b"]

    return weights, scores


def jax_step(name):
    import jax
    import jax.numpy as jnp

    make = functools.partial(jax_lstm, words=WORDS[name]) if name in WORDS else {"mlp": jax_mlp, "gpt": jax_gpt, "resnet18": jax_resnet18}[name]
    weights, scores_of = make(np.random.default_rng(7))
    weights = jax.tree.map(jnp.asarray, weights)
    x, labels = (jnp.asarray(a) for a in data(name))

    def loss_of(weights, x, labels):
        scores, running = scores_of(weights, x), ()
        if isinstance(scores, tuple):
            scores, running = scores
        log = jax.nn.log_softmax(scores, -1)
        return -jnp.take_along_axis(log, labels[..., None], -1).mean(), running

    def sgd(state, x, labels):
        weights, momentum, averages = state
        (loss, running), slopes = jax.value_and_grad(loss_of, has_aux=True)(weights, x, labels)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, slopes)
        averages = jax.tree.map(lambda a, r: 0.9 * a + 0.1 * r, averages, running)
        return (jax.tree.map(lambda w, m: w - 0.01 * m, weights, momentum), momentum, averages), loss

    def adamw(state, x, labels):
        weights, first, second, step = state
        (loss, _), slopes = jax.value_and_grad(loss_of, has_aux=True)(weights, x, labels)
        step += 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slopes)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, slopes)
        rate, root = 1e-3 / (1 - 0.9**step), jnp.sqrt(1 - 0.999**step)
        weights = jax.tree.map(lambda w, m, v: w * (1 - 1e-5) - rate * m / (jnp.sqrt(v) / root + 1e-8), weights, first, second)
        return (weights, first, second, step), loss

    def clipped(state, x, labels):
        (weights,) = state
        (loss, _), slopes = jax.value_and_grad(loss_of, has_aux=True)(weights, x, labels)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(slopes)))
        rate = jnp.minimum(1, 1 / (norm + 1e-6))
        return (jax.tree.map(lambda w, g: w - rate * g, weights, slopes),), loss

    zeros = lambda: jax.tree.map(jnp.zeros_like, weights)
    if name == "gpt":
        run, state = adamw, (weights, zeros(), zeros(), jnp.float32(0))
    elif name in WORDS:
        run, state = clipped, (weights,)
    else:
        averages = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(loss_of, weights, x, labels)[1])
        run, state = sgd, (weights, zeros(), averages)
    run = jax.jit(run, donate_argnums=0)
    holder = [state]

    def step():
        holder[0], loss = run(holder[0], x, labels)
        return float(loss)

    return step
