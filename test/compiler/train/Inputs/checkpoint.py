# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a network of residual blocks under policies of checkpoints: the same bits in less memory, as much less as was asked.

usage: checkpoint.py SINTER LIBRARY FOLDER"""
import os
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
from sinter_runtime import Runtime, aligned

DOT = "element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>"
STACK = 16384  # bytes of small buffers that are not in the arena (backends/README.md)
BATCH, WIDTH, HIDDEN, CLASSES, BLOCKS = 128, 32, 96, 10, 8
RESIDENT = 49152  # rows of a batch whose activations outweigh what else a process gets


def held(what):
    """Bytes of this process that /proc counts as `what`."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(what + ":"))


def network(batch):
    """x + tanh(x w1 + b1) w2, BLOCKS times."""
    arguments = [f'%x: tensor<{batch}x{WIDTH}xf32> {{sinter.name = "x"}}']
    lines, x = [], "%x"
    wide, narrow = f"tensor<{batch}x{HIDDEN}xf32>", f"tensor<{batch}x{WIDTH}xf32>"

    def weight(name, shape):
        arguments.append(f'%{name.replace(".", "_")}: tensor<{shape}xf32> {{sinter.state = "{name}"}}')
        return f"%{name.replace('.', '_')}", f"tensor<{shape}xf32>"

    def dot(result, value, type, of, to):
        lines.append(f"{result} = sinter.dot_general {value}, {of[0]} {{{DOT}}} : ({type}, {of[1]}) -> {to}")
        return result

    for k in range(BLOCKS):
        first, bias, second = (weight(f"block.{k}.{n}", s) for n, s in (("w1", f"{WIDTH}x{HIDDEN}"), ("b1", HIDDEN), ("w2", f"{HIDDEN}x{WIDTH}")))
        dot(f"%p{k}", x, narrow, first, wide)
        lines.append(f"%s{k} = sinter.broadcast {bias[0]} like(%p{k}) axes = [1] {{type = {wide}}} : ({bias[1]}, {wide}) -> {wide}")
        lines.append(f"%a{k} = sinter.add %p{k}, %s{k} : ({wide}, {wide}) -> {wide}")
        lines.append(f"%h{k} = sinter.tanh %a{k} : ({wide}) -> {wide}")
        dot(f"%y{k}", f"%h{k}", wide, second, narrow)
        lines.append(f"%x{k} = sinter.add {x}, %y{k} : ({narrow}, {narrow}) -> {narrow}")
        x = f"%x{k}"
    result = f"tensor<{batch}x{CLASSES}xf32>"
    dot("%out", x, narrow, weight("head", f"{WIDTH}x{CLASSES}"), result)
    return "\n".join([f"func.func @main({', '.join(arguments)}) -> ({result} {{sinter.name = \"scores\"}}) {{", *lines, f"return %out : {result}", "}"])


class Checker:
    def __init__(self, sinter, library, folder):
        self.sinter, self.runtime, self.folder, self.failures = sinter, Runtime(library), folder, 0
        os.makedirs(folder)
        self.fixed, self.open = (self.write(n, network(b)) for n, b in (("fixed.mlir", BATCH), ("open.mlir", "?")))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def expect(self, holds, message):
        if not holds:
            self.failures += 1
            print(message)

    def compile(self, policy, model=None, optimizer="adam:lr=0.01"):
        """The path of a step, or the message."""
        path = os.path.join(self.folder, "step.smod")
        done = subprocess.run([self.sinter, "train-step", model or self.fixed, "--loss", "cross_entropy", "--optimizer", optimizer, "--init", "1",
                               "--checkpoint", policy, "-o", path], capture_output=True, text=True)
        return (path, done.stderr) if done.returncode == 0 else (None, done.stderr)

    def train(self, policy, model=None, optimizer="adam:lr=0.01", threads=1):
        """Losses and states after three steps, and the bytes of the arena."""
        path, message = self.compile(policy, model, optimizer)
        if not path:
            raise SystemExit(f"{policy}: {message}")
        session = self.runtime.session(path, threads)
        random = np.random.default_rng(7)
        bits = []
        for _ in range(3):
            feeds = {"x": random.standard_normal((BATCH, WIDTH)).astype(np.float32), "labels": random.integers(0, CLASSES, BATCH)}
            bits.append(session.run(feeds)["loss"].tobytes())
        bits += [session.state(name).tobytes() for name in session.states]
        arena = session.memory().arena
        session.close()
        return bits, arena, message

    def check_policies(self, optimizer):
        bits, all, _ = self.train("none", optimizer=optimizer)
        arenas = {}
        for policy in ("full", "named:block\\.[0-9]+\\.", "named:block\\.[0-3]\\.", "budget:80%", "budget:60%", "budget:100%"):
            again, arenas[policy], message = self.train(policy, optimizer=optimizer)
            self.expect(again == bits, f"{optimizer} {policy}: three steps have other bits")
            twice = int(re.search(r"(\d+) of \d+ ops run twice", message).group(1))
            self.expect((twice > 0) == (policy != "budget:100%"), f"{optimizer} {policy}: {twice} ops run twice")
        self.expect(arenas["full"] < .6 * all, f"{optimizer}: full takes {arenas['full']} bytes of {all}")
        self.expect(arenas["full"] <= arenas["named:block\\.[0-9]+\\."] < arenas["named:block\\.[0-3]\\."] < all, f"{optimizer}: {all}, {arenas}")
        self.expect(arenas["budget:60%"] <= .6 * all and .6 * all < arenas["budget:80%"] <= .8 * all, f"{optimizer}: {all}, {arenas}")
        self.expect(arenas["budget:100%"] == all, f"{optimizer}: {all}, {arenas}")

    def check_least(self):
        """A budget that cannot be met names the least that can."""
        path, message = self.compile("budget:2K")
        found = re.search(r"a budget of 2048 bytes for checkpoints in 'step' cannot be met: the least is (\d+), and (\d+) keeps all", message)
        if path or not found:
            return self.expect(False, f"budget:2K: {message}")
        least, all = map(int, found.groups())
        _, arena, _ = self.train(f"budget:{least}")
        # Little of it lies on the stack.
        self.expect(0 <= least - arena <= STACK, f"the least of {least} bytes takes {arena}")
        self.expect(0 <= all - self.train("none")[1] <= STACK, f"{all} is not what keeps all")
        self.expect(self.compile(f"budget:{least - 1}")[0] is None, f"less than the least of {least} bytes is met")

    def check_open(self):
        """Without a size for the batch there are no bytes to count, and no budget; the rest holds."""
        bits, all, _ = self.train("none", self.open)
        for policy in ("full", "named:block\\.[0-9]+\\."):
            again, arena, _ = self.train(policy, self.open)
            self.expect(again == bits and arena < .6 * all, f"open sizes, {policy}: {arena} bytes of {all}")
        path, message = self.compile("budget:50%", self.open)
        self.expect(not path and "a budget of bytes for checkpoints requires fixed sizes in 'step', some are open" in message, message)

    def check_resident(self):
        """The report says what the process comes to hold, as the system counts it (VmHWM), within 5 %."""
        random = np.random.default_rng(7)
        feeds = {"x": aligned(random.standard_normal((RESIDENT, WIDTH)).astype(np.float32)), "labels": aligned(random.integers(0, CLASSES, RESIDENT))}
        for policy in ("none", "full"):
            path, _ = self.compile(policy, self.open)
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")  # the highest so far is what is held now
            before = held("VmHWM")
            session = self.runtime.session(path)
            for _ in range(2):
                session.run(feeds)
            memory, grown = session.memory(), held("VmHWM") - before
            session.close()
            said = memory.peak + memory.state
            self.expect(said > 30e6 and abs(grown / said - 1) < .05, f"{policy}: the report says {said} bytes, the process grew by {grown}")

    def check_errors(self):
        for policy, wanted in (("half", "requires none, full, named:REGEX, budget:BYTES (with K, M or G) or budget:SHARE% (1 to 100), got 'half'"),
                               ("budget:0", "got 'budget:0'"), ("budget:101%", "got 'budget:101%'"), ("budget:9999999999G", "got 'budget:9999999999G'"),
                               ("named:(", "requires a regular expression after named:, got '('"),
                               ("named:layer", "require a name of an input or state of 'step', none matches 'layer'; they are x, block.0.w1")):
            path, message = self.compile(policy)
            self.expect(not path and wanted in message and message.count("\n") == 1, f"{policy}: {message}")


def main(sinter, library, folder):
    checker = Checker(sinter, library, folder)
    checker.check_policies("adam:lr=0.01")
    bits, all, _ = checker.train("none", optimizer="sgd:lr=0.1,clip=1")
    again, arena, _ = checker.train("budget:80%", optimizer="sgd:lr=0.1,clip=1")
    checker.expect(again == bits and arena <= .8 * all, f"clipped gradients: {arena} bytes of {all}")
    bits = [checker.train("budget:60%", threads=threads)[0] for threads in (1, 2)]
    checker.expect(bits[0] == bits[1], "bits depend on the number of threads")
    checker.check_resident()
    checker.check_least()
    checker.check_open()
    checker.check_errors()
    print("failed" if checker.failures else "all policies hold")
    sys.exit(checker.failures > 0)


main(*sys.argv[1:])
