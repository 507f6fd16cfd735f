# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models of operators and forms that the node tests of Debian's onnx lack, serialized here: the fuzzers need no Python packages."""
import struct

DTYPES = {"f": (1, "f"), "u": (2, "B"), "c": (3, "b"), "w": (4, "H"), "s": (5, "h"), "j": (6, "i"), "i": (7, "q"), "b": (9, "?"), "h": (10, "e"),
          "d": (11, "d"), "k": (12, "I"), "q": (13, "Q"), "z": (16, "H")}


def number(value):
    value &= 2**64 - 1
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(tag, value):
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    if isinstance(value, float):
        return number(tag << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return number(tag << 3 | 2) + number(len(value)) + value


def tensor(name, letter, dims, values, typed=False, extra=b""):
    code, pack = DTYPES[letter]
    head = b"".join(field(1, dim) for dim in dims) + field(2, code) + field(8, name) + extra
    if not typed:
        return head + field(9, struct.pack(f"<{len(values)}{pack}", *values))
    if letter in "fd":
        return head + field(4 if letter == "f" else 10, struct.pack(f"<{len(values)}{letter}", *values))
    return head + field(7 if letter == "i" else 11 if letter in "kq" else 5, b"".join(number(int(value)) for value in values))


def info(name, letter, dims):
    shape = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, DTYPES[letter][0]) + field(2, shape)))


def attribute(name, value):
    if isinstance(value, list):
        floats = value and isinstance(value[0], float)
        words = value and isinstance(value[0], str)
        tag, kind = (7, 6) if floats else (9, 8) if words else (8, 7)
        return field(1, name) + b"".join(field(tag, item) for item in value) + field(20, kind)
    tag, kind = {int: (3, 2), float: (2, 1), str: (4, 3), bytes: (6, 5)}[type(value)]
    return field(1, name) + field(tag, value) + field(20, kind)


def node(op, inputs, outputs, domain="", **attributes):
    return (b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs) + field(4, op) +
            b"".join(field(5, attribute(name, value)) for name, value in attributes.items()) + field(7, domain))


def graph(nodes, inputs=(), outputs=(), tensors=(), sparse=()):
    return (b"".join(field(1, part) for part in nodes) + field(2, "g") + b"".join(field(5, part) for part in tensors) +
            b"".join(field(11, part) for part in inputs) + b"".join(field(12, field(1, name)) for name in outputs) +
            b"".join(field(15, part) for part in sparse))


def model(version, body, functions=(), domains=(), ir=10):
    sets = [("", version), *((domain, 1) for domain in domains)]
    return (field(1, ir) + field(7, body) + b"".join(field(8, field(1, domain) + field(2, number)) for domain, number in sets) +
            b"".join(field(25, part) for part in functions))


def operand(k, text):
    """(name, input, tensor) of f2x3, a tensor of an input; i=1,2 a vector; i:1 a scalar; - none. n is a size known at run time."""
    letter, rest = text[0], text[1:]
    if text == "-":
        return "", None, None
    if rest[:1] in ("=", ":"):
        values = [float(word) if letter in "fdh" else int(word) for word in rest[1:].split(",") if word]
        return f"c{k}", None, tensor(f"c{k}", letter, [len(values)] if rest[0] == "=" else [], values, typed=k % 2 == 0)
    dims = [int(word) if word.isdigit() else word for word in rest.split("x") if word]
    return f"x{k}", info(f"x{k}", letter, dims), None


def one(version, op, operands, outputs=1, domain="", **attributes):
    """A model of one node."""
    parts = [operand(k, text) for k, text in enumerate(operands.split())]
    results = [f"y{k}" for k in range(outputs)]
    return model(version, graph([node(op, [name for name, _, _ in parts], results, domain, **attributes)],
                                [given for _, given, _ in parts if given], results, [made for _, _, made in parts if made]),
                 domains=[domain] if domain else [])


def external(*entries):
    return b"".join(field(13, field(1, key) + field(2, value)) for key, value in entries) + field(14, 1)


def seeds():
    heads = {"q_num_heads": 4, "kv_num_heads": 2}
    qkv, flat = "f1x4x3x8 f1x2x5x8 f1x2x5x8", "f1x3x32 f1x5x16 f1x5x16"
    yield from (one(*case[:3], **case[3]) for case in (
        (23, "Attention", qkv, {}), (23, "Attention", qkv + " b3x5", {"is_causal": 1}), (23, "Attention", qkv + " f1x4x3x4", {"softcap": 2.0, "outputs": 4}),
        (23, "Attention", flat, heads), (24, "Attention", flat + " b1x1x3x5", {"qk_matmul_output_mode": 3, "outputs": 4, "softmax_precision": 1, **heads}),
        (23, "Attention", qkv + " - f1x2x4x8 f1x2x4x8", {"outputs": 3, "is_causal": 1}), (24, "Attention", "hnx4x3x8 hnx2xmx8 hnx2xmx8", {}),
        (24, "Attention", qkv + " - - - i1", {"is_causal": 1}), (25, "Attention", qkv + " f3x5", {"left_window_size": 2, "right_window_size": 1}),
        (23, "RotaryEmbedding", "f1x2x3x4 f1x3x2 f1x3x2", {}), (23, "RotaryEmbedding", "f1x3x8 f9x2 f9x2 i1x3", {"num_heads": 2, "interleaved": 1}),
        (23, "RotaryEmbedding", "f1x2x3x6 f1x3x3 f1x3x3", {"rotary_embedding_dim": 4}), (23, "RMSNormalization", "f2x3x4 f4", {"axis": -1}),
        (20, "AffineGrid", "f1x2x3 i=1,1,4,5", {"align_corners": 1}), (20, "AffineGrid", "f1x3x4 i=1,1,4,5,6", {}), (20, "AffineGrid", "fnx2x3 i4", {}),
        (19, "Resize", "f1x1x4x4 - f=1,1,2,2", {"antialias": 1, "mode": "linear"}), (19, "Resize", "f1x1x4x4 - - i=3,5", {"axes": [2, 3], "mode": "cubic"}),
        (18, "Resize", "f1x1x4x6 - - i=3,9", {"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}), (9, "Upsample", "f1x1x4x4 f=1,1,2,2", {}),
        (18, "Resize", "f1x1x4x6 - - i=3,9", {"axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}), (7, "Upsample", "f1x1x4x4", {"scales": [1.0, 1.0, 2.0, 2.0]}),
        (19, "Resize", "f1x1x4x4 f=0.1,0.2,0.9,0.8 - i=3,5", {"axes": [2, 3], "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}),
        (13, "Resize", "f1x1xnxm - f4", {}), (16, "GridSample", "f1x1x4x4 f1x3x3x2", {"mode": "bicubic", "padding_mode": "reflection"}),
        (16, "RoiAlign", "f1x1x8x8 f2x4 i2", {"sampling_ratio": 2, "output_height": 3, "output_width": 3, "mode": "max"}), (13, "Slice", "f8x8 i=6,7 i=-99,1 i=0,1 i=-2,-1", {}),
        (13, "Slice", "fnxm i=-3,2 i=-1,9223372036854775807 i=0,1 i=1,2", {}), (13, "Slice", "f8x8 i2 i2", {}), (9, "Slice", "f8x8", {"starts": [1], "ends": [-1], "axes": [1]}),
        (13, "Split", "f8x2 i=3,5", {"outputs": 2}), (18, "Split", "f9x2", {"outputs": 2, "num_outputs": 2}), (13, "Split", "fnx2 i2", {"outputs": 2}),
        (19, "DeformConv", "f1x1x5x5 f1x1x2x2 f1x8x4x4 - f1x4x4x4", {}), (18, "Col2Im", "f1x4x9 i=4,4 i=2,2", {}), (18, "CenterCropPad", "f5x6 i=3,8", {}),
        (17, "STFT", "f1x16x1 i:4 f8 i:8", {}), (17, "DFT", "f1x8x1 i:4", {}), (20, "DFT", "f1x8x2 - i:1", {"inverse": 1}), (17, "MelWeightMatrix", "i:4 i:16 i:8000 f:0 f:4000", {}),
        (22, "RandomNormalLike", "f2x3", {"seed": 2.0}), (22, "Multinomial", "f2x3", {"sample_size": 4}), (22, "Bernoulli", "f4", {}), (22, "RandomUniform", "", {"shape": [2, 2]}),
        (12, "Dropout", "f4 f:0.5 b:1", {"outputs": 2}), (10, "MatMulInteger", "u2x3 u3x4 u:1 u4", {}), (10, "QLinearConv", "u1x1x4x4 f:1 u:0 u1x1x2x2 f1 u1 f:1 u:0 j1", {}),
        (10, "QLinearMatMul", "u2x3 f:1 u:0 u3x4 f:1 u:0 f:2 u:1", {}), (7, "LSTM", "f5xnx2 f2x12x2 f2x12x3 f2x24 j2", {"hidden_size": 3, "direction": "bidirectional", "clip": 1.0}),
        (14, "GRU", "f1x5x2 f1x9x2 f1x9x3", {"hidden_size": 3, "layout": 1, "linear_before_reset": 1, "outputs": 2}), (12, "NegativeLogLikelihoodLoss", "f2x3x4 i2x4 f3", {"ignore_index": 1}),
        (15, "BatchNormalization", "f2x3x4 f3 f3 f3 f3", {"training_mode": 1, "outputs": 3}), (12, "Einsum", "f2x3x4 f4x3", {"equation": "...ij,ji->...i"}),
        (11, "ConvTranspose", "f1x2x4x4 f2x1x3x3 f1", {"strides": [2, 2], "output_shape": [8, 8]}), (22, "Conv", "f1x2xnxn f4x1x3x3", {"group": 2, "auto_pad": "SAME_LOWER"}),
        (11, "MaxPool", "f1x1x8x8", {"kernel_shape": [2, 2], "ceil_mode": 1, "outputs": 2, "dilations": [2, 2]}), (11, "MaxUnpool", "f1x1x2x2 i1x1x2x2", {"kernel_shape": [2, 2]})))
    # Bodies: a branch that squeezes beside one that passes on, loops that count, that end early, that carry nothing.
    scalar, x = info("c", "b", []), info("x", "f", ["n", 3])
    squeeze = graph([node("Squeeze", ["x", "a"], ["t"])], (), ["t"], [tensor("a", "i", [1], [0])])
    yield model(13, graph([node("If", ["c"], ["y"], then_branch=squeeze, else_branch=graph([node("Identity", ["x"], ["e"])], (), ["e"]))], [scalar, x], ["y"]))
    step = [info("i", "i", []), info("b", "b", []), info("v", "f", ["n", 3])]
    keep = [node("Identity", ["b"], ["b2"]), node("Add", ["v", "x"], ["v2"]), node("ReduceSum", ["v2"], ["s"])]
    for inputs, outputs in ((["m", "c", "x"], ["b", "v2", "s"]), (["m", "", "x"], ["b2", "v2", "s"]), (["", "c", "x"], ["b2", "v2"]), (["m", "", "x"], ["b2", "v2"])):
        body = graph(keep, step, outputs)
        yield model(18, graph([node("Loop", inputs, [f"y{k}" for k in range(len(outputs) - 1)], body=body)], [info("m", "i", []), scalar, x], ["y0"]))
    scan = graph([node("Add", ["s", "v"], ["s2"]), node("Mul", ["s2", "v"], ["o"])], [info("s", "f", [3]), info("v", "f", [3])], ["s2", "o"])
    for more in ({}, {"scan_input_directions": [1], "scan_output_directions": [1], "scan_input_axes": [0], "scan_output_axes": [1]}):
        yield model(16, graph([node("Scan", ["s0", "x"], ["y", "z"], body=scan, num_scan_inputs=1, **more)], [info("s0", "f", [3]), x], ["y", "z"]))
    yield model(13, graph([node("Mul", ["x", "w"], ["y"]), node("Gradient", ["x", "w"], ["dx", "dw"], "ai.onnx.preview.training", xs=["x", "w"], y="y")],
                          [info("x", "f", [3]), info("w", "f", [3])], ["dx", "dw"]), domains=["ai.onnx.preview.training"])
    call = field(1, "f") + field(4, "a") + field(5, "r") + field(6, "alpha") + field(7, node("LeakyRelu", ["a"], ["r"])[:-2] + field(5, field(1, "alpha") + field(21, "alpha") + field(20, 1)))
    call += field(9, field(1, "") + field(2, 18)) + field(10, "local") + field(11, attribute("beta", 2.0))
    yield model(18, graph([node("f", ["x"], ["y"], "local", alpha=0.5)], [x], ["y"]), [call], ["local"])
    # Tensors in every form.
    for typed in (False, True):
        yield model(18, graph([], (), ["t0"], [tensor(f"t{k}", letter, [2, 2], [1, 0, 1, 1], typed) for k, letter in enumerate(DTYPES) if letter not in "hz" or not typed]))
    head = field(1, 4) + field(2, 1) + field(8, "t")
    for entries in ((("location", "data"),), (("location", "data"), ("offset", "32"), ("length", "16")), (("location", "data"), ("offset", "60")), (("location", "out"),),
                    (("location", "folder"),), (("location", "../data"),), (("location", "/dev/zero"),), (("location", "pipe"),), (("location", "data"), ("length", "5"))):
        yield model(18, graph([node("Neg", ["t"], ["y"])], (), ["y"], [head + external(*entries)]))
    values, indices = tensor("t", "f", [2], [1, 2]), tensor("i", "i", [2], [0, 3])
    yield model(18, graph([], (), ["t"], sparse=[field(1, values) + field(2, indices) + field(3, 8)]))
    yield model(18, graph([node("Neg", ["a"], ["y"]), node("Abs", ["x"], ["a"])], [info("x", "f", [2])], ["y"]))
