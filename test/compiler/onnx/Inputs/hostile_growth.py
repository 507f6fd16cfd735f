# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models that become large: constants that would fold to gigabytes, bodies within bodies, loops that never end, sums that take days.
They are refused, or compile within the limits; those whose run would be long are compiled only."""
import numpy as np
from onnx import TensorProto as T, helper as h

from hostile_models import ANY, LIMIT, MOST, RUNS, UNFIT, UNSUPPORTED, consumers, graph_of, ints, model_of, node, value

Y = [value("y", None)]

def folds(c):
    """Everything is constant; what comes out has 2^20 to 2^32 elements."""
    for power in (20, 28, 32):
        size = 2**power
        span = [ints("b", 0), ints("e", size), ints("d", 1)]
        square = 2 ** (power // 2)
        made = {
            "range": ([node("Range", "b e d", "y")], span),
            "range-more": ([node("Range", "b e d", "r"), node("Mul", "r r", "s"), node("Add", "s d", "y")], span),
            "fill-sum": ([node("ConstantOfShape", "s", "f"), node("CumSum", "f a", "y")], [ints("s", [size]), ints("a", 0)]),
            "fill-max": ([node("ConstantOfShape", "s", "f"), node("ReduceMax", "f", "y", keepdims=0)], [ints("s", [size])]),
            "fill-nonzero": ([node("ConstantOfShape", "s", "f", value=ints("v", [1.0], np.float32)), node("NonZero", "f", "y")], [ints("s", [size])]),
            "fill-sort": ([node("ConstantOfShape", "s", "f"), node("TopK", "f k", "y i", axis=0)], [ints("s", [size]), ints("k", [size // 2])]),
            "one-hot": ([node("OneHot", "i d v", "y")], [ints("i", np.arange(64)), ints("d", size // 64), ints("v", [0, 1], np.float32)]),
            "outer": ([node("Range", "b r d", "x"), node("Cast", "x", "f", to=T.FLOAT), node("Reshape", "f p", "l"), node("Reshape", "f q", "m"), node("MatMul", "l m", "y")],
                      [ints("b", 0), ints("r", square), ints("d", 1), ints("p", [-1, 1]), ints("q", [1, -1])]),
            "eye": ([node("ConstantOfShape", "s", "f"), node("EyeLike", "f", "y", dtype=T.FLOAT)], [ints("s", [square, square])]),
            "resize": ([node("Resize", "w   z", "y", mode="linear")], [ints("w", np.ones((1, 1, 2, 2)), np.float32), ints("z", [1, 1, square, square])]),
            "tile": ([node("Range", "b r d", "x"), node("Tile", "x t", "u"), node("CumSum", "u a", "y")], [*span[::2], ints("r", 7), ints("t", [size // 7]), ints("a", 0)]),
            "pad": ([node("Pad", "w p", "u"), node("CumSum", "u a", "y")], [ints("w", [1, 2], np.int64), ints("p", [size, 0]), ints("a", 0)]),
            "hann": ([node("HannWindow", "e", "y")], [ints("e", size)]),
            "random": ([node("RandomNormal", "", "y", shape=[size], seed=1.0)], []),
        }
        for name, (nodes, weights) in made.items():
            c.add(f"fold-{name}-2^{power}", model_of(nodes, [], Y, weights), ANY, run=False)
    for levels in (10, 28, 40, 70):  # twice as long a node
        doubling = [node("Concat", f"v{k} v{k}", f"v{k + 1}", axis=0) for k in range(levels)]
        for how, nodes, result in (("fold", doubling, f"v{levels}"), ("sum", doubling + [node("ReduceSum", f"v{levels}", "y", keepdims=0)], "y")):
            c.add(f"double-{how}-{levels}", model_of(nodes, [], [value(result, None)], [ints("v0", [1.5, 2.5], np.float32)]), ANY, run=False)
            c.add(f"double-input-{how}-{levels}", model_of(nodes, [value("v0", [2])], [value(result, None)]), ANY, {"v0": "ones"}, run=levels < 20)
    c.add("einsum-grows", model_of([h.make_node("Einsum", ["v"] * 12, ["y"], equation=",".join("abcdefghijkl") + "->abcdefghijkl")], [], Y, [ints("v", np.ones(64), np.float32)]), ANY, run=False)


def sums(c):
    """Work over tensors that nobody stores. Summing 2^45 numbers is no error, and takes hours: these are compiled only."""
    for power in (40, 45, 58):
        for dtype, name in ((T.FLOAT, "f32"), (T.DOUBLE, "f64"), (T.BOOL, "i1")):
            nodes = [node("Expand", "x s", "w"), node("Cast", "w", "v", to=T.FLOAT), node("ReduceSum", "v", "y", keepdims=0)]
            c.add(f"sum-{name}-2^{power}", model_of(nodes, [value("x", [1], dtype)], Y, [ints("s", [2**power])]), ANY, {"x": "ones"}, run=False)
    for size in (2**20, 2**21, 2**24, 2**31):
        inputs = [value("a", [size, 1]), value("b", [1, size])]
        for how, nodes, result in consumers([node("MatMul", "a b", "p")], "p"):
            c.add(f"product-{size}-{how}", model_of(nodes, inputs, [value(result, None)]), ANY, {}, run=False)
    wide = [node("Unsqueeze", f"x a{k}", f"u{k}") for k in range(6)] + [node("Sum", " ".join(f"u{k}" for k in range(6)), "w"), node("ReduceSum", "w", "y", keepdims=0)]
    axes = [ints(f"a{k}", [n for n in range(6) if n != k]) for k in range(6)]
    for size in (100, 1000, 2000, 2**20):
        c.add(f"wide-{size}", model_of(wide, [value("x", [size])], Y, axes), ANY if size <= 100 else {LIMIT}, {"x": "ones"}, run=size > 100)


def endless(c):
    def body(nodes, carried=1, extra=()):
        ins = [value("i", [], T.INT64), value("k", [], T.BOOL)] + [value(f"v{n}", [2]) for n in range(carried)]
        return graph_of([node("Identity", "k", "m"), *nodes], ins, [value("m", None)] + [value(f"w{n}", None) for n in range(carried)] + list(extra), name="body")

    true = ints("t", True, np.bool_)
    for trips in (2**31, 2**62, MOST):
        loop = h.make_node("Loop", ["n", "t", "x"], ["y"], body=body([node("Neg", "v0", "w0")]))
        c.add(f"loop-given-{trips}", model_of([loop], [value("x", [2])], Y, [ints("n", trips), true]), {RUNS, LIMIT, UNSUPPORTED}, run=False)
        c.add(f"loop-constant-{trips}", model_of([loop], [], Y, [ints("n", trips), true, ints("x", [1, 2], np.float32)]), {RUNS, LIMIT, UNSUPPORTED}, run=False)
        collects = h.make_node("Loop", ["n", "t", "x"], ["z", "y"], body=body([node("Neg", "v0", "w0"), node("Abs", "v0", "s")], extra=[value("s", None)]))
        c.add(f"loop-collects-{trips}", model_of([collects], [value("x", [2])], Y, [ints("n", trips), true]), {RUNS, LIMIT, UNSUPPORTED}, run=False)
    c.add("loop-no-trips", model_of([h.make_node("Loop", ["", "t", "x"], ["y"], body=body([node("Neg", "v0", "w0")]))], [value("x", [2])], Y, [true]), {RUNS, LIMIT, UNSUPPORTED}, run=False)
    for trips in (2, 4, 8, 64, 100000):
        for depth in (3, 8, 16, 24):
            inner = [node("Sin", "v0", "w0")]
            for _ in range(depth):
                inner = [h.make_node("Loop", ["n", "t", "v0"], ["w0"], body=body(inner))]
            # The names of inner bodies repeat those around them, which is refused: each level has its own.
            c.add(f"loops-{trips}-deep-{depth}", model_of(renamed(inner, "x", "y"), [value("x", [2])], Y, [ints("n", trips), true]), {RUNS, LIMIT, UNSUPPORTED}, run=False)
    for width in (1, 2, 3):
        for depth in (4, 12, 24):
            level = [node("Sin", "x", "z0")]
            graph = graph_of(level, [], [value("z0", None)], name="b")
            for k in range(1, depth):
                if width**k > 200:
                    break
                nodes = []
                for n in range(width):
                    nodes.append(h.make_node("If", ["t"], [f"z{k}_{n}"], then_branch=suffixed(graph, f"_{k}{n}"), else_branch=suffixed(graph, f"_{k}{n}e")))
                nodes.append(h.make_node("Sum", [f"z{k}_{n}" for n in range(width)], [f"z{k}"]))
                graph = graph_of(nodes, [], [value(f"z{k}", None)], name="b")
                if len(graph.SerializeToString()) > 60000:
                    break
            c.add(f"ifs-{width}-deep-{depth}", model_of([h.make_node("If", ["t"], ["y"], then_branch=graph, else_branch=suffixed(graph, "_e"))], [value("x", [2]), value("t", [], T.BOOL)], Y), {RUNS, LIMIT}, run=False)


def renamed(nodes, first, last, level=0):
    """A nest of loops whose bodies have names of their own level."""
    out = []
    for part in nodes:
        copy = type(part)()
        copy.CopyFrom(part)
        copy.input[:] = [first if n == "v0" else n for n in part.input]
        copy.output[:] = [last]
        for attribute in copy.attribute:
            if attribute.name != "body":
                continue
            graph, own = attribute.g, f"_{level}"
            inner = [n for n in graph.node if n.op_type != "Identity"]
            for port in list(graph.input) + list(graph.output):
                port.name += own
            del graph.node[:]
            graph.node.extend([h.make_node("Identity", ["k" + own], ["m" + own]), *renamed(inner, "v0" + own, "w0" + own, level + 1)])
        out.append(copy)
    return out


def suffixed(graph, suffix):
    """The same graph with other names for what it defines."""
    copy = type(graph)()
    copy.CopyFrom(graph)
    own = {o for n in graph.node for o in n.output}
    for part in copy.node:
        part.input[:] = [n + suffix if n in own else n for n in part.input]
        part.output[:] = [n + suffix for n in part.output]
        for attribute in part.attribute:
            if attribute.HasField("g"):
                attribute.g.CopyFrom(suffixed(attribute.g, suffix))
    for port in copy.output:
        port.name += suffix
    return copy


def attributes(c):
    """Sizes that attributes and small inputs give."""
    sizes = (2**31, 2**32 + 1, 2**45, MOST, -(2**63))
    image, signal = [value("x", [1, 1, 4, 4])], [value("x", [1, 16])]
    for n in sizes:
        c.add(f"upsample-{n}", model_of([node("Upsample", "x s", "y")], image, Y, [ints("s", [1, 1, float(n), float(n)], np.float32)], opset=9), ANY, {"x": "ones"}, run=False)
        c.add(f"unpool-{n}", model_of([node("MaxUnpool", "x i s", "y", kernel_shape=[2, 2])], image, Y, [ints("i", np.zeros((1, 1, 4, 4), np.int64)), ints("s", [1, 1, n, n])]), ANY, {"x": "ones"}, run=False)
        c.add(f"transposed-{n}", model_of([node("ConvTranspose", "x w", "y", strides=[n, n])], image, Y, [ints("w", np.ones((1, 1, 2, 2)), np.float32)]), ANY, {"x": "ones"}, run=False)
        c.add(f"transposed-shape-{n}", model_of([node("ConvTranspose", "x w", "y", output_shape=[n, n])], image, Y, [ints("w", np.ones((1, 1, 2, 2)), np.float32)]), ANY, {"x": "ones"}, run=False)
        c.add(f"transposed-padding-{n}", model_of([node("ConvTranspose", "x w", "y", output_padding=[n, n])], image, Y, [ints("w", np.ones((1, 1, 2, 2)), np.float32)]), ANY, {"x": "ones"}, run=False)
        c.add(f"hidden-{n}", model_of([node("LSTM", "x w r", "y", hidden_size=n)], [value("x", [2, 1, 3])], Y, [ints("w", np.ones((1, 4, 3)), np.float32), ints("r", np.ones((1, 4, 1)), np.float32)]), ANY, {"x": "ones"})
        c.add(f"roi-{n}", model_of([node("RoiAlign", "x r b", "y", output_height=n, output_width=n, sampling_ratio=n)], image, Y, [ints("r", [[0, 0, 1, 1]], np.float32), ints("b", [0])]), ANY, {"x": "ones"}, run=False)
        c.add(f"samples-{n}", model_of([node("Multinomial", "x", "y", sample_size=n)], signal, [value("y", None, T.INT32)]), ANY, {"x": "ones"}, run=False)
        c.add(f"dft-{n}", model_of([node("DFT", "x l", "y")], [value("x", [1, 4, 1])], Y, [ints("l", n)]), ANY, {"x": "ones"}, run=False)
        c.add(f"stft-{n}", model_of([node("STFT", "x s  l", "y")], [value("x", [1, 16, 1])], Y, [ints("s", n), ints("l", n)]), ANY, {"x": "ones"}, run=False)
        c.add(f"mel-{n}", model_of([node("MelWeightMatrix", "a b r l u", "y")], [], Y, [ints("a", n), ints("b", n), ints("r", 8000), ints("l", 0.0, np.float32), ints("u", 4000.0, np.float32)]), ANY, run=False)
        c.add(f"window-{n}", model_of([node("BlackmanWindow", "n", "y")], [], Y, [ints("n", n)]), ANY, run=False)
        c.add(f"crop-{n}", model_of([node("CenterCropPad", "x s", "y", axes=[2, 3])], image, Y, [ints("s", [n, n])]), ANY, {"x": "ones"}, run=False)
        c.add(f"grid-{n}", model_of([node("AffineGrid", "t s", "y")], [], Y, [ints("t", np.ones((1, 2, 3)), np.float32), ints("s", [1, 1, n, n])], opset=20), ANY, run=False)
        c.add(f"lrn-{n}", model_of([node("LRN", "x", "y", size=n)], image, Y), ANY, {"x": "ones"})
        c.add(f"topk-{n}", model_of([node("TopK", "x k", "y i")], signal, Y, [ints("k", [n])]), ANY, {"x": "ones"})
        c.add(f"unsqueeze-{n}", model_of([node("Unsqueeze", "x a", "y")], signal, Y, [ints("a", [n])]), ANY, {"x": "ones"})
        c.add(f"groups-{n}", model_of([node("GroupNormalization", "x s s", "y", num_groups=n)], image, Y, [ints("s", [1.0], np.float32)], opset=21), ANY, {"x": "ones"})
        c.add(f"heads-{n}", model_of([node("Attention", "x x x", "y", q_num_heads=n, kv_num_heads=n)], [value("x", [1, 4, 8])], Y, opset=23), ANY, {"x": "ones"})
        c.add(f"shuffle-{n}", model_of([node("SpaceToDepth", "x", "y", blocksize=n)], image, Y), ANY, {"x": "ones"})
        c.add(f"reshape-{n}", model_of([node("Reshape", "x s", "y")], image, Y, [ints("s", [n, -1])]), ANY, {"x": "ones"})
        c.add(f"split-count-{n}", model_of([node("Split", "x", "y z", num_outputs=n)], signal, Y), ANY, {"x": "ones"})
        c.add(f"shape-start-{n}", model_of([node("Shape", "x", "y", start=n, end=-n if n != -(2**63) else n)], image, Y), ANY, {"x": "ones"})
        c.add(f"trilu-{n}", model_of([node("Trilu", "x k", "y")], image, Y, [ints("k", n)]), ANY, {"x": "ones"})
        c.add(f"random-{n}", model_of([node("RandomUniform", "", "y", shape=[n])], [], Y), ANY, run=False)
    for scale in (0.0, -1.0, 1e-30, 1e30, float("inf"), float("nan"), 2.0**31):
        c.add(f"scales-{scale}", model_of([node("Resize", "x  s", "y")], image, Y, [ints("s", [1, 1, scale, scale], np.float32)]), ANY, {"x": "ones"}, run=False)
        given = model_of([node("Resize", "x  s", "y")], image + [value("s", [4])], Y)
        c.add(f"scales-given-{scale}", given, ANY, {"x": "ones", "s": np.array([1, 1, scale, scale], np.float32)}, both=True)
        c.add(f"range-float-{scale}", model_of([node("Range", "b e d", "y")], [], Y, [ints("b", 0.0, np.float32), ints("e", 1e9, np.float32), ints("d", scale, np.float32)]), ANY, run=False)


FAMILIES = [folds, sums, endless, attributes]
