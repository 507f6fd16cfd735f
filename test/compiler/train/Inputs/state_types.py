# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains with moments in bf16 and in 8 bits: the codes are NumPy's by the formulas of compiler/train/Codes.h, losses stay near those of moments
in f32, a run that is saved and loaded goes on with the same bits, and states take the bytes that they should.

usage: state_types.py SINTER LIBRARY FOLDER"""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
from sinter_runtime import Runtime

DOT = "element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>"
ROWS, INPUTS, HIDDEN, OUTPUTS = 64, 50, 101, 4  # 50 x 101 elements are 19 blocks and a part of one
MODEL = f"""
func.func @main(%x: tensor<{ROWS}x{INPUTS}xf32> {{sinter.name = "x"}}, %a: tensor<{INPUTS}x{HIDDEN}xf32> {{sinter.state = "a"}},
                %b: tensor<{HIDDEN}x{OUTPUTS}xf32> {{sinter.state = "b"}}) -> (tensor<{ROWS}x{OUTPUTS}xf32> {{sinter.name = "y"}}) {{
  %p = sinter.dot_general %x, %a {{{DOT}}} : (tensor<{ROWS}x{INPUTS}xf32>, tensor<{INPUTS}x{HIDDEN}xf32>) -> tensor<{ROWS}x{HIDDEN}xf32>
  %h = sinter.tanh %p : (tensor<{ROWS}x{HIDDEN}xf32>) -> tensor<{ROWS}x{HIDDEN}xf32>
  %y = sinter.dot_general %h, %b {{{DOT}}} : (tensor<{ROWS}x{HIDDEN}xf32>, tensor<{HIDDEN}x{OUTPUTS}xf32>) -> tensor<{ROWS}x{OUTPUTS}xf32>
  return %y : tensor<{ROWS}x{OUTPUTS}xf32>
}}
"""
failures = 0


def require(holds, message):
    global failures
    if not holds:
        failures += 1
        print(message)


def rounding(steps):
    turns = 0.5 + 0.6180339887498949 * steps
    return turns - np.floor(turns)


def to_bf16(value, steps):
    bits = value.astype(np.float32).view(np.int32) + np.int32(65536 * rounding(steps))
    return (bits & np.int32(-65536)).view(np.float32)


def blocks_of(value):
    flat = value.ravel()
    return np.concatenate([flat, np.zeros(-flat.size % 256, flat.dtype)]).reshape(-1, 256)


def to_int8(value, is_square, steps):
    blocks = blocks_of(value)
    scale = np.abs(blocks).max(1)
    share = np.abs(blocks) / np.maximum(scale, np.float32(1e-37))[:, None]
    up = np.float32(rounding(steps))
    code = np.maximum(np.floor(255 * np.sqrt(np.sqrt(share)) + up), 1) - 128 if is_square else np.floor(127 * np.sign(blocks) * np.sqrt(share) + up)
    return np.clip(code, -128, 127).ravel()[: value.size].reshape(value.shape).astype(np.int8), scale


def from_int8(code, scale, is_square):
    k = blocks_of(code).astype(np.float32)
    value = ((k + 128) / np.float32(255)) ** 4 if is_square else (k / np.float32(127)) * np.abs(k / np.float32(127))
    return (value * scale[:, None]).ravel()[: code.size].reshape(code.shape)


class Trainer:
    def __init__(self, sinter, library, folder):
        self.sinter, self.runtime, self.folder = sinter, Runtime(library), folder
        self.model = os.path.join(folder, "model.mlir")
        with open(self.model, "w", encoding="utf-8") as file:
            file.write(MODEL)
        random = np.random.default_rng(1)
        truth = random.standard_normal((INPUTS, OUTPUTS)) / np.sqrt(INPUTS)
        xs = random.standard_normal((16, ROWS, INPUTS)).astype(np.float32)
        self.batches = [(x, np.sin(2 * x @ truth).astype(np.float32)) for x in xs]

    def session(self, optimizer):
        path = os.path.join(self.folder, optimizer.replace(":", "-") + ".smod")
        subprocess.run([self.sinter, "train-step", self.model, "--loss", "mse", "--optimizer", optimizer, "--init", "1", "-o", path], check=True,
                       capture_output=True)
        return self.runtime.session(path)

    def step(self, session, t):
        x, target = self.batches[t % len(self.batches)]
        return float(session.run({"x": x, "target": target})["loss"])

    def losses(self, session, count):
        return [self.step(session, t) for t in range(count)]

    def check_codes(self, kind):
        """What a step writes is the code of what it computes, of the moments that it read and the gradient, which the sum of a step that only
        averages tells: lr=0 leaves the weights, so that the gradient of a batch is that of f32's first step."""
        exact, coded = self.session("adam:lr=0,beta1=0"), self.session(f"adam:lr=0,beta1=0.5,beta2=0.9,states={kind}")
        mean = np.zeros((INPUTS, HIDDEN), np.float32)
        square = mean.copy()
        for t in range(12):
            self.step(exact, t), self.step(coded, t)
            gradient = exact.state("optimizer.mean.a")
            next_mean, next_square = 0.5 * mean + 0.5 * gradient, np.float32(0.9) * square + np.float32(1 - 0.9) * gradient * gradient
            for name, value, is_square in (("mean", next_mean, False), ("square", next_square, True)):
                got = coded.state(f"optimizer.{name}.a")
                if kind == "bf16":
                    wanted, got = to_bf16(value, t), (got.astype(np.uint32) << 16).view(np.float32)
                    off = np.abs(got - wanted) > 0
                    near = np.abs(got - wanted) <= 2.0**-7 * np.abs(wanted)
                else:
                    wanted, scale = to_int8(value, is_square, t)
                    off = got != wanted
                    near = np.abs(got.astype(int) - wanted) <= 1
                    kept = coded.state(f"optimizer.{name}_scale.a")
                    require(np.allclose(kept, scale, rtol=1e-6, atol=0), f"{kind} {name} {t}: other scales")
                    got = from_int8(got, kept, is_square)
                require(near.all() and off.mean() < 2e-3, f"{kind} {name} {t}: {off.sum()} codes are not NumPy's")
                if is_square:
                    square = got
                else:
                    mean = got
        require(coded.state("optimizer.mean.b").dtype == np.float32, "moments of few elements are coded")

    def check_losses(self, optimizer):
        wanted = self.losses(self.session(optimizer), 400)
        for kind, most in (("bf16", 0.005), ("int8", 0.02)):
            got = self.losses(self.session(f"{optimizer},states={kind}"), 400)
            ratio = np.mean(got[-16:]) / np.mean(wanted[-16:])
            require(wanted[-1] < 0.2 * wanted[0] and abs(ratio - 1) < most, f"{optimizer} {kind}: the last losses are {ratio:.4f} of f32's")

    def check_resume(self, kind):
        optimizer = f"adamw:lr=1e-2,states={kind}"
        through, half, rest = (self.session(optimizer) for _ in range(3))
        wanted = self.losses(through, 20)
        self.losses(half, 10)
        path = os.path.join(self.folder, kind + ".safetensors")
        half.save(path)
        rest.load(path)
        require([self.step(rest, t) for t in range(10, 20)] == wanted[10:], f"{kind}: other losses after a file")

    def check_bytes(self):
        count, few = INPUTS * HIDDEN, HIDDEN * OUTPUTS
        wanted = {"weight": 8 * count, "bf16": 4 * count, "int8": 2 * (count + 4 * (-(-count // 256)))}
        for kind, moments in wanted.items():
            session = self.session(f"adam:lr=1e-3,states={kind}")
            total = sum(session.state(name).nbytes for name in session.states)
            require(total == 4 * count + 12 * few + moments + 8, f"{kind}: states of {total} bytes")
            require(total <= session.memory().state < total + 1024, f"{kind}: the report says {session.memory().state} bytes of states for {total}")


trainer = Trainer(*sys.argv[1:4])
for type_name in ("bf16", "int8"):
    trainer.check_codes(type_name)
    trainer.check_resume(type_name)
for text in ("adamw:lr=3e-3", "sgd:lr=0.1,momentum=0.9", "adam:lr=5e-3,accumulate=2"):
    trainer.check_losses(text)
trainer.check_bytes()
print("all codes hold" if not failures else f"{failures} failures")
sys.exit(failures > 0)
