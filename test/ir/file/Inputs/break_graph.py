# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""break_graph.py SINTER_EACH SCHEMA GRAPH: broken copies of a good graph file, each of which must be refused with its message.

The graph becomes JSON by flatc, is changed, and becomes a graph file again. Works in the current folder."""
import copy
import json
import os
import re
import struct
import subprocess
import sys

each, schema, good = sys.argv[1:]
sinter = subprocess.Popen([each], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
HEADER = "<8sII6Q"  # magic, version, header bytes, graph offset and bytes, weights offset and bytes, file bytes, reserved
with open(good, "rb") as f:
    original = f.read().replace(b"a\0\xffb", b"a  b")  # a text that JSON cannot hold
fields = list(struct.unpack(HEADER, original[:64]))
weights = original[fields[5]:]
with open("graph.bin", "wb") as f:
    f.write(original[64:64 + fields[4]])
subprocess.run(["flatc", "--json", "--strict-json", "--raw-binary", "--defaults-json", schema, "--", "graph.bin"], check=True)
with open("graph.json", encoding="utf-8") as f:
    tree = json.loads(re.sub(r"\bnan\b", "0", f.read()))

problems, count = [], 0


def expect(message, content, name="broken.sinter"):
    global count
    count += 1
    with open(name, "wb") as f:
        f.write(content)
    sinter.stdin.write(f"convert\0{name}\0out.mlir\0\0".encode())
    sinter.stdin.flush()
    returned, _, _, size = map(int, sinter.stdout.readline().split())
    said = sinter.stdout.read(size).decode(errors="replace")
    code = 7 if "(kMax" in message else 6
    if returned != code or not said.startswith(f"sinter: error: {name}: ") or message not in said or said.count("\n") != 1 \
            or os.path.exists("out.mlir"):
        problems.append(f"requires exit code {code} and: {message}\n     got {returned} and: {said.strip()}")


def pack(graph, tail=weights):
    start = 64 + len(graph)
    place = (start + 63) // 64 * 64
    total = place + len(tail) if tail else start
    return struct.pack(HEADER, fields[0], 1, 64, 64, len(graph), place, len(tail), total, 0) + graph + (
        b"\0" * (place - start) + tail if tail else b"")


def broken(message, change, tail=weights):
    changed = copy.deepcopy(tree)
    change(changed)
    with open("changed.json", "w", encoding="utf-8") as f:
        json.dump(changed, f, ensure_ascii=False)
    subprocess.run(["flatc", "--binary", schema, "changed.json"], check=True)
    with open("changed.bin", "rb") as f:
        expect(message, pack(f.read(), tail))


def names(t): return t["names"]
def attributes(t): return {t["names"][a["name"]]: a for r in t["regions"] for o in r["ops"] for a in o.get("attributes", [])}
def value(t, name): return attributes(t)[name]["value"]
def ops(t, name): return [o for r in t["regions"] for o in r["ops"] if names(t)[t["ops"][o["name"]]["name"]] == name]
def tensor(t, storage): return next(a["value"] for r in t["regions"] for o in r["ops"] for a in o.get("attributes", [])
                                    if a["value"]["kind"] == "Tensor" and a["value"]["storage"] == storage)
def location(t, kind): return next(l for l in t["locations"] if l["kind"] == kind)
def scalar_type(t, element): return next(i for i, y in enumerate(t["types"]) if y["kind"] == "Scalar" and y["element"] == element)
def tensor_type(t, element, dims): return next(i for i, y in enumerate(t["types"])
                                               if y["kind"] == "Tensor" and y["element"] == element and y.get("dims", []) == dims)


def set_to(get, key, new): return lambda t: get(t).__setitem__(key, new(t) if callable(new) else new)


# The header.
def header(message, at, new):
    changed = list(fields)
    changed[at] = new
    expect(message, struct.pack(HEADER, *changed) + original[64:])


expect("requires a graph file, found an empty one", b"")
expect("requires a graph file, found one of 63 bytes", original[:63])
header("requires a graph file, found another format", 0, b"SINTER\r\n")
header("requires version 1 to 1 of graph files, found 2", 1, 2)
header("requires version 1 to 1 of graph files, found 0", 1, 0)
header("requires the header of a graph file, found a damaged one", 2, 128)
header("requires the header of a graph file, found a damaged one", 3, 128)
header("requires the header of a graph file, found a damaged one", 8, 1)
header(f"bytes of graph by its header, found {len(original) - 64}", 4, 1 << 40)
header("requires weights at the next multiple of 64 after the graph, found", 5, fields[5] + 64)
header(f"bytes of weights by its header, found {fields[6]}", 6, fields[6] + 1)
header(f"bytes by its header, found {len(original)}", 7, len(original) + 1)
expect(f"bytes by its header, found {len(original) - 1}", original[:-1])
expect("requires a graph in the FlatBuffers format, found something else or a damaged one", pack(b"\xff" * 200))
expect("requires a graph in the FlatBuffers format, found something else or a damaged one", pack(b""))

# Tables.
broken("requires a name, found an empty one", lambda t: names(t).__setitem__(0, ""))
broken("requires at most 4096 bytes of a name (kMaxNameBytes), found 4097", lambda t: names(t).__setitem__(0, "a" * 4097))
broken("requires names once each, found", lambda t: names(t).append(names(t)[0]))
broken("requires a name of an op below", lambda t: t["ops"][0].__setitem__("name", 4000))
broken("requires names of ops once each, found", lambda t: t["ops"].append(t["ops"][0]))
broken("requires ops of the sinter dialect, found 'llvm.call'", lambda t: names(t).__setitem__(t["ops"][0]["name"], "llvm.call"))
broken("requires ops that this version of sinter knows, found 'sinter.none'", lambda t: names(t).__setitem__(t["ops"][0]["name"], "sinter.none"))
broken("requires version 1 to 1 of op 'sinter.", lambda t: t["ops"][0].__setitem__("version", 2))
broken("requires version 1 to 1 of op 'sinter.", lambda t: t["ops"][0].__setitem__("version", 0))
broken("requires a known kind and element, found 7 and 0", lambda t: t["types"][0].update(kind=7, element=0))
broken("requires no dims, it is a scalar", lambda t: t["types"][scalar_type(t, "F32")].update(dims=[1]))
broken("requires an element that tensors have, found index", lambda t: t["types"][0].update(kind="Tensor", element="Index"))
broken("requires at most 16 dims (kMaxRank), found 17", lambda t: t["types"][0].update(kind="Tensor", dims=[1] * 17))
broken("requires sizes of at least 0, or -1 where not fixed, found -2", lambda t: t["types"][0].update(kind="Tensor", dims=[-2]))
broken("requires at most 1099511627776 bytes (kMaxTensorBytes), found more",
       lambda t: t["types"][0].update(kind="Tensor", element="F32", dims=[1 << 39, 2]))
broken("requires at most 1099511627776 bytes (kMaxTensorBytes), found more",
       lambda t: t["types"][0].update(kind="Tensor", element="F32", dims=[1 << 62, 1 << 62, 0]))
broken("requires a known kind, found 9", lambda t: location(t, "Name").update(kind=9))
broken("requires a text of a location, found none", lambda t: location(t, "Name").pop("text"))
broken("requires 4 numbers, found 3", lambda t: location(t, "Position").update(position=[1, 2, 3]))
broken("requires as many children as its kind has, found 0", lambda t: location(t, "Name").update(children=[]))
broken("requires as many children as its kind has, found 1", lambda t: location(t, "Call").update(children=[0]))
broken("requires children before itself, found 4000", lambda t: location(t, "Name").update(children=[4000]))
broken("requires metadata only when fused", lambda t: location(t, "Name").update(metadata={"kind": "Unit"}))
broken("requires at most 256 nested locations (kMaxLocationDepth), found 257",
       lambda t: t["locations"].extend([{"kind": "Name", "text": "n", "children": [len(t["locations"]) - 1 + i]} for i in range(258)]))
broken("requires fused locations that do not overlap", lambda t: t["locations"].extend(
    [{"kind": "Fused", "children": list(range(9)) * 999}] + [{"kind": "Fused", "children": [len(t["locations"])]}] * 999))
broken("requires a location below", lambda t: ops(t, "sinter.add")[0].update(location=4000))
broken("requires a location of the module below", lambda t: t.update(location=4000))

# Weights.
broken("weight 0 requires an offset that is a multiple of 64, found 4", lambda t: t["weights"][0].update(offset=4))
broken("weight 1 requires an offset of at least 24, where the last weight ends, found 0", lambda t: t["weights"].append({"offset": 0, "size": 4}))
broken("weight 0 requires bytes within the section of 24, found 25 at 0", lambda t: t["weights"][0].update(size=25))
broken("weight 0 requires bytes within the section of 24, found 24 at 18446744073709551552",
       lambda t: t["weights"][0].update(offset=(1 << 64) - 64))
broken("weight 0 requires bytes within the section of 0, found 24 at 0", lambda t: None, tail=b"")
broken("requires a weight of a resource below 1, found 1", lambda t: t["resources"][0].update(weight=1))
broken("requires names of resources once each, found 'weights'", lambda t: t["resources"][1].update(name="weights"))

# Attributes.
broken("requires a name of an attribute below", lambda t: attributes(t)["test.i64"].update(name=4000))
broken("requires attributes once each, found", lambda t: ops(t, "sinter.select")[0]["attributes"].append(attributes(t)["test.i64"]))
broken("attribute 'test.unit': requires an attribute of a known kind, found 99", lambda t: value(t, "test.unit").update(kind=99))
broken("attribute 'test.i64': requires a type below", lambda t: value(t, "test.i64").update(type=4000))
broken("attribute 'test.i64': requires the type of a number, found that of a tensor",
       lambda t: value(t, "test.i64").update(type=tensor_type(t, "F32", [2, 3])))
broken("attribute 'test.i64': requires a number's type to be of its kind, found another",
       lambda t: value(t, "test.i64").update(type=scalar_type(t, "F64")))
broken("attribute 'test.f64': requires a number's type to be of its kind, found another",
       lambda t: value(t, "test.f64").update(type=scalar_type(t, "I64")))
broken("attribute 'test.i8': requires a number of 8 bits, found more", lambda t: value(t, "test.i8").update(bits=256))
broken("attribute 'test.text': requires a text, found none", lambda t: value(t, "test.text").pop("text"))
broken("attribute 'test.symbol': requires a name of a function, found an empty one", lambda t: value(t, "test.symbol").update(text=""))
broken("attribute 'test.integers': requires a list of i8, i16, i32 or i64, found another element",
       lambda t: value(t, "test.integers").update(type=scalar_type(t, "U8")))
broken("attribute 'test.smallest': requires numbers of 8 bits, found 128", lambda t: value(t, "test.smallest").update(integers=[128]))
broken("attribute 'test.booleans': requires booleans of 0 or 1, found 2", lambda t: value(t, "test.booleans").update(booleans=[2]))
broken("attribute 'test.case': requires a name of an enumeration below", lambda t: value(t, "test.case").update(name=4000))
broken("requires an enumeration that this version of sinter knows, found combiner 'xor'", lambda t: value(t, "test.case").update(text="xor"))


def nest(t):
    inner = value(t, "test.i64")
    for _ in range(17):
        inner = {"kind": "Array", "elements": [inner]}
    attributes(t)["test.i64"]["value"] = inner


broken("attribute 'test.i64': requires at most 16 nested attributes (kMaxAttributeDepth), found 17", nest)
broken("a constant requires the type of a tensor, found that of a number", lambda t: tensor(t, "Inline").update(type=scalar_type(t, "F32")))
broken("a constant requires fixed sizes, found -1", lambda t: tensor(t, "Inline").update(type=tensor_type(t, "F32", [-1, 3])))
broken("a constant requires a known storage, found 9", lambda t: tensor(t, "Inline").update(storage=9))
broken("a constant requires 24 bytes by its type, found 23", lambda t: tensor(t, "Inline")["bytes"].pop())
broken("a constant requires 4 bytes by its type, found 24", lambda t: tensor(t, "Inline").update(storage="Splat"))
broken("a constant requires elements to repeat one, found none", lambda t: value(t, "test.none").update(storage="Splat", bytes=[0, 0]))
broken("a constant requires booleans of 0 or 1, found 2", lambda t: next(
    a["value"] for o in ops(t, "sinter.constant") for a in o["attributes"] if len(a["value"].get("bytes", [])) == 6).update(bytes=[0, 1, 2, 0, 1, 0]))
broken("a constant requires 6 bytes by its type, found 0", lambda t: next(
    a["value"] for o in ops(t, "sinter.constant") for a in o["attributes"] if len(a["value"].get("bytes", [])) == 6).pop("bytes"))
broken("requires at most 1024 bytes in a constant (kMaxInlineBytes), found 1025", lambda t: tensor(t, "Inline").update(bytes=[0] * 1025))
broken("requires a resource below 2, found 2", lambda t: tensor(t, "Resource").update(index=2))
broken("requires a weight below 1, found 1", lambda t: tensor(t, "Resource").update(storage="Weight", index=1))
broken("a constant requires booleans of 0 or 1, found 128", lambda t: (t["types"].append({"kind": "Tensor", "element": "I1", "dims": [24]}),
       tensor(t, "Resource").update(type=len(t["types"]) - 1)))

# Functions, regions, ops.
broken("requires a name of a function, found an empty one", lambda t: t["functions"][0].update(name=""))
broken("requires functions once each, found 'twice'", lambda t: t["functions"][1].update(name="twice"))
broken("function 'twice': requires a location below", lambda t: t["functions"][0].update(location=4000))
broken("function 'twice': requires a region below", lambda t: t["functions"][0].update(region=4000))
broken("function 'main': requires regions used once each, found 0 again", lambda t: t["functions"][1].update(region=0))
broken("requires regions that an op or function has, found region", lambda t: t["regions"].append({"arguments": [], "ops": []}))
broken("requires a function's attribute not to be a field of functions, found 'sym_name'", 
       lambda t: t["functions"][0].update(attributes=[{"name": names(t).index("sym_name"), "value": {"kind": "Unit"}}]))
broken("requires tensors as values, found a number", lambda t: t["functions"][0]["results"][0].update(type=scalar_type(t, "F32")))
broken("requires attributes on arguments of functions only, found some on those of a region", lambda t: t["regions"][
    ops(t, "sinter.while")[0]["regions"][0]]["arguments"][0].update(attributes=[attributes(t)["test.unit"]]))
broken("op 0 (sinter.add): operand 1 requires one of the 1 values before it, found 1", lambda t: ops(t, "sinter.add")[0].update(operands=[0, 1]))
broken("op 0 (sinter.add): requires a type below", lambda t: ops(t, "sinter.add")[0].update(results=[4000]))
broken("op 0 (sinter.add): result 0 requires the type of a tensor, found that of a number",
       lambda t: ops(t, "sinter.add")[0].update(results=[scalar_type(t, "F32")]))
broken("function 'twice': requires a known op below", lambda t: ops(t, "sinter.add")[0].update(name=4000))
broken("(sinter.while): requires regions after region 1, which the op is in, found 1", lambda t: ops(t, "sinter.while")[0]["regions"].__setitem__(0, 1))
broken("(sinter.while): requires regions used once each, found 2 again", lambda t: ops(t, "sinter.while")[0].update(regions=[2, 2]))


def deepen(t):
    condition = ops(t, "sinter.cond")[0]
    first = len(t["regions"])
    arguments = next(r for r in t["regions"] if condition in r["ops"])["arguments"]
    for i in range(70):
        t["regions"].append({"arguments": arguments, "ops": [dict(condition, regions=[first + i + 1])] if i < 69 else []})
    condition["regions"] = [first]


broken("requires at most 64 nested regions (kMaxRegionDepth), found 65", deepen)

# What only the op knows.
broken("function 'twice': op 0: ", lambda t: ops(t, "sinter.add")[0].update(operands=[0]))
broken("function 'main': op 0: requires attribute 'lhs_batch' to be of the kind that sinter.dot_general has, found another",
       lambda t: value(t, "lhs_batch").update(kind="Unit"))
broken("function 'main': op 0: 'sinter.dot_general' op requires attribute 'element_type'", lambda t: ops(t, "sinter.dot_general")[0].update(
    attributes=[a for a in ops(t, "sinter.dot_general")[0]["attributes"] if names(t)[a["name"]] != "element_type"]))
broken("'func.call' op ", lambda t: next(a for o in ops(t, "func.call") for a in o["attributes"])["value"].update(text="nobody"))
broken("function 'main': requires 'sinter.dims' to have one name or size per axis", lambda t: next(
    a for a in t["regions"][1]["arguments"][0]["attributes"] if names(t)[a["name"]] == "sinter.dims")["value"]["elements"].pop())
broken("function 'main': requires names of arguments, results and states to be text", lambda t: next(
    a for a in t["regions"][1]["arguments"][1]["attributes"] if names(t)[a["name"]] == "sinter.state").update(value={"kind": "Unit"}))

# A graph may leave out all that it can.
broken("requires a function, got an empty module", lambda t: [t.pop(key) for key in list(t)] and t.update(locations=[{"kind": "Unknown"}]), b"")

print(f"{count} files")
sys.exit("\n".join(problems) if problems else 0)
