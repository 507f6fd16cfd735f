# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""growth.py SINTER: four times the ops take at most eight times the processor time to compile, of long schedules 5.5 (16 would be quadratic, and paths
through values that are read twice are 2^n): chains, values read twice or more, selects, and gradients of
them."""
import os
import resource
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

SINTER = sys.argv[1]
WEIGHTS = [numpy_helper.from_array(np.full((), v, np.float32), k) for k, v in (("a", 1.01), ("b", .1), ("c", .5))]
SIZES = [numpy_helper.from_array(np.array([v], np.int64), k) for k, v in (("zero", 0), ("one", 1), ("two", 2), ("end", -1), ("most", 10**9))]
SIZES.append(numpy_helper.from_array(np.array([1, 0], np.int64), "low"))
SIZES.append(numpy_helper.from_array(np.array([128, 64], np.int64), "wide"))
SIZES += [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in (("first", 1), ("trips", 10))]


def save(nodes, last, shape=(64,)):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, shape)], [h.make_tensor_value_info(last, T.FLOAT, None)], WEIGHTS + SIZES)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")


def chain(step):
    def make(count):
        nodes, value = [], "x"
        for i in range(count):
            nodes += step(value, i)
            value = nodes[-1].output[0]
        return nodes + [h.make_node("ReduceSum", [value], ["y"], keepdims=0)]
    return make


def fan(count):
    nodes = [h.make_node("Sin", ["x"], ["s"])]
    for i in range(count):
        nodes += [h.make_node("Mul", ["s", "x" if i == 0 else f"p{i - 1}"], [f"m{i}"]), h.make_node("Add", [f"m{i}", "s"], [f"p{i}"])]
    return nodes + [h.make_node("ReduceSum", [f"p{count - 1}"], ["y"], keepdims=0)]


def separate(count):
    """As many kernels: each ends in a sum."""
    nodes = []
    for i in range(count):
        before = "x" if i == 0 else f"v{i - 1}"
        nodes += [h.make_node("ReduceSum", [before], [f"s{i}"], keepdims=0), h.make_node("Sub", [before, f"s{i}"], [f"v{i}"])]
    return nodes + [h.make_node("ReduceSum", [f"v{count - 1}"], ["y"], keepdims=0)]


def products(count):
    """The same little kernel, as often."""
    nodes = [h.make_node("MatMul", ["x" if i == 0 else f"v{i - 1}", "x"], [f"v{i}"]) for i in range(count)]
    return nodes + [h.make_node("ReduceSum", [f"v{count - 1}"], ["y"], keepdims=0)]


def joins(count):
    """One join of many."""
    nodes = [h.make_node("Sin" if i % 2 else "Neg", ["x"], [f"v{i}"]) for i in range(count)]
    return nodes + [h.make_node("Concat", [n.output[0] for n in nodes], ["j"], axis=0), h.make_node("ReduceSum", ["j"], ["y"], keepdims=0)]


def ranges(count):
    """Gathers at positions that are computed: checks and sizes stand between the launches of one long function."""
    nodes, value = [], "x"
    for i in range(count):
        nodes += [h.make_node("Shape", [value], [f"s{i}"]), h.make_node("Squeeze", [f"s{i}"], [f"n{i}"]),
                  h.make_node("Range", ["first", f"n{i}", "first"], [f"r{i}"]), h.make_node("Gather", [value, f"r{i}"], [f"v{i}"])]
        value = f"v{i}"
    return nodes + [h.make_node("ReduceSum", [value], ["y"], keepdims=0)]


def loops(count):
    """Loops with a capture of more elements than are carried along."""
    nodes, value = [h.make_node("Expand", ["x", "wide"], ["start"]), h.make_node("Sin", ["start"], ["w"])], "start"
    for i in range(count):
        info = h.make_tensor_value_info
        body = h.make_graph([h.make_node("Mul", [f"c{i}", "w"], [f"o{i}"]), h.make_node("Identity", [f"k{i}"], [f"q{i}"])], "b",
                            [info(f"t{i}", T.INT64, []), info(f"k{i}", T.BOOL, []), info(f"c{i}", T.FLOAT, [128, 64])],
                            [info(f"q{i}", T.BOOL, []), info(f"o{i}", T.FLOAT, [128, 64])])
        nodes.append(h.make_node("Loop", ["trips", "", value], [f"v{i}"], body=body))
        value = f"v{i}"
    return nodes + [h.make_node("ReduceSum", [value], ["y"], keepdims=0)]


def node(kind, operands, name):
    return h.make_node(kind, operands, [name])


GRAPHS = {
    "doubled": (chain(lambda v, i: [node("Add", [v, v], f"v{i}")]), 500),
    "swish": (chain(lambda v, i: [node("Sigmoid", [v], f"s{i}"), node("Mul", [v, f"s{i}"], f"v{i}")]), 60),
    "selects": (chain(lambda v, i: [node("Greater", [v, "c"], f"g{i}"), node("Mul", [v, "a"], f"m{i}"), node("Add", [v, "b"], f"p{i}"),
                                    node("Where", [f"g{i}", f"m{i}", f"p{i}"], f"v{i}")]), 100),
    "sines": (chain(lambda v, i: [node("Sin", [v], f"v{i}")]), 100),
    "sums": (chain(lambda v, i: [node("Add", [v, "x"], f"v{i}")]), 2000),
    "fan": (fan, 250),
    "separate": (separate, 100),
    "products": (products, 100),
    # What is padded or joined is read once for lanes inside and once for others.
    "pads": (chain(lambda v, i: [node("Pad", [v, "low"], f"p{i}"), node("Sin", [f"p{i}"], f"v{i}")]), 15),
    "pads alone": (chain(lambda v, i: [node("Pad", [v, "low"], f"p{i}")]), 500),
    "doubling joins": (chain(lambda v, i: [h.make_node("Concat", [v, v], [f"j{i}"], axis=0), node("Slice", [f"j{i}", "one", "most", "zero", "two"], f"v{i}")]), 15),
    "joins": (joins, 200),
    # Each size is an expression that holds the one before several times.
    "slices": (chain(lambda v, i: [node("Slice", [v, "one", "end"], f"v{i}")]), 15),
    # Schedules of thousands of blocks. LLVM is quadratic in those of one function.
    "ranges": (ranges, 120),
    "loops": (loops, 200),
    "many sums": (separate, 800),
}
NAMED = ("slices", "ranges")  # of a size that has a name
FORWARD = ("ranges", "loops", "many sums")  # without the gradient, whose parts are rows of their own


# Four times the ops took 6 to 7.6 times the processor time while such a schedule was one function, and now take 3 to 4.6.
MOST = {"ranges": 5.5, "loops": 5.5, "many sums": 5.5}


def seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([SINTER, *command], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, (command, done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(make, count, gradient):
    save(make(count), "y", (8, 8) if make is products else ("n",) if make in [GRAPHS[k][0] for k in NAMED] else (64,))
    model, found = "m.onnx", 0.0
    if gradient:
        found = seconds("grad", "m.onnx", "--loss", "y", "-o", "g.mlir", "--force")
        model = "g.mlir"
    return found + seconds("compile", model, "-o", "m.smod", "--threads", "1", "--force")


def main():
    save([node("Sin", ["x"], "y")], "y")
    empty = seconds("compile", "m.onnx", "-o", "m.smod", "--threads", "1")
    for name, (make, count) in GRAPHS.items():
        for gradient in (False,) if name in FORWARD else (False, True):
            few, many = (measure(make, n, gradient) for n in (count, 4 * count))
            ratio = max(many - empty, 0) / max(few - empty, 0.05)
            most = MOST.get(name, 8)
            if ratio > most:  # once more: a loaded machine
                few, many = (min(t, measure(make, n, gradient)) for t, n in ((few, count), (many, 4 * count)))
                ratio = max(many - empty, 0) / max(few - empty, 0.05)
            print(f"{name}{' gradient' if gradient else ''}: {few:.2f} s for {count}, {many:.2f} s for {4 * count}: "
                  f"{'near linear' if ratio <= most else f'GROWS {ratio:.1f} times'}", flush=True)


main()
