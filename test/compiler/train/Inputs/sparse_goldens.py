# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch (2.15, f64) makes of trainings whose tables move by rows: the oracle of test/compiler/train/sparse.cpp, which
reads sparse_goldens.txt. Run by hand where torch is: python sparse_goldens.py > sparse_goldens.txt

One table is looked up three times: bags with a mean, bags with weights, single rows; some rows twice in a batch, some never.
In the walks it is looked up in loops, which are written out here. Each line is a name and numbers: losses of steps, then the rows of the table."""

import math

import torch
from torch import nn
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
ROWS, WIDTH, STEPS = 11, 3, 20


def fill(shape, seed, scale=0.6):
    count = math.prod(shape)
    return torch.tensor([(((i + 1) * (37 + 2 * seed)) % 97 / 97 - 0.5) * scale for i in range(count)]).reshape(shape)


def show(name, values):
    print(name, *[repr(float(v)) for v in values])


class Tables(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(fill((ROWS, WIDTH), 0))
        self.head = nn.Linear(WIDTH, 2)
        with torch.no_grad():
            self.head.weight.copy_(fill((2, WIDTH), 1))
            self.head.bias.copy_(fill((2,), 2))

    def forward(self, ids, splits, weights, single):
        mean = F.embedding_bag(ids, self.table, splits[:-1], mode="mean", sparse=True)
        weighted = F.embedding_bag(ids, self.table, splits[:-1], mode="sum", sparse=True, per_sample_weights=weights)
        return self.head(torch.tanh(mean + weighted + F.embedding(single, self.table, sparse=True)))


def batch(t):
    """Four bags of 3, 0, 4 and 2 rows; row 7 is never looked up."""
    ids = torch.tensor([[0, 4, 4, 9, 1, 3, 9, 10, 2][(i + t) % 9] for i in range(9)])
    single = torch.tensor([(5 * i + t) % 7 for i in range(4)])
    return ids, torch.tensor([0, 3, 3, 7, 9]), fill((9,), 20 + t, 2), single


def adagrad_of_rows(**options):
    return lambda model: [torch.optim.Adagrad([model.table], **options), torch.optim.Adagrad(model.head.parameters(), **options)]


def adam_of_rows(model):
    return [torch.optim.SparseAdam([model.table], lr=0.05, betas=(0.8, 0.95)),
            torch.optim.Adam(model.head.parameters(), lr=0.05, betas=(0.8, 0.95))]


class Ftrl:  # McMahan et al. 2013; torch has none
    def __init__(self, parameters, lr, l1, l2, beta):
        self.parameters, self.numbers, self.states = list(parameters), (lr, l1, l2, beta), {}

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self):
        lr, l1, l2, beta = self.numbers
        for k, p in enumerate(self.parameters):
            z, n = self.states.setdefault(k, (torch.zeros_like(p), torch.zeros_like(p)))
            dense = not p.grad.is_sparse
            rows = torch.arange(p.size(0)) if dense else p.grad.coalesce().indices()[0]
            g = p.grad if dense else p.grad.coalesce().values()
            old, w = n[rows], p[rows]
            new = old + g * g
            zz = z[rows] + g - (new.sqrt() - old.sqrt()) / lr * w
            z[rows], n[rows] = zz, new
            p[rows] = torch.where(zz.abs() > l1, (torch.sign(zz) * l1 - zz) / ((beta + new.sqrt()) / lr + l2), torch.zeros_like(w))


class Walk(nn.Module):
    """A state [2, 3] goes on by rows of the table, in `kind` of loop."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.table = kind, nn.Parameter(fill((ROWS, WIDTH), 0))
        self.head = nn.Linear(WIDTH, 2)
        with torch.no_grad():
            self.head.weight.copy_(fill((2, WIDTH), 1))
            self.head.bias.copy_(fill((2,), 2))

    def look(self, ids):
        return F.embedding(ids, self.table, sparse=True)

    def forward(self, ids):  # [6, 2]
        h = 0.1 * self.look(ids[0])
        if self.kind == "while":  # as long as a number grows slowly enough
            total, i = torch.tensor(0.0), 0
            while total < 1.5:
                h = torch.tanh(h + self.look((ids[0] + 3 * i) % ROWS))
                total = total + 0.3 + (h.detach() ** 2).mean()
                i += 1
        elif self.kind == "nested":
            for i in range(3):
                for j in range(2):
                    h = torch.tanh(h + self.look(ids[2 * i + j]) * (1 + j))
                h = h + self.look(ids[i])
        else:
            for i in range(6):
                h = torch.tanh(h * 0.9 + self.look(ids[i])) + self.look((ids[i] + 1) % ROWS)
        return self.head(h)


def walk_batch(t):
    return (torch.tensor([[(3 * i + 5 * j * j + t * (i + 1)) % 10 for j in range(2)] for i in range(6)]),)


def train(name, make, model=None, batch=batch, shape=(4, 2)):
    model = model or Tables()
    optimizers = make(model)
    losses = []
    for t in range(STEPS):
        loss = ((model(*batch(t)) - fill(shape, 200 + t, 2)) ** 2).mean()
        losses.append(loss.item())
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        assert model.table.grad.is_sparse
        for optimizer in optimizers:
            optimizer.step()
    show(name, losses + model.table.detach().flatten().tolist())


if __name__ == "__main__":
    train("sgd", lambda m: [torch.optim.SGD(m.parameters(), lr=0.2)])
    train("adagrad", adagrad_of_rows(lr=0.1, lr_decay=0.1))
    train("adam", adam_of_rows)
    train("ftrl", lambda m: [Ftrl(m.parameters(), 0.3, 0.02, 0.1, 1.0)])
    for kind in ("for", "while", "nested"):
        train(kind, adam_of_rows, Walk(kind), walk_batch, (2, 2))
