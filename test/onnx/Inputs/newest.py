# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""newest.py SINTER FOLDER EXPECTED [--all] [--reference]: the node tests of the onnx package that is installed, which makes
them when it is asked. Without --all those that Debian's test data lacks, but for forms written out as functions and for
types that are refused where a file is read."""
import os
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

DEBIAN = "/usr/share/libonnx-testdata/data/node"
LEFT_OUT = ("_expanded", "flexattention", "linear_attention", "image_decoder", "ai_onnx_ml", "int2", "fnuz", "float8e8m0",
            "float4", "e2m1", "string", "sequence", "optional", "tfidf", "regex")


def proto_of(value, port):
    kind = port.type
    if isinstance(value, TensorProto):
        return value
    if kind.HasField("map_type"):
        return numpy_helper.from_dict(value, port.name)
    if kind.HasField("sequence_type"):
        return numpy_helper.from_list(value, port.name)
    if kind.HasField("optional_type"):
        return numpy_helper.from_optional(value, port.name)
    return numpy_helper.from_array(value, port.name)


def write(path, message):
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def dump(case, folder):
    os.makedirs(folder)
    write(f"{folder}/model.onnx", case.model)
    for number, values in enumerate(case.data_sets):
        data = f"{folder}/test_data_set_{number}"
        os.makedirs(data)
        graph = case.model.graph
        for kind, each, ports in (("input", values[0], graph.input), ("output", values[1], graph.output)):
            for k, value in enumerate(each):
                write(f"{data}/{kind}_{k}.pb", proto_of(value, ports[k]))


def main():
    sinter, folder, expected, *flags = sys.argv[1:]
    for case in load_model_tests(kind="node"):
        isNew = not os.path.exists(f"{DEBIAN}/{case.name}") and not any(part in case.name.lower() for part in LEFT_OUT)
        if "--all" in flags or isNew:
            dump(case, f"{folder}/node/{case.name}")
    mode = ["--reference"] if "--reference" in flags else []
    sys.exit(subprocess.run([sinter, "check", "--onnx-tests", folder, "-j", "2", "--time-limit", "300", "--expected-failures",
                             expected, *mode], check=False).returncode)


main()
