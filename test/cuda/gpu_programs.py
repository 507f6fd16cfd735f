# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose operands are states, so that they stay on the GPU from call to call, as text; each with what torch's ops for it are and, for some
elements, NumPy's result in f64. A program does its work `repeats` times a call, each time from the last result, so that a call's own time says little."""
import math

import numpy as np

CODES = {"f32": 2, "f16": 3, "bf16": 4, "f8E4M3FN": 14}
# The numbers of f8E4M3FN by their bytes, without a sign: 2^(e - 7) 1.f, and 2^-6 0.f
FLOAT8 = np.array([2.0 ** (byte // 8 - 7) * (1 + byte % 8 / 8) if byte > 7 else 2.0**-9 * byte for byte in range(127)])


def to_bits(values, kind):
    """f32 as elements of `kind`, in the bytes that the runtime takes: bf16 as ui16, 8-bit floats as ui8, rounded to nearest even."""
    if kind == "f8E4M3FN":
        return (np.searchsorted(FLOAT8, np.abs(to_float8(values))) | np.where(np.signbit(values), 128, 0)).astype(np.uint8)
    if kind != "bf16":
        return values.astype({"f32": np.float32, "f16": np.float16}[kind])
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def to_float8(values):
    """The nearest number of f8E4M3FN, the even one of two; what is greater than any of them becomes the greatest."""
    unit = 2.0 ** (np.maximum(np.frexp(values)[1] - 1, -6) - 3)
    return np.clip(np.rint(values / unit) * unit, -448, 448)


def from_bits(bits, kind):
    if kind == "f8E4M3FN":
        return (FLOAT8[bits & 127] * np.where(bits > 127, -1, 1)).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32) if kind == "bf16" else bits


class Program:
    def __init__(self, repeats=1):
        self.repeats, self.lines, self.states, self.results, self.count = repeats, [], {}, {}, 0

    def state(self, name, shape, kind, values):
        """`values`: a function from a generator to f32."""
        self.states[name] = (shape, kind, values)
        return "%" + name, f"tensor<{'x'.join(map(str, shape))}x{kind}>"

    def op(self, text, operands, *types):
        """`text` with the names of operands for {}; the results."""
        name, self.count = f"%v{self.count}", self.count + 1
        signature = f"({', '.join(t for _, t in operands)}) -> {types[0] if len(types) == 1 else '(' + ', '.join(types) + ')'}"
        self.lines.append(f"  {name}{'' if len(types) == 1 else f':{len(types)}'} = sinter.{text.format(*(n for n, _ in operands))} : {signature}")
        return (name, types[0]) if len(types) == 1 else [(f"{name}#{i}", t) for i, t in enumerate(types)]

    def constant(self, value):
        name, self.count = f"%v{self.count}", self.count + 1
        self.lines.append(f"  {name} = sinter.constant dense<{value:.17e}> : tensor<f32>")
        return name, "tensor<f32>"

    def binary(self, op, x, y):
        return self.op(op + " {}, {}", [x, y], x[1])

    def unary(self, op, x):
        return self.op(op + " {}", [x], x[1])

    def text(self):
        arguments = ", ".join(f'%{n}: tensor<{"x".join(map(str, s))}x{k}> {{sinter.state = "{n}"}}' for n, (s, k, _) in self.states.items())
        types = ", ".join(f'{t} {{sinter.state = "{n}"}}' for n, (_, t) in self.results.items())
        plain = ", ".join(t for _, t in self.results.values())
        return f"func.func @main({arguments}) -> ({types}) {{\n" + "\n".join(self.lines) + f"\n  return {', '.join(v for v, _ in self.results.values())} : {plain}\n}}\n"


def normal(*shape, scale=1.0):
    return lambda random: (random.standard_normal(shape) * scale).astype(np.float32)


# Products: x <- x w, where w keeps magnitudes -----------------------------------------------------------------------


def product(kind, rows, inner, batch=0, fused=False, repeats=1, schedule=None):
    """`schedule` is forced on products by themselves."""
    p, lead = Program(repeats), ((batch,) if batch else ())
    x = p.state("x", (*lead, rows, inner), kind, normal(*lead, rows, inner))
    w = p.state("w", (*lead, inner, inner), kind, normal(*lead, inner, inner, scale=1 / math.sqrt(inner)))
    b = p.state("b", (inner,), kind, normal(inner)) if fused else None
    axes = f"lhs_batch = array<i64{': 0' if batch else ''}>, rhs_batch = array<i64{': 0' if batch else ''}>"
    contract = f"lhs_contract = array<i64: {len(lead) + 1}>, rhs_contract = array<i64: {len(lead)}>"
    for _ in range(repeats):
        if schedule:
            y = p.op(f"kernel contraction({{}}, {{}}) {{{{schedule = #sinter.schedule<{schedule}>}}}}", [x, w], x[1])
            p.lines[-1] += (f" {{\n  ^bb0(%p: {x[1]}, %q: {w[1]}):\n    %d = sinter.dot_general %p, %q {{{axes}, {contract}, element_type = {kind}}} : "
                            f"({x[1]}, {w[1]}) -> {x[1]}\n    sinter.yield(%d) : {x[1]}\n  }}")
        else:
            y = p.op(f"dot_general {{}}, {{}} {{{{{axes}, {contract}, element_type = {kind}}}}}", [x, w], x[1])
        if fused:
            spread = p.op(f"broadcast {{}} axes = [{len(lead) + 1}] {{{{type = {x[1]}}}}}", [b], x[1])
            y = p.unary("tanh", p.binary("add", y, spread))
        x = y
    p.results = {"x": x}

    def torch_run(t, v):
        y = v["x"]
        for _ in range(repeats):
            y = t.matmul(y, v["w"])
            if fused:
                y = t.tanh(y + v["b"])
        return y

    def some(v):  # rows of the last batch, after one product
        at = (-1,) if batch else ()
        y = v["x"][at][:4].astype(np.float64) @ v["w"][at].astype(np.float64)
        return np.tanh(y + v["b"]) if fused else y

    return p, torch_run, lambda v: (v["x"][(-1,) if batch else ()][:4], some)


def product8(n, repeats=1):
    """Of x rounded to 8-bit floats and w, which is of such; x is bf16."""
    p = Program(repeats)
    x, w = p.state("x", (n, n), "bf16", normal(n, n)), p.state("w", (n, n), "f8E4M3FN", normal(n, n, scale=1 / math.sqrt(n)))
    bytes_of = f"tensor<{n}x{n}xf8E4M3FN>"
    for _ in range(repeats):
        y = p.op("convert {} {{element_type = f8E4M3FN}}", [x], bytes_of)
        numbers = [p.op("convert {} {{element_type = bf16}}", [each], x[1]) for each in (y, w)]
        x = p.op("dot_general {}, {} {{lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = bf16}}", numbers, x[1])
    p.results = {"x": x}
    return p, lambda v: (v["x"][:4], lambda v: to_float8(v["x"][:4].astype(np.float64)) @ v["w"].astype(np.float64).T)


# Attention: q <- attention(q, k, v); backwards the cotangent of q is the next one of the result ----------------------


def attention(kind, heads, length, depth, backward=False, repeats=1):
    p, shape = Program(repeats), (1, heads, length, depth)
    q, k, v = (p.state(n, shape, kind, normal(*shape)) for n in "qkv")
    scale = 1 / math.sqrt(depth)
    attributes = f"{{{{scale = {scale!r} : f64, after = 0 : i64"
    sums = f"tensor<1x{heads}x{length}xf32>"
    if backward:
        g = p.state("g", shape, kind, normal(*shape))
        s = p.state("s", shape[:3], "f32", lambda random: np.full(shape[:3], math.log(length), np.float32))
        r = p.state("r", shape[:3], "f32", normal(*shape[:3], scale=0.1))
        for _ in range(repeats):
            g, dk, dv = p.op(f"attention_gradient {{}}, {{}}, {{}}, {{}}, {{}}, {{}} {attributes}}}}}", [q, k, v, g, s, r], q[1], k[1], v[1])
        p.results = {"g": g, "k": dk, "v": dv}
    else:
        for _ in range(repeats):
            q, _ = p.op(f"attention {{}}, {{}}, {{}} {attributes}, log_sums = true}}}}", [q, k, v], q[1], sums)
        p.results = {"q": q}

    def torch_run(t, x):
        attend = lambda a: t.nn.functional.scaled_dot_product_attention(a, x["k"], x["v"], is_causal=True)
        if not backward:
            a = x["q"]
            for _ in range(repeats):
                a = attend(a)
            return a
        if "graph" not in x:
            for n in "qkv":
                x[n].requires_grad_(True)
            x["graph"] = attend(x["q"])
        for _ in range(repeats):
            grads = t.autograd.grad(x["graph"], [x[n] for n in "qkv"], x["g"], retain_graph=True)
        return grads[0]

    def some(x):  # the last rows of the last head
        a, b, c = (x[n][0, -1].astype(np.float64) for n in "qkv")
        scores = np.where(np.arange(length) <= np.arange(length)[-4:, None], a[-4:] @ b.T * scale, -np.inf)
        shares = np.exp(scores - scores.max(1, keepdims=True))
        return shares / shares.sum(1, keepdims=True) @ c

    return p, torch_run, None if backward else lambda x: (x["q"][0, -1, -4:], some)


# What memory bounds: bytes that a call has to read and write are given -----------------------------------------------


def bounded(p, kind, run, bytes_moved, some=None):
    return p, run, some, bytes_moved * {"f32": 4, "bf16": 2, "f16": 2}[kind]


def softmax(kind, rows, columns):
    p = Program()
    x = p.state("x", (rows, columns), kind, normal(rows, columns))
    p.results = {"x": p.op("softmax {} {{axis = 1 : i64}}", [x], x[1])}

    def some(v):
        e = np.exp(v["x"][:4].astype(np.float64) - v["x"][:4].max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return bounded(p, kind, lambda t, v: t.softmax(v["x"], 1), 2 * rows * columns, lambda v: (v["x"][:4], some))


def layer_norm(kind, rows, columns):
    p = Program()
    x = p.state("x", (rows, columns), kind, normal(rows, columns))
    s, b = (p.state(n, (columns,), kind, normal(columns)) for n in "sb")
    statistic = f"tensor<{rows}x1x{kind}>"
    p.results = {"x": p.op("layer_norm {} scale({}) bias({}) {{axis = 1 : i64, epsilon = 1.0e-5 : f64}}", [x, s, b], x[1], statistic, statistic)[0]}

    def some(v):
        y = v["x"][:4].astype(np.float64)
        return (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + 1e-5) * v["s"] + v["b"]

    return bounded(p, kind, lambda t, v: t.nn.functional.layer_norm(v["x"], (columns,), v["s"], v["b"]), 2 * rows * columns, lambda v: (v["x"][:4], some))


def pointwise(kind, count):
    p = Program()
    x, y = (p.state(n, (count,), kind, normal(count)) for n in "xy")
    p.results = {"x": p.unary("tanh", p.binary("mul", x, y))}
    return bounded(p, kind, lambda t, v: t.tanh(v["x"] * v["y"]), 3 * count, lambda v: (v["x"][:999], lambda w: np.tanh(w["x"][:999].astype(np.float64) * w["y"][:999])))


def adamw(count, rate=1e-3, decay=0.01):
    p = Program()
    w, m, v, g = (p.state(n, (count,), "f32", normal(count) if n != "v" else lambda random: random.random(count).astype(np.float32)) for n in "wmvg")
    number = lambda value: p.op(f"broadcast {{}} axes = [] {{{{type = {w[1]}}}}}", [p.constant(value)], w[1])
    times = lambda x, value: p.binary("mul", x, number(value))
    plus = lambda x, y: p.binary("add", x, y)
    m2, v2 = plus(times(m, 0.9), times(g, 0.1)), plus(times(v, 0.999), times(p.binary("mul", g, g), 0.001))
    step = p.binary("div", m2, plus(p.unary("sqrt", v2), number(1e-8)))
    p.results = {"w": p.binary("sub", times(w, 1 - rate * decay), times(step, rate)), "m": m2, "v": v2}

    def torch_run(t, x):
        m3 = x["m"] * 0.9 + x["g"] * 0.1
        v3 = x["v"] * 0.999 + x["g"] * x["g"] * 0.001
        return x["w"] * (1 - rate * decay) - rate * (m3 / (v3.sqrt() + 1e-8)), m3, v3

    def some(x):
        a = {n: y[:999].astype(np.float64) for n, y in x.items()}
        return a["w"] * (1 - rate * decay) - rate * (a["m"] * 0.9 + a["g"] * 0.1) / (np.sqrt(a["v"] * 0.999 + a["g"] ** 2 * 0.001) + 1e-8)

    return bounded(p, "f32", torch_run, 7 * count, lambda x: (x["w"][:999], some))


def counting(trips, one_kernel):
    """`while` until a number is reached, as one kernel or not: what a trip takes where the host has no part in it."""
    return f"""func.func @main(%x: tensor<4xf32> {{sinter.name = "x"}}) -> (tensor<4xf32> {{sinter.name = "y"}}) {{
  %n, %r = sinter.while(%x) captures() {{sinter.one_kernel = {str(one_kernel).lower()}}} : (tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) cond {{
  ^bb0(%v: tensor<4xf32>):
    %most = sinter.reduce max %v axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %end = sinter.constant dense<{float(trips)}> : tensor<f32>
    %go = sinter.compare lt %most, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  }} body {{
  ^bb0(%v: tensor<4xf32>):
    %one = sinter.constant dense<1.0> : tensor<4xf32>
    %s = sinter.add %v, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%s) : tensor<4xf32>
  }}
  return %r : tensor<4xf32>
}}
"""
