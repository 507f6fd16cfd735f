# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch (2.15, f64) makes of programs as people write them: the oracle of test/compiler/train/programs.cpp, which reads
them from torch_goldens.txt. Run by hand where torch is: python torch_programs.py >> torch_goldens.txt

Each line is a name and the losses of six steps, then scores after them. All tensors begin with numbers by a formula."""

import torch
from torch import nn
from torch.nn import functional as F
from torch_numbers import fill

torch.set_default_dtype(torch.float64)
STEPS = 6


def fill_model(model, first=0):
    with torch.no_grad():
        for k, (name, leaf) in enumerate(sorted((n, v) for n, v in model.state_dict().items() if v.is_floating_point())):
            values = fill(leaf.shape, first + k)
            leaf.copy_(values + 1 if name.endswith("running_var") else values)
    return model


def show(name, values):
    print("program." + name, *[repr(float(v)) for v in values])


def run(name, model, optimizer, loss, scores=lambda model: []):
    losses = []
    for t in range(STEPS):
        optimizer.zero_grad()
        value = loss(model, t)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    with torch.no_grad():
        show(name, losses + list(torch.as_tensor(scores(model)).flatten()))


def gan():
    g = fill_model(nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2)))
    d = fill_model(nn.Sequential(nn.Linear(2, 6), nn.LeakyReLU(0.2), nn.Linear(6, 1)), 10)
    og, od = torch.optim.Adam(g.parameters(), 0.02, betas=(0.5, 0.999)), torch.optim.Adam(d.parameters(), 0.03, betas=(0.5, 0.999))
    values = []
    for t in range(STEPS):
        real, z = fill((5, 2), 100 + t, 2), fill((5, 3), 200 + t, 2)
        od.zero_grad()
        one = F.binary_cross_entropy_with_logits(d(real), torch.ones(5, 1)) + F.binary_cross_entropy_with_logits(d(g(z).detach()), torch.zeros(5, 1))
        one.backward()
        od.step()
        og.zero_grad()
        two = F.binary_cross_entropy_with_logits(d(g(z)), torch.ones(5, 1))
        two.backward()
        og.step()
        values += [one.item(), two.item()]
    show("gan", values)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 5)
        self.mix = nn.Linear(5, 5)

    def forward(self, words):
        return torch.tanh(self.mix(self.embedding(words))) @ self.embedding.weight.T


def labels(count, seed, classes):
    return torch.tensor([(i * 5 + seed * 3 + i * i) % classes for i in range(count)])


def tied():
    model = fill_model(Tied())
    run("tied", model, torch.optim.AdamW(model.parameters(), 0.05, weight_decay=0.1), lambda m, t: F.cross_entropy(m(labels(8, t, 7)), labels(8, t + 1, 7)),
        lambda m: m(labels(2, 9, 7)))


def penalty():
    model = fill_model(nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)))

    def loss(m, t):
        x = fill((4, 3), 100 + t, 2).requires_grad_()
        y = m(x)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return y.mean() + 10 * ((slope.norm(dim=1) - 1) ** 2).mean()

    run("penalty", model, torch.optim.SGD(model.parameters(), 0.05, momentum=0.9), loss)


def maml():
    model = fill_model(nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 1)))

    def call(weights, x):
        return torch.tanh(x @ weights[0].T + weights[1]) @ weights[2].T + weights[3]

    def loss(m, t):
        total = 0
        for task in range(2):
            weights = list(m.parameters())
            for step in range(2):
                x, y = fill((4, 2), 100 + 10 * t + task, 2), fill((4, 1), 300 + 10 * t + task, 2)
                inner = F.mse_loss(call(weights, x), y)
                slopes = torch.autograd.grad(inner, weights, create_graph=True)
                weights = [w - 0.1 * s for w, s in zip(weights, slopes)]
            total = total + F.mse_loss(call(weights, fill((4, 2), 500 + 10 * t + task, 2)), fill((4, 1), 700 + 10 * t + task, 2))
        return total

    run("maml", model, torch.optim.Adam(model.parameters(), 0.02), loss)


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 5)
        self.experts = nn.ModuleList([nn.Linear(4, 3) for _ in range(5)])

    def forward(self, x):
        scores, chosen = self.gate(x).topk(2)
        shares = scores.softmax(-1)
        outputs = torch.stack([expert(x) for expert in self.experts], 1)  # [N, 5, 3]
        picked = torch.gather(outputs, 1, chosen[:, :, None].expand(-1, -1, 3))
        return (picked * shares[:, :, None]).sum(1)


def experts():
    model = fill_model(Experts())
    run("experts", model, torch.optim.Adam(model.parameters(), 0.03), lambda m, t: F.mse_loss(m(fill((6, 4), 100 + t, 2)), fill((6, 3), 200 + t, 2)),
        lambda m: m(fill((2, 4), 400, 2)))


def siamese():
    model = fill_model(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)))
    run("siamese", model, torch.optim.RMSprop(model.parameters(), 0.01),
        lambda m, t: F.triplet_margin_loss(m(fill((5, 4), 100 + t, 2)), m(fill((5, 4), 200 + t, 2)), m(fill((5, 4), 300 + t, 2)), margin=0.7))


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 4, batch_first=True, bidirectional=True)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return F.log_softmax(self.head(self.gru(x)[0]), -1).transpose(0, 1)


def recognizer():
    model = fill_model(Recognizer())
    run("recognizer", model, torch.optim.Adam(model.parameters(), 0.02),
        lambda m, t: F.ctc_loss(m(fill((2, 9, 3), 100 + t, 2)), labels(6, t, 4).reshape(2, 3) + 1, torch.tensor([9, 7]), torch.tensor([3, 2])))


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, num_layers=2, batch_first=True)
        self.head = nn.Linear(4, 2)


def truncated():
    model = fill_model(Writer())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    state, values = (torch.zeros(2, 2, 4), torch.zeros(2, 2, 4)), []
    for t in range(STEPS):
        optimizer.zero_grad()
        y, state = model.lstm(fill((2, 5, 3), 100 + t, 2), state)
        value = F.mse_loss(model.head(y), fill((2, 5, 2), 200 + t, 2))
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.2)
        optimizer.step()
        state = tuple(part.detach() for part in state)
        values.append(value.item())
    show("truncated", values + list(state[0].flatten()))


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 6)
        self.down = nn.Linear(4, 2, bias=False)
        self.up = nn.Linear(2, 6, bias=False)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.base(x) + 0.5 * self.up(self.down(x))))


def adapted():
    model = fill_model(Adapted())
    for part in (model.base, model.head):
        part.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    run("adapted", model, torch.optim.AdamW(trained, 0.05), lambda m, t: F.cross_entropy(m(fill((6, 4), 100 + t, 2)), labels(6, t, 3)),
        lambda m: m(fill((2, 4), 400, 2)))


def normalized():
    model = fill_model(nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)))

    def scores(m):
        m.eval()
        return torch.cat([m(fill((2, 2, 4, 4), 400, 2)).flatten(), m[1].running_mean, m[1].running_var])

    run("normalized", model, torch.optim.SGD(model.parameters(), 0.05), lambda m, t: F.cross_entropy(m(fill((3, 2, 4, 4), 100 + t, 2)), labels(3, t, 3)), scores)


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(5, 6)
        self.mean = nn.Linear(6, 2)
        self.spread = nn.Linear(6, 2)
        self.back = nn.Linear(2, 5)


def vae():
    model = fill_model(Vae())

    def loss(m, t):
        x = fill((4, 5), 100 + t, 2)
        h = F.gelu(m.body(x))
        mean, spread = m.mean(h), m.spread(h)
        z = mean + torch.exp(0.5 * spread) * fill((4, 2), 200 + t, 2)
        divergence = -0.5 * (1 + spread - mean**2 - spread.exp()).sum(1).mean()
        return F.binary_cross_entropy_with_logits(m.back(z), torch.sigmoid(x), reduction="sum") / 4 + divergence

    run("vae", model, torch.optim.Adam(model.parameters(), 0.02), loss)


for program in (gan, tied, penalty, maml, experts, siamese, recognizer, truncated, adapted, normalized, vae):
    program()
