# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lookalikes.py SINTER LIBRARY FOLDER: graphs that look like what passes rewrite and are not it, against onnxruntime without optimizations or a formula; gradients and training steps of such."""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models"))
from sinter_runtime import Runtime

SINTER, LIBRARY, FOLDER = sys.argv[1:]
random = np.random.default_rng(3)
node = helper.make_node
runs = wrong = 0


def save(name, nodes, inputs, constants=None, outputs=("y",), kind=TensorProto.FLOAT):
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), dims or x.shape) for n, (x, dims) in inputs.items()]
    results = [helper.make_tensor_value_info(n, kind, None) for n in outputs]
    held = [numpy_helper.from_array(x, n) for n, x in (constants or {}).items()]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", infos, results, held), opset_imports=[helper.make_opsetid("", 18)], ir_version=9), name)


def run(model, feeds, *flags):
    subprocess.run([SINTER, "compile", model, "-o", "m.smod", "--force", *flags], check=True, capture_output=True)
    session = Runtime(LIBRARY).session("m.smod", 1)
    results = session.run(feeds)
    session.close()
    return results


def judge(what, got, expected):
    global runs, wrong
    runs += 1
    if got.shape != expected.shape or not np.allclose(got.astype(float), expected.astype(float), 1e-4, 1e-5, equal_nan=True):
        wrong += 1
        print(what, got.shape, expected.shape, np.isnan(got.astype(float)).sum(), "NaN")


def check(what, nodes, inputs, constants=None, expected=None, kind=TensorProto.FLOAT):
    """`inputs` are arrays, or arrays with the sizes that the model states."""
    inputs = {n: x if isinstance(x, tuple) else (x, None) for n, x in inputs.items()}
    feeds = {n: x for n, (x, _) in inputs.items()}
    save("m.onnx", nodes, inputs, constants, kind=kind)
    if expected is None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        expected = onnxruntime.InferenceSession("m.onnx", options, providers=["CPUExecutionProvider"]).run(None, feeds)[0]
    for flags in ((), ("-O0",)):
        judge(f"{what} {flags}", run("m.onnx", feeds, *flags)["y"], expected)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


os.makedirs(FOLDER, exist_ok=True)
os.chdir(FOLDER)
onnxruntime.set_default_logger_severity(4)

# A condition among the choices of a Where.
x = np.array([1, 2, 3], np.int32)
check("where of its own condition", [node("Equal", ["x", "z"], ["p"]), node("Where", ["p", "p", "no"], ["y"])], {"x": x, "z": x[::-1].copy()}, {"no": np.array(False)}, x == x[::-1],
      TensorProto.BOOL)

# A causal mask of finite numbers, and padding that hides all that its first rows see.
for causal, hidden in ((-1e9, -np.inf), (-1e9, -1e9), (-np.inf, -1e9)):
    size, causes = 32, np.where(np.tril(np.ones((32, 32), bool)), 0, causal).astype(np.float32)
    padding = np.zeros((2, 1, 1, size), np.float32)
    padding[0, ..., :3] = hidden
    attention = [node("MatMul", ["q", "k"], ["s0"]), node("Mul", ["s0", "scale"], ["s1"]), node("Add", ["s1", "causes"], ["s2"]), node("Add", ["s2", "padding"], ["s3"]),
                 node("Softmax", ["s3"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["y"])]
    inputs = {"q": normal(2, 2, size, 8), "k": normal(2, 2, 8, size), "v": normal(2, 2, size, 8), "padding": padding}
    check(f"padding {hidden} under a mask of {causal}", attention, inputs, {"scale": np.float32(0.35), "causes": causes})

# Masks of distances whose integers wrap: 2,304 positions, as smaller ones become constants.
size = 2304
rows, columns = np.arange(size)[:, None], np.arange(size)[None]
for kind, seen in ((np.uint8, (columns - rows).astype(np.uint8) <= 6), (np.int8, (columns - rows).astype(np.int8) <= 6)):
    attention = [node("Range", ["zero", "size", "one"], ["r"]), node("Unsqueeze", ["r", "last"], ["rows"]), node("Sub", ["r", "rows"], ["d"]),
                 node("Cast", ["d"], ["c"], to=helper.np_dtype_to_tensor_dtype(np.dtype(kind))), node("LessOrEqual", ["c", "six"], ["seen"]), node("MatMul", ["q", "k"], ["s"]),
                 node("Where", ["seen", "s", "never"], ["t"]), node("Softmax", ["t"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["y"])]
    constants = {"zero": np.array(0), "size": np.array(size), "one": np.array(1), "last": np.array([1]), "six": np.array(6, kind), "never": np.float32(-np.inf)}
    inputs = {"q": normal(1, 1, size, 4), "k": normal(1, 1, 4, size), "v": normal(1, 1, size, 4)}
    scores = np.where(seen, inputs["q"][0, 0].astype(float) @ inputs["k"][0, 0], -np.inf)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    expected = (shares / shares.sum(1, keepdims=True) @ inputs["v"][0, 0])[None, None].astype(np.float32)
    check(f"distances as {kind.__name__}", attention, inputs, constants, expected)

# Labels of other types than positions have.
for kind, count in ((np.uint8, 256), (np.int8, 128), (np.uint64, 300)):
    labels, values = random.integers(0, count, 1200).astype(kind), random.integers(1, 9, 1200).astype(np.int32)
    nodes = [node("Unsqueeze", ["l", "last"], ["u"]), node("Equal", ["u", "all"], ["e"]), node("Unsqueeze", ["x", "last"], ["w"]), node("Where", ["e", "w", "no"], ["p"]),
             node("ReduceSum", ["p", "last"], ["y"], keepdims=0)]
    check(f"labels of {kind.__name__}", nodes, {"l": labels, "x": values}, {"all": np.arange(count).astype(kind), "last": np.array([1]), "no": np.array(0, np.int32)}, values, TensorProto.INT32)

# Rows whose sums f16 does not hold cancel each other.
halves = np.zeros((64, 4096), np.float16)
halves[0], halves[1], halves[2, 0] = 100, -100, 3
check("a sum of f16", [node("ReduceSum", ["x"], ["y"], keepdims=0)], {"x": halves}, expected=np.array(3, np.float16), kind=TensorProto.FLOAT16)

# Channels of an open number, and images without pixels.
norms = {n: random.uniform(0.5, 1, 3).astype(np.float32) for n in "abmv"}
check("normalized sums of open channels", [node("Add", ["x", "two"], ["s"]), node("BatchNormalization", ["s", *"abmv"], ["y"])], {"x": (normal(2, 3, 4, 4), ["n", "c", "h", "w"])},
      {"two": np.full((1, 1, 1), 2, np.float32), **norms})
for group in (1, 2):
    weights = normal(2, 2 // group, 3)
    check("no pixels", [node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[3], group=group)], {"x": np.zeros((2, 2, 0), np.float32)}, {"w": weights, "b": np.array([1, 2], np.float32)},
          np.broadcast_to(np.array([1, 2], np.float32)[:, None], (2, 2, 2)))

# Gradients by sizes that only the call tells: what is repeated is summed, what is checked passes.
def gradient(what, nodes, inputs, expected):
    save("l.onnx", nodes + [node("ReduceSum", ["y"], ["loss"], keepdims=0)], inputs, outputs=("loss",))
    subprocess.run([SINTER, "grad", "l.onnx", "-o", "g.sinter", "--force"], check=True, capture_output=True)
    got = run("g.sinter", {n: x for n, (x, _) in inputs.items()})
    for name, value in expected.items():
        judge(f"gradient by {name} of {what}", got[f"grad.{name}"], np.asarray(value, np.float32))


for op, sizes in (("MatMul", (2, 2)), ("Add", (2,)), ("Mul", (2,))):
    ones = {"a": (np.ones((3, *sizes), np.float32), None), "b": (np.ones((1, *sizes), np.float32), ["n", *sizes])}
    each = 2 if op == "MatMul" else 1
    gradient(f"{op} of an open factor", [node(op, ["a", "b"], ["y"])], ones, {"a": np.full((3, *sizes), each), "b": np.full((1, *sizes), 3 * each)})
gradient("a diagonal", [node("Einsum", ["x"], ["y"], equation="ii->i")], {"x": (normal(3, 3), ["a", "b"])}, {"x": np.eye(3)})
gradient("open channels", [node("Conv", ["x", "w"], ["y"])], {"x": (np.ones((1, 2, 4), np.float32), [1, "c", 4]), "w": (np.ones((1, 2, 4), np.float32), None)},
         {"x": np.ones((1, 2, 4)), "w": np.ones((1, 2, 4))})

# Steps whose rate is 0 leave weights; schedules that rise in one step begin at the top.
weights = np.ones((3, 2), np.float32)
save("t.onnx", [node("MatMul", ["x", "w"], ["y"])], {"x": (np.ones((4, 3), np.float32), None)}, {"w": weights})
for optimizer, steps, expected in (("ftrl:lr=0", 3, weights), ("sgd:lr=0.1,schedule=one_cycle,steps=10,rise=0.1", 1, weights - 0.1 * 2), ("ftrl:lr=0.1,schedule=cosine,steps=2", 5, None)):
    subprocess.run([SINTER, "train-step", "t.onnx", "--loss", "mse", "--optimizer", optimizer, "-o", "t.smod", "--force"], check=True, capture_output=True)
    step = Runtime(LIBRARY).sessions("t.smod", ["step"])["step"]
    for _ in range(steps):
        if expected is None and _ == 2:  # the rate is 0 from here on
            expected = step.state("w").copy()
        step.run({"x": np.ones((4, 3), np.float32), "target": np.ones((4, 2), np.float32)})
    judge(optimizer, step.state("w"), expected)
print(f"{runs} results, {wrong} wrong")
