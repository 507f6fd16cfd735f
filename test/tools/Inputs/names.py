# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""names.py SINTER PREFIX: inputs whose names hold '=' are given values, and control characters of names do not reach a terminal."""
import subprocess
import sys

from onnx import TensorProto, helper, save

sinter, prefix = sys.argv[1:]


def model(names, node="n", outputs=("y",)):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in names]
    nodes = [helper.make_node("Sum", list(names), [output], name=node) for output in outputs]
    graph = helper.make_graph(nodes, "g", values, [helper.make_tensor_value_info(output, TensorProto.FLOAT, [2]) for output in outputs])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), prefix + ".onnx")


def run(*words):
    done = subprocess.run([sinter, *words], capture_output=True, text=True, timeout=300)
    assert not any(ord(c) < 32 and c not in "\n\t" or 127 <= ord(c) < 160 for c in done.stdout + done.stderr), done
    return done


model(["a", "a=b", "a=b=c"])
done = run("run", prefix + ".onnx", "--input", "a=1", "--input", "a=b=20", "--input", "a=b=c=300")
assert done.returncode == 0 and "[321, 321]" in done.stdout, done

evil = "x\x1b[31m\n\x07\u009b2J"
model([evil], outputs=[evil + "out"])
done = run("run", prefix + ".onnx")
assert done.returncode == 1 and done.stderr.count("\n") == 1 and "\\x1b[31m\\n\\x07" in done.stderr, done
done = run("run", prefix + ".onnx", "--input", evil + "=1")
assert done.returncode == 0 and done.stdout.count("\n") == 1, done
run("inspect", prefix + ".onnx", "--ops")
run("check", prefix + ".onnx")
