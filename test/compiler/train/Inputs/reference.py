# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training by hand in f64: layers with their derivatives, losses and optimizers, as plain as NumPy can say them."""
import numpy as np


class Gemm:
    def __init__(self, w, b):
        self.names = (w, b)

    def forward(self, p, x):
        self.x, self.w = x, p[self.names[0]]
        return x @ self.w + p[self.names[1]]

    def backward(self, dy, grads):
        grads[self.names[0]], grads[self.names[1]] = self.x.T @ dy, dy.sum(0)
        return dy @ self.w.T


class Relu:
    def forward(self, p, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, dy, grads):
        return dy * self.mask


class Tanh:
    def forward(self, p, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, dy, grads):
        return dy * (1 - self.y**2)


class Conv:
    """NCHW, OIHW, one stride and padding for both axes."""

    def __init__(self, w, stride, pad):
        self.name, self.stride, self.pad = w, stride, pad

    def places(self):
        _, _, kh, kw = self.w.shape
        for i in range(self.out[0]):
            for j in range(self.out[1]):
                top, left = i * self.stride, j * self.stride
                yield i, j, np.s_[:, :, top : top + kh, left : left + kw]

    def forward(self, p, x):
        self.w = p[self.name]
        self.x = np.pad(x, ((0, 0), (0, 0), (self.pad, self.pad), (self.pad, self.pad)))
        self.out = [(self.x.shape[2 + k] - self.w.shape[2 + k]) // self.stride + 1 for k in (0, 1)]
        y = np.empty((x.shape[0], self.w.shape[0], *self.out))
        for i, j, window in self.places():
            y[:, :, i, j] = np.einsum("nchw,ochw->no", self.x[window], self.w)
        return y

    def backward(self, dy, grads):
        dw, dx = np.zeros_like(self.w), np.zeros_like(self.x)
        for i, j, window in self.places():
            dw += np.einsum("no,nchw->ochw", dy[:, :, i, j], self.x[window])
            dx[window] += np.einsum("no,ochw->nchw", dy[:, :, i, j], self.w)
        grads[self.name] = dw
        return dx[:, :, self.pad : dx.shape[2] - self.pad, self.pad : dx.shape[3] - self.pad]


class BatchNorm:
    def __init__(self, scale, bias, mean, variance, keep, epsilon):
        self.names, self.keep, self.epsilon = (scale, bias, mean, variance), keep, epsilon

    def forward(self, p, x):
        scale, bias, mean, variance = self.names
        m, v = x.mean((0, 2, 3)), x.var((0, 2, 3))
        p[mean] = p[mean] * self.keep + m * (1 - self.keep)
        p[variance] = p[variance] * self.keep + v * (1 - self.keep)
        self.inverse = 1 / np.sqrt(v + self.epsilon)
        self.normal = (x - m[:, None, None]) * self.inverse[:, None, None]
        self.scale = p[scale]
        return self.normal * self.scale[:, None, None] + p[bias][:, None, None]

    def backward(self, dy, grads):
        axes = (0, 2, 3)
        grads[self.names[0]], grads[self.names[1]] = (dy * self.normal).sum(axes), dy.sum(axes)
        d = dy * self.scale[:, None, None]
        centred = d - d.mean(axes)[:, None, None] - self.normal * (d * self.normal).mean(axes)[:, None, None]
        return centred * self.inverse[:, None, None]


class MaxPool2:
    def forward(self, p, x):
        n, c, h, w = x.shape
        self.shape, tiles = x.shape, x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        self.best = tiles.argmax(-1)
        return tiles.max(-1)

    def backward(self, dy, grads):
        n, c, h, w = self.shape
        tiles = (np.arange(4) == self.best[..., None]) * dy[..., None]
        return tiles.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h, w)


class GlobalMean:
    def forward(self, p, x):
        self.shape = x.shape
        return x.mean((2, 3))

    def backward(self, dy, grads):
        return np.broadcast_to(dy[:, :, None, None] / (self.shape[2] * self.shape[3]), self.shape)


def cross_entropy(x, labels):
    shifted = x - x.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    counted = (labels >= 0) & (labels < x.shape[-1])
    hot = (np.arange(x.shape[-1]) == labels[:, None]).astype(float)
    return -(hot * logs).sum() / counted.sum(), (np.exp(logs) * counted[:, None] - hot) / counted.sum()


def mse(x, target):
    return ((x - target) ** 2).mean(), 2 * (x - target) / x.size


def rate_at(o, t):
    rate, u = o["lr"], max(t - o.get("warmup", 0), 0)
    if "warmup" in o:
        rate *= min(1, (t + 1) / o["warmup"])
    if o.get("schedule") == "cosine":
        rate *= o.get("final", 0) + (1 - o.get("final", 0)) * (1 + np.cos(np.pi * min(u / o["steps"], 1))) / 2
    if o.get("schedule") == "step":
        rate *= o.get("factor", 0.1) ** (u // o["every"])
    return rate


def update(kind, o, p, grads, s, t):
    """One step of the optimizer on the weights `p`, with its states `s`, after `t` steps."""
    if "clip" in o:
        norm = np.sqrt(sum((g**2).sum() for g in grads.values()))
        grads = {n: g * min(1, o["clip"] / (norm + 1e-6)) for n, g in grads.items()}
    rate, decay, decoupled = rate_at(o, t), o.get("weight_decay", 0.01 if kind in ("adamw", "lamb") else 0), kind in ("adamw", "lamb")
    b1, b2, eps = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("eps", {"adagrad": 1e-10, "lamb": 1e-6}.get(kind, 1e-8))
    for n, g in grads.items():
        x, old = p[n], s.setdefault(n, {})
        g = g if decoupled else g + decay * x
        zero = np.zeros_like(x)
        if kind == "sgd":
            d = g
            if "momentum" in o:
                keep, damp = o["momentum"], o.get("dampening", 0)
                d = old["momentum"] = g if t == 0 else keep * old["momentum"] + (1 - damp) * g
                if o.get("nesterov"):
                    d = g + keep * d
        elif kind == "adagrad":
            old["sum"] = old.get("sum", zero) + g * g
            d = g / (np.sqrt(old["sum"]) + eps) / (1 + t * o.get("lr_decay", 0))
        elif kind == "rmsprop":
            alpha = o.get("alpha", 0.99)
            old["square"] = alpha * old.get("square", zero) + (1 - alpha) * g * g
            d = g / (np.sqrt(old["square"]) + eps)
            if "momentum" in o:
                d = old["momentum"] = o["momentum"] * old.get("momentum", zero) + d
        else:
            old["mean"] = b1 * old.get("mean", zero) + (1 - b1) * g
            old["square"] = b2 * old.get("square", zero) + (1 - b2) * g * g
            d = old["mean"] / (1 - b1 ** (t + 1)) / (np.sqrt(old["square"] / (1 - b2 ** (t + 1))) + eps)
            if kind == "adamw":
                x = x * (1 - rate * decay)
            if kind == "lamb":
                d = d + decay * x
                norms = np.sqrt((x**2).sum()), np.sqrt((d**2).sum())
                d = d * (norms[0] / norms[1] if min(norms) > 0 else 1)
        p[n] = x - rate * d


def train(layers, loss, kind, options, parameters, batches):
    """The losses, and the parameters and moments afterwards."""
    p, s, losses = {n: v.astype(np.float64) for n, v in parameters.items()}, {}, []
    for t, (x, y) in enumerate(batches):
        x = x.astype(np.float64)
        for layer in layers:
            x = layer.forward(p, x)
        value, d = loss(x, y)
        losses.append(value)
        grads = {}
        for layer in reversed(layers):
            d = layer.backward(d, grads)
        update(kind, options, p, grads, s, t)
    return losses, p, {f"optimizer.{k}.{n}": v for n, own in s.items() for k, v in own.items()}
