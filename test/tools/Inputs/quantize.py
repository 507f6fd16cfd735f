# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantize.py BUILD: what sinter quantize writes has the scales that NumPy finds, runs in onnxruntime with the results that it has here, and loses what the command says
that it loses."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

failures = 0


def expect(holds, message):
    global failures
    if not holds:
        failures += 1
        print(message)


def network(rng):
    """A small network for pictures, with a product of two computed tensors at its end."""
    weights = []

    def weight(*shape):
        weights.append(numpy_helper.from_array((rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32), f"w{len(weights)}"))
        return weights[-1].name

    nodes = [helper.make_node("Conv", ["x", weight(16, 3, 3, 3), weight(16)], ["a"], name="first", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", weight(16, 1, 3, 3)], ["c"], name="depthwise", group=16, pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["d"]),
             helper.make_node("GlobalAveragePool", ["d"], ["e"]), helper.make_node("Flatten", ["e"], ["f"]), helper.make_node("MatMul", ["f", weight(16, 40)], ["g"], name="product"),
             helper.make_node("Gemm", ["g", weight(10, 40), weight(10)], ["y"], name="last", transB=1)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 12, 12])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def session(path, outputs=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made = onnxruntime.InferenceSession(path, options)
    return lambda x: made.run(outputs, {"x": x})


def noise(now, before):
    return 10 * np.log10(np.sum(before.astype(np.float64) ** 2) / np.sum((now.astype(np.float64) - before) ** 2))


def scales(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


class Folder:
    def __init__(self, build, path, rng):
        self.sinter, self.path = os.path.join(build, "bin", "sinter"), path
        onnx.save(network(rng), self.file("m.onnx"))
        self.x = rng.standard_normal((48, 3, 12, 12)).astype(np.float32)
        self.x[0, 0, 0, 0] = 40  # far from all others
        np.save(self.file("x.npy"), self.x)
        self.before = session(self.file("m.onnx"))(self.x)[0]

    def file(self, name):
        return os.path.join(self.path, name)

    def run(self, *args):
        return subprocess.run([self.sinter, *args], capture_output=True, text=True)

    def quantize(self, name, *flags):
        done = self.run("quantize", self.file("m.onnx"), "--data", f"x=@{self.file('x.npy')}", "-o", self.file(name), *flags)
        expect(done.returncode == 0, f"{flags}: {done.stderr}")
        return done.stdout

    def result(self, name):
        done = self.run("run", self.file(name), "--input", f"x=@{self.file('x.npy')}", "--output", f"y=@{self.file('y.npy')}")
        expect(done.returncode == 0, f"{name}: {done.stderr}")
        return np.load(self.file("y.npy"))


def check_forms(folder):
    forms = {"minmax": [], "percentile": ["--method", "percentile:99.9"], "entropy": ["--method", "entropy"], "tensor": ["--per-tensor"], "excluded": ["--exclude", "^(first|last)$"],
             "int8": ["--weights-only", "int8"], "int4": ["--weights-only", "int4"]}
    for name, flags in forms.items():
        text, path = folder.quantize(f"{name}.onnx", *flags), folder.file(f"{name}.onnx")
        onnx.checker.check_model(path) if name != "int4" else None
        there, here = session(path)(folder.x)[0], folder.result(f"{name}.onnx")
        # Codes of activations may differ by one step where f32 rounds the middle of two; weights alone leave sums in f32.
        apart = np.abs(there - here).max() / np.abs(there).max()
        expect(apart < (1e-5 if name.startswith("int") else 2e-2), f"{name}: onnxruntime's results are {apart} apart")
        told = re.search(r"y: largest difference (\S+), mean (\S+), signal to noise (\S+) dB, cosine (\S+), same class for (\S+) %", text)
        expect(told is not None, f"{name}: {text}")
        if told is None:
            continue
        lost = noise(there, folder.before)
        expect(abs(float(told[3]) - lost) < 1, f"{name}: {told[3]} dB are told, {lost} measured")
        expect(lost > (15 if name == "int4" else 20), f"{name}: only {lost} dB are left")
        same = 100 * np.mean(there.argmax(1) == folder.before.argmax(1))
        expect(abs(float(told[5]) - same) <= 100 / 48 + 0.01, f"{name}: {told[5]} % are told, {same} measured")


def check_scales(folder):
    known = scales(folder.file("minmax.onnx"))
    model = onnx.load(folder.file("m.onnx"))
    model.graph.output.extend([helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("b", "f")])
    onnx.save(model, folder.file("watched.onnx"))
    seen = dict(zip(("b", "f"), session(folder.file("watched.onnx"), ["b", "f"])(folder.x)), x=folder.x)
    for name, numbers in seen.items():
        low, high = min(numbers.min(), 0), max(numbers.max(), 0)
        expect(np.isclose(known[f"{name}_scale"], (high - low) / 255, rtol=1e-5), f"scale of {name}")
        expect(known[f"{name}_zero_point"] == np.round(-low / known[f"{name}_scale"]), f"zero point of {name}")
    # Bins are a 2048th of the range.
    ends = np.quantile(folder.x, [0.0005, 0.9995])
    kept = scales(folder.file("percentile.onnx"))["x_scale"] * 255
    expect(abs(kept - (ends[1] - ends[0])) < 3 * (folder.x.max() - folder.x.min()) / 2048, f"a percentile keeps {kept} instead of {ends}")
    entropy = scales(folder.file("entropy.onnx"))["x_scale"] * 255
    expect(4 < entropy < 20, f"entropy keeps {entropy} of numbers within 5, one of which is 40")
    weights, codes = numpy_helper.to_array(model.graph.initializer[0]), known["w0_quantized"]
    steps = np.abs(weights).max((1, 2, 3)) / 127
    expect(np.allclose(known["w0_scale"], steps, rtol=1e-6) and np.array_equal(codes, np.round(weights / known["w0_scale"].reshape(-1, 1, 1, 1))), "weights of the first filter")
    expect(known["w0_quantized"].dtype == np.int8 and "w0" not in known, "what the weights were is still there")
    expect(scales(folder.file("tensor.onnx"))["w0_scale"].shape == (), "a scale for each channel in spite of --per-tensor")
    left = {n.op_type + n.name for n in onnx.load(folder.file("excluded.onnx")).graph.node if n.input[0] in ("x", "g")}
    expect(left == {"Convfirst", "Gemmlast"}, f"excluded nodes read {left}")


def check_graphs(folder):
    """Graph files in and out."""
    expect(folder.run("convert", folder.file("m.onnx"), folder.file("m.sinter")).returncode == 0, "convert")
    done = folder.run("quantize", folder.file("m.sinter"), "--data", f"x=@{folder.file('x.npy')}", "-o", folder.file("q.sinter"))
    expect(done.returncode == 0, done.stderr)
    expect(noise(folder.result("q.sinter"), folder.before) > 20, "a graph file loses more")


def check_losses(folder):
    """Outputs whose sizes follow from rounded numbers, that hold infinities, and that hold nothing."""
    weights = [numpy_helper.from_array(np.random.default_rng(5).standard_normal((16, 16)).astype(np.float32), "w"), numpy_helper.from_array(np.float32(0), "zero"),
               numpy_helper.from_array(np.float32(-np.inf), "low"), numpy_helper.from_array(np.array([1]), "one"), numpy_helper.from_array(np.array([0]), "nought")]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("ReduceSum", ["h", "one"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "zero"], ["c"]),
             helper.make_node("Compress", ["h", "c"], ["sized"], axis=0), helper.make_node("Greater", ["h", "zero"], ["d"]), helper.make_node("Where", ["d", "h", "low"], ["masked"]),
             helper.make_node("Slice", ["h", "nought", "nought", "one"], ["empty"])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("sized", "masked", "empty")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])], outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder.file("losses.onnx"))
    x = np.random.default_rng(6).standard_normal((4000, 16)).astype(np.float32)
    np.save(folder.file("rows.npy"), x)
    done = folder.run("quantize", folder.file("losses.onnx"), "--data", f"x=@{folder.file('rows.npy')}", "-o", folder.file("lossy.onnx"))
    expect(done.returncode == 0, done.stderr)
    before, after = (session(folder.file(name), ["sized", "masked"]) for name in ("losses.onnx", "lossy.onnx"))
    calls = [(before(x[i : i + 16]), after(x[i : i + 16])) for i in range(0, len(x), 16)]
    resized = sum(len(was[0]) != len(now[0]) for was, now in calls)
    unlike = sum(np.sum(np.isinf(was[1]) != np.isinf(now[1])) for was, now in calls)
    told = re.search(r"sized: .*, signal to noise (\S+) dB, .*, other sizes in (\d+) of 250 calls, which are not compared\n", done.stdout)
    # Codes of activations may differ by one step where f32 rounds the middle of two, and rows near the limit with them.
    expect(told and float(told[1]) > 20 and resized > 0 and abs(int(told[2]) - resized) <= 5, f"{resized} calls have other sizes: {done.stdout}")
    told = re.search(r"masked: largest difference (\S+), mean (\S+), signal to noise (\S+) dB, .*, (\d+) infinities or NaN differ\n", done.stdout)
    expect(told and float(told[1]) < 1 and float(told[3]) > 20 and abs(int(told[4]) - unlike) <= 10, f"{unlike} infinities differ: {done.stdout}")
    expect("empty: no numbers\n" in done.stdout, done.stdout)


def check_errors(folder):
    old = onnx.load(folder.file("m.onnx"))
    old.opset_import[0].version = 11
    onnx.save(old, folder.file("old.onnx"))
    args = ["quantize", folder.file("old.onnx"), "--data", f"x=@{folder.file('x.npy')}", "-o", folder.file("q.onnx")]
    done = folder.run(*args)
    expect(done.returncode == 1 and "old.onnx: requires operator set 13 for a scale for each channel (10 for one of all), found 11" in done.stderr, done.stderr)
    expect(folder.run(*args, "--per-tensor").returncode == 0, "a scale for all")
    os.remove(folder.file("q.onnx"))
    integers = [helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT32), helper.make_node("MatMul", ["i", "i"], ["y"])]
    graph = helper.make_graph(integers, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [48, 3, 12, 12])], [helper.make_tensor_value_info("y", TensorProto.INT32, None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder.file("integers.onnx"))
    done = folder.run("quantize", folder.file("integers.onnx"), "--data", f"x=@{folder.file('x.npy')}", "-o", folder.file("q.onnx"))
    expect(done.returncode == 1 and "requires products of f32, found one of i32 48x3x12x12 'i', whose node --exclude can name" in done.stderr, done.stderr)
    np.save(folder.file("few.npy"), folder.x[:, :2])
    bad = folder.x.copy()
    bad[3] = np.inf
    np.save(folder.file("bad.npy"), bad)
    data = ["--data", f"x=@{folder.file('x.npy')}"]
    cases = [([*data, "-o", "q.txt"], "the suffix of q.txt names no format of graphs; use .onnx, .sinter or .mlir"),
             ([*data, "-o", folder.file("q.onnx"), "--method", "percentile:20"], "--method requires minmax, percentile:P with P above 50 and up to 100, or entropy, got 'percentile:20'"),
             (["--data", f"x=@{folder.file('few.npy')}", "-o", folder.file("q.onnx")], "input 'x': requires f32 ?x3x12x12, got f32 48x2x12x12"),
             (["--data", f"x=@{folder.file('bad.npy')}", "-o", folder.file("q.onnx")], "--data leads to infinities or NaN in 'x'"),
             (["--data", f"z=@{folder.file('x.npy')}", "-o", folder.file("q.onnx")], "--data requires a value for each input, found none for 'x'"),
             ([*data, "-o", folder.file("q.onnx"), "--exclude", "."], "requires a Conv, MatMul or Gemm of float with constant weights that is not excluded, found none"),
             ([*data, "-o", folder.file("q.onnx"), "--exclude", "("], "--exclude requires a regular expression, got '('"),
             ([*data, "-o", folder.file("q.onnx"), "--weights-only", "int4", "--per-tensor"], "--per-tensor has no effect on --weights-only int4")]
    for args, message in cases:
        done = folder.run("quantize", folder.file("m.onnx"), *args)
        expect(done.returncode != 0 and message in done.stderr and done.stderr.count("\n") == 1, f"{args[2:]}: {done.returncode} {done.stderr!r}")
        expect(not os.path.exists(folder.file("q.onnx")), f"{args[2:]}: a file is there")


def main():
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(sys.argv[1], path, np.random.default_rng(3))
        for check in (check_forms, check_scales, check_graphs, check_losses, check_errors):
            check(folder)
    print(f"{failures} failures")
    sys.exit(failures > 0)


main()
