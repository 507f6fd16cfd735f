# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sequences.py SINTER: sequences that are made and taken apart between operators, against onnxruntime."""
import sys

import numpy as np
import onnx.parser
import onnxruntime

from contrib_node import run_model

RNG = np.random.default_rng(2)
X = "float[2, 7] x"
FUNCTIONS = """<domain: "own", opset_import: ["" : 17]> Parts<axis>(x, p) => (s) { s = SplitToSequence<axis: int = @axis>(x, p) }
<domain: "own", opset_import: ["" : 17]> Joined(s) => (y) { y = ConcatFromSequence<axis = 1>(s) }"""
CASES = [
    (X, "int64 p = {1}", "t = Neg(x) s = SequenceConstruct(x, t) y = SequenceAt(s, p)", ""),
    (X, "int64 p = {-2}", "t = Neg(x) s = SequenceConstruct(x, t) y = SequenceAt(s, p)", ""),
    (X, "int64 p = {2}", "s = SplitToSequence<axis = 1>(x, p) q = Constant<value_int = -1>() y = SequenceAt(s, q)", ""),
    (X, "int64 p = {1}", "s = SplitToSequence<axis = 1, keepdims = 0>(x) y = SequenceAt(s, p)", ""),
    (X, "int64[3] l = {3, 0, 4}", "s = SplitToSequence<axis = 1>(x, l) y = ConcatFromSequence<axis = 0>(u) u = SequenceErase(v, q) v = SequenceErase(s, q) q = Constant<value_int = 0>()", ""),
    ("float[2, N] x", "int64[2] l = {3, 4}", "s = SplitToSequence<axis = 1>(x, l) q = Constant<value_int = 1>() y = SequenceAt(s, q)", ""),
    ("float[N, M] x", "int64 p = {0}", "e = SequenceEmpty() s = SequenceInsert(e, x) t = Exp(x) u = SequenceInsert(s, t, p) y = ConcatFromSequence<axis = -1>(u)", ""),
    (X, "int64 p = {0}", "t = Neg(x) s = SequenceConstruct(x, t, x) y = ConcatFromSequence<axis = -2, new_axis = 1>(s)", ""),
    (X, "int64 p = {3}", "s = own.Parts<axis = 1>(x, p) y = own.Joined(s)", ""),
    (X, "int64 p = {0}", "s = SequenceConstruct(x, x, x) n = SequenceLength(s) c = Cast<to = 1>(n) y = Mul(x, c)", ""),
    ("float[2097152] x", "int64 p = {0}", "s = SplitToSequence(x) y = SequenceAt(s, p)", "(SplitToSequence): requires at most 1048576 parts (kMaxSequenceValues), found 2097152"),
    # What cannot be.
    (X, "int64 p = {2}", "s = SequenceConstruct(x, x) y = SequenceAt(s, p)", "(SequenceAt): requires a place in [-2, 1] of a sequence of 2, found 2"),
    (X, "int64 p = {0}", "e = SequenceEmpty() y = ConcatFromSequence<axis = 0>(e)", "(ConcatFromSequence): requires a sequence with a tensor, found none"),
    (X + ", int64 p", "int64 q = {0}", "s = SequenceConstruct(x, x) y = SequenceAt(s, p)", "(SequenceAt): a place in a sequence that is known only at run time is not supported"),
    (X, "int64[2] l = {3, 5}", "s = SplitToSequence<axis = 1>(x, l) q = Constant<value_int = 1>() y = SequenceAt(s, q)", "(SplitToSequence): requires parts that add up to 7, found 8"),
    ("float[2, N] x", "int64[2] l = {3, 5}", "s = SplitToSequence<axis = 1>(x, l) q = Constant<value_int = 1>() y = SequenceAt(s, q)", "split_to_sequence got 7 elements, requires 8 by the lengths of its parts"),
    ("float[2, N] x", "int64 p = {2}", "s = SplitToSequence<axis = 1>(x, p) y = SequenceAt(s, p)", "(SplitToSequence): parts of a size known only at run time is not supported"),
    (X, "int64 p = {0}", "s = SequenceConstruct(x, x) y = Neg(s)", "(Neg): a sequence as an input is not supported"),
    (X + ", bool b", "int64 p = {0}", "s = SequenceConstruct(x) y = If(b) <then_branch = t () => (float[2, 7] u) { u = SequenceAt(s, p) }, else_branch = e () => (float[2, 7] v) { v = Neg(x) }>",
     "(If): a sequence of a surrounding graph is not supported"),
    (X + ", bool b", "int64 p = {0}", "s = If(b) <then_branch = t () => (seq(float[2, 7]) u) { u = SequenceConstruct(x) }, else_branch = e () => (seq(float[2, 7]) v) { v = SequenceConstruct(x, x) }> y = SequenceAt(s, p)",
     "(If): a sequence as the output of a body is not supported"),
    (X, "int64 p = {0}", "y = SequenceAt(x, p)", "(SequenceAt): a sequence that the graph does not make of tensors in one piece is not supported"),
]


# Each insert makes a sequence of one more: half a million values with a thousand of them, two millions with two thousand.
INSERTS = "s0 = SequenceEmpty() " + " ".join(f"s{k + 1} = SequenceInsert(s{k}, x)" for k in range(2000)) + " y = SequenceAt(s2000, p)"
CASES.append((X, "int64 p = {0}", INSERTS, "requires sequences of at most 1048576 tensors together (kMaxSequenceValues), found more"))


def main():
    sinter, failures = sys.argv[1], 0
    x = RNG.standard_normal((2, 7)).astype(np.float32)
    for inputs, constants, nodes, message in CASES:
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17, "own" : 1]> graph ({inputs}) => (float[A] y) <{constants}> {{ {nodes} }} {FUNCTIONS if "own" in nodes else ""}')
        del model.graph.output[0].type.tensor_type.shape.dim[:]
        model.graph.output[0].type.tensor_type.ClearField("shape")
        feeds = {"x": x} | ({"p": np.array(0)} if "int64 p" in inputs else {"b": np.array(True)} if "bool b" in inputs else {})
        got, printed = run_model(sinter, model, feeds)
        if message:
            isRight = got is None and printed.splitlines()[-1].endswith(message)
        else:
            expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]
            isRight = got is not None and got[0].shape == expected.shape and np.array_equal(got[0], expected)
        if not isRight:
            failures += 1
            print(f"{nodes}: {got} {printed}")
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
