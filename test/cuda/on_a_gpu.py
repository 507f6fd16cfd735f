# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a machine with a GPU has to show, point by point, as a table and as JSON. Needs numpy and a build, no network; takes ten minutes at most.

    on_a_gpu.py BUILD [--points 5,6,7,8,9,10,11] [--small] [--seconds S] [--tolerance F] [--json FILE]

     5  results at full sizes in f32, f16 and bf16 against NumPy in f64, the same bits twice; random programs and their gradients
     6  products: bf16 4096 and 8192 cubed at least 0.85 of the best peer, thin and batched ones 0.8, what follows a product at most 5 % slower
     7  attention of heads of 128, 4k to 16k: forward at least 0.85 of the best peer, backward 0.8
     8  softmax, layer norm, pointwise, AdamW: at least 0.9 of the bandwidth that a copy has
     9  a training step of GPT-2 (124M, batch 16, 1,024 tokens, bf16) at least 1.0 times torch.compile; host time of a step under 20 us
    10  a trip of `while` without the host takes less than one with it, and of one kernel less than of a graph; compute-sanitizer, where it is installed, finds nothing
    11  ResNet-50, inference of 64 pictures in f32 and bf16: the last picture against NumPy in f64, and at least 0.85 of the best peer

Peers are torch and torch.compile (cuBLAS, cuDNN, its attention, Triton's code), kernels of gpu_peers.py in Triton, and JAX, where they are installed and see the
GPU; rows of their own tell each, and without any a row says `no peer`. Operands
stay on the GPU as states, a call repeats the work so that its own time is small beside it, and times are medians of whole calls. `--small` is for the PTX
machine, as SINTER_CUDA_DRIVER, whose times mean nothing. Ends with 1 on a wrong result; what is `missed` is told alone."""
import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

import gpu_peers as peers
import gpu_programs as programs
import gpu_resnet

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../models"))
from sinter_runtime import Runtime, Tensor, aligned

# of the greatest magnitude
UNITS = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}


def set_state(session, name, bits, kind):
    bits = aligned(bits)
    tensor = Tensor(data=bits.ctypes.data, dtype=programs.CODES[kind], rank=bits.ndim)
    tensor.dims[: bits.ndim] = bits.shape
    session.runtime.check(session.runtime.lib.sinter_session_state_set(session.handle, name.encode(), ctypes.byref(tensor)))


def state_bits(session, name, kind, shape):
    view = Tensor()
    session.runtime.check(session.runtime.lib.sinter_session_state_get(session.handle, name.encode(), ctypes.byref(view)))
    code = {"f32": ctypes.c_float, "f16": ctypes.c_uint16, "bf16": ctypes.c_uint16}[kind]
    flat = np.ctypeslib.as_array(ctypes.cast(view.data, ctypes.POINTER(code)), (int(np.prod(shape)),)).copy()
    return flat.view(np.float16 if kind == "f16" else flat.dtype).reshape(shape)


def median_of(call, seconds):
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


class Run:
    def __init__(self, options, folder):
        self.options, self.folder, self.rows, self.count = options, folder, [], 0
        self.runtime = Runtime(os.path.join(options.build, "lib/libsinter_rt.so"))
        try:
            import torch

            self.torch = torch if torch.cuda.is_available() else None
        except ImportError:
            self.torch = None
        if self.torch:
            self.torch.backends.cuda.matmul.allow_tf32 = self.torch.backends.cudnn.allow_tf32 = False  # as f32 here
        self.triton = peers.triton if self.torch else None
        self.jax = peers.find_jax()
        if self.jax:
            self.jax.config.update("jax_default_matmul_precision", "highest")  # f32 as f32

    def tell(self, point, case, ours=None, peer=None, bound=None, verdict="", **more):
        """A row; `verdict` is found from the ratio where there is a bound."""
        ratio = peer / ours if ours and peer else None
        if not verdict:
            verdict = "no peer" if bound and not ratio else "met" if not bound or ratio >= bound else "missed"
        show = lambda x, scale, form: form.format(x * scale) if x is not None else "-"
        print(f"{point:>5}  {case:34} {show(ours, 1e3, '{:.3f}'):>10} {show(peer, 1e3, '{:.3f}'):>10} {show(ratio, 1, '{:.2f}'):>6} {show(bound, 1, '{:.2f}'):>6}  {verdict}", flush=True)
        self.rows.append({"point": point, "case": case, "seconds": ours, "peer_seconds": peer, "bound": bound, "verdict": verdict, **more})

    def module(self, text):
        self.count += 1
        path = os.path.join(self.folder, f"m{self.count}")
        with open(path + ".mlir", "w", encoding="utf-8") as file:
            file.write(text)
        self.sinter("compile", path + ".mlir", "--target=cpu+cuda", "-o", path + ".smod")
        return path + ".smod"

    def sinter(self, *arguments):
        done = subprocess.run([os.path.join(self.options.build, "bin/sinter"), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)

    def values(self, program):
        random = np.random.default_rng(1)
        return {n: (programs.to_bits(draw(random), kind), kind) for n, (_, kind, draw) in program.states.items()}

    def session(self, program, values):
        session = self.runtime.session(self.module(program.text()))
        for name, (bits, kind) in values.items():
            set_state(session, name, bits, kind)
        return session

    def check(self, name, program, some, kind):
        """One call against NumPy, twice."""
        values, got = self.values(program), []
        for _ in range(2):
            session = self.session(program, values)
            session.call()
            result = next(iter(program.results))
            got.append(state_bits(session, result, kind, program.states[result][0]))
            session.close()
        plain = {n: programs.from_bits(bits, k) for n, (bits, k) in values.items()}
        now = dict(plain) | {result: programs.from_bits(got[0], kind)}
        first, want = some(now)[0].astype(np.float64), some(plain)[1](plain)
        error = float(np.abs(first - want).max() / np.abs(want).max())
        right = error <= UNITS[kind] * self.options.tolerance and got[0].tobytes() == got[1].tobytes()  # not so for NaN
        self.tell(5, name, verdict=f"right ({error:.1e})" if right else f"WRONG ({error:.1e})")

    def time(self, program):
        session = self.session(program, self.values(program))
        seconds = median_of(session.call, self.options.seconds) / program.repeats
        session.close()
        return seconds

    def peer(self, program, run):
        """Seconds of torch, or of torch.compile if that is less; None without them."""
        if not self.torch:
            return None
        t, kinds = self.torch, {"f32": self.torch.float32, "f16": self.torch.float16, "bf16": self.torch.bfloat16}
        feeds = {n: t.from_numpy(programs.from_bits(bits, kind).astype(np.float32)).to("cuda", kinds[kind]) for n, (bits, kind) in self.values(program).items()}
        best = None
        for form in (run, t.compile(run)):
            def call():
                form(t, feeds)
                t.cuda.synchronize()

            seconds = self.seconds_of("torch", call, program.repeats)
            best = seconds if best is None else min(best, seconds or best)
        return best

    def seconds_of(self, name, call, repeats=1):
        """Of a peer's call; None where it fails, which is told."""
        try:
            return median_of(call, self.options.seconds) / repeats
        except Exception as error:
            print(f"       {name}: {(str(error).splitlines() or [repr(error)])[0][:120]}")
            return None

    def peer_in_triton(self, program, make, run):
        """Seconds of `run(kernel, feeds)`, where `make` makes the kernel."""
        if not self.triton:
            return None
        t, kinds = self.torch, {"f32": self.torch.float32, "f16": self.torch.float16, "bf16": self.torch.bfloat16}
        feeds = {n: t.from_numpy(programs.from_bits(bits, kind).astype(np.float32)).to("cuda", kinds[kind]) for n, (bits, kind) in self.values(program).items()}

        def begin():
            kernel = make(t)

            def call():
                run(kernel, feeds)
                t.cuda.synchronize()

            return call

        try:
            return self.seconds_of("triton", begin(), program.repeats)
        except Exception as error:
            print(f"       triton: {(str(error).splitlines() or [repr(error)])[0][:120]}")
            return None

    def peer_in_jax(self, program, run):
        """Seconds of `run(jax, feeds)`, compiled."""
        if not self.jax:
            return None
        values = self.values(program)
        try:
            feeds = peers.jax_feeds(self.jax, {n: programs.from_bits(bits, kind) for n, (bits, kind) in values.items()}, {n: kind for n, (_, kind) in values.items()})
            return self.seconds_of("jax", peers.jax_call(self.jax, run, feeds), program.repeats)
        except Exception as error:
            print(f"       jax: {(str(error).splitlines() or [repr(error)])[0][:120]}")
            return None

    def tell_others(self, point, case, ours, **found):
        """A row for each peer besides torch; without it, why."""
        for name, seconds in found.items():
            there = {"triton": self.triton, "jax": self.jax}[name]
            self.tell(point, f"{case}, {name}", ours, seconds, verdict="beside" if seconds else "not run: it failed" if there else f"not run: no {name} that sees a GPU")


# The points -----------------------------------------------------------------------------------------------------


def point5(run):
    small = run.options.small
    for kind in ("f32", "f16", "bf16"):
        n, rows, columns, length = (48, 8, 200, 80) if small else (4096, 4096, 4096, 4096)
        cases = {f"product {n}": programs.product(kind, n, n), f"attention {length}x128": programs.attention(kind, 2, length, 128),
                 f"product with tanh {n}": programs.product(kind, n, n, fused=True), f"softmax {rows}x{columns}": programs.softmax(kind, rows, columns),
                 f"layer norm {rows}x{columns}": programs.layer_norm(kind, rows, columns), f"pointwise {rows * columns}": programs.pointwise(kind, rows * columns)}
        for name, (program, _, some, *_) in cases.items():
            run.check(f"{name} {kind}", program, some, kind)
    rows, columns = (2, 33000) if small else (8, 1 << 18)  # clusters on sm_90a
    program, _, some, _ = programs.softmax("f32", rows, columns)
    run.check(f"softmax {rows}x{columns} f32", program, some, "f32")
    program, _, some, _ = programs.adamw(3000 if small else 1 << 24)
    run.check("AdamW f32", program, some, "f32")
    n = 48 if small else 4096
    run.check(f"product of e4m3 {n} bf16", *programs.product8(n), "bf16")
    tool = os.path.join(run.options.build, "bin/sinter_programs")
    if not os.path.exists(tool):
        return run.tell(5, "random programs", verdict="not run: sinter_programs is not built")
    for more in ([], ["--gradients"]):
        done = subprocess.run([tool, "--target", "cpu+cuda", *more, "--seed", "1000", "--count", "1" if small else "100", "--steps", "8", "--out", run.folder], capture_output=True, text=True, check=False)
        run.tell(5, "random programs" + (", gradients" if more else ""), verdict="right" if done.returncode == 0 else "WRONG " + done.stdout[-200:])


def point6(run):
    small = run.options.small
    times = {}
    for name, bound, arguments in (("4096 cubed", 0.85, {"rows": 4096, "inner": 4096, "repeats": 16}), ("8192 cubed", 0.85, {"rows": 8192, "inner": 8192, "repeats": 4}),
                                   ("thin 16x4096x4096", 0.8, {"rows": 16, "inner": 4096, "repeats": 64}), ("64 of 512 cubed", 0.8, {"rows": 512, "inner": 512, "batch": 64, "repeats": 32}),
                                   ("4096 cubed with bias and tanh", None, {"rows": 4096, "inner": 4096, "repeats": 16, "fused": True})):
        if small:
            arguments |= {"rows": 16, "inner": 32, "repeats": 2} | ({"batch": 2} if "batch" in arguments else {})
        program, torch_run, _ = programs.product("bf16", **arguments)
        times[name] = run.time(program)
        plain = times.get("4096 cubed")
        if name.endswith("cubed"):  # the kernel of mma.sync, which runs instead where a GPU has no wgmma
            os.environ["SINTER_CUDA_WGMMA"] = "off"
            run.tell(6, "bf16 " + name + ", against mma.sync", times[name], run.time(program), 1.0)
            del os.environ["SINTER_CUDA_WGMMA"]
            alone = programs.product("bf16", **arguments, schedule="wgmma_product, lanes = 384, tile = [128, 256, 64, 64, 256, 4, 1]")[0]
            run.tell(6, "bf16 " + name + ", against blocks that share no slabs", times[name], run.time(alone), 1.0)
        if bound:
            run.tell(6, "bf16 " + name, times[name], run.peer(program, torch_run), bound)
            if name.endswith("cubed") and "of" not in name:
                def in_triton(kernel, v, repeats=program.repeats):
                    y = v["x"]
                    for _ in range(repeats):
                        y = kernel(y, v["w"])

                def in_jax(jax, v, repeats=program.repeats):
                    y = v["x"]
                    for _ in range(repeats):
                        y = y @ v["w"]
                    return y

                run.tell_others(6, "bf16 " + name, times[name], triton=run.peer_in_triton(program, peers.triton_product, in_triton), jax=run.peer_in_jax(program, in_jax))
        else:
            run.tell(6, "bf16 " + name + ", against without", times[name], plain, 0.95)
    for n, repeats in ((32, 2),) if small else ((4096, 16), (8192, 4)):
        seconds = run.time(programs.product8(n, repeats)[0])
        run.tell(6, f"e4m3 {n} cubed, rounding with it, against bf16", seconds, times["4096 cubed" if n != 8192 else "8192 cubed"], 1.0)


def point7(run):
    for length, repeats in ((64, 2),) if run.options.small else ((4096, 16), (8192, 8), (16384, 4)):
        for backward, bound in ((False, 0.85), (True, 0.8)):
            program, torch_run, _ = programs.attention("bf16", 2 if run.options.small else 16, length, 128, backward, repeats)
            run.tell(7, f"attention {length} bf16{' backward' if backward else ''}", run.time(program), run.peer(program, torch_run), bound)


def point8(run):
    small = run.options.small
    count = 4096 if small else 1 << 26
    copy = programs.Program()
    x = copy.state("x", (count,), "f32", programs.normal(count))
    copy.results = {"x": copy.unary("neg", x)}
    moved = 8 * count / run.time(copy)  # bytes a second
    if run.torch:
        a = run.torch.empty(count, device="cuda")
        b = run.torch.empty_like(a)

        def call():
            b.copy_(a)
            run.torch.cuda.synchronize()

        moved = max(moved, 8 * count / median_of(call, run.options.seconds))
    run.tell(8, f"copy: {moved / 1e9:.0f} GB/s", 8 * count / moved, verdict="measured")
    rows, columns = (8, 512) if small else (1 << 15, 2048)
    for name, (program, _, _, size) in {"softmax f32": programs.softmax("f32", rows, columns), "softmax bf16": programs.softmax("bf16", rows, columns),
                                        "layer norm f32": programs.layer_norm("f32", rows, columns), "pointwise bf16": programs.pointwise("bf16", count),
                                        "AdamW": programs.adamw(count)}.items():
        seconds = run.time(program)
        run.tell(8, name, seconds, size / moved, 0.9)
        if name.startswith("softmax"):
            run.tell_others(8, name, seconds, triton=run.peer_in_triton(program, peers.triton_softmax, lambda kernel, v: kernel(v["x"])),
                            jax=run.peer_in_jax(program, lambda jax, v: jax.nn.softmax(v["x"], 1)))
    rows, columns = (2, 33000) if small else (8, 1 << 18)
    program = programs.softmax("f32", rows, columns)[0]
    seconds = run.time(program)
    os.environ["SINTER_CUDA_WGMMA"] = "off"  # a block for each row, which runs instead where a GPU has no clusters
    run.tell(8, f"softmax of {rows} rows, against blocks", seconds, run.time(program), 1.0)
    del os.environ["SINTER_CUDA_WGMMA"]


def point9(run):
    if not run.torch:
        return run.tell(9, "GPT-2 step", verdict="not run: torch sees no GPU here")
    torch = run.torch
    import train_torch

    batch, tokens, words = 16, 1024, 50257
    torch.manual_seed(1)
    model = train_torch.Gpt(12, 768, 12, tokens, words)
    ids, labels = torch.randint(0, words, (batch, tokens)), torch.randint(0, words, (batch, tokens))
    path = os.path.join(run.folder, "gpt2")
    torch.onnx.export(model, (ids,), path + ".onnx", input_names=["ids"], output_names=["scores"], dynamo=False)
    run.sinter("train-step", path + ".onnx", "--loss", "cross_entropy", "--optimizer", "adamw:lr=1e-4", "--precision", "bf16", "--target=cpu+cuda", "-o", path + ".smod")
    session = run.runtime.session(path + ".smod")
    for name, value in zip(session.inputs, (ids, labels)):
        session.set(name, value.numpy())
    ours = median_of(session.call, run.options.seconds)
    session.close()
    model, ids, labels = model.cuda(), ids.cuda(), labels.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    @torch.compile
    def loss_of():
        with torch.autocast("cuda", torch.bfloat16):
            return torch.nn.functional.cross_entropy(model(ids).reshape(-1, words), labels.reshape(-1))

    def step():
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()
        torch.cuda.synchronize()

    run.tell(9, "GPT-2 124M step, batch 16", ours, median_of(step, run.options.seconds), 1.0)


def one_call(run):
    """The time of a call of one small kernel: launch, wait and all, more than what the host does of it."""
    program = programs.Program()
    x = program.state("x", (4,), "f32", programs.normal(4))
    program.results = {"x": program.unary("neg", x)}
    run.tell(9, "a call of one kernel, at most 20 us", run.time(program), 20e-6, 1.0)


def point10(run):
    trips = 50 if run.options.small else 20000
    graph, times = run.module(programs.counting(trips, one_kernel=False)), {}
    kernel = run.module(programs.counting(trips, one_kernel=True))
    for how, graphs, path in (("graph", "", graph), ("host", "launches", graph), ("kernel", "", kernel)):
        os.environ["SINTER_CUDA_GRAPHS"] = graphs
        session = run.runtime.session(path)
        y = session.run({"x": np.zeros(4, np.float32)})[session.outputs[0]]
        times[how] = median_of(session.call, run.options.seconds) / trips
        session.close()
        if not np.array_equal(y, np.full(4, trips, np.float32)):
            run.tell(10, "while " + how, verdict="WRONG")
    del os.environ["SINTER_CUDA_GRAPHS"]
    run.tell(10, "a trip of while, against the host's", times["graph"], times["host"], 1.0)
    run.tell(10, "a trip of one kernel, against a graph's", times["kernel"], times["graph"], 1.0)
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer or run.options.small:
        return run.tell(10, "compute-sanitizer", verdict="not run: not installed, or small")
    done = subprocess.run([sanitizer, "--error-exitcode", "9", os.path.join(run.options.build, "bin/sinter_programs"), "--target", "cpu+cuda", "--seed", "1", "--count", "5", "--steps", "8", "--out", run.folder],
                          capture_output=True, text=True, check=False)
    run.tell(10, "compute-sanitizer", verdict="right" if done.returncode == 0 else "WRONG " + done.stdout[-200:])


def point11(run):
    sizes = gpu_resnet.SMALL if run.options.small else gpu_resnet.FULL
    for kind in ("f32", "bf16"):
        program, torch_run, jax_run, some, operations = gpu_resnet.resnet(kind, **sizes)
        name = f"ResNet-50, {sizes['batch']} pictures {kind}"
        values = run.values(program)
        session = run.session(program, values)
        session.call()
        scores = programs.from_bits(state_bits(session, "y", kind, program.states["y"][0]), kind)
        seconds = median_of(session.call, run.options.seconds)
        session.close()
        plain = {n: programs.from_bits(bits, k) for n, (bits, k) in values.items()}
        got, want = some(plain | {"y": scores})[0].astype(np.float64), some(plain)[1](plain)
        error = float(np.abs(got - want).max() / np.abs(want).max())
        right = error <= UNITS[kind] * run.options.tolerance * 4  # of 53 layers, one after the other
        run.tell(11, name + " against NumPy", verdict=f"right ({error:.1e})" if right else f"WRONG ({error:.1e})")
        run.tell(11, name, seconds, run.peer(program, torch_run), 0.85, teraflops=operations / seconds / 1e12)
        run.tell_others(11, name, seconds, jax=run.peer_in_jax(program, jax_run))


POINTS = {"5": [point5], "6": [point6], "7": [point7], "8": [point8], "9": [point9, one_call], "10": [point10], "11": [point11]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--points", default=",".join(POINTS))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each time")
    parser.add_argument("--tolerance", type=float, default=1.0, help="times what each type allows")
    parser.add_argument("--json")
    options = parser.parse_args()
    chosen = options.points.split(",")
    if unknown := [point for point in chosen if point not in POINTS]:
        parser.error(f"--points requires some of {', '.join(POINTS)}, got {unknown[0]}")
    print(f"{'point':5}  {'case':34} {'ms':>10} {'peer':>10} {'ratio':>6} {'bound':>6}  verdict")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, folder)
        for point in chosen:
            for part in POINTS[point]:
                part(run)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(run.rows, file, indent=1)
    return 0 if run.rows and not any(row["verdict"].startswith("WRONG") for row in run.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
