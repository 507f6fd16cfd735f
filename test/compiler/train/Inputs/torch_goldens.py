# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch (2.15, f64) makes of small trainings: the oracle of test/compiler/train/torch.cpp, which reads
torch_goldens.txt. Run by hand where torch is: python torch_goldens.py > torch_goldens.txt, then
torch_programs.py, which appends to it.

Each line is a name and numbers: losses of steps, or results. All tensors begin with numbers by a formula (`fill`)."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch_numbers import fill

torch.set_default_dtype(torch.float64)
STEPS = 20


def show(name, values):
    print(name, *[repr(float(v)) for v in values])


def fill_model(model):
    with torch.no_grad():
        for k, (name, leaf) in enumerate(model.state_dict().items()):
            if leaf.is_floating_point():
                values = fill(leaf.shape, k)
                leaf.copy_(values + 1 if name.endswith("running_var") else values)
    return model


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def train(name, make, schedule=None, change=None, batches=1, ema=0, plateau=False):
    """`make(model)` gives a torch optimizer or a function that moves the weights."""
    model = fill_model(Small())
    optimizer = make(model)
    scheduler = schedule(optimizer) if schedule else None
    averages = None
    losses = []
    for t in range(STEPS):
        x, y = fill((5, 3), 100 + t, 2), fill((5, 2), 200 + t, 2)
        loss = ((model(x) - y) ** 2).mean()
        losses.append(loss.item())
        (loss / batches).backward()
        if (t + 1) % batches:
            continue
        if change:
            change(model)
        optimizer.step()
        if scheduler:
            scheduler.step(loss.item()) if plateau else scheduler.step()
        optimizer.zero_grad()
        with torch.no_grad():
            values = [p.clone() for p in model.parameters()]
            averages = values if averages is None else [ema * a + (1 - ema) * v for a, v in zip(averages, values)]
    show(name, losses + [p.detach().sum().item() for p in (averages if ema else model.parameters())])


class Plain:
    """An optimizer by a formula, for what torch has not, or not in f64."""

    def __init__(self, model, move):
        self.parameters = list(model.parameters())
        self.move, self.t = move, 0
        self.states = [{} for _ in self.parameters]

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self):
        self.t += 1
        for p, s in zip(self.parameters, self.states):
            self.move(p, p.grad, s, self.t)


def lamb(p, g, s, t, lr=0.05, b1=0.9, b2=0.999, eps=1e-6, decay=0.01):  # You et al. 2020
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    r = s["m"] / (1 - b1**t) / ((s["v"] / (1 - b2**t)).sqrt() + eps) + decay * p
    p -= lr * p.norm() / r.norm() * r


def lion(p, g, s, t, lr=0.01, b1=0.9, b2=0.99, decay=0.1):  # Chen et al. 2023
    old = s.get("m", torch.zeros_like(p))
    s["m"] = b2 * old + (1 - b2) * g
    p.copy_(p * (1 - lr * decay) - lr * torch.sign(b1 * old + (1 - b1) * g))


def muon(p, g, s, t, lr=0.05, momentum=0.95, decay=0.1):  # torch's, whose iteration is in bf16
    if p.dim() != 2:
        s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
        s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
        p.copy_(p * (1 - lr * decay))
        p -= lr / (1 - 0.9**t) * s["m"] / (s["v"].sqrt() / math.sqrt(1 - 0.999**t) + 1e-8)
        return
    s["m"] = momentum * s.get("m", 0) + (1 - momentum) * g
    x = momentum * s["m"] + (1 - momentum) * g
    tall = x.size(0) > x.size(1)
    x = x.T if tall else x
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    x = x.T if tall else x
    p.copy_(p * (1 - lr * decay) - lr * math.sqrt(max(1, p.size(0) / p.size(1))) * x)


def by(kind, **options):
    return lambda model: kind(model.parameters(), **options)


def groups(model):
    named = dict(model.named_parameters())
    bias = [p for n, p in named.items() if "bias" in n]
    second = [named["second.weight"]]
    return torch.optim.AdamW(
        [
            {"params": bias, "lr": 0.02, "weight_decay": 0},
            {"params": second, "lr": 0.001, "weight_decay": 0.3},
            {"params": [named["first.weight"]]},
        ],
        lr=0.05,
        weight_decay=0.1,
    )


def optimizers():
    o, s = torch.optim, torch.optim.lr_scheduler
    train("sgd", by(o.SGD, lr=0.1))
    train("momentum", by(o.SGD, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.02))
    train("nesterov", by(o.SGD, lr=0.05, momentum=0.9, nesterov=True))
    train("adam", by(o.Adam, lr=0.05, weight_decay=0.02))
    train("adamw", by(o.AdamW, lr=0.05, betas=(0.8, 0.95), weight_decay=0.1))
    train("adagrad", by(o.Adagrad, lr=0.1, lr_decay=0.1, weight_decay=0.01))
    train("rmsprop", by(o.RMSprop, lr=0.01, alpha=0.9, momentum=0.5, weight_decay=0.01))
    train("adadelta", by(o.Adadelta, lr=1.0, rho=0.8, weight_decay=0.01))
    train("adafactor", by(o.Adafactor, lr=0.05, weight_decay=0.1))
    train("lamb", lambda m: Plain(m, lamb))
    train("lion", lambda m: Plain(m, lion))
    train("muon", lambda m: Plain(m, muon))
    train("groups", groups)
    train("clip_norm", by(o.Adam, lr=0.05), change=lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.3))
    train("clip_value", by(o.SGD, lr=0.2), change=lambda m: nn.utils.clip_grad_value_(m.parameters(), 0.05))
    train("accumulate", by(o.AdamW, lr=0.05), batches=4)
    train("ema", by(o.SGD, lr=0.1), ema=0.8)
    adam = by(o.Adam, lr=0.05)
    train("step", adam, lambda x: s.StepLR(x, 6, 0.5))
    train("exponential", adam, lambda x: s.ExponentialLR(x, 0.9))
    train("polynomial", adam, lambda x: s.PolynomialLR(x, 15, 2))
    train("cosine", adam, lambda x: s.CosineAnnealingLR(x, 20, 0.005))
    train("one_cycle", adam, lambda x: s.OneCycleLR(x, 0.05, total_steps=21, cycle_momentum=False))
    train("warmup", adam, lambda x: s.LambdaLR(x, lambda t: min(1, (t + 1) / 5)))
    train("plateau", by(o.SGD, lr=0.3), lambda x: s.ReduceLROnPlateau(x, factor=0.5, patience=2, cooldown=1), plateau=True)


def everything(name, kind, **options):
    """Groups, clipping by norm, two batches a step, a rise and a cosine, all at once."""
    model = fill_model(Small())
    named = dict(model.named_parameters())
    parts = [
        ([named["first.bias"], named["second.bias"]], {"lr": 0.02, "weight_decay": 0}),
        ([named["second.weight"]], {"lr": 0.01, "weight_decay": 0.3}),
        ([named["first.weight"]], {"lr": 0.05, "weight_decay": 0.1}),
    ]
    if isinstance(kind, type):
        optimizer = kind([{"params": p, **settings} for p, settings in parts], lr=0.05, **options)

        def move(factor):
            for group, (_, settings) in zip(optimizer.param_groups, parts):
                group["lr"] = settings["lr"] * factor
            optimizer.step()
    else:  # a formula
        made = [Plain(nn.ParameterList(p), None) for p, _ in parts]

        def move(factor):
            for one, (_, settings) in zip(made, parts):
                one.move = lambda p, g, s, t: kind(p, g, s, t, lr=settings["lr"] * factor, decay=settings["weight_decay"])
                one.step()

    losses = []
    for t in range(STEPS):
        x, y = fill((5, 3), 100 + t, 2), fill((5, 2), 200 + t, 2)
        loss = ((model(x) - y) ** 2).mean()
        losses.append(loss.item())
        (loss / 2).backward()
        if t % 2 == 0:
            continue
        moves = t // 2  # before this one
        rise = min(1, (moves + 1) / 3)
        fall = 0.1 + 0.9 * (1 + math.cos(math.pi * min(max(moves - 3, 0) / 7, 1))) / 2
        nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        move(rise * fall)
        for p in model.parameters():
            p.grad = None
    show("all." + name, losses + [p.detach().sum().item() for p in model.parameters()])


def everywhere():
    o = torch.optim
    everything("sgd", o.SGD)
    everything("momentum", o.SGD, momentum=0.9, dampening=0.1)
    everything("nesterov", o.SGD, momentum=0.9, nesterov=True)
    everything("adam", o.Adam)
    everything("adamw", o.AdamW)
    everything("adagrad", o.Adagrad)
    everything("rmsprop", o.RMSprop, momentum=0.5)
    everything("adadelta", o.Adadelta, rho=0.8)
    everything("adafactor", o.Adafactor)
    everything("lamb", lamb)
    everything("lion", lion)
    everything("muon", muon)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 6, 3, padding=1, stride=2)
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv1(x))), 2)
        return self.head(F.relu(self.conv2(x)).flatten(1))


def cnn():
    model = fill_model(Cnn()).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    losses = []
    for t in range(STEPS):
        x = fill((6, 1, 8, 8), 300 + t, 2)
        labels = torch.tensor([(i + t) % 3 for i in range(6)])
        loss = F.cross_entropy(model(x), labels)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    model.eval()
    show("cnn", losses + model(fill((1, 1, 8, 8), 400, 2)).flatten().tolist())


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, x):
        return self.layers(x)


def mlp():
    model = fill_model(Mlp())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    losses = []
    for t in range(STEPS):
        x, labels = fill((6, 3), 500 + t, 2), torch.tensor([(2 * i + t) % 3 for i in range(6)])
        loss = F.cross_entropy(model(x), labels)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    show("mlp", losses + model(fill((1, 3), 600, 2)).flatten().tolist())



def by_name(module):
    """Fills by names, whose order differs between libraries."""
    with torch.no_grad():
        for name, leaf in module.state_dict().items():
            if leaf.is_floating_point():
                values = fill(leaf.shape, sum(map(ord, name)) % 29)
                leaf.copy_(values + 1 if name.endswith("running_var") else values)
    return module


def weighed(x, seed):
    return (x * fill(x.shape, seed)).sum()


def layer(name, module, x, call=None):
    """A sum of the outputs, of the gradient of x, and of the gradients of all parameters by name."""
    by_name(module)
    x = x.requires_grad_() if x.is_floating_point() else x
    y = call(module, x) if call else module(x)
    result = weighed(y, 7)
    result.backward()
    values = [result.item()] + ([weighed(x.grad, 8).item()] if x.is_floating_point() else [])
    for _, p in sorted(module.named_parameters()):
        values.append(weighed(p.grad, 9).item())
    show("layer." + name, values)


def layers():
    image = lambda: fill((2, 4, 7, 6), 20, 2)
    layer("conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), fill((2, 4, 9), 21, 2))
    layer("conv2d", nn.Conv2d(4, 6, 3, stride=2, padding=2, dilation=2), image())
    layer("conv3d", nn.Conv3d(2, 3, 2, bias=False), fill((1, 2, 3, 4, 3), 22, 2))
    layer("conv_transpose1d", nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1), fill((2, 4, 5), 23, 2))
    layer("conv_transpose2d", nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), fill((2, 4, 3, 2), 24, 2))
    layer("conv_transpose3d", nn.ConvTranspose3d(2, 3, 2), fill((1, 2, 2, 3, 2), 25, 2))
    layer("batch_norm", nn.BatchNorm2d(4), image())
    layer("batch_norm_eval", nn.BatchNorm2d(4).eval(), image())
    layer("layer_norm", nn.LayerNorm((7, 6)), image())
    layer("rms_norm", nn.RMSNorm(6, eps=1e-6), image())
    layer("group_norm", nn.GroupNorm(2, 4), image())
    layer("instance_norm", nn.InstanceNorm2d(4, affine=True), image())
    layer("batch_norm_rows", nn.BatchNorm1d(6), fill((5, 6), 27, 2))
    layer("batch_norm_volumes", nn.BatchNorm3d(2), fill((2, 2, 3, 2, 2), 28, 2))
    layer("embedding", nn.Embedding(7, 3), torch.tensor([[1, 2, 6], [0, 2, 2]]))
    layer("max_pool", nn.MaxPool2d(3, 2, 1), image())
    layer("avg_pool", nn.AvgPool2d((3, 2), (2, 1), (1, 1)), image())
    layer("avg_pool_inside", nn.AvgPool2d(3, 2, 1, count_include_pad=False), image())
    layer("global_avg_pool", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), image())
    activations = {"relu": nn.ReLU(), "leaky_relu": nn.LeakyReLU(0.1), "elu": nn.ELU(0.7), "gelu": nn.GELU(),
                   "gelu_tanh": nn.GELU("tanh"), "silu": nn.SiLU(), "sigmoid": nn.Sigmoid(), "tanh": nn.Tanh(),
                   "softplus": nn.Softplus()}
    for name, module in activations.items():
        layer(name, module, image())
    layer("glu", nn.GLU(1), image())
    for name, gate in {"reglu": F.relu, "geglu": F.gelu, "swiglu": F.silu}.items():
        layer(name, nn.Identity(), image(), lambda m, x: x.chunk(2, 1)[0] * gate(x.chunk(2, 1)[1]))
    words = lambda: fill((2, 5, 8), 26, 2)
    attention = lambda m, x: m(x, x, x, need_weights=False)[0]
    layer("attention", nn.MultiheadAttention(8, 2, batch_first=True), words(), attention)
    causal = torch.triu(torch.full((5, 5), -math.inf), 1)
    layer("causal", nn.MultiheadAttention(8, 2, batch_first=True), words(),
          lambda m, x: m(x, x, x, need_weights=False, attn_mask=causal)[0])
    layer("transformer", nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True), words())
    layer("transformer_norm_first",
          nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True, norm_first=True, activation="gelu"), words())
    last = lambda m, x: torch.cat([m(x)[0].flatten(), *(h.flatten() for h in (m(x)[1] if isinstance(m(x)[1], tuple) else [m(x)[1]]))])
    layer("lstm", nn.LSTM(8, 3, num_layers=2, bidirectional=True, batch_first=True), words(), last)
    layer("gru", nn.GRU(8, 3, num_layers=2, batch_first=True), words(), last)
    layer("rnn", nn.RNN(8, 3, bidirectional=True, batch_first=True), words(), last)
    layer("rnn_relu", nn.RNN(8, 3, num_layers=2, bias=False, nonlinearity="relu", batch_first=True), words(), last)

    class Grouped(nn.Module):  # heads in groups, and positions as angles
        def __init__(self):
            super().__init__()
            self.in_proj_weight = nn.Parameter(torch.zeros(16, 8))
            self.in_proj_bias = nn.Parameter(torch.zeros(16))
            self.out_proj = nn.Linear(8, 8)

        def forward(self, x):
            n, t, _ = x.shape
            all = F.linear(x, self.in_proj_weight, self.in_proj_bias)
            q, k, v = all.split([8, 4, 4], -1)
            q, k, v = (a.view(n, t, -1, 2).transpose(1, 2) for a in (q, k, v))
            angle = torch.arange(t)[:, None] * torch.tensor([1.0])
            turn = lambda a: torch.cat([a[..., :1] * angle.cos() - a[..., 1:] * angle.sin(),
                                        a[..., 1:] * angle.cos() + a[..., :1] * angle.sin()], -1)
            y = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True, enable_gqa=True)
            return self.out_proj(y.transpose(1, 2).reshape(n, t, 8))

    layer("grouped", Grouped(), words())


def loss(name, f, *shapes, labels=None):
    """The loss and a sum of the gradient of its first argument."""
    inputs = [fill(shape, 31 + k, 2) for k, shape in enumerate(shapes)]
    inputs[0].requires_grad_()
    value = f(*inputs) if labels is None else f(*inputs, labels)
    value = value.sum()
    value.backward()
    show("loss." + name, [value.item(), weighed(inputs[0].grad, 7).item()])


def losses():
    labels = torch.tensor([0, 3, 2, 1, 3, 0])
    some = torch.tensor([0, -100, 2, 1, -100, 0])
    weight = fill((4,), 40) + 1
    ce = F.cross_entropy
    loss("cross_entropy", ce, (6, 4), labels=labels)
    loss("cross_entropy_ignore", lambda x, l: ce(x, l, weight), (6, 4), labels=some)
    loss("cross_entropy_smooth", lambda x, l: ce(x, l, weight, label_smoothing=0.1), (6, 4), labels=some)
    loss("cross_entropy_sum", lambda x, l: ce(x, l, reduction="sum"), (6, 4), labels=labels)
    loss("cross_entropy_none", lambda x, l: ce(x, l, reduction="none") * fill((6,), 41), (6, 4), labels=labels)
    loss("cross_entropy_space", ce, (2, 4, 3), labels=labels.view(2, 3))
    loss("cross_entropy_distribution", lambda x, t: ce(x, t.softmax(-1), weight, label_smoothing=0.1), (6, 4), (6, 4))
    loss("nll", lambda x, l: F.nll_loss(x, l, weight), (6, 4), labels=some)
    loss("bce", lambda x, t: F.binary_cross_entropy_with_logits(x, t.sigmoid()), (6, 4), (6, 4))
    loss("bce_weights", lambda x, t: F.binary_cross_entropy_with_logits(x, t.sigmoid(), weight, pos_weight=weight), (6, 4), (6, 4))
    loss("mse", F.mse_loss, (6, 4), (6, 4))
    loss("l1", F.l1_loss, (6, 4), (6, 4))
    loss("huber", lambda x, t: F.huber_loss(x, t, delta=0.4), (6, 4), (6, 4))
    loss("smooth_l1", lambda x, t: F.smooth_l1_loss(x, t, beta=0.4), (6, 4), (6, 4))
    loss("kl", lambda x, t: F.kl_div(x, t.softmax(-1), reduction="batchmean"), (6, 4), (6, 4))
    loss("kl_log", lambda x, t: F.kl_div(x, t, log_target=True, reduction="sum"), (6, 4), (6, 4))
    sign = torch.tensor([1.0, -1, 1, -1, -1, 1])
    loss("cosine", lambda a, b: F.cosine_embedding_loss(a, b, sign, margin=-0.5), (6, 4), (6, 4))
    loss("ranking", lambda a, b: F.margin_ranking_loss(a, b, sign, margin=0.3), (6,), (6,))
    loss("triplet", F.triplet_margin_loss, (6, 4), (6, 4), (6, 4))
    loss("info_nce", lambda q, k: ce(F.normalize(q) @ F.normalize(k).T / 0.5, torch.arange(6)), (6, 4), (6, 4))
    targets = torch.tensor([[1, 2, 2], [3, 1, 0], [2, 0, 0]])
    ctc = lambda reduction: lambda x: F.ctc_loss(x.log_softmax(-1), targets, torch.tensor([8, 7, 5]), torch.tensor([3, 2, 1]), reduction=reduction)
    loss("ctc", ctc("mean"), (8, 3, 4))
    loss("ctc_sum", ctc("sum"), (8, 3, 4))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(6, 4, batch_first=True)
        self.rnn = nn.RNN(4, 5, batch_first=True)

    def forward(self, x):
        return self.rnn(self.gru(self.lstm(x)[0])[0])[0]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(6, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 12, dropout=0, batch_first=True, norm_first=True, activation="gelu")
        self.norm = nn.RMSNorm(8, eps=1e-6)
        self.head = nn.Linear(8, 6)

    def forward(self, x):
        causal = torch.triu(torch.full((5, 5), -math.inf), 1)
        return self.head(self.norm(self.block(self.embedding(x), src_mask=causal)))


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1, stride=2), nn.GroupNorm(2, 4), nn.SiLU(), nn.ConvTranspose2d(4, 2, 2, stride=2),
            nn.InstanceNorm2d(2, affine=True), nn.LeakyReLU(), nn.AvgPool2d(2))

    def forward(self, x):
        return self.layers(x)


class Sounds(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(2, 4, 3, padding=1), nn.BatchNorm1d(4), nn.GLU(1), nn.ConvTranspose1d(2, 3, 3, stride=2))

    def forward(self, x):
        return self.layers(x)


class Volumes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv3d(1, 3, 2), nn.BatchNorm3d(3), nn.ELU(), nn.ConvTranspose3d(3, 1, 2), nn.Softplus())

    def forward(self, x):
        return self.layers(x)


def train_layers(name, model, loss):
    """`loss(model, t)`. Decay of the weights alone, clipping, two batches a step, a falling rate. (By sgd, as Adam makes steps of
    what rounding leaves of a gradient that is 0: that of a bias before a normalization.)"""
    by_name(model).train()
    decayed = [p for n, p in model.named_parameters() if "bias" not in n]
    rest = [p for n, p in model.named_parameters() if "bias" in n]
    optimizer = torch.optim.SGD([{"params": decayed, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0}], lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    losses = []
    for t in range(STEPS):
        value = loss(model, t)
        losses.append(value.item())
        (value / 2).backward()
        if t % 2:
            nn.utils.clip_grad_norm_(model.parameters(), 0.4)
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
    sums = [v.sum().item() for k, v in sorted(model.state_dict().items()) if v.is_floating_point()]
    show("train." + name, losses + sums)


def networks():
    labels = lambda n, t, classes: torch.tensor([(i * 3 + t) % classes for i in range(n)])
    weight = fill((6,), 40) + 1
    train_layers("recurrent", Recurrent(),
                 lambda m, t: F.cross_entropy(m(fill((2, 6, 4), 100 + t, 2)).transpose(1, 2), labels(12, t, 5).view(2, 6), label_smoothing=0.1))
    train_layers("words", Words(), lambda m, t: F.cross_entropy(m(labels(10, t, 6).view(2, 5)).flatten(0, 1), labels(10, t + 1, 6), weight, ignore_index=2))
    train_layers("pictures", Pictures(), lambda m, t: F.huber_loss(m(fill((2, 2, 8, 6), 100 + t, 2)), fill((2, 2, 4, 3), 200 + t, 2), delta=0.3))
    train_layers("sounds", Sounds(), lambda m, t: F.binary_cross_entropy_with_logits(m(fill((3, 2, 5), 100 + t, 2)), fill((3, 3, 11), 200 + t).sigmoid()))
    train_layers("volumes", Volumes(), lambda m, t: F.smooth_l1_loss(m(fill((2, 1, 3, 4, 3), 100 + t, 2)), fill((2, 1, 3, 4, 3), 200 + t, 2)))
    sign = torch.tensor([1.0, -1, 1, -1, 1])
    rows = lambda m, t, k: m(fill((5, 3), 100 + 50 * k + t, 2))
    train_layers("kl", Small(), lambda m, t: F.kl_div(rows(m, t, 0).log_softmax(-1), fill((5, 2), 200 + t, 2).softmax(-1), reduction="batchmean"))
    train_layers("nll", Small(), lambda m, t: F.nll_loss(rows(m, t, 0).log_softmax(-1), labels(5, t, 2)))
    train_layers("ctc", Small(),
                 lambda m, t: F.ctc_loss(m(fill((4, 3, 3), 100 + t, 2)).log_softmax(-1), torch.tensor([[1, 1], [1, 0], [1, 1]]),
                                         torch.tensor([4, 4, 3]), torch.tensor([2, 1, 2])))
    train_layers("cosine", Small(), lambda m, t: F.cosine_embedding_loss(rows(m, t, 0), rows(m, t, 1), sign, margin=-0.5))
    train_layers("ranking", Small(), lambda m, t: F.margin_ranking_loss(rows(m, t, 0).sum(1), rows(m, t, 1).sum(1), sign, margin=0.3))
    train_layers("triplet", Small(), lambda m, t: F.triplet_margin_loss(rows(m, t, 0), rows(m, t, 1), rows(m, t, 2)))
    train_layers("info_nce", Small(), lambda m, t: F.cross_entropy(F.normalize(rows(m, t, 0)) @ F.normalize(rows(m, t, 1)).T / 0.5, torch.arange(5)))
    train_layers("l1", Small(), lambda m, t: F.l1_loss(rows(m, t, 0), fill((5, 2), 200 + t, 2), reduction="sum"))


optimizers()
everywhere()
cnn()
mlp()
layers()
losses()
networks()
