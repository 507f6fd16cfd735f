# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""onnx's own node tests with a number of an attribute that is as far away as it can be, or an input that is a scalar: each number and each
input of each operator once."""
import copy
import glob

import onnx

from hostile_models import ANY, LEAST, MOST

NODES = "/usr/share/libonnx-testdata/data/node/*/model.onnx"  # of a Debian package; hostile.test requires it


def numbers(attribute):
    """Ways to change one number: setters, by their place in a list."""
    if attribute.type == onnx.AttributeProto.INT:
        yield "", lambda a, n: setattr(a, "i", n)
    if attribute.type == onnx.AttributeProto.INTS:
        for k in range(min(2, len(attribute.ints))):
            yield f"[{k}]", lambda a, n, k=k: a.ints.__setitem__(k, n)


def far_attributes(c):
    seen = set()
    for path in sorted(glob.glob(NODES)):
        model = onnx.load(path)
        for i, node in enumerate(model.graph.node):
            for j, attribute in enumerate(node.attribute):
                for place, change in numbers(attribute):
                    key = node.op_type, attribute.name, place
                    if key in seen:
                        continue
                    seen.add(key)
                    for n in (MOST, LEAST):
                        changed = copy.deepcopy(model)
                        change(changed.graph.node[i].attribute[j], n)
                        c.add(f"far-{node.op_type}-{attribute.name}{place}-{n}", changed, ANY, run=False)


def scalar_inputs(c):
    seen = set()
    for path in sorted(glob.glob(NODES)):
        model = onnx.load(path)
        for i, value in enumerate(model.graph.input):
            readers = {(node.op_type, k) for node in model.graph.node for k, name in enumerate(node.input) if name == value.name}
            if readers <= seen or not value.type.HasField("tensor_type") or not value.type.tensor_type.shape.dim:
                continue
            seen |= readers
            changed = copy.deepcopy(model)
            del changed.graph.input[i].type.tensor_type.shape.dim[:]
            for output in changed.graph.output:
                output.type.tensor_type.ClearField("shape")
            c.add(f"scalar-{path.split('/')[-2]}-{i}", changed, ANY, run=False)


FAMILIES = [far_attributes, scalar_inputs]
