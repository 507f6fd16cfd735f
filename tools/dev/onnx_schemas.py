#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes compiler/onnx/Schemas.inc: what each version of each ONNX operator takes, from the onnx package.

    onnx_schemas.py > compiler/onnx/Schemas.inc

A line is {"domain", "operator", since, min inputs, max inputs, max outputs, "attributes", "inputs", "types"}:
  attributes  name:kind ..., the kind a letter of KINDS, with ! where the attribute is required
  inputs      the type variable of each input, with ? where it may be left out, * where it repeats, ~ where its repetitions
              differ in type
  types       variable=bits ..., bit k for ONNX's data type k, hexadecimal; variables that are no tensors only are missing
"""
import sys

import onnx
from onnx import TensorProto, defs

KINDS = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "F", "INTS": "I", "STRINGS": "S",
         "TENSORS": "T", "GRAPHS": "G", "SPARSE_TENSOR": "p", "SPARSE_TENSORS": "P", "TYPE_PROTO": "y", "TYPE_PROTOS": "Y"}
DOMAINS = ("", "ai.onnx.preview.training", "ai.onnx.preview")
DTYPES = {name.lower(): value for name, value in TensorProto.DataType.items()}


def bits(types):
    """The set of element types, None where something else than tensors is allowed."""
    found = 0
    for text in types:
        if not text.startswith("tensor("):
            return None
        found |= 1 << DTYPES[text[len("tensor(") : -1]]
    return found


def line(schema):
    attributes = " ".join(f"{name}:{KINDS[a.type.name]}{'!' if a.required else ''}"
                          for name, a in sorted(schema.attributes.items()))
    variables = {c.type_param_str: bits(c.allowed_type_strs) for c in schema.type_constraints}
    inputs = []
    for i in schema.inputs:
        variable = i.type_str
        if variable.startswith("tensor("):  # a fixed type
            variables[variable[len("tensor(") : -1]] = bits([variable])
            variable = variable[len("tensor(") : -1]
        option = i.option.name
        mark = "?" if option == "Optional" else "" if option == "Single" else "*" if i.is_homogeneous else "~"
        inputs.append("".join(ch for ch in variable if ch.isalnum() or ch == "_") + mark)
    types = " ".join(f"{name}={mask:x}" for name, mask in variables.items() if mask is not None)
    return (f'{{"{schema.domain}", "{schema.name}", {schema.since_version}, {schema.min_input}, {schema.max_input}, '
            f'{schema.max_output}, "{attributes}", "{" ".join(inputs)}", "{types}"}},')


def main():
    print("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
    print(f"// Made by tools/dev/onnx_schemas.py from onnx {onnx.__version__}.")
    print("// clang-format off")
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain in DOMAINS and not s.deprecated]
    for schema in sorted(schemas, key=lambda s: (s.domain, s.name, s.since_version)):
        print(line(schema))
    print("// clang-format on")


if __name__ == "__main__":
    sys.exit(main())
