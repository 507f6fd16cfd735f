# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a network with products in bf16 and f16 and a scaled loss: torch's numbers (mixed_goldens.json), scales and skipped steps.

usage: mixed.py SINTER LIBRARY FOLDER"""
import json
import os
import subprocess
import sys

import numpy as np

BATCH, WIDTH, HIDDEN, OUTPUTS, STEPS = 64, 32, 48, 16, 16
# By name: the type of products, and init, growth, backoff and interval of a dynamic scale.
CASES = {"bf16": ("bfloat16", None), "f16": ("float16", (4194304.0, 4.0, 0.25, 3))}
OVERFLOWS = (5, 9)  # batches that have an infinity, where a scale is there to skip them


def weights():
    random = np.random.default_rng(3)
    return [(random.standard_normal(s) / np.sqrt(s[0])).astype(np.float32) for s in ((WIDTH, HIDDEN), (HIDDEN, OUTPUTS))]


def batch(t, overflows=True):
    random = np.random.default_rng(100 + t)
    x = random.standard_normal((BATCH, WIDTH)).astype(np.float32)
    target = (20 * np.tanh(x[:, :OUTPUTS])).astype(np.float32)
    if overflows and t in OVERFLOWS:
        x[3, 4] = np.inf
    return x, target


def network():
    def weight(name, value):
        kind = "x".join(map(str, value.shape)) + "xf32"
        return f'%{name}: tensor<{kind}> {{sinter.state = "{name}", sinter.initial = dense<"0x{value.tobytes().hex()}"> : tensor<{kind}>}}'

    dot = "element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>"
    x, h, y = (f"tensor<{BATCH}x{n}xf32>" for n in (WIDTH, HIDDEN, OUTPUTS))
    w1, w2 = f"tensor<{WIDTH}x{HIDDEN}xf32>", f"tensor<{HIDDEN}x{OUTPUTS}xf32>"
    arguments = ", ".join(weight(*pair) for pair in zip(("w1", "w2"), weights()))
    return f"""func.func @main(%x: {x} {{sinter.name = "x"}}, {arguments}, %seen: tensor<{WIDTH}xf32> {{sinter.state = "seen"}}) -> ({y} {{sinter.name = "y"}}, tensor<{WIDTH}xf32> {{sinter.state = "seen"}}) {{
  %p = sinter.dot_general %x, %w1 {{{dot}}} : ({x}, {w1}) -> {h}
  %h = sinter.tanh %p : ({h}) -> {h}
  %y = sinter.dot_general %h, %w2 {{{dot}}} : ({h}, {w2}) -> {y}
  %sum = sinter.reduce add %x axes = [0] : ({x}) -> tensor<{WIDTH}xf32>
  return %y, %sum : {y}, tensor<{WIDTH}xf32>
}}
"""


TABLE = """func.func @main(%ids: tensor<64xi64> {sinter.name = "ids"}, %t: tensor<100x16xf32> {sinter.state = "table"}) -> (tensor<64x16xf32> {sinter.name = "y"}) {
  %y = sinter.gather %t, %ids {axis = 0} : (tensor<100x16xf32>, tensor<64xi64>) -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}
"""


class Checker:
    def __init__(self, sinter, library, folder):
        from sinter_runtime import Runtime

        self.sinter, self.runtime, self.folder, self.failures = sinter, Runtime(library), folder, 0
        os.makedirs(folder)
        os.chdir(folder)
        with open("net.mlir", "w") as file:
            file.write(network())

    def expect(self, holds, message):
        if not holds:
            self.failures += 1
            print(message)

    def session(self, *flags, threads=1):
        optimizer = () if "--optimizer" in flags else ("--optimizer", "sgd:lr=0.1,momentum=0.9")
        subprocess.run([self.sinter, "train-step", "net.mlir", "--loss", "mse:output=y", *optimizer, *flags, "-o", "step.smod", "--force"],
                        check=True, stderr=subprocess.DEVNULL)
        return self.runtime.session("step.smod", threads)

    def train(self, *flags, steps=STEPS, threads=1, overflows=True):
        """Losses, the states after each step."""
        session = self.session(*flags, threads=threads)
        losses, states = [], []
        for t in range(steps):
            x, target = batch(t, overflows)
            losses.append(float(session.run({"x": x, "target": target})["loss"]))
            states.append({name: session.state(name) for name in session.states})
        session.close()
        return losses, states

    def check_torch(self, goldens):
        """Scales and skipped steps are torch's; losses and weights are within what sums in another order make of roundings to 16 bits."""
        for name, (kind, scale) in CASES.items():
            golden, flags = goldens[name], ["--precision", name]
            if scale:
                flags += ["--loss-scale", "dynamic:init={},growth={},backoff={},interval={}".format(*scale[:3], int(scale[3]))]
            losses, states = self.train(*flags, overflows=scale is not None)
            self.compare(name, losses, states[-1], golden)
            if not scale:
                self.expect(not any(n.startswith(("optimizer.loss_scale", "optimizer.skipped")) for n in states[0]), f"{name}: states {list(states[0])}")
                continue
            found = [float(s["optimizer.loss_scale"]) for s in states]
            self.expect(found == golden["scales"], f"{name}: scales {found}, torch's {golden['scales']}")
            before = [scale[0]] + golden["scales"]
            skips = [after < b for b, after in zip(before, before[1:])]
            self.expect(sum(skips) > len(OVERFLOWS), f"{name}: the scale did not overflow by itself")
            self.expect([int(s["optimizer.skipped"]) for s in states] == list(np.cumsum(skips)), f"{name}: skipped steps are counted otherwise")
            for t, skipped in list(enumerate(skips))[1:]:
                same = all(states[t][n].tobytes() == states[t - 1][n].tobytes() for n in states[t] if not n.startswith(("optimizer.loss", "optimizer.skip")))
                self.expect(same == skipped, f"{name}: step {t} {'changed' if skipped else 'kept'} its states")
            self.expect(all(np.isfinite(s[n]).all() for s in states for n in s), f"{name}: a state is not finite")

    def compare(self, name, losses, states, golden):
        for found, wanted in zip(losses, golden["losses"]):
            self.expect(abs(found - wanted) <= 1e-3 * abs(wanted) or not np.isfinite(wanted) and not np.isfinite(found), f"{name}: loss {found}, torch's {wanted}")
        for n in ("w1", "w2"):
            found, wanted = states[n].ravel()[::16], np.array(golden[n])
            self.expect(np.abs(found - wanted).max() <= 2e-3 * np.abs(wanted).max(), f"{name}: {n} is off by {np.abs(found - wanted).max()}")

    def check_fixed(self):
        """A fixed scale of 2^k has the bits of none; an overflow is skipped."""
        plain, fixed = self.train("--precision", "bf16", steps=5), self.train("--precision", "bf16", "--loss-scale", "1024", steps=7)
        self.expect(plain[0] == fixed[0][:5], f"losses {plain[0]} and {fixed[0]}")
        self.expect(all(plain[1][4][n].tobytes() == fixed[1][4][n].tobytes() for n in plain[1][4]), "a fixed scale changes bits")
        self.expect([int(s["optimizer.skipped"]) for s in fixed[1]] == [0, 0, 0, 0, 0, 1, 1], "a fixed scale counts otherwise")

    def check_curves(self):
        """Losses of the later half of a training are those of f32 within 1 %."""
        curves = {}
        for name in ("f32", "bf16", "f16"):
            session = self.session("--precision", name)
            losses = []
            for t in range(120):
                x, target = batch(1000 + t % 12)
                losses.append(float(session.run({"x": x, "target": target})["loss"]))
            curves[name] = np.mean(losses[60:])
            session.close()
        for name in ("bf16", "f16"):
            self.expect(abs(curves[name] / curves["f32"] - 1) < 0.01, f"{name}: a mean loss of {curves[name]}, in f32 {curves['f32']}")

    def check_bits(self):
        runs = [self.train("--precision", "f16", threads=threads) for threads in (1, 2)]
        self.expect(all(a.tobytes() == b.tobytes() for a, b in zip(runs[0][1][-1].values(), runs[1][1][-1].values())), "bits depend on threads")

    def check_resume(self):
        """A training that is stopped and resumed goes on with the scale and the batch where it was."""
        for name, array in zip(("x", "target"), (np.concatenate(a) for a in zip(*(batch(t) for t in range(8))))):
            np.save(name + ".npy", array)
        command = [self.sinter, "train", "step.smod", "--data", "x=@x.npy", "--data", "target=@target.npy", "--shuffle", "4"]
        for options in ("sgd:lr=0.1,momentum=0.9", "adam:lr=0.01,accumulate=3"):
            self.session("--precision", "f16", "--optimizer", options).close()
            whole = subprocess.run([*command, "--steps", "24", "--save", "whole.safetensors"], check=True, capture_output=True, text=True).stderr
            self.expect(whole.splitlines()[-1].find("3 skipped") > 0, f"the steps that were skipped are not shown: {whole}")
            subprocess.run([*command, "--steps", "13", "--save", "part.safetensors"], check=True, capture_output=True)
            subprocess.run([*command, "--steps", "24", "--resume", "part.safetensors", "--save", "resumed.safetensors"], check=True, capture_output=True)
            with open("whole.safetensors", "rb") as a, open("resumed.safetensors", "rb") as b:
                self.expect(a.read() == b.read(), f"{options}: a resumed training has other states")

    def check_accumulation(self):
        """Of batches that are summed, those with an overflow are left out: four moves of two batches among eight and the two that are skipped."""
        _, states = self.train("--precision", "f16", "--optimizer", "sgd:lr=0.1,accumulate=2", "--loss-scale", "8", steps=10)
        self.expect(int(states[-1]["optimizer.step"]) == 4 and int(states[-1]["optimizer.skipped"]) == 2, f"{states[-1]['optimizer.step']} moves")

    def check_tables(self):
        """Tables that move by rows: the bits of no scale, and none in a skipped step."""
        with open("table.mlir", "w") as file:
            file.write(TABLE)
        found = []
        for flags in ([], ["--loss-scale", "8"], ["--loss-scale", "dynamic:init=64,interval=2"]):
            subprocess.run([self.sinter, "train-step", "table.mlir", "--loss", "mse:output=y", "--optimizer", "adam:lr=0.1", "--init", "1", "--sparse",
                            "table", *flags, "-o", "table.smod", "--force"], check=True, stderr=subprocess.DEVNULL)
            session = self.runtime.session("table.smod")
            for t in range(4):
                random = np.random.default_rng(t)
                session.run({"ids": random.integers(0, 100, 64), "target": random.standard_normal((64, 16)).astype(np.float32)})
            before = {n: session.state(n).tobytes() for n in session.states}
            session.run({"ids": np.arange(64), "target": np.full((64, 16), np.inf, np.float32)})
            changed = {n for n in before if session.state(n).tobytes() != before[n]}
            self.expect(not flags or changed <= {"optimizer.loss_scale", "optimizer.skipped"}, f"a skipped step changed {changed}")
            found.append(before)
            session.close()
        self.expect(all(run[n] == found[0][n] for run in found for n in found[0]), "a scale changes the bits of a table")


def main(sinter, library, folder):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mixed_goldens.json")) as file:
        goldens = json.load(file)
    checker = Checker(sinter, library, folder)
    checker.check_torch(goldens)
    checker.check_fixed()
    checker.check_curves()
    checker.check_bits()
    checker.check_resume()
    checker.check_accumulation()
    checker.check_tables()
    print("failed" if checker.failures else "all trainings agree")
    sys.exit(checker.failures > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
