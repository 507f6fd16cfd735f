# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""malformed.py TRANSLATE FOLDER: imports models that say what ONNX does not allow; each must fail with its message, which
names the file and the node. What is allowed, though unusual, must pass."""
import subprocess
import sys

import onnx
from onnx import AttributeProto, TensorProto, helper
from onnx.parser import parse_model

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def model(text, head=HEAD):
    return parse_model(head + text)


def changed(text, change, head=HEAD):
    made = model(text, head)
    change(made)
    return made


def attribute(name, **fields):
    made = AttributeProto(name=name)
    for field, value in fields.items():
        if field in ("ints", "floats"):
            getattr(made, field).extend(value)
        else:
            setattr(made, field, value)
    return made


def with_attribute(text, made, head=HEAD):
    return changed(text, lambda m: m.graph.node[0].attribute.append(made), head)


SOFTMAX = "g (float[2, 3] x) => (float[2, 3] z) { z = Softmax(x) }"
FUNCTION = """g (float[2, 3] x) => (float[2, 3] z) { z = local.f<alpha = 0.5>(x) }
<domain: "local", opset_import: ["" : 17]>
f <alpha> (x) => (z) { z = LeakyRelu<alpha : float = @alpha>(x) }"""
LOCAL = '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n'
BODY = "<then_branch = a () => (float[3] p) {{ p = Neg(x) }}, else_branch = b () => (float[3] q) {{ {} }}>"


def call_attribute(change):
    def apply(m):
        change(m.graph.node[0].attribute[0])
    return changed(FUNCTION, apply, LOCAL)


def set_ir(version):
    def apply(m):
        m.ir_version = version
    return changed(SOFTMAX, apply)


def as_int(a):
    a.Clear()
    a.name, a.i, a.type = "alpha", 1, AttributeProto.INT


def refer(m):
    m.graph.node[0].attribute.append(attribute("axis", ref_attr_name="axis", type=AttributeProto.INT))


def rename(m):
    m.functions[0].node[0].attribute[0].ref_attr_name = "beta"


REFUSED = [
    # Attributes
    (with_attribute(SOFTMAX, attribute("axis", f=1.0, type=AttributeProto.FLOAT)),
     "node of 'z' (Softmax): requires an integer as attribute 'axis', found a float"),
    (with_attribute(SOFTMAX, attribute("axis", ints=[1], type=AttributeProto.INTS)),
     "requires an integer as attribute 'axis', found a list of integers"),
    (with_attribute(SOFTMAX, attribute("axis", f=1.0, type=AttributeProto.INT)),
     "requires an integer as attribute 'axis', as its type says, found a float"),
    (with_attribute(SOFTMAX, attribute("axis", i=1, f=1.0, type=AttributeProto.INT)),
     "requires one value for attribute 'axis', found a float and an integer"),
    (with_attribute(SOFTMAX, attribute("axis")), "requires a value for attribute 'axis', found none"),
    (with_attribute(SOFTMAX, attribute("alpha", f=1.0, type=AttributeProto.FLOAT)),
     "Softmax has no attribute 'alpha', it has axis"),
    (model("g (float[3] x) => (float[3] z) { z = Relu<alpha = 1.0>(x) }"), "Relu has no attribute 'alpha', it has none"),
    (model("g (float[1, 3] x) => (float[3] z) { z = Squeeze<axes = [0]>(x) }"),
     "Squeeze of opset 17 has no attribute 'axes', only Squeeze of opset 1 to 12 has"),
    (model("g (float[3] x) => (float[3] z) { z = Gelu<approximate = \"fast\">(x) }", '<ir_version: 8, opset_import: ["" : 20]>\n'),
     "requires none or tanh as attribute 'approximate', found 'fast'"),
    (model("g (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] z) { z = MaxPool<kernel_shape = [3, 3], auto_pad = \"SOME\">(x) }"),
     "found 'SOME'"),
    (model("g (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] z) { z = MaxPool(x) }"),
     "node of 'z' (MaxPool): requires the attribute 'kernel_shape', found none"),
    (changed("g (float[2, 3] x) => (float[2, 3] z) { z = Softmax<axis = 1>(x) }",
             lambda m: m.graph.node[0].attribute.append(helper.make_attribute("axis", 0))),
     "defines the attribute 'axis' a second time"),
    (changed("g () => (float[3] z) { z = Constant<value = float[1] {1}>() }",
             lambda m: m.graph.node[0].attribute[0].ClearField("t")),
     "requires a tensor as attribute 'value', found no value"),
    # Inputs and outputs
    (model("g (float[3] x) => (float[3] z) { z = Relu(x, x) }"), "requires at most 1 inputs, found 2"),
    (model("g (float[3] x) => (float[3] z) { z = Add(x) }"), "requires at least 2 inputs, found 1"),
    (model("g (float[3] x) => (float[3] z) { z, y = Relu(x) }"), "requires at most 1 outputs, found 2"),
    (model("g (int64[3] x) => (int64[3] z) { z = Sqrt(x) }"),
     "node of 'z' (Sqrt): requires an input 0 of type float, float16, double, bfloat16, found int64"),
    (model("g (float[3] x, double[3] y) => (float[3] z) { z = Add(x, y) }"),
     "requires inputs 0 and 1 of one type, found float and double"),
    (model("g (float[3] x, float[1] i) => (float[1] z) { z = Gather(x, i) }"),
     "requires an input 1 of type int32, int64, found float"),
    (model("g (float[3] x) => (float[3] z) { z = Abs(x)\n q = Add(x, nope) }"),
     "node of 'q' (Add) requires its inputs to be defined, 'nope' is not"),
    (model("g (float[3] x) => (float[3] y) { z = Abs(x) }"), "graph 'g' requires its outputs to be defined, 'y' is not"),
    # Each name is defined once
    (model("g (float[3] x) => (float[3] z) { z = Abs(x)\n z = Neg(x) }"), "node of 'z' (Neg) defines the name 'z' a second time"),
    (model("g (float[3] x) => (float[3] z) <float[3] z = {1, 2, 3}> { z = Abs(x) }"), "defines the name 'z' a second time"),
    (model("g (bool c, float[3] x) => (float[3] z) { y = Neg(x)\n z = If (c) " + BODY.format("y = Abs(x)\n q = Neg(y)") + " }"),
     "node of 'y' (Abs) defines the name 'y', which a graph around it defines already"),
    # Versions and domains
    (set_ir(999), "requires a format version (IR version) of 1 to 14, found 999"),
    (set_ir(0), "requires a format version (IR version) of 1 to 14, found 0"),
    (changed(SOFTMAX, lambda m: m.opset_import.pop()), "requires operator sets that say what its operators mean, found none"),
    (model(SOFTMAX, '<ir_version: 8, opset_import: ["" : 99]>\n'), "opset 99 of the model is newer than 28, the newest one known"),
    (model(SOFTMAX, '<ir_version: 8, opset_import: ["" : 17, "ai.onnx" : 18]>\n'), "requires one operator set a domain, found two"),
    (model("g (float[3] x) => (float[3] z) { z = foo.Abs(x) }"),
     "node of 'z' (Abs): requires an operator set of domain 'foo', the model states none"),
    (model(SOFTMAX, '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 2]>\n'),
     "opset ai.onnx.preview.training 2 of the model is newer than 1, the newest one known"),
    # Functions
    (call_attribute(lambda a: setattr(a, "name", "beta")), "function 'f' has no attribute 'beta'"),
    (call_attribute(as_int), "function 'f' requires a float as attribute 'alpha', found an integer"),
    (changed(SOFTMAX, refer), "attribute 'axis' refers to an attribute 'axis' of a function, and is in none"),
    (changed(FUNCTION, rename, LOCAL), "attribute 'alpha' refers to an attribute 'beta' that its function does not have"),
    (changed(FUNCTION, lambda m: setattr(m.functions[0].opset_import[0], "version", 99), LOCAL),
     "opset 99 of function 'f' is newer than 28, the newest one known"),
    # Cycles
    (model("g (float[3] x) => (float[3] z) { z = Add(x, y)\n y = Neg(w)\n w = Abs(z) }"),
     "graph 'g' requires nodes that do not wait for one another, found the cycle node of 'z' (Add), node of 'w' (Abs), node of 'y' (Neg)"),
    (model("g (float[3] x) => (float[3] z) { z = Add(x, z) }"), "found the cycle node of 'z' (Add)"),
    (model("g (bool c, float[3] x) => (float[3] z) { z = If (c) " + BODY.format("q = Neg(y)") + "\n y = Abs(z) }"),
     "found the cycle node of 'z' (If), node of 'y' (Abs)"),
]

ALLOWED = [
    # A default value that the file's writer leaves out, a name that a body has for itself, an output named twice.
    with_attribute(SOFTMAX, attribute("axis", type=AttributeProto.INT)),
    model("g (bool c, float[3] x) => (float[3] z) { z = If (c) <then_branch = a () => (float[3] p) <float[3] x = {1, 2, 3}> "
          "{ p = Neg(x) }, else_branch = b () => (float[3] q) { q = Abs(x) }> }"),
    model("g (float[3] x) => (float[3] z, float[3] z) { z = Abs(x) }"),
    model(FUNCTION, LOCAL),
    call_attribute(lambda a: None),
]


def main():
    translate, folder = sys.argv[1:]
    bad = 0
    for number, (made, message) in enumerate(REFUSED + [(m, None) for m in ALLOWED]):
        path = f"{folder}/m{number}.onnx"
        with open(path, "wb") as f:
            f.write(made.SerializeToString())
        run = subprocess.run([translate, "--onnx-to-mlir", path], capture_output=True, text=True, check=False)
        if message is None and run.returncode != 0:
            print(f"{number}: must be read, was refused: {run.stderr}")
            bad += 1
        elif message is not None and (run.returncode != 1 or message not in run.stderr or path not in run.stderr):
            print(f"{number}: expected exit code 1 and '{message}', got {run.returncode} and: {run.stderr}")
            bad += 1
    sys.exit(1 if bad else 0)


main()
