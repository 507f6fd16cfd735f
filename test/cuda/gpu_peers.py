# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What on_a_gpu.py compares with beside torch: products and softmaxes written in Triton, and JAX. Each is None where it is not installed or sees no GPU."""
import numpy as np

try:
    import triton
    import triton.language as tl
except Exception:  # not installed, or for another machine
    triton = None


def find_jax():
    try:
        import jax

        return jax if any(device.platform == "gpu" for device in jax.devices()) else None
    except Exception:  # not installed, or a plugin that does not start
        return None


def jax_call(jax, run, feeds):
    """A call of what JAX makes of `run(jax, feeds)`, that waits for its end."""
    compiled = jax.jit(lambda values: run(jax, values))
    return lambda: jax.block_until_ready(compiled(feeds))


def jax_feeds(jax, values, kinds):
    types = {"f32": jax.numpy.float32, "f16": jax.numpy.float16, "bf16": jax.numpy.bfloat16}
    return {name: jax.numpy.asarray(value.astype(np.float32)).astype(types[kinds[name]]) for name, value in values.items()}


def triton_product(torch):
    """product(x, w) of matrices whose sizes are multiples of the tiles, but for rows; the first call for some sizes measures the tiles."""
    forms = [triton.Config({"M": m, "N": n, "K": k}, num_warps=warps, num_stages=stages)
             for m, n, k, warps, stages in ((128, 256, 64, 8, 3), (128, 128, 64, 8, 4), (128, 128, 64, 4, 3), (64, 128, 64, 4, 4), (16, 128, 128, 4, 4))]
    tuned = triton.autotune(forms, key=["rows", "columns", "inner"])(product_kernel)

    def product(x, w):
        result = torch.empty(x.shape[0], w.shape[1], device=x.device, dtype=x.dtype)
        tuned[lambda form: (triton.cdiv(x.shape[0], form["M"]) * triton.cdiv(w.shape[1], form["N"]),)](x, w, result, x.shape[0], w.shape[1], x.shape[1])
        return result

    return product


def triton_softmax(torch):
    """softmax(x) of a matrix, a row a program."""

    def softmax(x):
        result = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, result, x.shape[1], WIDTH=triton.next_power_of_2(x.shape[1]), num_warps=8)
        return result

    return softmax


if triton:

    @triton.jit
    def product_kernel(a, b, c, rows, columns, inner, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        number = tl.program_id(0)
        across, down = tl.cdiv(columns, N), tl.cdiv(rows, M)
        first = number // (8 * across) * 8  # eight rows of tiles share columns of b
        height = min(down - first, 8)
        row = (first + number % (8 * across) % height) * M + tl.arange(0, M)
        column = number % (8 * across) // height * N + tl.arange(0, N)
        k = tl.arange(0, K)
        sums = tl.zeros((M, N), tl.float32)
        for start in range(0, inner, K):
            x = tl.load(a + row[:, None] * inner + (start + k)[None, :], mask=row[:, None] < rows, other=0.0)
            y = tl.load(b + (start + k)[:, None] * columns + column[None, :])
            sums = tl.dot(x, y, sums)
        tl.store(c + row[:, None] * columns + column[None, :], sums.to(c.dtype.element_ty), mask=row[:, None] < rows)

    @triton.jit
    def softmax_kernel(x, y, columns, WIDTH: tl.constexpr):
        at = tl.program_id(0) * columns + tl.arange(0, WIDTH)
        inside = tl.arange(0, WIDTH) < columns
        row = tl.load(x + at, mask=inside, other=-float("inf")).to(tl.float32)
        shares = tl.exp(row - tl.max(row, 0))
        tl.store(y + at, (shares / tl.sum(shares, 0)).to(y.dtype.element_ty), mask=inside)
