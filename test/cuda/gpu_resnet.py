# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ResNet-50 (He et al. 2015, the strides of its v1.5) without its statistics, which inference folds into filters and biases: as a program of gpu_programs, in torch, in
JAX, and in NumPy. Its weights are random numbers of He's scale, its picture and weights states."""
import math

import numpy as np

from gpu_programs import Program, normal


class Plan:
    """Layers in order: (name, filter, stride, from, add, relu); `from` and `add` are numbers of earlier results, 0 the picture."""

    def __init__(self, batch, size, width, blocks, classes):
        self.batch, self.size, self.classes, self.layers = batch, size, classes, []
        self.channels = 3
        self.pooled = at = self.layer("stem", (width, 3, 7, 7), 2, 0)
        channels = width
        for stage, count in enumerate(blocks):
            inner = width << stage
            for block in range(count):
                stride = 2 if stage and not block else 1
                name = f"s{stage}b{block}"
                short = at if block else self.layer(name + "s", (4 * inner, channels, 1, 1), stride, at, relu=False)
                a = self.layer(name + "a", (inner, channels, 1, 1), 1, at)
                b = self.layer(name + "b", (inner, inner, 3, 3), stride, a)
                at = self.layer(name + "c", (4 * inner, inner, 1, 1), 1, b, add=short)
                channels = 4 * inner
        self.features = channels

    def layer(self, name, shape, stride, source, add=None, relu=True):
        self.layers.append((name, shape, stride, source, add, relu))
        return len(self.layers)

    def run(self, picture, convolve, pool, head):
        """The network by three functions: convolve(x, name, stride, pad, add, relu), pool(x), head(x)."""
        made = [picture]
        for number, (name, shape, stride, source, add, relu) in enumerate(self.layers, 1):
            x = convolve(made[source], name, stride, shape[2] // 2, None if add is None else made[add], relu)
            made.append(pool(x) if number == self.pooled else x)
        return head(made[-1])


FULL = {"batch": 64, "size": 224, "width": 64, "blocks": (3, 4, 6, 3), "classes": 1000}
SMALL = {"batch": 2, "size": 32, "width": 4, "blocks": (1, 1), "classes": 10}


def resnet(kind, batch, size, width, blocks, classes):
    """The program (its result: the classes' scores, state `y`), torch's run, JAX's run, NumPy's in f64, and the plan's product and sum count."""
    plan, p = Plan(batch, size, width, blocks, classes), Program()
    picture = p.state("x", (batch, 3, size, size), kind, normal(batch, 3, size, size))
    weights = {}
    for name, shape, _, _, add, _ in plan.layers:
        scale = math.sqrt(2 / math.prod(shape[1:])) * (0.5 if add is not None else 1)
        weights[name] = p.state("w_" + name, shape, kind, normal(*shape, scale=scale))
        weights["b" + name] = p.state("b_" + name, shape[:1], kind, normal(shape[0], scale=0.1))
    features = plan.features
    last = p.state("w_last", (features, classes), kind, normal(features, classes, scale=1 / math.sqrt(features)))
    p.state("y", (batch, classes), kind, lambda random: np.zeros((batch, classes), np.float32))
    operations = 0

    def text(*sizes):
        return f"tensor<{'x'.join(map(str, sizes))}x{kind}>"

    def sizes_of(value):
        return tuple(int(s) for s in value[1][len("tensor<"):].split("x")[:-1])

    def numbers(*values):
        return f"array<i64: {', '.join(map(str, values))}>"

    def convolve(x, name, stride, pad, add, relu):
        nonlocal operations
        w = weights[name]
        (n, _, h, _), (o, c, k, _) = sizes_of(x), sizes_of(w)
        side = (h + 2 * pad - k) // stride + 1
        operations += 2 * n * o * c * k * k * side * side
        kept = text(n, o, side, side)
        attributes = f"strides = {numbers(stride, stride)}, low = {numbers(pad, pad)}, high = {numbers(pad, pad)}, input_dilation = {numbers(1, 1)}, dilation = {numbers(1, 1)}, element_type = {kind}"
        y = p.op(f"convolution {{}}, {{}} {{{{{attributes}}}}}", [x, w], kept)
        y = p.binary("add", y, p.op(f"broadcast {{}} axes = [1] {{{{type = {kept}}}}}", [weights["b" + name]], kept))
        if add is not None:
            y = p.binary("add", y, add)
        return p.binary("max", y, zeros(kept)) if relu else y

    def zeros(kept):
        name, p.count = f"%v{p.count}", p.count + 1
        p.lines.append(f"  {name} = sinter.constant dense<0.0> : {kept}")
        return name, kept

    def pool(x):
        n, c, h, w = sizes_of(x)
        kept = text(n, c, (h - 1) // 2 + 1, (w - 1) // 2 + 1)
        return p.op(f"reduce_window max {{}} {{{{window = {numbers(1, 1, 3, 3)}, strides = {numbers(1, 1, 2, 2)}, low = {numbers(0, 0, 1, 1)}, high = {numbers(0, 0, 1, 1)}, dilations = {numbers(1, 1, 1, 1)}}}}}", [x], kept)

    def head(x):
        n, c, h, w = sizes_of(x)
        total = p.op("reduce add {} axes = [2, 3]", [x], text(n, c))
        value, p.count = f"%v{p.count}", p.count + 1
        p.lines.append(f"  {value} = sinter.constant dense<{1 / (h * w):.9e}> : {text(n, c)}")
        mean = p.binary("mul", total, (value, text(n, c)))
        return p.op(f"dot_general {{}}, {{}} {{{{lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = {kind}}}}}", [mean, last], text(n, classes))

    p.results = {"y": plan.run(picture, convolve, pool, head)}

    def torch_run(t, v):
        f = t.nn.functional

        def one(x, name, stride, pad, add, relu):
            y = f.conv2d(x, v["w_" + name], v["b_" + name], stride, pad)
            y = y if add is None else y + add
            return f.relu(y) if relu else y

        with t.no_grad():
            return plan.run(v["x"], one, lambda x: f.max_pool2d(x, 3, 2, 1), lambda x: x.mean((2, 3)) @ v["w_last"])

    def jax_run(jax, v):
        def one(x, name, stride, pad, add, relu):
            y = jax.lax.conv_general_dilated(x, v["w_" + name], (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NCHW", "OIHW", "NCHW"))
            y = y + v["b_" + name][:, None, None]
            y = y if add is None else y + add
            return jax.nn.relu(y) if relu else y

        def pooled(x):
            return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1)))

        return plan.run(v["x"], one, pooled, lambda x: x.mean((2, 3)) @ v["w_last"])

    def some(v):  # of the last picture
        def windows(x, k, stride, pad, fill=0.0):
            padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad)), constant_values=fill)
            return np.lib.stride_tricks.sliding_window_view(padded, (k, k), axis=(1, 2))[:, ::stride, ::stride]

        def one(x, name, stride, pad, add, relu):
            w = v["w_" + name].astype(np.float64)
            y = np.einsum("chwij,ocij->ohw", windows(x, w.shape[2], stride, pad), w, optimize=True) + v["b_" + name].astype(np.float64)[:, None, None]
            y = y if add is None else y + add
            return np.maximum(y, 0) if relu else y

        return plan.run(v["x"][-1].astype(np.float64), one, lambda x: windows(x, 3, 2, 1, -np.inf).max((3, 4)), lambda x: (x.mean((1, 2)) @ v["w_last"].astype(np.float64))[None])

    return p, torch_run, jax_run, lambda v: (v["y"][-1:], some), operations
