# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs cases that are each a function of one module, at all levels of CPUs that this machine runs, and with fewer optimizations."""
import os
import subprocess
import sys
import tempfile

import levels

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
import sinter_runtime


def check(build, chosen, cases, strides, noun, threads=1):
    """Prints how many runs were wrong, and exits with 1 if any was. A case has a `name`, the `text()` of its function, `run(sessions)`, which is true where results are right, and words
    about itself (str). All cases run on the targets that are `chosen`; without any, one of `strides[0]` at native -O2 and one of `strides[1]` elsewhere."""
    runtime, runs, wrong = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so")), 0, 0
    for number, (level, optimized) in enumerate([(level, "-O2") for level in chosen or levels.runnable()] + [("native", "-O0")]):
        own = cases if chosen else cases[number::strides[(level, optimized) != ("native", "-O2")]]
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/m.mlir", "w") as file:
                file.write("".join(case.text() for case in own))
            subprocess.run([os.path.join(build, "bin", "sinter"), "compile", f"{folder}/m.mlir", "--target", level, optimized, "-o", f"{folder}/m.smod"], check=True, stderr=subprocess.DEVNULL)
            sessions = runtime.sessions(f"{folder}/m.smod", [case.name for case in own], threads)
            for case in own:
                runs += 1
                if not case.run(sessions):
                    wrong += 1
                    print(f"{level} {optimized}: {case}")
    print(f"{runs} {noun}, {wrong} wrong")
    sys.exit(wrong > 0)


def check_pairs(build, cases, optimizations, noun):
    """Asserts that all cases are right at all levels, with the second of two `optimizations`, and have the bits that they have with the first. A case has a `name`, the `text()` of its
    function, its `inputs()` by name, and `check(result)`, which asserts that the result is right."""
    runtime, runs = sinter_runtime.Runtime(os.path.join(build, "lib", "libsinter_rt.so")), 0
    with tempfile.TemporaryDirectory() as folder:
        graph, module = f"{folder}/m.mlir", f"{folder}/m.smod"
        with open(graph, "w") as file:
            file.write("".join(case.text() for case in cases))
        for target in levels.runnable():
            results = []
            for optimized in optimizations:
                subprocess.run([os.path.join(build, "bin", "sinter"), "compile", graph, "--target", target, optimized, "-o", module, "--force"], check=True, stderr=subprocess.DEVNULL)
                sessions = runtime.sessions(module, [case.name for case in cases])
                results.append([next(iter(sessions[case.name].run(case.inputs()).values())) for case in cases])
            for case, plain, got in zip(cases, *results):
                case.check(got)
                assert plain.tobytes() == got.tobytes(), case.text()
                runs += 1
    print(runs, noun, "agree with NumPy")
