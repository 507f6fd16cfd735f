#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fourier.py BUILD

ONNX's DFT and STFT against NumPy's transforms in f64: lengths with small factors, primes (which become convolutions), products of both, real and complex signals,
one-sided, inverse, other axes, cut and continued signals, batches of unknown size, f64, f32 and f16. An error is at most 1e-14, 4e-6 or 4e-3 of the results' root mean
square. Work grows with n log n: a transform of 2^18 ends, whose matrix would take 550 GB, and so do those of three primes."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

BOUNDS = {np.float64: 1e-14, np.float32: 4e-6, np.float16: 4e-3}
ELEMENTS = {np.float64: TensorProto.DOUBLE, np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}
LENGTHS = [1, 2, 3, 5, 31, 32, 33, 64, 65, 66, 67, 96, 97, 121, 128, 169, 256, 257, 360, 400, 441, 510, 512, 719, 729, 1000, 1009, 1024, 1331, 2018, 4096, 4099]


class Case:
    def __init__(self, number, length, parts, dtype=np.float32, inverse=False, one_sided=False, axis=1, wanted=None, batch=3, named=False):
        self.name, self.dtype, self.inverse, self.one_sided, self.axis, self.wanted = f"c{number}", dtype, inverse, one_sided, axis, wanted
        shape = [batch, 2, parts]
        shape.insert(axis, length)
        self.declared = ["batch" if named and k == 0 else size for k, size in enumerate(shape)]
        self.x = np.random.default_rng(number).standard_normal(shape).astype(dtype)

    def add(self, graph):
        names = [self.name + "x", "", self.name + "axis"]
        graph["inputs"].append(helper.make_tensor_value_info(names[0], ELEMENTS[self.dtype], self.declared))
        graph["constants"].append(helper.make_tensor(names[2], TensorProto.INT64, [], [self.axis]))
        if self.wanted:
            names[1] = self.name + "length"
            graph["constants"].append(helper.make_tensor(names[1], TensorProto.INT64, [], [self.wanted]))
        graph["nodes"].append(helper.make_node("DFT", names, [self.name], inverse=int(self.inverse), onesided=int(self.one_sided)))
        graph["outputs"].append(helper.make_tensor_value_info(self.name, ELEMENTS[self.dtype], None))

    def expected(self):
        wide = self.x.astype(np.float64)
        signal = wide[..., 0] + (1j * wide[..., 1] if wide.shape[-1] == 2 else 0)
        found = (np.fft.ifft if self.inverse else np.fft.fft)(signal, n=self.wanted, axis=self.axis)
        if self.one_sided:
            found = np.take(found, range(found.shape[self.axis] // 2 + 1), axis=self.axis)
        return np.stack([found.real, found.imag], -1)


def cases():
    number = 0
    for length in LENGTHS:
        for parts in (1, 2):
            yield Case(number, length, parts)
            yield Case(number + 1, length, parts, inverse=True)
            yield Case(number + 2, length, parts, one_sided=True)
            number += 3
    for length in (121, 360, 719, 1024):
        for dtype in (np.float64, np.float16):
            yield Case(number, length, 1, dtype)
            yield Case(number + 1, length, 2, dtype, inverse=True)
            number += 2
        yield Case(number, length, 1, axis=2, one_sided=True)
        yield Case(number + 1, length, 2, wanted=length + 100)
        yield Case(number + 2, length, 1, wanted=length - 100, one_sided=True)
        yield Case(number + 3, length, 2, named=True)
        yield Case(number + 4, length, 1, one_sided=True, named=True)
        number += 5


def save(graph, path):
    made = helper.make_graph(graph["nodes"], "transforms", graph["inputs"], graph["outputs"], graph["constants"])
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def run(sinter, folder, path, feeds, outputs, *options):
    arguments = [sinter, "run", path, *options]
    for name, value in feeds.items():
        np.save(os.path.join(folder, name + ".npy"), value)
        arguments += ["--input", f"{name}=@{os.path.join(folder, name + '.npy')}"]
    for name in outputs:
        arguments += ["--output", f"{name}=@{os.path.join(folder, 'out-' + name + '.npy')}"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{os.path.basename(path)}: {done.stderr.strip()[-500:]}")
    return {name: np.load(os.path.join(folder, f"out-{name}.npy")) for name in outputs}


def error(found, expected):
    if found.shape != expected.shape:
        return np.inf
    return np.abs(found.astype(np.float64) - expected).max() / max(np.sqrt((expected**2).mean()), 1e-300)


def main():
    sinter, wrong, checked = os.path.join(sys.argv[1], "bin", "sinter"), [], 0
    with tempfile.TemporaryDirectory() as folder:
        everything = list(cases())
        for begin in range(0, len(everything), 40):
            some = everything[begin:begin + 40]
            graph = {"nodes": [], "inputs": [], "outputs": [], "constants": []}
            for case in some:
                case.add(graph)
            path = os.path.join(folder, f"some{begin}.onnx")
            save(graph, path)
            found = run(sinter, folder, path, {c.name + "x": c.x for c in some}, [c.name for c in some])
            for case in some:
                off, checked = error(found[case.name], case.expected()), checked + 1
                if not off <= BOUNDS[case.dtype]:
                    wrong.append(f"{case.name} {case.x.shape} {case.dtype.__name__}: {off:.1e}")

        for length in (1 << 18, 65537, 3 * 10007):
            case = Case(length, length, 1, one_sided=True, batch=1)
            graph = {"nodes": [], "inputs": [], "outputs": [], "constants": []}
            case.add(graph)
            path = os.path.join(folder, f"long{length}.onnx")
            save(graph, path)
            off, checked = error(run(sinter, folder, path, {case.name + "x": case.x}, [case.name])[case.name], case.expected()), checked + 1
            if not off <= BOUNDS[case.dtype]:
                wrong.append(f"{length}: {off:.1e}")

        # Spectrograms as speech models make them.
        signal, window = np.random.default_rng(1).standard_normal((2, 4000)), np.hanning(400)
        graph = {"inputs": [helper.make_tensor_value_info("signal", TensorProto.FLOAT, [2, 4000])], "outputs": [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                 "nodes": [helper.make_node("STFT", ["signal", "step", "window"], ["y"], onesided=1)],
                 "constants": [helper.make_tensor("step", TensorProto.INT64, [], [160]), helper.make_tensor("window", TensorProto.FLOAT, [400], window)]}
        path = os.path.join(folder, "stft.onnx")
        save(graph, path)
        found = run(sinter, folder, path, {"signal": signal.astype(np.float32)}, ["y"])["y"]
        frames = np.stack([signal[:, k:k + 400] * window for k in range(0, 3601, 160)], 1)
        spectrum = np.fft.rfft(frames)
        off, checked = error(found, np.stack([spectrum.real, spectrum.imag], -1)), checked + 1
        if not off <= BOUNDS[np.float32]:
            wrong.append(f"STFT: {off:.1e}")
    print("\n".join(wrong))
    print(f"{checked} transforms, {len(wrong)} wrong")
    return 1 if wrong or checked < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
