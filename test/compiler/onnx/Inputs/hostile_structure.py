# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose parts do not fit together, and files that are no models below the level of the standard: names, counts, calls, bytes."""
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h

from hostile_models import ANY, DAMAGE, LEAST, LIMIT, MOST, REFUSED, RUNS, UNFIT, UNSUPPORTED, call_of, graph_of, ints, message, model_of, node, value, varint

X, Y = [value("x", [2])], [value("y", None)]
TRUE = ints("t", True, np.bool_)


def if_of(name, then, otherwise, outputs="y", condition="t"):
    return h.make_node("If", [condition], outputs.split(), name=name, then_branch=then, else_branch=otherwise)


def branch(nodes, *outputs):
    return graph_of(nodes, [], [value(o, None) for o in outputs], name="branch")


def long_names(c):
    long = "n" * (1 << 20)
    c.add("long-input", model_of([h.make_node("Neg", [long], ["y"])], [value(long, [2])], Y), {UNFIT, DAMAGE})
    c.add("long-value", model_of([h.make_node("Neg", ["x"], [long]), h.make_node("Abs", [long], ["y"])], X, Y), {RUNS, DAMAGE}, {"x": "ones"})
    c.add("long-output", model_of([h.make_node("Neg", ["x"], [long])], X, [value(long, None)]), {RUNS, DAMAGE}, {"x": "ones"})
    c.add("long-node", model_of([h.make_node("Concat", ["x", "x"], ["y"], name=long, axis=9)], X, Y), REFUSED, {"x": "ones"})
    c.add("long-op", model_of([h.make_node(long, ["x"], ["y"])], X, Y), REFUSED, {"x": "ones"})
    c.add("long-domain", model_of([h.make_node("Neg", ["x"], ["y"], domain=long)], X, Y), REFUSED, {"x": "ones"})
    c.add("long-attribute", model_of([h.make_node("Neg", ["x"], ["y"], **{long: 1})], X, Y), {DAMAGE}, {"x": "ones"})
    c.add("long-missing", model_of([h.make_node("Neg", [long], ["y"])], X, Y), {DAMAGE}, {"x": "ones"})
    c.add("long-weight", model_of([h.make_node("Neg", [long], ["y"])], [], Y, [ints(long, [1.0], np.float32)]), {RUNS, DAMAGE})
    c.add("long-size", model_of([node("Neg", "x", "y")], [value("x", [long, long])], Y), {RUNS, UNFIT, DAMAGE}, {"x": np.ones((2, 2), np.float32)})
    c.add("long-function", call_of([h.make_function("d", long, ["x"], ["y"], [node("Neg", "x", "y")], [h.make_opsetid("", 18)])], long), ANY, {"x": "ones"})
    padding = h.make_node("AveragePool", ["x"], ["y"], kernel_shape=[1], auto_pad=long)
    c.add("long-word", model_of([padding], [value("x", [1, 1, 4])], Y), REFUSED, {"x": "ones"})
    c.add("long-equation", model_of([h.make_node("Einsum", ["x"], ["y"], equation="a" * (1 << 20))], X, Y), REFUSED, {"x": "ones"})
    described = model_of([node("Neg", "x", "y")], X, Y)
    described.doc_string = described.producer_name = described.graph.doc_string = described.graph.name = "\x1b[2J" + long
    c.add("long-words", described, {RUNS}, {"x": "ones"})
    many = model_of([h.make_node("Sum", [f"i{k}" for k in range(3000)], ["y"])], [value(f"i{k}", [1]) for k in range(3000)], Y)
    c.add("many-inputs", many, {UNFIT, LIMIT, DAMAGE})


def twice(c):
    def with_attributes(*given, op="Concat"):
        part = h.make_node(op, ["x", "x"], ["y"])
        part.attribute.extend(given)
        return model_of([part], X, Y)

    axis = h.make_attribute("axis", 0)
    c.add("attribute-twice", with_attributes(axis, axis), {DAMAGE}, {"x": "ones"})
    c.add("attribute-twice-other", with_attributes(axis, h.make_attribute("axis", 1)), {DAMAGE}, {"x": "ones"})
    for name, more in (("float", {"f": 1.0}), ("ints", {"ints": [0]}), ("text", {"s": b"0"}), ("graph", {"g": branch([node("Neg", "x", "z")], "z")}),
                       ("tensor", {"t": ints("v", [0])}), ("tensors", {"tensors": [ints("v", [0])]})):
        both = onnx.AttributeProto(name="axis", type=onnx.AttributeProto.INT, i=0, **more)
        c.add(f"attribute-also-{name}", with_attributes(both), {DAMAGE}, {"x": "ones"})
        only = onnx.AttributeProto(name="axis", type=onnx.AttributeProto.INT, **more)
        c.add(f"attribute-not-{name}", with_attributes(only), {DAMAGE}, {"x": "ones"})
    for kind in (0, 14, 15, 99, 2**31 - 1):
        c.add(f"attribute-kind-{kind}", with_attributes(h.make_attribute("axis", 0)).SerializeToString().replace(b"\xa0\x01\x02", b"\xa0\x01" + varint(kind)), ANY, {"x": "ones"})
    c.add("attribute-refers", with_attributes(onnx.AttributeProto(name="axis", type=onnx.AttributeProto.INT, ref_attr_name="axis")), {DAMAGE}, {"x": "ones"})
    c.add("attribute-unnamed", with_attributes(onnx.AttributeProto(type=onnx.AttributeProto.INT, i=0), axis), {DAMAGE}, {"x": "ones"})
    c.add("attribute-many", with_attributes(*(onnx.AttributeProto(name=f"a{k}", type=onnx.AttributeProto.INT, i=k) for k in range(70000))), REFUSED, {"x": "ones"})
    plain = model_of([node("Neg", "x", "y")], X, Y)
    plain.opset_import.extend([h.make_opsetid("", 17)])
    c.add("opset-twice", plain, {DAMAGE}, {"x": "ones"})
    for version in (0, -1, LEAST, 2**62, MOST, 2**31, 29):
        c.add(f"opset-of-{version}", model_of([node("Neg", "x", "y")], X, Y, opset=version), {DAMAGE, UNSUPPORTED}, {"x": "ones"})
        c.add(f"opset-other-{version}", model_of([h.make_node("Neg", ["x"], ["y"], domain="other")], X, Y, functions=[]), REFUSED, {"x": "ones"})
    c.add("weight-and-node", model_of([node("Neg", "x", "w"), node("Add", "w w", "y")], X, Y, [ints("w", [1.0], np.float32)]), {DAMAGE}, {"x": "ones"})
    c.add("input-and-node", model_of([node("Neg", "x", "x"), node("Abs", "x", "y")], X, Y), {DAMAGE}, {"x": "ones"})
    c.add("output-is-input", model_of([], X, [value("x", None)]), {RUNS, DAMAGE}, {"x": "ones"})
    c.add("output-is-weight", model_of([], [], [value("w", None)], [ints("w", [1.0], np.float32)]), {RUNS})
    c.add("outputs-none", model_of([node("Neg", "x", "y")], X, []), ANY, {"x": "ones"})
    c.add("unnamed-output", model_of([node("Neg", "x", "y")], X, [value("", None)]), {DAMAGE}, {"x": "ones"})
    c.add("unnamed-input", model_of([node("Neg", "x", "y")], X + [value("", [2])], Y), {DAMAGE}, {"x": "ones"})
    for elements in (0, 17, 99, -1):
        c.add(f"output-type-{elements}", model_of([node("Neg", "x", "y")], X, [h.make_tensor_value_info("y", elements, [2])]), ANY, {"x": "ones"})
    c.add("output-shape", model_of([node("Neg", "x", "y")], X, [value("y", [7, LEAST, MOST])]), ANY, {"x": "ones"})
    hinted = model_of([node("Neg", "x", "a"), node("Abs", "a", "y")], X, Y)
    hinted.graph.value_info.extend([value("a", [2**62, -9]), value("a", [3]), value("nothing", [1] * 100)])
    c.add("hints-lie", hinted, {RUNS, DAMAGE}, {"x": "ones"})


def bodies(c):
    neg, two = branch([node("Neg", "x", "z")], "z"), branch([node("Neg", "x", "z"), node("Abs", "x", "a")], "z", "a")
    none, wide = branch([]), branch([node("Concat", "x x", "z", axis=0)], "z")
    whole = branch([node("Shape", "x", "z")], "z")
    pairs = {"counts": (neg, two), "none": (none, none), "more": (two, two), "sizes": (neg, wide), "types": (neg, whole), "inputs": (graph_of([node("Neg", "q", "z")], X[:0] + [value("q", [2])], [value("z", None)]), neg)}
    for name, (then, otherwise) in pairs.items():
        for condition, given in (("t", {}), ("c", {"c": np.array(True)})):
            inputs = X + ([value("c", [], T.BOOL)] if given else [])
            c.add(f"if-{name}-{condition}", model_of([if_of("i", then, otherwise, condition=condition)], inputs, Y, [TRUE]), ANY, {"x": "ones", **given})
    c.add("if-float", model_of([if_of("i", neg, neg, condition="x")], X, Y), REFUSED, {"x": "ones"})
    c.add("if-unreadable", model_of([if_of("i", branch([node("Neg", "q", "z")], "z"), neg)], X, Y, [TRUE]), {DAMAGE}, {"x": "ones"})
    c.add("if-own-name", model_of([if_of("i", branch([node("Neg", "x", "x")], "x"), neg)], X, Y, [TRUE]), {DAMAGE}, {"x": "ones"})
    carried = [value("i", [], T.INT64), value("k", [], T.BOOL), value("v", [2])]
    for name, inputs, outputs in (("none", [], []), ("no-condition", carried, ["w"]), ("many", carried + [value("u", [2])], ["k", "w"]),
                                  ("more-outputs", carried, ["k", "w", "w", "w"]), ("no-carry", carried, ["k"]), ("float-condition", carried, ["w", "w"])):
        body = graph_of([node("Neg", "v", "w")] if len(inputs) > 2 else [], inputs, [value(o, None) for o in outputs], name="body")
        allowed = ANY if name == "more-outputs" else REFUSED  # outputs at the end may be left out
        c.add(f"loop-{name}", model_of([h.make_node("Loop", ["n", "t", "x"], ["y"], body=body)], X, Y, [TRUE, ints("n", 3)]), allowed, {"x": "ones"})
    for count in (0, -1, 2, 3, MOST, LEAST, 2**32 + 1):
        body = graph_of([node("Neg", "v", "w")], [value("v", [2])], [value("w", None)], name="body")
        c.add(f"scan-inputs-{count}", model_of([h.make_node("Scan", ["x"], ["y"], body=body, num_scan_inputs=count)], [value("x", [3, 2])], Y), REFUSED, {"x": "ones"})
        for key in ("scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"):
            c.add(f"scan-{key[5:]}-{count}", model_of([h.make_node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1, **{key: [count]})], [value("x", [3, 2])], Y), ANY, {"x": "ones"})


def calls(c):
    def function(name, nodes, inputs="x", outputs="y", **more):
        return h.make_function("d", name, inputs.split(), outputs.split(), nodes, [h.make_opsetid("", 18), h.make_opsetid("d", 1)], **more)

    def call(name, inputs="x", outputs="y", **more):
        return h.make_node(name, inputs.split(), outputs.split(), domain="d", **more)

    c.add("call-itself", call_of([function("f", [call("f")])], "f"), {LIMIT, DAMAGE}, {"x": "ones"})
    inner = branch([call("f", outputs="z")], "z")
    true = h.make_node("Constant", [], ["t"], value=TRUE)
    c.add("call-itself-in-branch", call_of([function("f", [true, if_of("i", inner, branch([node("Neg", "x", "z")], "z"))])], "f"), {LIMIT, DAMAGE}, {"x": "ones"})
    body = graph_of([node("Identity", "k", "m"), call("f", "v", "w")], [value("i", [], T.INT64), value("k", [], T.BOOL), value("v", [2])], [value("m", None), value("w", None)], name="body")
    trips = h.make_node("Constant", [], ["n"], value=ints("n", 2))
    c.add("call-itself-in-loop", call_of([function("f", [true, trips, h.make_node("Loop", ["n", "t", "x"], ["y"], body=body)])], "f"), {LIMIT, DAMAGE}, {"x": "ones"})
    # Each level calls the one before in both branches: 2^level bodies.
    for depth in (8, 64):
        functions = []
        for k in range(depth):
            last = [call(f"f{k - 1}", outputs="z")] if k else [node("Neg", "x", "z")]
            functions.append(function(f"f{k}", [true, if_of("i", branch(last, "z"), branch(last, "z"))]))
        c.add(f"call-in-branches-{depth}", call_of(functions, f"f{depth - 1}"), {RUNS} if depth == 8 else {LIMIT}, {"x": "ones"})
    # A long chain whose links are all called by themselves, the shortest first: none of them looks deep.
    for depth in (40, 100, 20000):
        functions = [function(f"f{k}", [call(f"f{k - 1}") if k else node("Neg", "x", "y")]) for k in range(depth)]
        model = call_of(functions, "f0")
        del model.graph.node[:]
        model.graph.node.extend([call(f"f{k}", outputs=f"y{k}") for k in range(depth - 1)] + [call(f"f{depth - 1}")])
        c.add(f"call-chain-{depth}", model, {RUNS} if depth == 40 else {LIMIT}, {"x": "ones"})
    neg = [node("Neg", "x", "y")]
    one = function("f", neg)
    c.add("call-two-functions", call_of([one, one], "f"), {DAMAGE}, {"x": "ones"})
    c.add("call-unnamed", call_of([function("", neg)], "f"), {DAMAGE}, {"x": "ones"})
    c.add("call-input-twice", call_of([function("f", neg, inputs="x x")], "f"), {DAMAGE}, {"x": "ones"})
    c.add("call-no-output", call_of([function("f", neg, outputs="nothing")], "f"), {DAMAGE}, {"x": "ones"})
    c.add("call-output-twice", call_of([function("f", neg, outputs="y y")], "f"), ANY, {"x": "ones"})
    c.add("call-more-inputs", call_of([function("f", neg, inputs="x a b")], "f"), {RUNS, DAMAGE}, {"x": "ones"})
    c.add("call-fewer-inputs", call_of([function("f", neg, inputs="")], "f"), {DAMAGE}, {"x": "ones"})
    c.add("call-reads-outside", call_of([function("f", [node("Neg", "q", "y")])], "f"), {DAMAGE}, {"x": "ones"})
    shadow = model_of(neg, X, Y, functions=[h.make_function("", "Neg", ["x"], ["y"], [node("Neg", "x", "y")], [h.make_opsetid("", 18)])])
    c.add("call-shadows-op", shadow, {LIMIT, DAMAGE}, {"x": "ones"})
    c.add("call-unknown-attribute", call_of([function("f", neg)], "f"), {RUNS}, {"x": "ones"})
    typed = function("f", [h.make_node("Concat", ["x", "x"], ["y"])], attributes=["a"])
    typed.node[0].attribute.append(onnx.AttributeProto(name="axis", ref_attr_name="a", type=onnx.AttributeProto.INT))
    for name, given in (("none", {}), ("float", {"a": 1.5}), ("ints", {"a": [0]}), ("most", {"a": MOST}), ("other", {"b": 0})):
        model = call_of([typed], "f")
        model.graph.node[0].CopyFrom(call("f", **given))
        c.add(f"call-attribute-{name}", model, REFUSED, {"x": "ones"})


def wire(c):
    """Bytes that no writer of protobuf makes."""
    good = model_of([node("Neg", "x", "y")], X, Y).SerializeToString()
    loads = ANY
    cases = {
        "varint-eleven": b"\x08" + b"\xff" * 10 + b"\x01", "varint-ten": b"\x08" + b"\xff" * 9 + b"\x01" + good[2:], "varint-endless": b"\x08" + b"\x80" * 10000,
        "length-2^31": b"\x3a" + varint(2**31 - 1) + good, "length-2^32": b"\x3a" + varint(2**32 + 1) + good, "length-2^63": b"\x3a" + varint(2**63) + good,
        "length-2^64": b"\x3a" + varint(2**64 - 1) + good, "field-zero": b"\x02\x00" + good, "field-last": good + varint((2**29 - 1) << 3 | 2) + varint(1000) + bytes(1000),
        "kind-6": good + b"\x0e", "kind-7": good + b"\x0f", "group-open": good + b"\x0b" * 50, "group-deep": good + b"\x0b" * 100000 + b"\x0c" * 100000, "group-ends": good + b"\x0c",
        "twice": good + good, "version-twice": good + b"\x08\x09", "fixed-cut": good + b"\x0d\x00", "graph-kind": good + b"\x38\x01",
    }
    for name, content in cases.items():
        c.add(f"wire-{name}", content, loads, {"x": "ones"})
    tensor = lambda body: message([(7, message([(1, message([(1, b"w"), (2, b"y"), (4, b"Neg")])), (2, b"g"), (5, body), (12, value("y", None).SerializeToString())])), (8, b"\x10\x12")])
    named = message([(8, b"w")]) + b"\x10\x01"
    bodies = {
        "dims-million": named + message([(1, b"\x01" * 1000000)]), "dims-least": named + message([(1, b"\xff" * 9 + b"\x01")]), "dims-cut": named + message([(1, b"\xff")]),
        "floats-odd": named + message([(1, b"\x01"), (4, b"123")]), "floats-million": named + message([(1, b"\x01"), (4, bytes(4000000))]),
        "integers-long": message([(8, b"w")]) + b"\x10\x07" + message([(1, b"\x01"), (7, b"\xff" * 11)]), "bytes-twice": named + message([(1, b"\x01"), (9, b"1234"), (9, b"12345678")]),
        "bytes-and-floats": named + message([(1, b"\x01"), (9, b"1234"), (4, b"1234")]), "type-huge": message([(8, b"w"), (1, b"\x01"), (9, b"1234")]) + b"\x10" + varint(2**63 - 1),
        "segment": named + message([(1, b"\x01"), (3, b"\x08\x00\x10\x01"), (9, b"1234")]), "location-unknown": named + message([(1, b"\x01"), (9, b"1234")]) + b"\x70\x07",
    }
    for name, body in bodies.items():
        c.add(f"wire-tensor-{name}", b"\x08\x08" + tensor(body), ANY)
    # Two bytes of the file each, more of memory.
    for field, name in ((1, "nodes"), (5, "weights"), (11, "inputs"), (12, "outputs"), (13, "hints"), (15, "sparse")):
        c.add(f"wire-many-{name}", good + message([(7, (bytes([field << 3 | 2]) + b"\x00") * 2000000)]), ANY, {"x": "ones"})
    for field, name in ((8, "sets"), (14, "properties"), (20, "training"), (25, "functions")):
        c.add(f"wire-many-{name}", good + (varint(field << 3 | 2) + b"\x00") * 2000000, ANY, {"x": "ones"})
    c.add("wire-many-attributes", good + message([(7, message([(1, b"\x22\x03Neg" + b"\x2a\x00" * 2000000)]))]), REFUSED, {"x": "ones"})
    c.add("wire-many-strings", good + message([(7, message([(1, b"\x22\x03Neg" + b"\x0a\x00" * 2000000)]))]), REFUSED, {"x": "ones"})
    for name in (b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"a\x00b", b"\xf4\x90\x80\x80"):
        content = good.replace(b"\x0a\x01x", b"\x0a" + varint(len(name)) + name) if len(name) == 1 else None
        graph = message([(1, message([(1, name), (2, b"y"), (4, b"Neg")])), (2, b"g"), (11, value("q", [2]).SerializeToString().replace(b"\x0a\x01q", message([(1, name)]))), (12, value("y", None).SerializeToString())])
        c.add(f"wire-name-{name.hex()}", b"\x08\x08" + message([(7, graph), (8, b"\x10\x12")]), {RUNS, UNFIT, DAMAGE})


FAMILIES = [long_names, twice, bodies, calls, wire]
