# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""unsorted.py FOLDER: models whose nodes stand in an order that the standard does not allow, and one of 100,000 nodes that
stands backwards."""
import sys

from onnx import TensorProto, helper
from onnx.parser import parse_model

FOLDER = sys.argv[1]
MODELS = {
    "graph": """<ir_version: 8, opset_import: ["" : 17]>
      g (float[3] x) => (float[3] z) { z = Add(b, a)
        b = Mul(a, a)
        a = Add(x, x) }""",
    # A body reads what a later node around it makes; its own nodes stand backwards, too.
    "body": """<ir_version: 8, opset_import: ["" : 17]>
      g (bool c, float[3] x) => (float[3] z) {
        z = If (c) <then_branch = t () => (float[3] p) { p = Neg(q)
                                                         q = Add(a, r)
                                                         r = Abs(a) },
                    else_branch = e () => (float[3] s) { s = Identity(x) }>
        a = Neg(x) }""",
    "function": """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
      g (float[3] x) => (float[3] z) { z = local.f(x) }
      <domain: "local", opset_import: ["" : 17]>
      f (x) => (z) { z = Sub(a, x)
                     a = Mul(x, x) }""",
}
for name, text in MODELS.items():
    with open(f"{FOLDER}/{name}.onnx", "wb") as file:
        file.write(parse_model(text).SerializeToString())

count = 100_000
nodes = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"]) for i in reversed(range(count))]
vector = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("v0", f"v{count}")]
graph = helper.make_graph(nodes, "long", vector[:1], vector[1:])
with open(f"{FOLDER}/long.onnx", "wb") as file:
    file.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
