# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""index_policy.py SINTER FOLDER: positions outside of an axis in every operator that reads or writes by position, compiled,
without optimization and by the reference; expected numbers are NumPy's."""
import subprocess
import sys

import numpy as np
from onnx.parser import parse_model

SINTER, FOLDER = sys.argv[1:]
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
MODES = [[], ["-O0"], ["--reference"]]
X = np.arange(12, dtype=np.float32).reshape(3, 4)
failures = []


def save(name, text):
    path = f"{FOLDER}/{name}.onnx"
    with open(path, "wb") as f:
        f.write(parse_model(HEAD + text).SerializeToString())
    return path


def run(path, inputs, flags):
    command = [SINTER, "run", path, "--output", f"z=@{FOLDER}/z.npy", *flags]
    for name, value in inputs.items():
        np.save(f"{FOLDER}/{name}.npy", value)
        command += ["--input", f"{name}=@{FOLDER}/{name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done, np.load(f"{FOLDER}/z.npy") if done.returncode == 0 else None


def gives(name, path, inputs, expected, *more):
    for mode in MODES:
        done, result = run(path, inputs, [*mode, *more])
        if result is None or not np.array_equal(result, expected):
            failures.append(f"{name} {mode} {more}: expected\n{expected}\ngot\n{result} {done.stderr}")


def refuses(name, path, inputs, message, *more):
    for mode in MODES:
        done, result = run(path, inputs, [*mode, *more])
        if result is not None or message not in done.stderr:
            failures.append(f"{name} {mode} {more}: expected '{message}', got {result} {done.stderr}")


def ids(*values, dtype=np.int64):
    return np.array(values, dtype)


def says(name, op, axis, position, size):
    return f"node of '{name}' ({op}) requires positions inside of axis {axis}, got {position} for a size of {size}"


def families():
    """One model an operator: inside, from the end, outside on both sides, and what clamping makes of it."""
    gather = save("gather", "g (float[3, N] x, int64[K] i) => (float[3, K] z) { y = Gather<axis = 1>(x, i)\n z = Neg(y) }")
    gives("gather", gather, {"x": X, "i": ids(0, -1, 3, -4)}, -X[:, [0, -1, 3, -4]])
    refuses("gather", gather, {"x": X, "i": ids(0, 4, 1)}, says("y", "Gather", 1, 4, 4))
    refuses("gather", gather, {"x": X, "i": ids(-5, 1)}, says("y", "Gather", 1, -5, 4))
    refuses("gather", gather, {"x": X, "i": ids(1, -2**63)}, "for a size of 4")
    gives("gather", gather, {"x": X, "i": ids(9, -9)}, -X[:, [3, 0]], "--index-policy=clamp")

    small = save("small", "g (float[3, 4] x, int32[3] i) => (float[3, 4] z) { z = Gather(x, i) }")
    refuses("int32", small, {"x": X, "i": ids(0, 3, 1, dtype=np.int32)}, says("z", "Gather", 0, 3, 3))
    gives("int32", small, {"x": X, "i": ids(-3, 2, -1, dtype=np.int32)}, X[[-3, 2, -1]])
    for far in (-4, -2**31, -2**31 + 3, 2**31 - 1, 2**31 - 3):
        refuses("int32", small, {"x": X, "i": ids(0, far, 1, dtype=np.int32)}, says("z", "Gather", 0, far, 3))

    scalar = save("scalar", "g (float[3, 4] x, int64 i) => (float[4] z) { j = Add(i, i)\n z = Gather(x, j) }")
    gives("scalar", scalar, {"x": X, "i": np.int64(1)}, X[2])
    refuses("scalar", scalar, {"x": X, "i": np.int64(-2)}, says("z", "Gather", 0, -4, 3))

    elements = save("elements", "g (float[3, 4] x, int64[3, K] i) => (float[3, K] z) { z = GatherElements<axis = 1>(x, i) }")
    inside = np.array([[0, 1], [3, -1], [2, 2]])
    gives("elements", elements, {"x": X, "i": inside}, np.take_along_axis(X, inside, 1))
    refuses("elements", elements, {"x": X, "i": np.array([[0, 1], [3, -1], [2, 7]])}, says("z", "GatherElements", 1, 7, 4))

    tuples = save("tuples", "g (float[3, 4] x, int64[K, 2] i) => (float[K] z) { z = GatherND(x, i) }")
    gives("tuples", tuples, {"x": X, "i": np.array([[2, 3], [-1, -4]])}, X[[2, -1], [3, -4]])
    refuses("tuples", tuples, {"x": X, "i": np.array([[2, 3], [3, 0]])}, says("z", "GatherND", 0, 3, 3))
    refuses("tuples", tuples, {"x": X, "i": np.array([[2, 3], [2, 4]])}, says("z", "GatherND", 1, 4, 4))

    scatter = save("scatter", "g (float[3, 4] x, int64[3, 1] i, float[3, 1] u) => (float[3, 4] z) "
                              "{ z = ScatterElements<axis = 1>(x, i, u) }")
    update = np.full((3, 1), 9, np.float32)
    expected = X.copy()
    np.put_along_axis(expected, np.array([[1], [0], [3]]), update, 1)
    gives("scatter", scatter, {"x": X, "i": np.array([[1], [0], [-1]]), "u": update}, expected)
    refuses("scatter", scatter, {"x": X, "i": np.array([[1], [4], [-1]]), "u": update}, says("z", "ScatterElements", 1, 4, 4))
    skipped = X.copy()
    skipped[0, 1] = 9
    gives("scatter", scatter, {"x": X, "i": np.array([[1], [4], [-7]]), "u": update}, skipped, "--index-policy=clamp")

    blocks = save("blocks", "g (float[3, 4] x, int64[2, 1] i, float[2, 4] u) => (float[3, 4] z) { z = ScatterND(x, i, u) }")
    refuses("blocks", blocks, {"x": X, "i": np.array([[1], [-4]]), "u": np.zeros((2, 4), np.float32)},
            says("z", "ScatterND", 0, -4, 3))


def long_scatters():
    """Long runs of updates, whose positions are looked at together: none, one or many that are negative or outside."""
    combiners = {"none": lambda old, new: new, "add": np.add, "max": np.maximum}
    rng = np.random.default_rng(1)
    for count, axis, names in ((1500, 1, combiners), (1029, 0, ["add"])):
        x = rng.integers(-9, 9, (2, 70) if axis else (70, count)).astype(np.float32)
        u = rng.integers(-2, 3, (2, count)).astype(np.float32)
        inside = rng.integers(0, x.shape[axis], (2, count))
        outside = inside.copy()
        inside[0, ::700] -= x.shape[axis]
        outside[1, [3, count - 1]] = x.shape[axis], -x.shape[axis] - 1
        for name in names:
            table = f"float[{x.shape[0]}, {x.shape[1]}]"
            model = save("long", f"g ({table} x, int64[2, {count}] i, float[2, {count}] u) => ({table} z) "
                                 f'{{ z = ScatterElements<axis = {axis}, reduction = "{name}">(x, i, u) }}')
            for places, policy in ((inside, "error"), (outside, "clamp")):
                expected = x.copy()
                for (row, column), place in np.ndenumerate(places):
                    if -x.shape[axis] <= place < x.shape[axis]:
                        at = (row, place) if axis else (place, column)
                        expected[at] = combiners[name](expected[at], u[row, column])
                gives(f"long {name}", model, {"x": x, "i": places, "u": u}, expected, f"--index-policy={policy}")
            if name == "add":
                refuses("long", model, {"x": x, "i": outside, "u": u}, f"requires positions inside of axis {axis}")


def branches():
    """An error counts where the op runs and its result is read."""
    body = ("g (bool c, float[3] x) => (float[1] z) { z = If (c) <then_branch = a () => (float[1] p) <int64[1] i = {5}> "
            "{ p = Gather(x, i) }, else_branch = b () => (float[1] q) <int64[1] j = {-3}> { q = Gather(x, j) }> }")
    choice, x = save("choice", body), X[0, :3]
    gives("branch not taken", choice, {"c": np.array(False), "x": x}, x[-3:-2])
    refuses("branch taken", choice, {"c": np.array(True), "x": x}, says("p", "Gather", 0, 5, 3))

    unread = save("unread", "g (float[3] x, int64[1] i) => (float[3] z) { y = Gather(x, i)\n z = Neg(x) }")
    done, result = run(unread, {"x": x, "i": ids(7)}, [])
    if not np.array_equal(result, -x):
        failures.append(f"what nobody reads: {done.stderr}")

    loop = save("loop", """g (int64 n, float[5, 2] t, int64[4] i) => (float[2] z) {
      c = Constant<value = bool {1}>()
      s = Constant<value = float[2] {0, 0}>()
      z = Loop(n, c, s) <body = b (int64 k, bool go, float[2] sum) => (bool more, float[2] next) {
        more = Identity(go)
        at = Gather(i, k)
        row = Gather(t, at)
        next = Add(sum, row) }>
    }""")
    table = np.arange(10, dtype=np.float32).reshape(5, 2)
    bad = ids(1, -2, 9, 0)
    gives("no trips", loop, {"n": np.int64(0), "t": table, "i": bad}, np.zeros(2, np.float32))
    gives("trips before", loop, {"n": np.int64(2), "t": table, "i": bad}, table[1] + table[-2])
    refuses("third trip", loop, {"n": np.int64(3), "t": table, "i": bad}, says("row", "Gather", 0, 9, 5))
    refuses("fifth trip", loop, {"n": np.int64(5), "t": table, "i": ids(1, 1, 1, 1)}, says("at", "Gather", 0, 4, 4))


def files():
    """Graph files keep the policy; files without checks clamp unless they are told."""
    gather = save("kept", "g (float[3, 4] x, int64[2] i) => (float[2, 4] z) { z = Gather(x, i) }")
    inputs, outside = {"x": X, "i": ids(-9, 5)}, X[[0, 2]]

    def convert(source, target, *flags):
        done = subprocess.run([SINTER, "convert", source, target, *flags], capture_output=True, text=True, check=False)
        if done.returncode:
            failures.append(f"convert {source} {target} {flags}: {done.stderr}")

    for suffix in ("sinter", "mlir"):
        kept, clamped = f"{FOLDER}/kept.{suffix}", f"{FOLDER}/clamped.{suffix}"
        convert(gather, kept)
        convert(gather, clamped, "--index-policy=clamp")
        refuses(suffix, kept, inputs, says("z", "Gather", 0, -9, 3))
        gives(suffix, kept, inputs, outside, "--index-policy=clamp")
        gives(suffix, clamped, inputs, outside)
        refuses(suffix, clamped, inputs, "requires positions inside of axis 0, got -9 for a size of 3", "--index-policy=error")
    back = f"{FOLDER}/back.onnx"
    convert(f"{FOLDER}/kept.sinter", back)
    refuses("onnx", back, inputs, "requires positions inside of axis 0, got -9 for a size of 3")


families()
long_scatters()
branches()
files()
print("\n".join(failures))
sys.exit(1 if failures else 0)
