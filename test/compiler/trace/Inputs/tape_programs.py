#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what torch says of the programs of tape_programs.cpp: value and gradients in f64.

    tape_programs.py > tape_goldens.inc      (torch 2.15)

Both files state each program; inputs are fractions, equal in both.
"""
import torch

torch.set_default_dtype(torch.float64)
T = torch.tensor


def data(seed, *shape):
    n = 1
    for size in shape:
        n *= size
    return T([((k * 37 + seed * 53) % 101 - 50) / 64 for k in range(n)]).reshape(shape).requires_grad_()


def collatz(x):
    n = 27
    while n != 1:
        if n % 2:
            x, n = torch.sin(x * 3) * 0.125 + x, 3 * n + 1
        else:
            x, n = x * 1.01, n // 2
    return x


def fibonacci(x):
    def f(n):
        return x * (n + 1) if n < 2 else torch.sin(f(n - 1)) + f(n - 2) * x
    return f(9)


def until_large(x):
    while x.sum() < 1000:
        x = x * x + 1.25
    return torch.log(x.sum())


def newton_root(a):
    a = a * a + 2
    x = a
    while abs((x * x - a).item()) > 1e-9:
        x = (x + a / x) * 0.5
    return x


def tree(emb, left, right):
    state = [7]

    def random(n):
        state[0] = (state[0] * 1103515245 + 12345) % 2147483648
        return (state[0] >> 16) % n

    def grow(depth):
        if depth == 0 or (depth < 4 and random(4) == 0):
            return emb[random(4)]
        a = grow(depth - 1)
        b = grow(depth - 1)
        return torch.tanh(left @ a + right @ b)
    return grow(5).sum()


def linked_list(w, u, x):
    node = None
    for k in range(7):
        node = (x[k % 3], node)
    h = torch.zeros(3)
    while node:
        h = torch.tanh(w @ h + u @ node[0])
        node = node[1]
    return (h * h).sum()


def stack_machine(a, b):
    stack = []
    for op in "ab*a+sb-b*ab+*":
        if op in "ab":
            stack.append(a if op == "a" else b)
        elif op == "s":
            stack.append(torch.sin(stack.pop()))
        else:
            y, x = stack.pop(), stack.pop()
            stack.append(x * y if op == "*" else x + y if op == "+" else x - y)
    return stack[-1].sum()


def by_sign(x, w):
    for _ in range(20):
        x = x - w if x.item() > 0 else x * w + 1
    return x


def bisection(a):
    low, high = 0.0, 4.0
    while high - low > 1e-3:
        mid = (low + high) / 2
        if (T(mid) ** 3 - (a * a + 1)).item() > 0:
            high = mid
        else:
            low = mid
    x = T(low)
    for _ in range(3):
        x = x - (x * x * x - (a * a + 1)) / (3 * x * x)
    return x


def quicksort(x):
    def sort(items):
        if len(items) < 2:
            return items
        pivot = items[0]
        return (sort([i for i in items[1:] if i.item() < pivot.item()]) + [pivot]
                + sort([i for i in items[1:] if i.item() >= pivot.item()]))
    total = T(0.0)
    for k, item in enumerate(sort([x[k] for k in range(9)])):
        total = total + item * item * (k + 1)
    return total


def early_exit(w, h):
    for _ in range(50):
        h = torch.tanh(w @ h)
        if abs(h).max().item() < 0.05:
            break
    return (h * h).sum() * 100


def ragged(x, w):
    total = T(0.0)
    for n in (1, 5, 2, 4):
        part = x[:n]
        total = total + (torch.exp(part * w[:n]).sum()) / n
    return total / 4


def beams(scores):
    paths = [(T(0.0), 0)]
    for _ in range(5):
        longer = []
        for score, at in paths:
            for to in range(3):
                longer.append((score + torch.sin(scores[at, to] * (score + 1)), to))
        longer.sort(key=lambda path: -path[0].item())
        paths = longer[:2]
    return paths[0][0] + 0.5 * paths[1][0]


def edit_distance(cost):
    a, b = "kitten", "sitting"
    d = {}
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if i == 0 or j == 0:
                d[i, j] = cost[0] * i + cost[1] * j
                continue
            ways = [d[i - 1, j] + cost[0], d[i, j - 1] + cost[1],
                    d[i - 1, j - 1] + (cost[2] if a[i - 1] != b[j - 1] else cost[3])]
            d[i, j] = min(ways, key=lambda way: way.item())
    return d[len(a), len(b)] * d[3, 3]


def mandelbrot(c):
    re, im = T(0.0), T(0.0)
    for _ in range(50):
        re, im = re * re - im * im + c[0], 2 * re * im + c[1]
        if (re * re + im * im).item() > 4:
            break
    return torch.log(re * re + im * im)


def adaptive_steps(y, k):
    t, h = 0.0, 0.5
    while t < 1:
        h = min(h, 1 - t)
        slope = torch.sin(y) * k
        euler = y + h * slope
        heun = y + 0.5 * h * (slope + torch.sin(euler) * k)
        if abs(heun - euler).max().item() < 0.02:
            y, t = heun, t + h
            h = h * 1.5
        else:
            h = h * 0.5
    return (y * y).sum()


def determinant(m):
    m = m + torch.eye(4)
    rows = [[m[i, j] for j in range(4)] for i in range(4)]
    det = T(1.0)
    for c in range(4):
        p = max(range(c, 4), key=lambda r: abs(rows[r][c].item()))
        if p != c:
            rows[c], rows[p] = rows[p], rows[c]
            det = -det
        det = det * rows[c][c]
        for r in range(c + 1, 4):
            f = rows[r][c] / rows[c][c]
            for j in range(c, 4):
                rows[r][j] = rows[r][j] - f * rows[c][j]
    return det


def messages(x, w):
    edges = {0: [1, 2], 1: [2], 2: [0, 3], 3: [], 4: [0, 1, 2, 3]}
    h = {n: x[n] for n in range(5)}
    for _ in range(3):
        new = {}
        for n in range(5):
            total = h[n]
            for m in edges[n]:
                total = total + w @ h[m]
            new[n] = torch.tanh(total)
        h = new
    return sum((h[n].sum() for n in range(5)), T(0.0))


def mutual(x):
    def even(n, y):
        return y if n == 0 else odd(n - 1, torch.sin(y) + x)

    def odd(n, y):
        return y * x if n == 0 else even(n - 1, torch.cos(y) * x)
    return even(11, x) + odd(8, x * 2)


def buffer(w):
    held = torch.zeros(3)
    for k in range(6):
        held.copy_(held * 0.5 + (k + 1) * torch.sin(w * (held.sum().item() + 1)) * w)
    return (held * held).sum()


def layers_by_input(x, w):
    n = 1 + int(abs(x.sum().item()) * 7) % 4
    for _ in range(n):
        x = torch.tanh(w @ x)
    return x.sum()


def shrinking_picture(x, f):
    while x.shape[-1] > 3:
        x = torch.relu(torch.nn.functional.conv2d(x, f, padding=1))
        x = torch.nn.functional.max_pool2d(x, 2)
    return (x * x).sum()


def truncated(w):
    h, total = T(0.5), T(0.0)
    for k in range(12):
        h = torch.tanh(h * w + 0.25)
        total = total + h * (k + 1)
        if k % 4 == 3:
            h = h.detach()
    return total


def penalty(x, w):
    y = torch.tanh(w @ x).sum()
    g, = torch.autograd.grad(y, x, create_graph=True)
    return y + (g * g).sum()


def inner_steps(w, x):
    fast = w
    for _ in range(3):
        loss = ((torch.sin(fast) * x[0] - x[1]) ** 2).sum()
        g, = torch.autograd.grad(loss, fast, create_graph=True)
        fast = fast - 0.1 * g
    return ((torch.sin(fast) * x[0] - x[2]) ** 2).sum()


def curvature(x):
    total = T(0.0)
    y = (torch.exp(x) * torch.sin(x * x)).sum()
    g, = torch.autograd.grad(y, x, create_graph=True)
    for k in range(3):
        row, = torch.autograd.grad(g[k], x, create_graph=True)
        total = total + row[k] * (k + 1)
    return total


def growing_memory(x, w):
    memory = [x[0]]
    for k in range(1, 5):
        keys = torch.stack(memory)
        weights = torch.softmax(keys @ (w @ x[k]), 0)
        memory.append(torch.tanh(weights @ keys + x[k]))
    return (memory[-1] * memory[2]).sum()


def follow_largest(x):
    total, at = T(0.0), 0
    for k in range(6):
        at = int((x[at] * (k + 1)).argmax())
        total = total + x[at, (at + k) % 4] ** 2
        x = x * 0.9
    return total


def expression(v):
    text = "a*(b+c)-a*a*(c-b*(a+b))"
    at = [0]

    def peek():
        return text[at[0]] if at[0] < len(text) else " "

    def take():
        at[0] += 1
        return text[at[0] - 1]

    def atom():
        c = take()
        if c == "(":
            value = add()
            take()
            return value
        return v["abc".index(c)]

    def mul():
        value = atom()
        while peek() == "*":
            take()
            value = value * atom()
        return value

    def add():
        value = mul()
        while peek() in "+-":
            value = value + mul() if take() == "+" else value - mul()
        return value
    return add()


def breadth_first(x):
    links = {0: [2, 1], 1: [3], 2: [3, 4], 3: [5], 4: [5], 5: [0]}
    level = {0: x[0]}
    queue = [0]
    while queue:
        n = queue.pop(0)
        for m in links[n]:
            if m not in level:
                level[m] = torch.sin(level[n]) + x[m] * level[n]
                queue.append(m)
    return sum((level[n] * (n + 1) for n in range(6)), T(0.0))


def golden_section(a):
    low, high = T(-2.0), a * a + 2
    for _ in range(30):
        third = (high - low) / 3
        p, q = low + third, high - third
        if ((p - a) ** 2).item() < ((q - a) ** 2).item():
            high = q
        else:
            low = p
    return low * high + a


PROGRAMS = [
    (collatz, [()]), (fibonacci, [()]), (until_large, [(3,)]), (newton_root, [()]),
    (tree, [(4, 3), (3, 3), (3, 3)]), (linked_list, [(3, 3), (3, 2), (3, 2)]), (stack_machine, [(3,), (3,)]),
    (by_sign, [(), ()]), (bisection, [()]), (quicksort, [(9,)]), (early_exit, [(3, 3), (3,)]),
    (ragged, [(6,), (6,)]), (beams, [(3, 3)]), (edit_distance, [(4,)]), (mandelbrot, [(2,)]),
    (adaptive_steps, [(3,), (3,)]), (determinant, [(4, 4)]), (messages, [(5, 3), (3, 3)]), (mutual, [()]),
    (buffer, [(3,)]), (layers_by_input, [(4,), (4, 4)]), (shrinking_picture, [(1, 2, 13, 13), (2, 2, 3, 3)]),
    (truncated, [()]), (penalty, [(3,), (3, 3)]), (inner_steps, [(4,), (3, 4)]), (curvature, [(3,)]),
    (growing_memory, [(5, 3), (3, 3)]), (follow_largest, [(4, 4)]), (expression, [(3,)]), (breadth_first, [(6,)]),
    (golden_section, [()]),
]

print("// What torch says, by tape_programs.py.")
for program, shapes in PROGRAMS:
    inputs = [data(seed + 1, *shape) for seed, shape in enumerate(shapes)]
    value = program(*inputs)
    slopes = torch.autograd.grad(value, inputs, allow_unused=True)
    numbers = [value.item()]
    for slope, given in zip(slopes, inputs):
        numbers += (torch.zeros_like(given) if slope is None else slope).flatten().tolist()
    print('{"%s", {%s}},' % (program.__name__, ", ".join(repr(n) for n in numbers)))
