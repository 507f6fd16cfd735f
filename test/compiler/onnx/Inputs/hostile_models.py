# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that mean harm, or that nobody meant: families of them, each with parameters. What a family must end in is a set of exit codes
(tools/README.md): a model is refused with the right one, or runs."""
import os

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h

RUNS, UNFIT, UNSUPPORTED, FILE, DAMAGE, LIMIT = 0, 1, 3, 5, 6, 7
REFUSED = {UNFIT, UNSUPPORTED, DAMAGE, LIMIT}
ANY = REFUSED | {RUNS}
MOST, LEAST = 2**63 - 1, -(2**63)


class Cases:
    """Writes models into a folder and keeps the command line and the exit codes that are right for each."""

    def __init__(self, folder):
        self.folder, self.list = folder, []

    def command(self, name, words, allowed):
        """A command line as it is."""
        self.list.append((f"{len(self.list):03}-{name}", list(words), set(allowed)))

    def add(self, name, content, allowed, inputs=(), **options):
        """`sinter run` of a model; with both=True of the reference, too; with run=False it is compiled instead."""
        name = f"{len(self.list):03}-{name}"
        path = os.path.join(self.folder, name + ".onnx")
        if not isinstance(content, bytes):
            content = content.SerializeToString()
        with open(path, "wb") as f:
            f.write(content)
        arguments = []
        for key, value in dict(inputs).items():
            if isinstance(value, np.ndarray):
                file = os.path.join(self.folder, f"{name}-{key}.npy")
                np.save(file, value)
                value = "@" + file
            arguments += ["--input", f"{key}={value}"]
        if not options.get("run", True):
            self.list.append((name, ["compile", path, "-o", path + ".smod", "--threads", "1"], set(allowed)))
            return
        for how in ([], ["--reference"]) if options.get("both") else ([],):
            self.list.append((name, ["run", path, *arguments, *how], set(allowed)))


def value(name, dims, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, dims)


def graph_of(nodes, inputs, outputs, initializers=(), name="g"):
    return h.make_graph(list(nodes), name, list(inputs), list(outputs), list(initializers))


def model_of(nodes, inputs, outputs, initializers=(), opset=18, **more):
    model = h.make_model(graph_of(nodes, inputs, outputs, initializers), opset_imports=[h.make_opsetid("", opset)], **more)
    model.ir_version = 8
    return model


def ints(name, values, dtype=np.int64):
    return onnx.numpy_helper.from_array(np.array(values, dtype), name)


def node(op, inputs, outputs, **attributes):
    """Two spaces in a row leave an input out."""
    return h.make_node(op, inputs.split(" ") if inputs else [], outputs.split(" "), **attributes)


#--- rank ---------------------------------------------------------------------------------------------------------------------------------


def ranks(c):
    for rank in (1, 15, 16, 17, 18, 24, 31, 32, 33, 64, 1000):
        allowed = {RUNS} if rank <= 16 else {LIMIT}
        ones = [1] * rank
        c.add(f"rank-input-{rank}", model_of([node("Neg", "x", "y")], [value("x", ones)], [value("y", None)]), allowed, {"x": "ones"})
        weight = h.make_tensor("w", T.FLOAT, ones, [1.0])
        c.add(f"rank-weight-{rank}", model_of([node("Add", "w w", "y")], [], [value("y", None)], [weight]), allowed)
        c.add(f"rank-reshape-{rank}", model_of([node("Reshape", "x s", "y")], [value("x", [1])], [value("y", None)], [ints("s", ones)]),
              allowed, {"x": "ones"})
        c.add(f"rank-expand-{rank}", model_of([node("Expand", "x s", "y")], [value("x", [1])], [value("y", None)], [ints("s", ones)]),
              allowed, {"x": "ones"})
        c.add(f"rank-fill-{rank}", model_of([node("ConstantOfShape", "s", "y")], [], [value("y", None)], [ints("s", ones)]), allowed)
    for more in range(1, 6):
        axes = ints("a", list(range(more)))
        c.add(f"rank-unsqueeze-{more}", model_of([node("Unsqueeze", "x a", "y")], [value("x", [1] * 13)], [value("y", None)], [axes]),
              {RUNS} if 13 + more <= 16 else {LIMIT}, {"x": "ones"})
    for rank in (7, 8, 9, 12):
        at = ints("i", np.zeros([1] * rank))
        c.add(f"rank-gather-{rank}", model_of([node("Gather", "x i", "y")], [value("x", [1] * 9)], [value("y", None)], [at]),
              {RUNS} if 8 + rank <= 16 else {LIMIT}, {"x": "ones"})
    for rank in (15, 16):
        body = graph_of([node("Identity", "c", "k"), node("Identity", "x", "z")], [value("i", [], T.INT64), value("c", [], T.BOOL)],
                        [value("k", [], T.BOOL), value("z", None)], name="body")
        loop = h.make_node("Loop", ["n", "t"], ["y"], body=body)
        c.add(f"rank-stack-{rank}", model_of([loop], [value("x", [1] * rank)], [value("y", None)], [ints("n", 2), ints("t", True, np.bool_)]),
              {RUNS} if rank < 16 else {LIMIT}, {"x": "ones"})


#--- sizes that overflow ------------------------------------------------------------------------------------------------------------------

SHAPES = [[2**32, 2**32], [2**62, 4], [4, 2**62], [MOST, 2], [2**40, 2**20, 2**20], [MOST], [2**61], [2**50]]


def consumers(nodes, result):
    """The result itself, or what fusion makes of it without storing it."""
    yield "store", nodes, result
    yield "sum", nodes + [node("ReduceSum", result, "total", keepdims=0)], "total"
    yield "add", nodes + [node("Exp", result, "e"), node("Add", f"e {result}", "more")], "more"


def static_sizes(c):
    def each(name, nodes, initializers, inputs=(("x", [1]),), allowed=(LIMIT, DAMAGE, UNSUPPORTED, UNFIT)):
        for how, all_nodes, result in consumers(nodes, "y"):
            c.add(f"static-{name}-{how}", model_of(all_nodes, [value(n, d) for n, d in inputs], [value(result, None)], initializers),
                  allowed, {n: "ones" for n, _ in inputs})

    for k, shape in enumerate(SHAPES[:-1]):
        each(f"expand-{k}", [node("Expand", "x s", "y")], [ints("s", shape)])
        each(f"fill-{k}", [node("ConstantOfShape", "s", "y")], [ints("s", shape)], ())
    for repeat in (2**62, 2**61, MOST, 2**60):
        each(f"tile-{repeat}", [node("Tile", "x r", "y")], [ints("r", [repeat])], (("x", [4]),))
    for end in (2**62, 2**41, MOST):
        each(f"range-{end}", [node("Range", "b e d", "r"), node("Cast", "r", "y", to=T.FLOAT)], [ints("b", 0), ints("e", end), ints("d", 1)], ())
    for pads in ([2**62, 0], [2**62, 2**62], [MOST, MOST], [0, MOST]):
        each(f"pad-{pads[0]}-{pads[1]}", [node("Pad", "x p", "y")], [ints("p", pads)], (("x", [4]),))
    for depth in (2**62, MOST):
        each(f"onehot-{depth}", [node("Cast", "x", "i", to=T.INT64), node("OneHot", "i d v", "y")],
             [ints("d", depth), ints("v", [0, 1], np.float32)], (("x", [64]),))
    for size in (2**40, 2**62, MOST):
        each(f"resize-{size}", [node("Resize", "x   z", "y", mode="nearest")], [ints("z", [1, 1, size, size])], (("x", [1, 1, 2, 2]),))
        each(f"matmul-{size}", [node("MatMul", "a b", "y")], [h.make_tensor("a", T.FLOAT, [size, 0], []), h.make_tensor("b", T.FLOAT, [0, size], [])], ())


RUNTIME = {
    "square": [2**32, 2**32], "wide": [2**62, 4], "most": [MOST, 1], "least": [LEAST, 1], "negative": [-5, 3], "both": [-2, -2],
    "empty": [0, 2**62], "large": [2**31, 2**31], "ten": [2**45, 1], "negate": [-(2**62), 4],
}


def runtime_sizes(c):
    sized = [value("x", [1]), value("s", [2], T.INT64)]
    for name, numbers in RUNTIME.items():
        # A tensor of 2^62 elements beside a 0 has none: it may run.
        allowed = {RUNS, UNFIT, LIMIT} if 0 in numbers else {UNFIT, LIMIT}
        for how, nodes, result in consumers([node("Expand", "x s", "y")], "y"):
            if name == "ten" and how == "sum":
                continue  # 2^45 additions are no error; they take days
            if any(n < 0 for n in numbers) and numbers != [LEAST, 1]:
                allowed = {UNFIT, LIMIT}
            c.add(f"dynamic-expand-{name}-{how}", model_of(nodes, sized, [value(result, None)]), allowed, {"x": "ones", "s": np.array(numbers)}, both=True)
        for how, nodes, result in consumers([node("ConstantOfShape", "s", "y")], "y"):
            if name == "ten" and how == "sum":
                continue
            c.add(f"dynamic-fill-{name}-{how}", model_of(nodes, sized[1:], [value(result, None)]), allowed, {"s": np.array(numbers)}, both=True)
        tile = model_of([node("Tile", "x s", "y")], [value("x", [4, 1]), sized[1]], [value("y", None)])
        c.add(f"dynamic-tile-{name}", tile, allowed, {"x": "ones", "s": np.array(numbers)}, both=True)
        reshape = model_of([node("Reshape", "x s", "y")], [value("x", [4]), sized[1]], [value("y", None)])
        c.add(f"dynamic-reshape-{name}", reshape, {UNFIT, LIMIT}, {"x": "ones", "s": np.array(numbers)}, both=True)
        pad = model_of([node("Pad", "x s", "y")], [value("x", [4]), sized[1]], [value("y", None)])
        c.add(f"dynamic-pad-{name}", pad, {RUNS, UNFIT, LIMIT}, {"x": "ones", "s": np.array(numbers)}, both=True)
    for end in (MOST, LEAST, 2**62, -1):
        span = model_of([node("Range", "b e d", "y")], [value("b", [], T.INT64), value("e", [], T.INT64), value("d", [], T.INT64)], [value("y", None, T.INT64)])
        for step in (1, -1, MOST, LEAST, 0):
            c.add(f"dynamic-range-{end}-{step}", span, {RUNS, UNFIT, LIMIT, UNSUPPORTED}, {"b": np.array(0), "e": np.array(end), "d": np.array(step)})
    for depth in (2**62, MOST, -3, LEAST):
        onehot = model_of([node("OneHot", "i d v", "y")], [value("i", [64], T.INT64), value("d", [], T.INT64)], [value("y", None)], [ints("v", [0, 1], np.float32)])
        c.add(f"dynamic-onehot-{depth}", onehot, {UNFIT, LIMIT, UNSUPPORTED}, {"i": "ones", "d": np.array(depth)}, both=True)
    sliced = model_of([node("Slice", "x b e a d", "y")], [value("x", [8]), *(value(n, [1], T.INT64) for n in "bed")], [value("y", None)], [ints("a", [0])])
    for start in (0, -1, MOST, LEAST):
        for end in (MOST, LEAST, 5):
            for step in (MOST, LEAST, MOST - 1, -MOST, 1):
                c.add(f"dynamic-slice-{start}-{end}-{step}", sliced, {RUNS}, {"x": "ones", "b": np.array([start]), "e": np.array([end]), "d": np.array([step])})
    topk = model_of([node("TopK", "x k", "y i")], [value("x", [8]), value("k", [1], T.INT64)], [value("y", None), value("i", None, T.INT64)])
    for k in (MOST, LEAST, -1, 9):
        c.add(f"dynamic-topk-{k}", topk, {RUNS, UNFIT, LIMIT}, {"x": "ones", "k": np.array([k])})


#--- what a model states ------------------------------------------------------------------------------------------------------------------


def stated(c):
    for dims in ([-2], [LEAST], [2**41], [2**62, 2**62], [0, MOST], [MOST, 0, MOST]):
        c.add(f"input-dims-{len(c.list)}", model_of([node("Neg", "x", "y")], [value("x", dims)], [value("y", None)]), ANY, {"x": "zeros"})
    for dims, data in (([-1], b""), ([LEAST], b""), ([2], b"1234"), ([2], b"123456789"), ([2**62], b""), ([2**62, 4], b""), ([0, 2**62], b""), ([2**40, 2**40], b"1234")):
        tensor = T(name="w", data_type=T.FLOAT, dims=dims, raw_data=data)
        c.add(f"weight-dims-{len(c.list)}", model_of([node("Neg", "w", "y")], [], [value("y", None)], [tensor]), ANY)
    for count in (0, 1, 3, 1000):
        tensor = T(name="w", data_type=T.FLOAT, dims=[2], float_data=[1.0] * count)
        c.add(f"weight-count-{count}", model_of([node("Neg", "w", "y")], [], [value("y", None)], [tensor]), {DAMAGE})
    for kind in range(0, 31):
        tensor = T(name="w", data_type=kind, dims=[2], raw_data=bytes(16))
        c.add(f"weight-type-{kind}", model_of([node("Identity", "w", "y")], [], [value("y", None)], [tensor]), ANY)
        c.add(f"input-type-{kind}", model_of([node("Identity", "x", "y")], [h.make_tensor_value_info("x", kind, [2])], [value("y", None)]), ANY, {"x": "ones"})
        c.add(f"cast-type-{kind}", model_of([node("Cast", "x", "y", to=kind)], [value("x", [2])], [value("y", None)]), ANY, {"x": "ones"})
    booleans = T(name="w", data_type=T.BOOL, dims=[4], raw_data=b"\x00\x01\x02\xff")
    c.add("weight-truths", model_of([node("Not", "w", "n"), node("Xor", "w n", "y")], [], [value("y", None, T.BOOL)], [booleans]), {RUNS})
    text = T(name="w", data_type=T.STRING, dims=[2], string_data=[b"a", b"b"])
    c.add("weight-text", model_of([node("Identity", "w", "y")], [], [value("y", None)], [text]), {UNSUPPORTED, DAMAGE})
    sparse = model_of([node("Neg", "x", "y")], [value("x", [2])], [value("y", None)])
    sparse.graph.sparse_initializer.add().values.CopyFrom(h.make_tensor("v", T.FLOAT, [1], [1.0]))
    c.add("weight-sparse", sparse, {UNSUPPORTED, DAMAGE})
    for version in (0, -1, 999, MOST):
        model = model_of([node("Neg", "x", "y")], [value("x", [2])], [value("y", None)])
        model.ir_version = version
        c.add(f"version-{version}", model, ANY, {"x": "ones"})
        c.add(f"opset-{version}", model_of([node("Neg", "x", "y")], [value("x", [2])], [value("y", None)], opset=version), ANY, {"x": "ones"})


def external(c):
    outside = os.path.join(c.folder, "link.bin")
    os.symlink("/etc/passwd", outside)
    with open(os.path.join(c.folder, "w.bin"), "wb") as f:
        f.write(bytes(64))
    os.mkdir(os.path.join(c.folder, "folder.bin"))
    os.mkfifo(os.path.join(c.folder, "pipe.bin"))
    lies = [{"location": "w.bin"}, {"location": "/etc/passwd"}, {"location": "../w.bin"}, {"location": "a/../../w.bin"}, {"location": "link.bin"},
            {"location": "none.bin"}, {"location": ""}, {}, {"location": "folder.bin"}, {"location": "pipe.bin"}, {"location": "w.bin\0x"}, {"location": "a\x1b[2Jb"},
            {"location": "a\nb"}, {"location": "x" * 5000}, {"location": "w.bin", "offset": "60"}, {"location": "w.bin", "offset": "-4"},
            {"location": "w.bin", "offset": str(2**64 - 4)}, {"location": "w.bin", "offset": str(2**63)}, {"location": "w.bin", "offset": "x"},
            {"location": "w.bin", "length": "4"}, {"location": "w.bin", "length": str(2**63)}, {"location": "w.bin", "length": "-1"}, {"location": "."}]
    for k, lie in enumerate(lies):
        tensor = T(name="w", data_type=T.FLOAT, dims=[2], data_location=T.EXTERNAL)
        for key, text in lie.items():
            tensor.external_data.add(key=key, value=text)
        c.add(f"external-{k}", model_of([node("Neg", "w", "y")], [], [value("y", None)], [tensor]), {RUNS} if k == 0 else {DAMAGE, FILE})
    huge = T(name="w", data_type=T.FLOAT, dims=[2**40], data_location=T.EXTERNAL)
    huge.external_data.add(key="location", value="w.bin")
    c.add("external-huge", model_of([node("Neg", "w", "y")], [], [value("y", None)], [huge]), {DAMAGE, LIMIT})


#--- names and structure ------------------------------------------------------------------------------------------------------------------

EVIL = ["a=b", "a\x1b[31mred", "a\nb", "a\rb", "\x07", "a\x7fb", "\u0085x", "\u009b2J", "x" * 100000, " ", "a'b", "%s%n", "../../x", "\u202eabc"]


def names(c):
    for k, name in enumerate(EVIL):
        good = model_of([h.make_node("Neg", [name], ["y"])], [value(name, [2])], [value("y", None)])
        c.add(f"name-input-{k}", good, {RUNS, UNFIT, DAMAGE}, {name: "ones"} if len(name) < 100 else {})
        c.add(f"name-missing-{k}", good, {UNFIT, DAMAGE})
        c.add(f"name-output-{k}", model_of([h.make_node("Neg", ["x"], [name])], [value("x", [2])], [value(name, None)]), {RUNS, DAMAGE}, {"x": "ones"})
        c.add(f"name-node-{k}", model_of([h.make_node("Concat", ["x", "x"], ["y"], name=name, axis=7)], [value("x", [2])], [value("y", None)]), REFUSED, {"x": "ones"})
        c.add(f"name-op-{k}", model_of([h.make_node(name, ["x"], ["y"])], [value("x", [2])], [value("y", None)]), {UNSUPPORTED, DAMAGE}, {"x": "ones"})
        c.add(f"name-domain-{k}", model_of([h.make_node("Neg", ["x"], ["y"], domain=name)], [value("x", [2])], [value("y", None)]), {UNSUPPORTED, DAMAGE}, {"x": "ones"})
    one = [value("x", [2])]
    broken = {
        "twice-output": [node("Neg", "x", "y"), node("Abs", "x", "y")], "own-input": [node("Neg", "y", "y")],
        "ring": [node("Neg", "b", "a"), node("Neg", "a", "b"), node("Neg", "a", "y")], "undefined": [node("Add", "x nothing", "y")],
        "none": [], "no-inputs": [h.make_node("Add", [], ["y"])], "no-outputs": [h.make_node("Neg", ["x"], [])], "empty-op": [h.make_node("", ["x"], ["y"])],
        "many-inputs": [h.make_node("Neg", ["x"] * 5000, ["y"])], "many-outputs": [h.make_node("Neg", ["x"], ["y"] + [f"o{k}" for k in range(5000)])],
    }
    for name, nodes in broken.items():
        c.add(f"graph-{name}", model_of(nodes, one, [value("y", None)]), REFUSED, {"x": "ones"})
    c.add("graph-two-inputs", model_of([node("Neg", "x", "y")], one * 2, [value("y", None)]), {DAMAGE}, {"x": "ones"})
    c.add("graph-two-weights", model_of([node("Neg", "w", "y")], [], [value("y", None)], [ints("w", [1]), ints("w", [2])]), {DAMAGE})
    c.add("graph-two-outputs", model_of([node("Neg", "x", "y")], one, [value("y", None)] * 2), ANY, {"x": "ones"})
    c.add("graph-no-graph", onnx.ModelProto(ir_version=8), {DAMAGE})


def message(fields):
    """A protobuf message of fields that are bytes."""
    out = b""
    for number, content in fields:
        out += varint(number << 3 | 2) + varint(len(content)) + content
    return out


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def nests(c):
    # python-protobuf cannot hold what is deep: bytes of messages, from the inside out.
    leaf = graph_of([node("Neg", "x", "z")], [], [value("z", None)], name="leaf").SerializeToString()
    outputs = [(12, value("z", None).SerializeToString()), (2, b"level")]
    for depth in (1, 20, 47, 60, 150, 2000):
        inner = leaf
        for k in range(depth):
            branches = [(5, message([(1, name), (6, graph)]) + b"\xa0\x01\x05") for name, graph in ((b"then_branch", inner), (b"else_branch", leaf))]
            branch = message([(1, b"t"), (2, b"z"), (4, b"If"), *branches])
            inner = message([(1, branch), *outputs])
        top = inner + message([(11, value("x", [2]).SerializeToString()), (11, value("t", [], T.BOOL).SerializeToString())])
        c.add(f"nest-if-{depth}", b"\x08\x08" + message([(7, top), (8, h.make_opsetid("", 18).SerializeToString())]),
              {RUNS} if depth < 48 else {LIMIT, DAMAGE}, {"x": "ones", "t": np.array(True)})
    for depth in (10, 25, 60, 1000):  # each calls the one before twice
        functions = [h.make_function("d", f"f{k}", ["x"], ["y"],
                                     [h.make_node(f"f{k - 1}" if k else "Neg", ["x"], ["a"], domain="d" if k else ""),
                                      h.make_node(f"f{k - 1}" if k else "Neg", ["a"], ["y"], domain="d" if k else "")],
                                     [h.make_opsetid("", 18), h.make_opsetid("d", 1)]) for k in range(depth)]
        c.add(f"nest-call-{depth}", call_of(functions, f"f{depth - 1}"), {RUNS} if depth == 10 else {LIMIT}, {"x": "ones"})
    ring = [h.make_function("d", name, ["x"], ["y"], [h.make_node(other, ["x"], ["y"], domain="d")], [h.make_opsetid("d", 1)]) for name, other in (("f", "g"), ("g", "f"))]
    c.add("nest-ring", call_of(ring, "f"), {LIMIT, DAMAGE}, {"x": "ones"})


def call_of(functions, name):
    graph = graph_of([h.make_node(name, ["x"], ["y"], domain="d")], [value("x", [2])], [value("y", None)])
    model = h.make_model(graph, functions=functions, opset_imports=[h.make_opsetid("", 18), h.make_opsetid("d", 1)])
    model.ir_version = 8
    return model


def loops(c):
    def loop(state, trips, condition, dims):
        body = graph_of([node("Identity", "c", "k"), node("Add", "v v", "w"), node("Identity", "v", "z")],
                        [value("i", [], T.INT64), value("c", [], T.BOOL), value("v", dims)], [value("k", [], T.BOOL), value("w", None), value("z", None)], name="body")
        return model_of([h.make_node("Loop", ["n", "t", "x"], ["y", "s"], body=body)], [value("x", dims), value("n", [], T.INT64), value("t", [], T.BOOL)],
                        [value("y", None), value("s", None)]), {"x": "ones", "n": np.array(trips), "t": np.array(condition)}

    for trips in (0, -1, LEAST, 3):
        for condition in (True, False):
            for dims in ([2], [0], []):
                model, inputs = loop(None, trips, condition, dims)
                c.add(f"loop-{trips}-{condition}-{len(dims)}", model, {RUNS}, inputs)
    for trips in (MOST, 2**40):
        model, inputs = loop(None, trips, False, [2])
        c.add(f"loop-none-of-{trips}", model, {RUNS}, inputs)
    grow = graph_of([node("Identity", "c", "k"), node("Concat", "v v", "w", axis=0)], [value("i", [], T.INT64), value("c", [], T.BOOL), value("v", ["n"])],
                    [value("k", [], T.BOOL), value("w", ["m"])], name="body")
    model = model_of([h.make_node("Loop", ["n", "t", "x"], ["y"], body=grow)], [value("x", [2**12])], [value("y", None)], [ints("n", 3), ints("t", True, np.bool_)])
    c.add("loop-grows", model, {RUNS}, {"x": "ones"})


#--- operators ----------------------------------------------------------------------------------------------------------------------------


def attributes(c):
    images, weight = value("x", [1, 2, 5, 5]), ints("w", np.ones((2, 2, 3, 3)), np.float32)
    numbers = (0, -1, LEAST, MOST, 2**62, 2**31)
    for n in numbers:
        for key in ("strides", "dilations", "pads", "kernel_shape"):
            many = [n] * (4 if key == "pads" else 2)
            c.add(f"conv-{key}-{n}", model_of([node("Conv", "x w", "y", **{key: many})], [images], [value("y", None)], [weight]), ANY, {"x": "ones"})
            more = {"kernel_shape": [2, 2], key: many}
            c.add(f"pool-{key}-{n}", model_of([node("AveragePool", "x", "y", **more)], [images], [value("y", None)]), ANY, {"x": "ones"})
        c.add(f"conv-group-{n}", model_of([node("Conv", "x w", "y", group=n)], [images], [value("y", None)], [weight]), ANY, {"x": "ones"})
        for op, key in (("Softmax", "axis"), ("Concat", "axis"), ("Gather", "axis"), ("Flatten", "axis"), ("ArgMax", "axis"), ("Split", "axis")):
            operands = {"Concat": "x x", "Gather": "x i"}.get(op, "x")
            outputs = "y z" if op == "Split" else "y"
            c.add(f"axis-{op}-{n}", model_of([node(op, operands, outputs, axis=n)], [value("x", [2, 2])], [value("y", None)], [ints("i", [0])]), ANY, {"x": "ones"})
        c.add(f"perm-{n}", model_of([node("Transpose", "x", "y", perm=[n, 0])], [value("x", [2, 2])], [value("y", None)]), ANY, {"x": "ones"})
        c.add(f"split-{n}", model_of([node("Split", "x s", "y z")], [value("x", [4])], [value("y", None)], [ints("s", [n, 4])]), ANY, {"x": "ones"})
        c.add(f"block-{n}", model_of([node("DepthToSpace", "x", "y", blocksize=n)], [value("x", [1, 4, 2, 2])], [value("y", None)]), ANY, {"x": "ones"})


def empties(c):
    none = [value("x", [0, 3])]
    for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Neg", "Transpose", "Flatten",
               "GlobalAveragePool", "Shape", "Size", "NonZero", "Hardmax", "LpNormalization", "MeanVarianceNormalization"):
        c.add(f"empty-{op}", model_of([node(op, "x", "y")], none, [value("y", None)]), ANY, {"x": "zeros"}, both=True)
    c.add("empty-matmul", model_of([node("MatMul", "a b", "y")], [value("a", [3, 0]), value("b", [0, 4])], [value("y", None)]), {RUNS}, {"a": "zeros", "b": "zeros"}, both=True)
    c.add("empty-gather", model_of([node("Gather", "x i", "y")], none, [value("y", None)], [ints("i", [0, 5])]), ANY, {"x": "zeros"}, both=True)
    c.add("empty-resize", model_of([node("Resize", "x   z", "y")], [value("x", [1, 1, 0, 2])], [value("y", None)], [ints("z", [1, 1, 4, 4])]), ANY, {"x": "zeros"}, both=True)
    c.add("empty-conv", model_of([node("Conv", "x w", "y")], [value("x", [1, 2, 0, 5])], [value("y", None)], [ints("w", np.ones((2, 2, 3, 3)), np.float32)]), ANY, {"x": "zeros"}, both=True)
    for channels, filters, taps in ((0, 0, 3), (0, 2, 3), (2, 0, 3), (2, 2, 0)):
        c.add(f"empty-conv-{channels}-{filters}-{taps}", model_of([node("Conv", "x w", "y")], [value("x", [1, channels, 5, 5])], [value("y", None)],
                                                                  [ints("w", np.ones((filters, channels, taps, taps)), np.float32)]), ANY, {"x": "ones"}, both=True)


def damaged(c):
    whole = model_of([node("Add", "x w", "a"), node("Relu", "a", "y")], [value("x", [8])], [value("y", None)], [ints("w", np.ones(8), np.float32)]).SerializeToString()
    for k in range(1, len(whole), max(1, len(whole) // 24)):
        c.add(f"cut-{k}", whole[:k], {DAMAGE, UNSUPPORTED})
    for k in range(0, len(whole), max(1, len(whole) // 24)):
        c.add(f"flip-{k}", whole[:k] + bytes([whole[k] ^ 0xFF]) + whole[k + 1:], ANY, {"x": "ones"})
    for name, content in (("empty", b""), ("zeros", bytes(4096)), ("ones", b"\xff" * 4096), ("text", b"hello\n" * 100), ("deep", b"\x3a\x7f" * 2000), ("elf", b"\x7fELF" + bytes(100))):
        c.add(f"no-model-{name}", content, {DAMAGE})


FAMILIES = [ranks, static_sizes, runtime_sizes, stated, external, names, nests, loops, attributes, empties, damaged]


def build(folder):
    import hostile_attributes, hostile_files, hostile_growth, hostile_structure  # they take their words from here

    cases = Cases(folder)
    for family in FAMILIES + hostile_structure.FAMILIES + hostile_growth.FAMILIES + hostile_files.FAMILIES + hostile_attributes.FAMILIES:
        family(cases)
    return cases.list
