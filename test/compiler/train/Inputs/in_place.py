# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles training steps and looks at how much memory their states take, and what cancelled and failing steps leave.

usage: in_place.py SINTER LIBRARY FOLDER"""
import os
import subprocess
import sys
import threading

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
from sinter_runtime import Error, Runtime

DOT = "element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>"
LAYERS = [96, 160, 160, 10]

# Two numbers that change places, one that a loop computes and may not reach, one that is read after it was replaced, and one
# whose next value is known before the loop: only the loop can fail, and it is last in the text.
MIXED = """
func.func @step(%a: tensor<100xf32> {sinter.state = "a"}, %b: tensor<100xf32> {sinter.state = "b"}, %c: tensor<100xf32> {sinter.state = "c"},
                %d: tensor<64x64xf32> {sinter.state = "d"}, %e: tensor<100xf32> {sinter.state = "e"},
                %x: tensor<100xf32> {sinter.name = "x"}, %n: tensor<i64> {sinter.name = "n"})
    -> (tensor<100xf32> {sinter.name = "y"}, tensor<100xf32> {sinter.state = "a"}, tensor<100xf32> {sinter.state = "b"},
        tensor<100xf32> {sinter.state = "c"}, tensor<64x64xf32> {sinter.state = "d"}, tensor<100xf32> {sinter.state = "e"}) {
  %e1 = sinter.add %e, %x : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
  %y = sinter.mul %e, %e1 : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
  %b1 = sinter.add %b, %x : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
  %turned = sinter.transpose %d {permutation = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %one = sinter.constant dense<1.0> : tensor<f32>
  %ones = sinter.broadcast %one axes = [] {type = tensor<64x64xf32>} : (tensor<f32>) -> tensor<64x64xf32>
  %d1 = sinter.add %turned, %ones : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %zero = sinter.constant dense<0> : tensor<i64>
  %w:3 = sinter.while(%zero, %c) captures(%n, %x) {max_trip = 50 : i64, on_limit = #sinter<limit_policy trap>} : (tensor<i64>, tensor<100xf32>, tensor<i64>, tensor<100xf32>) -> (tensor<i64>, tensor<i64>, tensor<100xf32>) cond {
  ^bb0(%i: tensor<i64>, %v: tensor<100xf32>, %most: tensor<i64>, %by: tensor<100xf32>):
    %more = sinter.compare lt %i, %most : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield(%more) : tensor<i1>
  } body {
  ^bb0(%i: tensor<i64>, %v: tensor<100xf32>, %most: tensor<i64>, %by: tensor<100xf32>):
    %next = sinter.add %v, %by : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
    %1 = sinter.constant dense<1> : tensor<i64>
    %j = sinter.add %i, %1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    sinter.yield(%j, %next) : tensor<i64>, tensor<100xf32>
  }
  return %y, %b1, %a, %w#2, %d1, %e1 : tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<64x64xf32>, tensor<100xf32>
}
"""


def mlp():
    """A text of layers with tanh between them."""
    arguments = [f'%x: tensor<64x{LAYERS[0]}xf32> {{sinter.name = "x"}}']
    lines, value = [], "%x"
    for k, (rows, columns) in enumerate(zip(LAYERS, LAYERS[1:])):
        arguments += [f'%w{k}: tensor<{rows}x{columns}xf32> {{sinter.state = "w{k}"}}', f'%b{k}: tensor<{columns}xf32> {{sinter.state = "b{k}"}}']
        wide = f"tensor<64x{columns}xf32>"
        lines.append(f"%p{k} = sinter.dot_general {value}, %w{k} {{{DOT}}} : (tensor<64x{rows}xf32>, tensor<{rows}x{columns}xf32>) -> {wide}")
        lines.append(f"%s{k} = sinter.broadcast %b{k} axes = [1] {{type = {wide}}} : (tensor<{columns}xf32>) -> {wide}")
        lines.append(f"%a{k} = sinter.add %p{k}, %s{k} : ({wide}, {wide}) -> {wide}")
        value = f"%a{k}"
        if k + 2 < len(LAYERS):
            lines.append(f"%h{k} = sinter.tanh {value} : ({wide}) -> {wide}")
            value = f"%h{k}"
    result = f"tensor<64x{LAYERS[-1]}xf32>"
    return "\n".join([f"func.func @main({', '.join(arguments)}) -> ({result} {{sinter.name = \"y\"}}) {{", *lines, f"return {value} : {result}", "}"])


class Checker:
    def __init__(self, sinter, library, folder):
        self.sinter, self.runtime, self.folder, self.failures = sinter, Runtime(library), folder, 0

    def fail(self, message):
        self.failures += 1
        print(message)

    def run(self, *command):
        done = subprocess.run([self.sinter, *command], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)
        return os.path.join(self.folder, name)

    def check_memory(self, optimizer, moments, level="-O2"):
        """Weights and moments once, and the number of steps."""
        path = os.path.join(self.folder, "mlp.smod")
        self.run("train-step", self.write("mlp.mlir", mlp()), "--loss", "cross_entropy", "--optimizer", optimizer, "--init", "1", level, "-o", path)
        session = self.runtime.session(path)
        weights = sum(4 * (rows + 1) * columns for rows, columns in zip(LAYERS, LAYERS[1:]))
        if session.memory().state != weights * (1 + moments) + 8:
            self.fail(f"{optimizer} {level}: states take {session.memory().state} bytes, weights {weights}")
        session.close()
        return path

    def check_accumulation(self, optimizer, moments):
        """Sums of gradients are states and cost no other memory: moments and weights that may stay are chosen where they are computed."""
        random = np.random.default_rng(3)
        feeds = {"x": random.standard_normal((64, LAYERS[0])).astype(np.float32), "labels": random.integers(0, 10, 64)}
        arenas = []
        for options in ("", ",accumulate=4"):
            path = os.path.join(self.folder, "sums.smod")
            self.run("train-step", self.write("mlp.mlir", mlp()), "--loss", "cross_entropy", "--optimizer", optimizer + options, "--init", "1", "-o", path)
            session = self.runtime.session(path)
            session.run(feeds)
            arenas.append(session.memory().arena)
            states = session.memory().state
            session.close()
        weights = sum(4 * (rows + 1) * columns for rows, columns in zip(LAYERS, LAYERS[1:]))
        if arenas[1] > arenas[0] or states != weights * (2 + moments) + 16:
            self.fail(f"{optimizer}: an arena of {arenas[0]} bytes, {arenas[1]} with accumulation, and states of {states}, weights {weights}")

    def check_cancelled(self, path):
        """A step that is cancelled at any time has replaced all states or none."""
        random = np.random.default_rng(3)
        feeds = {"x": random.standard_normal((64, LAYERS[0])).astype(np.float32), "labels": random.integers(0, 10, 64)}
        for threads in (1, 2):
            steady, cancelled = self.runtime.session(path, threads), self.runtime.session(path, threads)
            counts = [0, 0]
            before = {n: steady.state(n).tobytes() for n in steady.states}
            for _ in range(120):
                stop = threading.Timer(random.random() * 2e-4, cancelled.cancel)
                stop.start()
                try:
                    cancelled.run(feeds)
                    ended = True
                except Error as error:
                    if "was cancelled" not in str(error):
                        raise
                    ended = False
                stop.join()
                counts[ended] += 1
                if ended:
                    steady.run(feeds)
                    before = {n: steady.state(n).tobytes() for n in steady.states}
                if any(cancelled.state(n).tobytes() != bits for n, bits in before.items()):
                    return self.fail(f"a {'whole' if ended else 'cancelled'} step left other states than it should, {threads} threads")
            steady.close()
            cancelled.close()

    def check_mixed(self):
        """States that can be written in place and those that cannot; a step that fails changes none."""
        path = os.path.join(self.folder, "mixed.smod")
        for level in ("-O0", "-O2"):
            self.run("compile", level, self.write("mixed.mlir", MIXED), "-o", path)
            session = self.runtime.session(path)
            # Twice: a and b, which change places, and d, which is turned. At -O0 each op is a kernel: e is read by one after its next value,
            # and d is turned by another than the last.
            sizes = {"a": 400, "b": 400, "c": 400, "d": 64 * 64 * 4, "e": 400}
            double = ("a", "b", "d") if level == "-O2" else ("a", "b", "e")
            wanted = sum(sizes.values()) + sum(sizes[n] for n in double)
            if session.memory().state != wanted:
                self.fail(f"{level}: states take {session.memory().state} bytes rather than {wanted}")
            values = {n: np.zeros(100, np.float32) for n in "abce"} | {"d": np.zeros((64, 64), np.float32)}
            for k, trips in enumerate((3, 51, 0, 60, 50, 7)):
                x = np.arange(100, dtype=np.float32) + k
                try:
                    y = session.run({"x": x, "n": np.int64(trips)})["y"]
                except Error as error:
                    if trips <= 50 or "a loop requires at most 50 trips, its condition still holds after 50" not in str(error):
                        raise
                else:
                    if not np.array_equal(y, values["e"] * (values["e"] + x)):
                        self.fail(f"{level}: y is wrong after {k} steps")
                    c = values["c"]
                    for _ in range(trips):
                        c = c + x
                    values = {"a": values["b"] + x, "b": values["a"], "c": c, "d": values["d"].T + 1, "e": values["e"] + x}
                for n in values:
                    if not np.array_equal(session.state(n), values[n]):
                        self.fail(f"{level}: state {n} is wrong after {k + 1} steps")
            session.close()


def main(sinter, library, folder):
    os.makedirs(folder, exist_ok=True)
    checker = Checker(sinter, library, folder)
    for optimizer, moments in (("sgd:lr=0.1", 0), ("adagrad:lr=0.1", 1), ("lamb:lr=0.01", 2), ("adam:lr=0.01,clip=1", 2),
                               ("adamw:lr=0.01", 2), ("sgd:lr=0.1,momentum=0.9", 1)):
        checker.check_memory(optimizer, moments, "-O0")
        path = checker.check_memory(optimizer, moments)
    for optimizer, moments in (("sgd:lr=0.1,momentum=0.9", 1), ("adam:lr=0.01", 2), ("rmsprop:lr=0.01,momentum=0.5", 2), ("adamw:lr=0.01,ema=0.9", 3)):
        checker.check_accumulation(optimizer, moments)
    checker.check_cancelled(path)
    checker.check_mixed()
    print("failed" if checker.failures else "all states are in place")
    sys.exit(checker.failures > 0)


main(*sys.argv[1:])
