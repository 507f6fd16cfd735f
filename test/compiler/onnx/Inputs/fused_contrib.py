# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fused_contrib.py SINTER: products, normalizations and attention of onnxruntime's own domain against onnxruntime, to 2e-5 of the greatest number."""
import math
import sys

import numpy as np
from onnx import TensorProto

from contrib_node import run_both, run_ours

RNG = np.random.default_rng(3)
failures = 0


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(most, *shape):
    return RNG.integers(0, most, shape).astype(np.int32)


def check(sinter, title, op, values, kinds=(TensorProto.FLOAT,), constants=(), valid=None, **attributes):
    """`valid(k, array)`: the part of output k that the operator defines."""
    global failures
    expected, got, printed = run_both(sinter, op, values, constants, kinds, **attributes)
    for k, want in enumerate(expected):
        if got is None or got[k].shape != want.shape or got[k].dtype != want.dtype:
            failures += 1
            print(f"{title}: output {k} is {got and (got[k].shape, got[k].dtype)} for {want.shape} {want.dtype} {printed}")
            return
        a, b = (valid(k, x) if valid else x for x in (got[k], want))
        apart = np.abs(a.astype(np.float64) - b).max() / max(np.abs(b).max(), 1e-6)
        if not apart < 2e-5:
            failures += 1
            print(f"{title}: output {k} is {apart} apart")


def check_small(sinter):
    x, row = draw(2, 7, 48), draw(48)
    check(sinter, "Gelu", "Gelu", {"x": x})
    check(sinter, "BiasGelu", "BiasGelu", {"x": x, "b": row})
    check(sinter, "FastGelu", "FastGelu", {"x": x, "b": row})
    check(sinter, "FastGelu without bias", "FastGelu", {"x": x})
    check(sinter, "QuickGelu", "QuickGelu", {"x": x}, alpha=1.3)
    for activation, parameters in (("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4]), ("Tanh", []), ("Sigmoid", [])):
        for more in (None, draw(1, 16, 9, 9)):
            check(sinter, f"FusedConv {activation}", "FusedConv", {"x": draw(1, 8, 9, 9), "w": draw(16, 8, 3, 3), "b": draw(16), "z": more}, activation=activation, pads=(1, 1, 1, 1),
                  **({"activation_params": parameters} if parameters else {}))
    check(sinter, "FusedGemm", "FusedGemm", {"a": draw(5, 12), "b": draw(20, 12), "c": draw(20)}, transB=1, alpha=0.5, activation="LeakyRelu", activation_alpha=0.1)
    check(sinter, "FusedMatMul", "FusedMatMul", {"a": draw(2, 3, 9, 5), "b": draw(2, 3, 7, 9)}, transA=1, transB=1, alpha=0.25)
    check(sinter, "FusedMatMul of turned batches", "FusedMatMul", {"a": draw(5, 2, 3, 9), "b": draw(2, 3, 9, 7)}, transBatchA=1)
    floats = (TensorProto.FLOAT,)
    for shape in ((2, 7, 48), (1, 7, 48), (7, 48)):
        check(sinter, f"SkipLayerNormalization {shape}", "SkipLayerNormalization", {"x": x, "s": draw(*shape), "g": row, "b": draw(48), "more": draw(48)}, (*floats, None, None, *floats), epsilon=1e-5)
    check(sinter, "SkipLayerNormalization without bias", "SkipLayerNormalization", {"x": x, "s": draw(2, 7, 48), "g": row})
    check(sinter, "SkipSimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", {"x": x, "s": draw(2, 7, 48), "g": row}, (*floats, None, None, *floats), epsilon=1e-6)
    check(sinter, "SimplifiedLayerNormalization", "SimplifiedLayerNormalization", {"x": x, "g": row}, domain="", epsilon=1e-6, axis=-1, stash_type=1)
    words, places, segments = draw(30, 48), draw(12, 48), draw(2, 48)
    ids = {"ids": ints(30, 2, 7), "kinds": ints(2, 2, 7), "w": words, "p": places, "s": segments, "g": row, "b": draw(48), "mask": np.array([[1] * 7, [1] * 4 + [0] * 3], np.int32)}
    check(sinter, "EmbedLayerNormalization", "EmbedLayerNormalization", ids, (TensorProto.FLOAT, TensorProto.INT32), epsilon=1e-6)
    check(sinter, "EmbedLayerNormalization of places", "EmbedLayerNormalization", ids | {"kinds": None, "s": None, "mask": None, "places": ints(12, 2, 7)}, (TensorProto.FLOAT, TensorProto.INT32, TensorProto.FLOAT))


def close(title, expected, got, printed):
    """To NumPy's numbers, of operators that onnxruntime has on GPUs alone."""
    global failures
    if got is None or got.shape != expected.shape or not np.abs(got - expected).max() < 2e-5 * max(np.abs(expected).max(), 1e-6):
        failures += 1
        print(f"{title}: {None if got is None else got.shape} for {expected.shape} {printed}")


def check_more(sinter):
    """Operators that onnxruntime's domain had before ONNX, and those of diffusion models and of T5."""
    floats = (TensorProto.FLOAT,)
    x = draw(2, 3, 5, 5)
    for opened in ((), ("x",)):
        check(sinter, f"Trilu {opened}", "Trilu", {"x": x, "k": np.array(1)}, constants=["k"], opened=opened, upper=0)
        check(sinter, f"ExpandDims {opened}", "ExpandDims", {"x": x, "a": np.array(-2, np.int32)}, constants=["a"], opened=opened)
        check(sinter, f"GatherND {opened}", "GatherND", {"x": x, "i": np.array([[0, 1], [1, 2]])}, opened=opened)
        check(sinter, f"Pad {opened}", "Pad", {"x": x, "p": np.array([0, 0, 1, 2, 0, 0, 2, 1]), "v": np.float32([3])}, constants=["p", "v"], opened=opened)
        check(sinter, f"GridSample {opened}", "GridSample", {"x": x, "g": RNG.uniform(-1, 1, (2, 4, 3, 2)).astype(np.float32)}, opened=opened)
        check(sinter, f"TransposeMatMul {opened}", "TransposeMatMul", {"x": draw(2, 9, 5), "b": draw(2, 7, 9)}, opened=opened, transA=1, transB=1, alpha=0.25)
        for metric in ("euclidean", "sqeuclidean"):
            check(sinter, f"CDist {metric} {opened}", "CDist", {"x": draw(5, 8), "b": draw(7, 8)}, opened=opened, metric=metric)
    check(sinter, "Range", "Range", {"a": np.float32(1), "b": np.float32(9), "c": np.float32(1.5)}, constants=["a", "b", "c"])
    check(sinter, "Range of ones", "Range", {"a": np.array(2), "b": np.array(7)}, (TensorProto.INT64,))

    x, w, b = draw(1, 9, 9, 8), draw(16, 3, 3, 8), draw(16)
    direct = reference_conv(x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2), b).transpose(0, 2, 3, 1)
    got, printed = run_ours(sinter, "NhwcConv", {"x": x, "w": w, "b": b}, ["w", "b"], floats, pads=(1, 1, 1, 1))
    close("NhwcConv", direct, got and got[0], printed)
    more = draw(*direct.shape)
    got, printed = run_ours(sinter, "NhwcFusedConv", {"x": x, "w": np.ascontiguousarray(w.transpose(0, 3, 1, 2)), "b": b, "z": more}, ["w", "b"], floats, pads=(1, 1, 1, 1), activation="Relu")
    close("NhwcFusedConv", np.maximum(direct + more, 0), got and got[0], printed)

    x, scale, bias = draw(2, 5, 6, 12), draw(12), draw(12)

    def groups(x, activation):
        parts = x.astype(np.float64).reshape(2, 30, 4, 3)
        y = ((parts - parts.mean((1, 3), keepdims=True)) / np.sqrt(parts.var((1, 3), keepdims=True) + 1e-5)).reshape(x.shape) * scale + bias
        return y / (1 + np.exp(-y)) if activation else y

    for activation in (0, 1):
        for last in (1, 0):
            given = x if last else np.ascontiguousarray(x.transpose(0, 3, 1, 2))
            got, printed = run_ours(sinter, "GroupNorm", {"x": given, "g": scale, "b": bias}, ["g", "b"], floats, groups=4, activation=activation, channels_last=last)
            wanted = groups(x, activation)
            close(f"GroupNorm {activation} {last}", wanted if last else wanted.transpose(0, 3, 1, 2), got and got[0], printed)
        for skip, more in ((draw(2, 5, 6, 12), draw(12)), (draw(2, 12), None), (draw(2, 1, 1, 12), draw(12))):
            got, printed = run_ours(sinter, "SkipGroupNorm", {"x": x, "g": scale, "b": bias, "s": skip, "m": more}, ["g", "b"], floats * 2, groups=4, activation=activation)
            total = x + (skip if skip.ndim == 4 else skip[:, None, None]) + (0 if more is None else more)
            for name, wanted, k in (("", groups(total, activation), 0), ("sum", total, 1)):
                close(f"SkipGroupNorm {activation} {skip.shape} {name}", wanted, got and got[k], printed)
    x, bias, skip = draw(2, 7, 24), draw(24), draw(2, 7, 24)
    got, printed = run_ours(sinter, "BiasAdd", {"x": x, "b": bias, "s": skip}, ["b"], floats)
    close("BiasAdd", x + bias + skip, got and got[0], printed)
    got, printed = run_ours(sinter, "BiasSplitGelu", {"x": x, "b": bias}, ["b"], floats)
    left, right = np.split((x + bias).astype(np.float64), 2, -1)
    close("BiasSplitGelu", left * right * 0.5 * (1 + np.vectorize(math.erf)(right / math.sqrt(2))), got and got[0], printed)

    table = draw(32, 4)
    for both in (0, 1):
        for queries, keys in ((6, 200), (150, 150)):
            away = np.arange(keys) - np.arange(queries)[:, None]
            count, first = (16, np.where(away > 0, 16, 0)) if both else (32, 0)
            away = np.abs(away) if both else np.maximum(-away, 0)
            far = count // 2 + (np.log(np.maximum(away, 1).astype(np.float32) / (count // 2)) / np.log(np.float32(128) / (count // 2)) * (count - count // 2)).astype(int)
            rows = first + np.where(away < count // 2, away, np.minimum(far, count - 1))
            for constants in (["q", "k"], []):
                got, printed = run_ours(sinter, "RelativePositionBias", {"t": table, "q": np.array([queries]), "k": np.array([keys])}, constants, floats, max_distance=128, is_bidirectional=both)
                close(f"RelativePositionBias {both} {queries} {keys}", table[rows].transpose(2, 0, 1)[None], got and got[0], printed)


def reference_conv(x, w, b):
    """Of windows of 3 by 3 with one element of zeros around."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w) + b[:, None, None]


def angles(length, half):
    cycle = np.outer(np.arange(length), 1 / 10000 ** (np.arange(half) / half))
    return {"cos": np.cos(cycle).astype(np.float32), "sin": np.sin(cycle).astype(np.float32)}


def check_rotary(sinter):
    for interleaved in (0, 1):
        for title, x, places, extra in (("flat", draw(2, 5, 64), ints(20, 2, 5).astype(np.int64), {}), ("from one place", draw(2, 5, 64), np.array([3]), {}),
                                        ("heads", draw(2, 4, 5, 16), np.array([3]), {}), ("a part", draw(2, 4, 5, 24), ints(20, 2, 5).astype(np.int64), {"num_heads": 4, "rotary_embedding_dim": 16})):
            check(sinter, f"RotaryEmbedding {title} {interleaved}", "RotaryEmbedding", {"x": x, "p": places} | angles(32, 8), interleaved=interleaved, **extra)


def check_attention(sinter):
    x, w, b = draw(2, 6, 32), draw(32, 96) / 6, draw(96)
    lengths, raw = np.array([6, 4], np.int32), np.array([[1] * 6, [1, 0, 1, 1, 0, 0]], np.int32)
    rows = np.tril(np.ones((2, 6, 6), np.int32))
    for title, mask in (("", None), ("lengths", lengths), ("keys", raw), ("rows", rows)):
        check(sinter, f"Attention {title}", "Attention", {"x": x, "w": w, "b": b, "m": mask}, num_heads=4)
    check(sinter, "Attention with a past", "Attention", {"x": x, "w": w, "b": b, "m": None, "past": draw(2, 2, 4, 5, 8)}, (TensorProto.FLOAT, TensorProto.FLOAT), num_heads=4, unidirectional=1)
    check(sinter, "Attention with a bias", "Attention", {"x": x, "w": w, "b": b, "m": raw, "past": None, "bias": draw(1, 4, 6, 6)}, num_heads=4)
    q, k, v = draw(2, 6, 32), draw(2, 9, 32), draw(2, 9, 32)
    check(sinter, "MultiHeadAttention", "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": draw(96)}, num_heads=4)
    check(sinter, "MultiHeadAttention of lengths", "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": None, "m": np.array([9, 5], np.int32), "bias": draw(1, 4, 6, 9)}, num_heads=4, scale=0.3)
    check(sinter, "MultiHeadAttention of heads", "MultiHeadAttention", {"q": q, "k": draw(2, 4, 9, 8), "v": draw(2, 4, 9, 8)}, num_heads=4)
    past = {"q": q, "k": draw(2, 6, 32), "v": draw(2, 6, 32), "b": None, "m": None, "bias": None, "pk": draw(2, 4, 3, 8), "pv": draw(2, 4, 3, 8)}
    check(sinter, "MultiHeadAttention with a past", "MultiHeadAttention", past, (TensorProto.FLOAT,) * 3, num_heads=4)


def check_groups(sinter):
    """Prompts, single tokens and chunks of several, caches as long as the keys and longer, sequences of different lengths."""
    heads, pairs, size = 4, 2, 16
    outputs = (TensorProto.FLOAT,) * 3

    def case(title, length, before, capacity, ends=None, batch=2, **attributes):
        total = before + length
        ends = ends or [total] * batch
        values = {"q": draw(batch, length, heads * size), "k": draw(batch, length, pairs * size), "v": draw(batch, length, pairs * size), "pk": draw(batch, pairs, capacity, size),
                  "pv": draw(batch, pairs, capacity, size), "lengths": np.array(ends, np.int32) - 1, "total": np.array(total, np.int32)}
        if attributes.get("do_rotary"):
            values |= angles(64, size // 2)
        # What a buffer holds behind a sequence, and what queries behind its end see, is left open.
        first = lambda b: 0 if before == 0 else ends[b] - length
        rows = [range(min(length, ends[b] - first(b))) for b in range(batch)]
        group = capacity - attributes.get("local_window_size", 0) + 1
        drops = attributes.get("sliding_window_cache", 0) * group
        kept = lambda end: end - drops * -(-max(end - capacity, 0) // group)
        valid = lambda k, x: np.concatenate([x[b, : len(rows[b])].ravel() if k == 0 else x[b, :, : kept(ends[b])].ravel() for b in range(batch)])
        for opened in ((), ("pk", "pv")):
            check(sinter, f"GroupQueryAttention {title} {bool(opened)}", "GroupQueryAttention", values, outputs, valid=valid, opened=opened, num_heads=heads, kv_num_heads=pairs, **attributes)

    case("prompt", 6, 0, 0)
    case("prompt of two lengths", 6, 0, 0, [6, 4])
    case("prompt in a buffer", 6, 0, 12)
    case("token", 1, 9, 9, do_rotary=1)
    case("token of two lengths", 1, 9, 9, [10, 7], do_rotary=1)
    case("token in a buffer", 1, 9, 20, [10, 7], do_rotary=1, rotary_interleaved=1)
    case("chunk", 3, 9, 9, batch=1, do_rotary=1)
    case("window", 1, 9, 9, local_window_size=4)
    case("window of a prompt", 8, 0, 0, local_window_size=3)
    for before in (3, 5, 7, 8, 9, 10, 11, 20):
        case(f"cache of a window behind {before}", 1, before, 8, local_window_size=5, sliding_window_cache=1)
    case("cache of a window, two lengths", 1, 12, 8, [13, 6], local_window_size=5, sliding_window_cache=1)
    case("cache of a window, chunk", 4, 9, 8, batch=1, local_window_size=8, sliding_window_cache=1, do_rotary=1)
    case("cache of a window, prompt", 11, 0, 8, batch=1, local_window_size=6, sliding_window_cache=1)
    case("cap", 1, 9, 9, softcap=2.0)
    case("scale", 1, 9, 9, scale=0.5)
    packed = {"q": draw(2, 6, (heads + 2 * pairs) * size), "k": None, "v": None, "pk": None, "pv": None, "lengths": np.array([5, 5], np.int32), "total": np.array(6, np.int32)} | angles(64, size // 2)
    check(sinter, "GroupQueryAttention of packed heads", "GroupQueryAttention", packed, outputs, num_heads=heads, kv_num_heads=pairs, do_rotary=1)


def main():
    sinter = sys.argv[1]
    check_small(sinter)
    check_more(sinter)
    check_rotary(sinter)
    check_attention(sinter)
    check_groups(sinter)
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
