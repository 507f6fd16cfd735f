# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every command that README.md prints and `./dev help` lists, run in a short form: a line that no row below knows fails.

Lines with build/bin/sinter run as they are printed, one after the other, in a folder with a model and its data of the names
that they use. What has a longer form (bench, fuzz, all tests) runs with the options that make it short. Beside these lines, which build
nothing, the others run one after the other. Commands that are printed twice, or have one short form, run once and count each.
"""
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import tempfile

SECONDS = 600  # far above the longest, for what hangs
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# A pattern of the printed command -> what runs in the root, or the reason why nothing does. {python} is the Python of the
# tests, {tidy} one source.
SHORT = [
    (r"\./dev demo", "./dev demo"),
    (r"\./dev test$", "this is what runs"),
    (r"\./dev test cuda", "sinter_cuda_tests and sinter_cuda_rows_tests are its short form"),
    (r"\./dev test hosts", "hosts/qemu.test, hosts/qemu-aarch64.test and sinter_hosts_tests are its short form"),
    (r"\./dev test long", "`./dev test` runs the same tests with smaller counts"),
    (r"\./dev test \[PRESET\].*|\./dev test dev", "the same tests on a build that takes long to make"),
    (r"\./dev test --filter fold-constants", "./dev test --filter fold-constants"),
    (r"\./dev build.*", "./dev build release sinter"),
    (r"\./dev bench(?! against| loops| tables| train).*", "SINTER_PEERS={python} ./dev bench mlp_4_16_16_3 --processes 2 --seconds 0.05"),
    (r"\./dev bench train.*", "SINTER_PEERS={python} ./dev bench train mlp --engines ours --processes 1 --rounds 1 --seconds 0.05"),
    (r"\./dev bench against.*", "SINTER_PEERS={python} ./dev bench against . mlp_4_16_16_3 'loop newton' --processes 1 --seconds 0.05"),
    (r"\./dev bench tables.*", "SINTER_PEERS={python} ./dev bench tables --rows 5000 --engines ours --rounds 2 --steps 2"),
    (r"\./dev bench loops.*", "SINTER_PEERS={python} ./dev bench loops --only newton --processes 1 --seconds 0.05"),
    (r"\./dev fuzz (\[asan\] )?\[SECONDS\]", "./dev fuzz 1"),
    (r"\./dev fuzz \[asan\] runs.*", "./dev fuzz runs 200"),
    (r"\./dev fuzz coverage.*", "it builds the fuzzers once more"),
    (r"\./dev fuzz programs.*", "./dev fuzz programs --count 20"),
    (r"\./dev fuzz graphs.*", "./dev fuzz graphs --count 50"),
    (r"\./dev fuzz pipelines.*", "./dev fuzz pipelines --count 20"),
    (r"\./dev docs", "./dev docs"),
    (r"\./dev format.*", "./dev format --check"),
    (r"\./dev clean.*", "it removes the build that runs this"),
    (r"cmake --build build/dev -t check-passes", "LIT_FILTER=fold-constants cmake --build build/release -t check-passes"),
    (r"docs", "cmake --build build/release -t docs"),
    (r"tidy", "clang-tidy-22 -quiet -p build/release ir/Constants.cpp"),
    (r"cmake -S runtime .*|cmake --build build/runtime/.*", "hosts/qemu-aarch64.test runs it"),
    (r"cmake --install.*|find_package.*|target_link_libraries.*", "test/compiler/capi/install.test runs it"),
]
MODEL = """
import numpy as np, onnx
from onnx import TensorProto as T, helper as h, numpy_helper as n
random = np.random.default_rng(1)
weights = [n.from_array((random.standard_normal(s) / 4).astype(np.float32), k) for k, s in (("w1", (8, 16)), ("b1", (16,)), ("w2", (16, 4)))]
def save(path, nodes, output, shape):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [12, 8])], [h.make_tensor_value_info(output, T.FLOAT, shape)], weights)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
layers = [h.make_node("Gemm", ["x", "w1", "b1"], ["h"]), h.make_node("Relu", ["h"], ["r"]), h.make_node("MatMul", ["r", "w2"], ["logits"])]
save("model.onnx", layers, "logits", [12, 4])
save("loss.onnx", layers + [h.make_node("ReduceMean", ["logits"], ["loss"], keepdims=0)], "loss", [])
tables = [n.from_array(random.standard_normal(s).astype(np.float32), k) for k, s in (("embedding", (50, 8)), ("w", (8, 1)))]
ranker = [h.make_node("Gather", ["embedding", "ids"], ["rows"]), h.make_node("ReduceMean", ["rows"], ["mean"], axes=[1], keepdims=0),
          h.make_node("MatMul", ["mean", "w"], ["score"])]
graph = h.make_graph(ranker, "g", [h.make_tensor_value_info("ids", T.INT64, [12, 3])], [h.make_tensor_value_info("score", T.FLOAT, [12, 1])], tables)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "ranker.onnx")
np.save("x.npy", random.standard_normal((48, 8)).astype(np.float32))
np.save("y.npy", random.integers(0, 4, 48))
np.save("ids.npy", random.integers(0, 1000000, (48, 3)))
np.save("batch.npy", np.load("ids.npy")[:12])
np.save("clicks.npy", random.integers(0, 2, (48, 1)).astype(np.float32))
np.save("x1.npy", random.standard_normal((12, 8)).astype(np.float32))
import json
names = [f"a{i}" for i in range(8)]
for table in "t.csv", "table.csv":
    with open(table, "w") as file:
        file.write(",".join(names + ["labels"]) + "\\n")
        for row, label in zip(np.load("x.npy"), np.load("y.npy")):
            file.write(",".join(map(str, [*row.tolist(), label])) + "\\n")
with open("fitted.json", "w") as file:
    json.dump({"columns": [*({"name": n, "into": "x"} for n in names), {"name": "labels", "kind": "identity", "buckets": 4}]}, file)
import os
for i in range(24):
    os.makedirs(f"flowers/{i % 4}", exist_ok=True)
    with open(f"flowers/{i % 4}/{i}.pgm", "wb") as file:
        file.write(b"P5 4 2 255 " + bytes(random.integers(0, 256, 8, dtype=np.uint8)))
"""


def printed():
    """Each command of the README and of `./dev help`, without its comment, in their order."""
    with open(os.path.join(ROOT, "README.md")) as file:
        lines = [line[4:] for line in file if line.startswith("    ")]
    usage = subprocess.run(["bash", os.path.join(ROOT, "dev"), "help"], capture_output=True, text=True, check=True).stdout
    lines += ["./dev " + match[1] for match in re.finditer(r"^  (\S.*)$", usage, re.M)]
    found = []
    for line in lines:
        if not re.match(r"\./dev |build/bin/sinter \w|cmake |find_package|target_link", line):
            continue
        line = re.split(r"\s{2,}|\s+#", line.strip())[0]
        for part in re.split(r" [;|] ", line):
            part = part.strip()
            if part and part not in found:
                found.append(part)
    return found


def sinter_line(command, folder):
    """What to run for a line with build/bin/sinter: itself, in short, with a model that has what it asks for."""
    shutil.copy(os.path.join(folder, "loss.onnx" if " --loss loss" in command else "linear.onnx"), os.path.join(folder, "model.onnx"))
    # `run` takes one batch, `train` all rows.
    shutil.copy(os.path.join(folder, "all.npy" if " train " in command else "x1.npy"), os.path.join(folder, "x.npy"))
    if " --device " in command:  # a machine without a GPU has the one of the tests
        command = "SINTER_CUDA_DRIVER=build/release/lib/libsinter_cuda_machine.so " + command
    return command.replace("--tune=30", "--tune=1")  # the longest that it may take


def run(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS,
                          stdin=subprocess.DEVNULL)
    return done.returncode, (done.stdout + done.stderr).strip()


def commands(build, pattern, scratch):
    """Yields (outcome, name, reason) of each."""
    python = os.environ.get("SINTER_PYTHON", "")
    chosen = [c for c in printed() if not pattern or re.search(pattern, f"commands/{c}")]
    if "SINTER_NESTED" in os.environ or not chosen or os.path.realpath(build) != os.path.join(ROOT, "build", "release"):
        return  # ./dev's commands work on the release build
    print("== commands", flush=True)
    if not os.path.exists(python):
        yield "skipped", "commands", "no Python with numpy and onnx"
        return
    folder = tempfile.mkdtemp(dir=scratch)
    os.symlink(os.path.join(ROOT, "build"), os.path.join(folder, "build"))
    subprocess.run([python, "-c", MODEL], cwd=folder, check=True)
    for old, new in (("model", "linear.onnx"), ("x", "all.npy")):
        os.rename(os.path.join(folder, old + os.path.splitext(new)[1]), os.path.join(folder, new))
    environment = dict(os.environ, SINTER_NESTED="1")
    of_sinter = [c for c in chosen if c.startswith("build/bin/sinter")]
    lanes = [of_sinter, [c for c in chosen if c not in of_sinter]]
    with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
        for outcomes in pool.map(lambda lane: list(run_lane(lane, python, folder, environment)), lanes):
            yield from outcomes


def run_lane(chosen, python, folder, environment):
    done = {}  # what a short form that changes nothing gave
    for command in chosen:
        name = f"commands/{command}"
        if command.startswith("build/bin/sinter"):
            short, where = sinter_line(command, folder), folder
        else:
            short, where = next((s for p, s in SHORT if re.fullmatch(p, command)), None), ROOT
        if short is None:
            yield "failed", f"{name} (tools/dev/check_commands.py has no short form of it)", ""
            continue
        tool = shlex.split(short)[0]
        if " " in short and not re.match(r"\./dev|build/|cmake|[A-Z_]+=|clang-tidy", short):
            yield "skipped", name, short
            continue
        if tool.startswith("clang-tidy") and not shutil.which(tool):
            yield "skipped", name, f"{tool} is not installed"
            continue
        try:
            if where == folder or short not in done:  # lines with files of theirs always run
                done[short] = run(short.replace("{python}", python), where, environment)
            code, output = done[short]
        except subprocess.TimeoutExpired:
            code, output = f"no end within {SECONDS} s", ""
        if code == 0:
            yield "passed", name, ""
        elif "No module named 'torch'" in output:
            yield "skipped", name, "no torch in the Python of the tests"
        else:
            print(f"-- {short}\n{output[-2000:]}")
            yield "failed", f"{name} ({code})", ""
