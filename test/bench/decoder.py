#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""decoder.py BUILD [--layers N] [--hidden N] [--block N] [--cached N] [--threads 1,2] [--check]

Decodes with a model of Llama's shape whose matrices are 4-bit codes in blocks (MatMulNBits), a billion of them by default, random and in a file beside the model. Prints
the peak memory of compiling it (VmHWM and of it anonymous memory) over its weights, what loading the module takes in time and memory, and tokens a second with the bytes
of codes, scales and norms that they read over time, as a share of a loop's that reads memory in the same run. --check compares a small one with onnxruntime."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "models")]
import host
import sinter_runtime


class Model:
    """One token through the layers: its embedding, rows of a cache of keys and values, and logits."""

    def __init__(self, folder, shape):
        self.shape, self.nodes, self.weights, self.streamed, self.offset = shape, [], [], 0, 0
        self.rng = np.random.default_rng(3)
        self.path = os.path.join(folder, "decoder.onnx")
        with open(self.path + ".data", "wb") as self.file:
            self.build()
        onnx.save(self.model, self.path)

    def tensor(self, name, array):
        """An initializer in the file beside the model; a small one in the model."""
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        if array.nbytes < 1024:
            self.weights.append(onnx.numpy_helper.from_array(array, name))
            return name
        tensor = TensorProto(name=name, data_type=kind, dims=array.shape, data_location=TensorProto.EXTERNAL)
        self.offset += -self.offset % 4096
        self.file.seek(self.offset)
        for key, value in (("location", os.path.basename(self.path) + ".data"), ("offset", self.offset), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        array.tofile(self.file)
        self.offset += array.nbytes
        self.weights.append(tensor)
        return name

    def op(self, kind, inputs, outputs=1, domain="", **attributes):
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def ints(self, *values):
        name = "i" + "_".join(map(str, values))
        if not any(tensor.name == name for tensor in self.weights):
            self.tensor(name, np.array(values, np.int64))
        return name

    def matrix(self, x, k, n, name):
        block, blocks = self.shape.block, -(-k // self.shape.block)
        codes = self.rng.integers(0, 256, (n, blocks, block // 2), dtype=np.uint8)
        scales = self.rng.uniform(0.5, 1, (n, blocks)).astype(np.float32) * np.float32(0.2 / np.sqrt(k))
        self.streamed += codes.nbytes + scales.nbytes
        self.codes = getattr(self, "codes", 0) + k * n
        return self.op("MatMulNBits", [x, self.tensor(name + ".codes", codes), self.tensor(name + ".scales", scales)], domain="com.microsoft", K=k, N=n, bits=4, block_size=block)

    def norm(self, x, name):
        scale = self.tensor(name, self.rng.uniform(0.5, 1.5, self.shape.hidden).astype(np.float32))
        mean = self.op("ReduceMean", [self.op("Mul", [x, x]), self.ints(-1)])
        return self.op("Mul", [self.op("Div", [x, self.op("Sqrt", [self.op("Add", [mean, "epsilon"])])]), scale])

    def turned(self, x):
        """Rotary positions: halves of each head turned by angles of their own."""
        low, high = self.op("Split", [x], 2, axis=-1, num_outputs=2)
        return self.op("Add", [self.op("Mul", [x, "cosine"]), self.op("Mul", [self.op("Concat", [self.op("Neg", [high]), low], axis=-1), "sine"])])

    def layer(self, x, index):
        s, name = self.shape, f"layer{index}."
        depth, groups = s.hidden // s.heads, s.heads // s.shared
        h = self.norm(x, name + "attention_norm")
        q = self.op("Reshape", [self.matrix(h, s.hidden, s.hidden, name + "q"), self.ints(s.shared, groups, depth)])
        k, v = (self.op("Reshape", [self.matrix(h, s.hidden, s.shared * depth, name + part), self.ints(s.shared, 1, depth)]) for part in "kv")
        q, k = self.turned(q), self.turned(k)
        self.results += [k, v]
        keys, values = (self.op("Concat", [name + part, new], axis=1) for part, new in (("keys", k), ("values", v)))
        self.inputs += [helper.make_tensor_value_info(name + part, TensorProto.FLOAT, (s.shared, s.cached, depth)) for part in ("keys", "values")]
        scores = self.op("Mul", [self.op("MatMul", [q, self.op("Transpose", [keys], perm=[0, 2, 1])]), "scale"])
        mixed = self.op("Reshape", [self.op("MatMul", [self.op("Softmax", [scores], axis=-1), values]), self.ints(1, s.hidden)])
        x = self.op("Add", [x, self.matrix(mixed, s.hidden, s.hidden, name + "o")])
        h = self.norm(x, name + "feed_norm")
        gate, up = (self.matrix(h, s.hidden, s.feed, name + part) for part in ("gate", "up"))
        return self.op("Add", [x, self.matrix(self.op("Mul", [self.op("Mul", [gate, self.op("Sigmoid", [gate])]), up]), s.feed, s.hidden, name + "down")])

    def build(self):
        s = self.shape
        depth = s.hidden // s.heads
        self.tensor("epsilon", np.array([1e-5], np.float32))
        self.tensor("scale", np.array([depth**-0.5], np.float32))
        table = self.tensor("embedding", self.rng.standard_normal((s.words, s.hidden), dtype=np.float32).astype(np.float16))
        self.inputs = [helper.make_tensor_value_info("token", TensorProto.INT64, (1,))] + [helper.make_tensor_value_info(name, TensorProto.FLOAT, (depth,)) for name in ("cosine", "sine")]
        self.results = []
        x = self.op("Cast", [self.op("Gather", [table, "token"])], to=TensorProto.FLOAT)
        for index in range(s.layers):
            x = self.layer(x, index)
        logits = self.matrix(self.norm(x, "norm"), s.hidden, s.words, "head")
        outputs = [helper.make_tensor_value_info(logits, TensorProto.FLOAT, (1, s.words))]
        outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, (s.shared, 1, depth)) for name in self.results]
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, outputs, self.weights)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10)

    def feeds(self):
        s, rng = self.shape, np.random.default_rng(5)
        angles = rng.uniform(0, 6, s.hidden // s.heads)
        given = {"token": np.array([7], np.int64), "cosine": np.cos(angles).astype(np.float32), "sine": np.sin(angles).astype(np.float32)}
        for value in self.inputs[3:]:
            given[value.name] = rng.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim], dtype=np.float32)
        return given


def memory():
    """Megabytes of this process: all, of files, anonymous."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return [int(lines[key].split()[0]) / 1024 for key in ("VmRSS", "RssFile", "RssAnon")]


def peak_of(command):
    """Seconds of a command, and megabytes: its VmHWM, and the most of anonymous memory that was seen."""
    start, anonymous = time.monotonic(), 0
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        try:
            with open(f"/proc/{process.pid}/status") as file:
                anonymous = max([anonymous] + [int(line.split()[1]) / 1024 for line in file if line.startswith("RssAnon")])
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.02)
    if status:
        sys.exit(process.stdout.read())
    return time.monotonic() - start, usage.ru_maxrss / 1024, anonymous


def decode(build, module, feeds, threads):
    """In a process of its own: seconds to load, megabytes then, seconds of the median token, and megabytes at the end."""
    before, start = memory(), time.monotonic()
    session = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so")).session(module, threads, mapped=True)
    loaded = time.monotonic() - start
    after = memory()
    for name, array in feeds.items():
        session.set(name, array)
    session.call()
    times = []
    for _ in range(12):
        start = time.monotonic()
        session.call()
        times.append(time.monotonic() - start)
    return {"load_s": loaded, "loaded_mb": [x - y for x, y in zip(after, before)], "token_s": float(np.median(times)), "end_mb": memory()}


def check(build):
    import onnxruntime

    shape = argparse.Namespace(layers=2, hidden=128, heads=4, shared=2, feed=192, words=160, cached=9, block=32)
    with tempfile.TemporaryDirectory() as folder:
        model = Model(folder, shape)
        expected = onnxruntime.InferenceSession(model.path).run(None, model.feeds())
        subprocess.run([os.path.join(build, "bin", "sinter"), "compile", model.path, "--map-tensors", "-o", folder + "/m.smod"], check=True, capture_output=True)
        session = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so")).session(folder + "/m.smod", 2)
        got = list(session.run(model.feeds()).values())
    worst = max(float(np.abs(x - y).max() / np.abs(y).max()) for x, y in zip(got, expected))
    print(f"a small decoder: {worst:.1e} of the largest number apart from onnxruntime")
    sys.exit(not worst < 1e-4)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    for name, value in (("layers", 22), ("hidden", 2048), ("heads", 32), ("shared", 4), ("feed", 5632), ("words", 32000), ("cached", 128), ("block", 32)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--folder", help="keeps the files there")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        check(options.build)
    with tempfile.TemporaryDirectory() as folder:
        folder = options.folder or folder
        os.makedirs(folder, exist_ok=True)
        model = Model(folder, options)
        size, module = os.path.getsize(model.path + ".data") / 2**20, os.path.join(folder, "decoder.smod")
        print(f"{model.codes / 1e9:.2f} billion codes, {size:.0f} MiB of weights")
        seconds, peak, anonymous = peak_of([os.path.join(options.build, "bin", "sinter"), "compile", model.path, "--map-tensors", "-o", module])
        print(f"compiled in {seconds:.1f} s; peak {peak:.0f} MiB, {peak / size:.2f} of the weights (anonymous {anonymous:.0f} MiB, {anonymous / size:.2f}); module {os.path.getsize(module) / 2**20:.0f} MiB", flush=True)
        probe, feeds = host.Probe(folder), model.feeds()
        for threads in map(int, options.threads.split(",")):
            reader, writer = os.pipe()
            if os.fork() == 0:
                os.write(writer, repr(decode(options.build, module, feeds, threads)).encode())
                os._exit(0)
            os.wait()
            made = eval(os.read(reader, 65536).decode())
            probe.measure(threads)
            bandwidth = probe.turns[-1][2 if threads == 1 else 3]
            rate = model.streamed / made["token_s"] / 1e9
            resident, files, own = made["loaded_mb"]
            print(f"{threads} thread{'s' * (threads > 1)}: {1 / made['token_s']:.1f} tokens/s, {rate:.1f} GB/s, {rate / bandwidth:.0%} of {bandwidth:.1f} GB/s read by a loop; loaded in {made['load_s'] * 1e3:.1f} ms, "
                  f"resident then {resident:.0f} MiB more ({files:.0f} of files, {own:.0f} its own), after decoding {made['end_mb'][0]:.0f} MiB ({made['end_mb'][1]:.0f} of files, {made['end_mb'][2]:.0f} its own)", flush=True)


main()
