#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs compiled programs on CPUs that this machine is not, under Debian's qemu-user, and compares with formulas.

    qemu.py x86-64|aarch64 SINTER SOURCE BUILD SCRATCH [--long] [--silero MODEL]

Programs for levels of x86-64 run as on CPUs of that level, and are refused by name on lower ones. Those for aarch64 take
the runtime that this builds in BUILD/runtime/aarch64-linux-gnu. --silero compares the voice detector with onnxruntime.
"""
import argparse
import json
import os
import struct
import subprocess
import sys

import numpy as np

# Target, the emulator's CPU.
SHORT = {
    "x86-64": [("x86-64-v2", "Nehalem"), ("x86-64-v3", "Haswell")],
    "aarch64": [("aarch64", "cortex-a57")],
}
LONG = {
    "x86-64": [("x86-64", "qemu64"), ("k8", "phenom"), ("penryn", "Penryn"), ("x86-64-v2", "Nehalem"), ("nehalem", "Nehalem"),
               ("westmere", "Westmere"), ("sandybridge", "max"), ("x86-64-v3", "Haswell"), ("haswell", "Haswell"),
               ("broadwell,-prfchw", "Broadwell"), ("znver1,-prfchw", "EPYC"), ("x86-64-v3", "max")], # qemu hides prfchw
    "aarch64": [("aarch64", "cortex-a57"), ("neoverse-n1", "neoverse-n1"), ("neoverse-v1", "max"), ("a64fx", "a64fx"),
                ("aarch64,+bf16,+i8mm,+fp16,+dotprod,+sve", "max")],
}
# Products of bf16, without and with instructions for them.
BFLOATS = {"x86-64": [("x86-64-v3", "Haswell")], "aarch64": [("neoverse-n1", "neoverse-n1"), ("neoverse-v1", "max")]}
# Targets that a CPU must refuse, and the word that it names.
REFUSED = {"x86-64": [("x86-64-v3", "Nehalem", "avx"), ("x86-64-v2", "qemu64", "ssse3")],
           "aarch64": [("neoverse-v1", "cortex-a57", "bf16")]}


def emulator(target, cpu):
    if target.startswith(("aarch64", "neoverse", "a64fx")):
        return ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu", cpu]
    return ["qemu-x86_64", "-cpu", cpu]


def call(command, **how):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, **how)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def read_safetensors(path):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header, data = json.loads(f.read(size)), f.read()
    return {name: np.frombuffer(data[e["data_offsets"][0]:e["data_offsets"][1]], np.float32).reshape(e["shape"])
            for name, e in header.items() if e.get("dtype") == "F32"}


def as_bfloat(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


# Functions and the numbers that they are tried at; what is computed may be off by this many units in the last place.
FUNCTIONS = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "log1p": np.log1p, "expm1": np.expm1, "sqrt": np.sqrt, "tan": np.tan, "atan": np.arctan,
             "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh}
ULPS = 4


def function_inputs(kind):
    r = np.random.default_rng(3)
    return np.concatenate([r.uniform(1e-3, 80, 1000), 10 ** r.uniform(-6, 1.9, 500), 1 + 10 ** r.uniform(-7, -1, 500)]).astype(kind)


class Test:
    def __init__(self, options):
        self.o, self.failed, self.runs = options, 0, 0
        os.makedirs(options.scratch, exist_ok=True)
        os.chdir(options.scratch)
        self.environment = dict(os.environ)
        if options.kind == "aarch64":
            self.environment["SINTER_RUNTIME_DIR"] = os.path.join(options.build, "runtime")

    def compile(self, command, target, output, *more):
        call([self.o.sinter, *command, "--target", target, "-o", output, *more], env=self.environment)

    def expect(self, what, got, wanted, tolerance):
        self.runs += 1
        error = np.max(np.abs(np.asarray(got, np.float64) - wanted) / (1e-30 + np.max(np.abs(wanted))))
        if got.shape != wanted.shape or not error <= tolerance:
            self.failed += 1
            print(f"{what}: off by {error} of the largest number, {tolerance} is allowed")

    def mixed(self, target, run):
        self.compile(["compile", f"{self.o.source}/test/hosts/Inputs/mixed.mlir"], target, "mixed")
        r = np.random.default_rng(1)
        x, w = r.standard_normal((6, 20), np.float32), r.standard_normal((20, 24), np.float32) / 3
        h = r.standard_normal(40).astype(np.float16)
        h[:4] = [65504, 6e-8, 1e-4, -0.0]
        for name, array in (("x", x), ("w", w), ("h", h)):
            np.save(name, array)
        call([*run, "./mixed", "x.npy", "w.npy", "h.npy"])
        y = x.astype(np.float64) @ w
        soft = np.exp(y - y.max(1, keepdims=True))
        self.expect(f"{run} softmax", np.load("soft.npy"), soft / soft.sum(1, keepdims=True), 2e-6)
        self.expect(f"{run} chain", np.load("chain.npy"), np.tanh(y) + np.sin(np.exp(y)), 2e-4)  # sin of up to e^4
        self.expect(f"{run} gram", np.load("gram.npy"), x.astype(np.float64) @ x.T.astype(np.float64), 1e-14)
        with np.errstate(over="ignore"):
            halves = as_bfloat(as_bfloat(h) * as_bfloat(h)).astype(np.float16).astype(np.float32) + h.astype(np.float32)
            halves = halves.astype(np.float16)
        got = np.load("halves.npy")
        self.runs += 1
        if not np.array_equal(got, halves):
            self.failed += 1
            print(f"{run} halves: got {got}, expected {halves}")

    def functions(self, target, run):
        for kind, name in ((np.float32, "f32"), (np.float64, "f64")):
            x = function_inputs(kind)
            type = f"tensor<{x.size}x{name}>"
            body = "".join(f"%{f} = sinter.{f} %x : ({type}) -> {type}\n" for f in FUNCTIONS)
            results = ", ".join(f'{type} {{sinter.name = "{f}"}}' for f in FUNCTIONS)
            with open("functions.mlir", "w") as file:
                file.write(f'func.func @main(%x: {type} {{sinter.name = "x"}}) -> ({results}) {{\n{body}'
                           f'return {", ".join("%" + f for f in FUNCTIONS)} : {", ".join([type] * len(FUNCTIONS))}\n}}\n')
            self.compile(["compile", "functions.mlir"], target, "functions")
            np.save("fx", x)
            call([*run, "./functions", "fx.npy"])
            for f, function in FUNCTIONS.items():
                wanted = function(x.astype(np.longdouble))
                ulps = np.max(np.abs(np.load(f"{f}.npy") - wanted) / np.spacing(np.abs(wanted.astype(kind))))
                self.runs += 1
                if not ulps <= ULPS:
                    self.failed += 1
                    print(f"{run} {f} of {name}: off by {ulps} ulp, {ULPS} are allowed")

    def bfloats(self, target, run):
        """Each sum to 1e-5 of the sum of magnitudes."""
        self.compile(["compile", f"{self.o.source}/test/hosts/Inputs/bfloats.mlir"], target, "bfloats")
        r = np.random.default_rng(4)
        sizes = {"a": (19, 1300), "b": (1300, 37), "x": (1, 9, 11, 40), "f": (24, 3, 3, 40), "c": (4, 3001), "d": (3001, 8)}
        v = {name: r.uniform(-1, 1, size).astype(np.float32) for name, size in sizes.items()}
        v["c"][:], v["d"][:] = np.linspace(0.5, 1, 4)[:, None], np.linspace(0.3, 0.9, 8)
        for name, array in v.items():
            np.save(f"b{name}", array)
        call([*run, "./bfloats", *(word for name in v for word in ("--input", f"{name}=@b{name}.npy"))])
        v = {name: as_bfloat(array).astype(np.float64) for name, array in v.items()}
        padded = np.pad(v["x"][0], ((1, 1), (1, 1), (0, 0)))
        taps = np.stack([padded[i : i + 9, j : j + 11] for i in range(3) for j in range(3)], 2).reshape(99, 360)
        for name, x, y in (("product", v["a"], v["b"]), ("convolution", taps, v["f"].reshape(24, 360).T), ("equal", v["c"], v["d"])):
            error = np.max(np.abs(np.load(f"{name}.npy").reshape(len(x), -1) - x @ y) / (np.abs(x) @ np.abs(y)))
            self.runs += 1
            if not error <= 1e-5:
                self.failed += 1
                print(f"{run} {name} of bf16: off by {error} of the sum of magnitudes, 1e-5 is allowed")

    def artifacts(self, target, run):
        """The loop's gradient as a module and as a library, opened by a C program."""
        arm = run[0] == "qemu-aarch64"
        archive = f"{self.o.build}/runtime/aarch64-linux-gnu/libsinter_rt.a" if arm else f"{self.o.build}/lib/libsinter_rt.a"
        call(["clang-22", "-fuse-ld=lld", *(["--target=aarch64-linux-gnu"] if arm else []), f"-I{self.o.source}",
              f"{self.o.source}/test/hosts/Inputs/open.c", archive, "-lm", "-lpthread", "-ldl", "-o", "open"])
        for suffix in (".smod", ".so"):
            self.compile(["compile", "grad.mlir"], target, f"gradient{suffix}")
            printed = call([*run, "./open", f"./gradient{suffix}"])
            self.expect(f"{run} {suffix}", np.array(printed.split(), np.float32), np.load("grad.npy").astype(np.float64), 1e-6)

    def loop_gradient(self, target, run):
        """x = cos(w x) by Newton's method in a while loop; the gradient by the implicit function theorem."""
        call([self.o.sinter, "grad", f"{self.o.source}/test/tools/Inputs/newton.mlir", "--wrt", "^w$", "--loss", "loss", "-o", "grad.mlir"])
        self.compile(["compile", "grad.mlir"], target, "gradient")
        w = np.array([0.3, 0.7, 1.0, 1.4], np.float32)
        np.save("w4", w)
        call([*run, "./gradient", "w4.npy", "--output", "grad.w=@grad.npy"])
        x = np.ones(4)
        for _ in range(100):
            x = x - (x - np.cos(w * x)) / (1 + w * np.sin(w * x))
        self.expect(f"{run} gradient of a loop", np.load("grad.npy"), -x * np.sin(w * x) / (1 + w * np.sin(w * x)), 1e-5)

    def training_step(self, target, run):
        self.compile(["train-step", f"{self.o.source}/test/tools/Inputs/linear.mlir"], target, "step", "--loss", "mse",
                     "--optimizer", "sgd:lr=0.1")
        r = np.random.default_rng(2)
        x, y = r.standard_normal((16, 3), np.float32), r.standard_normal((16, 2), np.float32)
        np.save("tx", x)
        np.save("ty", y)
        step = [*run, "./step", "--input", "x=@tx.npy", "--input", "target=@ty.npy"]
        call([*step, "--save", "first.safetensors"])
        call([*step, "--load", "first.safetensors", "--save", "second.safetensors"])
        x, y, w = (a.astype(np.float64) for a in (x, y, read_safetensors("first.safetensors")["w"]))
        assert np.any(w), "the first step moves the weights"
        self.expect(f"{run} training step", read_safetensors("second.safetensors")["w"], w - 0.1 * 2 / y.size * x.T @ (x @ w - y), 1e-6)

    def silero(self, target, run):
        sys.path.insert(0, f"{self.o.source}/test/models")
        import onnxruntime
        import sample_inputs
        self.compile(["compile", self.o.silero], target, "voice")
        _, calls, _ = next(iter(sample_inputs.silero_vad(np.random.default_rng(0))))
        inputs = calls[3]
        for name, array in inputs.items():
            np.save(f"voice_{name}", array)
        call([*run, "./voice"] + [word for name in inputs for word in ("--input", f"{name}=@voice_{name}.npy")])
        session = onnxruntime.InferenceSession(self.o.silero, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        for name, wanted in zip(names, session.run(names, inputs)):
            self.expect(f"{run} silero {name}", np.load(f"{name}.npy"), wanted, 1e-4)

    def refusals(self):
        for target, cpu, word in REFUSED[self.o.kind]:
            self.compile(["compile", f"{self.o.source}/test/hosts/Inputs/mixed.mlir"], target, "refused")
            done = subprocess.run([*emulator(target, cpu), "./refused", "x.npy", "w.npy", "h.npy"], capture_output=True, text=True)
            self.runs += 1
            if done.returncode != 1 or word not in done.stderr.replace(",", " ").split():
                self.failed += 1
                print(f"{target} on {cpu} ended with {done.returncode}, said: {done.stderr}")

    def arm_runtime(self):
        folder = f"{self.o.build}/runtime/aarch64-linux-gnu"
        call(["cmake", "-S", f"{self.o.source}/runtime", "-B", folder, f"-DCMAKE_TOOLCHAIN_FILE={self.o.source}/cmake/aarch64-linux-gnu.cmake"])
        call(["cmake", "--build", folder, "--target", "sinter_rt", "sinter_rt_main"])

    def all(self):
        targets = (LONG if self.o.long else SHORT)[self.o.kind]
        if self.o.kind == "aarch64":
            self.arm_runtime()
        for target, cpu in targets:
            run = emulator(target, cpu)
            self.mixed(target, run)
            self.functions(target, run)
            self.loop_gradient(target, run)
            self.artifacts(target, run)
            self.training_step(target, run)
            if self.o.silero and (self.o.long or target in ("x86-64-v3", "aarch64")):
                self.silero(target, run)
        for target, cpu in BFLOATS[self.o.kind]:
            self.bfloats(target, emulator(target, cpu))
        self.refusals()
        print(f"{self.runs} results on {len(targets)} CPUs, {self.failed} wrong")
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["x86-64", "aarch64"])
    parser.add_argument("sinter")
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("scratch")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--silero")
    return Test(parser.parse_args()).all()


if __name__ == "__main__":
    sys.exit(main())
