# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of loops/*.mlir for the peers of loops.py: in JAX, in torch as its users write them, and in torch.compile.

Each peer gives a function without arguments that computes once and waits for the result. For a gradient it computes the
value, too, and the product of a vector of ones with the Jacobian, as `sinter grad --mode vjp` does. A peer that cannot
(JAX has no gradient through a while) raises an exception.
"""
import numpy as np


def inputs(name):
    random = np.random.default_rng(5)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    if name == "newton":
        return {"a": np.float32(27)}
    if name == "ode":
        return {"a": draw(60, 60) / 8, "b": draw(60), "x": draw(60)}
    if name == "conjugate-gradient":
        root = draw(128, 128) / 11
        return {"a": (root @ root.T + np.eye(128, dtype=np.float32)).astype(np.float32), "b": draw(128)}
    return {"x": draw(1, 4)}


def jax_program(name):
    import jax
    import jax.numpy as jnp

    if name == "newton":

        def run(a):
            def body(state):
                n, x, _ = state
                step = (x * x * x - a) / (3 * x * x)
                return n + 1, x - step, step

            start = (0, jnp.float32(1), jnp.float32(1))
            n, x, _ = jax.lax.while_loop(lambda s: jnp.abs(s[2]) > 1e-6, body, start)
            return x, n

    elif name == "ode":

        def run(a, b, x):
            return jax.lax.fori_loop(0, 614, lambda i, x: x + 0.01 * (jnp.tanh(a @ x + b) - x), x)

    elif name == "conjugate-gradient":

        def run(a, b):
            def body(state):
                n, x, r, p, rho = state
                q = a @ p
                alpha = rho / (p @ q)
                x, r = x + alpha * p, r - alpha * q
                following = r @ r
                return n + 1, x, r, r + following / rho * p, following

            start = (0, jnp.zeros_like(b), b, b, b @ b)
            n, x, _, _, rho = jax.lax.while_loop(lambda s: (s[4] > 1e-10) & (s[0] < 128), body, start)
            return x, rho, n

    else:
        weights = [0.1 * jnp.ones(shape, jnp.float32) for shape in ((4, 16), (16, 16), (16, 3))]

        def run(x):
            for weight in weights[:-1]:
                x = jnp.tanh(x @ weight + 0.1)
            return x @ weights[-1] + 0.1

    return run


def jax_call(name, gradient):
    import jax
    import jax.numpy as jnp

    arrays = [jax.device_put(array) for array in inputs(name).values()]
    run = jax_program(name)
    if gradient:
        first = lambda *arrays: jax.tree.leaves(run(*arrays))[0]

        def both(*arrays):
            value, back = jax.vjp(first, *arrays)
            return value, back(jnp.ones_like(value))

        compiled = jax.jit(both)
    else:
        compiled = jax.jit(run)
    return lambda: jax.block_until_ready(compiled(*arrays))


def torch_program(name):
    import torch

    if name == "newton":

        def run(a):
            x, step, n = torch.ones(()), torch.ones(()), 0
            while step.abs() > 1e-6:
                step = (x * x * x - a) / (3 * x * x)
                x = x - step
                n += 1
            return x

    elif name == "ode":

        def run(a, b, x):
            for _ in range(614):
                x = x + 0.01 * (torch.tanh(torch.mv(a, x) + b) - x)
            return x

    elif name == "conjugate-gradient":

        def run(a, b):
            n, x, r, p, rho = 0, torch.zeros_like(b), b, b, torch.dot(b, b)
            while rho > 1e-10 and n < 128:
                q = torch.mv(a, p)
                alpha = rho / torch.dot(p, q)
                x, r = x + alpha * p, r - alpha * q
                following = torch.dot(r, r)
                p, rho = r + following / rho * p, following
                n += 1
            return x

    else:
        weights = [0.1 * torch.ones(shape) for shape in ((4, 16), (16, 16), (16, 3))]

        def run(x):
            for weight in weights[:-1]:
                x = torch.tanh(x @ weight + 0.1)
            return x @ weights[-1] + 0.1

    return run


def torch_loop_program(name):
    """With torch's own loop, which torch.compile takes whole."""
    import torch
    from torch._higher_order_ops.while_loop import while_loop

    if name == "newton":

        def run(a):
            def body(x, step):
                step = (x * x * x - a) / (3 * x * x)
                return x - step, step

            return while_loop(lambda x, step: step.abs() > 1e-6, body, (torch.ones(()), torch.ones(())))[0]

    elif name == "ode":

        def run(a, b, x):
            body = lambda i, x: (i + 1, x + 0.01 * (torch.tanh(torch.mv(a, x) + b) - x))
            return while_loop(lambda i, x: i < 614, body, (torch.zeros((), dtype=torch.int64), x))[1]

    elif name == "conjugate-gradient":

        def run(a, b):
            def body(n, x, r, p, rho):
                q = torch.mv(a, p)
                alpha = rho / torch.dot(p, q)
                x, r = x + alpha * p, r - alpha * q
                following = torch.dot(r, r)
                return n + 1, x, r, r + following / rho * p, following

            start = (torch.zeros((), dtype=torch.int64), torch.zeros_like(b), b.clone(), b.clone(), torch.dot(b, b))
            return while_loop(lambda n, x, r, p, rho: (rho > 1e-10) & (n < 128), body, start)[1]

    else:
        return torch_program(name)
    return run


def torch_call(name, gradient, compiled=False):
    import torch

    torch.set_num_threads(1)
    tensors = [torch.as_tensor(array) for array in inputs(name).values()]
    run = torch.compile(torch_loop_program(name), fullgraph=True) if compiled else torch_program(name)
    if not gradient:

        def call():
            with torch.no_grad():
                return run(*tensors)

    else:
        for tensor in tensors:
            tensor.requires_grad_()

        def call():
            value = run(*tensors)
            return value.detach(), torch.autograd.grad(value, tensors, torch.ones_like(value))

    return call


PEERS = {
    "jax": jax_call,
    "torch": torch_call,
    "torch.compile": lambda name, gradient: torch_call(name, gradient, compiled=True),
}
