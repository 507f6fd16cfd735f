#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says where a test takes input or a verdict from what differs from run to run or from host to host.

    check_repeatable.py [ROOT]

Refused in test/ (but not in test/bench/, which measures): entropy of the system, random numbers without a seed, the time of
the wall, the number of processors, free memory and disk, process numbers where they are more than part of a name, Python's
hash of text, times of files and fixed ports. A file that cannot do without is listed in REASONS with its kinds and the
reason; an entry that is not needed any more is refused, too.
"""
import os
import re
import sys

KINDS = {
    "entropy": r"/dev/u?random\b|os\.u?random\b|\brandom_device\b|\bgetrandom\b|\bgetentropy\b|\bsecrets\.|\buuid\d?\.|SystemRandom|\$RANDOM\b|\bshuf\b",
    "no seed": r"default_rng\(\)|RandomState\(\)|\brandom\.Random\(\)|\b(?:np|numpy)\.random\.(?:rand|randn|randint|random|uniform|normal|"
               r"standard_normal|choice|permutation|shuffle|integers)\(|(?<![\w.:])s?rand\(|std::s?rand\(",
    "time": r"\btime\.(?:time|monotonic|perf_counter|sleep)(?:_ns)?\(|datetime\.\w*\.?(?:now|today)\(|_clock::now\(|\bclock_gettime\(|\bgettimeofday\(|"
            r"(?<![\w.:>])time\((?:NULL|nullptr|0)\)|sleep_for\(|\bu?sleep\(|\$\(date\b|^RUN:.*\b(?:sleep|timeout) [\d.]",
    "processors": r"cpu_count\(|sched_getaffinity|\bnproc\b|hardware_concurrency|get_nprocs|_SC_NPROCESSORS",
    "memory or disk": r"meminfo|_SC_(?:AV)?PHYS_PAGES|\bsysinfo\(|disk_usage\(|\bstatv?fs\(|virtual_memory\(|/proc/self/statm",
    "processor": r"/proc/cpuinfo|__builtin_cpu_supports",
    "process": r"^RUN:.*\$\$",
    "hash": r"(?<![\w.:])hash\((?=[^)])",
    "times of files": r"getmtime\(|\.st_[mac]tim|last_write_time\(|\butimes?\(",
    "port": r"127\.0\.0\.1|\blocalhost\b|AF_INET",
}
# What only looks like it in C++ or Python.
CODE = {"hash": (".py",), "process": (".test", ".mlir")}

# File -> (kinds, why what it says stays the same).
REASONS = {
    "test/compiler/capi/EmbeddingTest.cpp": (["time"], "waits for what happens, a minute at most; signals may arrive at any time"),
    "test/compiler/capi/JitTest.cpp": (["times of files"], "sets the times that decide which file is the oldest"),
    "test/cuda/on_a_gpu.py": (["time"], "measures on a GPU; values alone decide"),
    "test/cuda/driver/Launches.cpp": (["time"], "events tell milliseconds, as those of the driver that it stands for"),
    "test/ir/file/LargeGraphTest.cpp": (["memory or disk"], "its own pages, against what it holds"),
    "test/cuda/machine/Floats.cpp": (["processor"], "an instruction where there is one, else the same rounding in C"),
    "test/lit.cfg.py": (["processor"], "which tests this host can run: the others are skipped by name"),
    "test/models/check_models.py": (["time"], "prints how long compiling took"),
    "test/models/train_torch.py": (["time"], "--time prints what a step takes"),
    "test/numerics/levels.py": (["processor"], "which forms this host can run"),
    "test/backends/cpu/Inputs/masked_halves.py": (["processor"], "which forms this host can run"),
    "test/tools/Inputs/precision.py": (["processor"], "which forms this host can run"),
    "test/numerics/sums.py": (["processor"], "which forms this host can run"),
    "test/runtime/data/Speed.cpp": (["time"], "a program that measures; no test runs it"),
    "test/runtime/data/pipeline.cpp": (["time"], "gives other threads the time to do what they must not; no bound of time is asserted"),
    "test/runtime/executor.cpp": (["time"], "gives a worker the time to wait for work; a bound of time ends only a test in which it never came"),
    "test/runtime/host.cpp": (["processor"], "what the compiler's own detection says of this host; all others are injected"),
    "test/runtime/memory.cpp": (["memory or disk"], "one byte more than the machine has, whatever that is"),
    "test/runtime/npy.cpp": (["time"], "any moment of a kill leaves whole files"),
    "test/runtime/smod.cpp": (["memory or disk"], "pages of this process before and after, half of a section apart"),
    "test/runtime/tape.cpp": (["memory or disk"], "addresses of this process and 100 MiB"),
    "test/runtime/threads.cpp": (["time"], "gives workers the time to sleep; what idle ones use is processor time"),
    "test/tools/Inputs/compile_memory.py": (["time"], "looks at the peak of a process every two milliseconds; no bound of time is asserted"),
    "test/tools/Inputs/crash.py": (["time"], "waits for code that runs"),
    "test/tools/Inputs/crashing_case.py": (["time"], "waits for a child; any moment of the signal is a crash"),
    "test/tools/Inputs/interrupt.py": (["time"], "waits for a file; any moment of a kill leaves whole files"),
    "test/tools/Inputs/interrupt_table.py": (["time"], "any moment of a kill leaves whole files"),
    "test/tools/Inputs/kernel_cache.py": (["times of files"], "sets the times that decide which file is the oldest"),
}
IMPORT = re.compile(r"^(?:import random\b|from random\b)", re.M)
SEED = re.compile(r"\brandom\.seed\(\w+\)")
GLOBAL = r"(?<![\w.])random\.(?:random|uniform|randrange|randint|choice|choices|sample|shuffle|gauss|randbytes|getrandbits)\("
SUFFIXES = (".c", ".cpp", ".h", ".hpp", ".mlir", ".py", ".sh", ".test")


def sources(root):
    for folder, folders, names in os.walk(os.path.join(root, "test")):
        folders[:] = sorted(f for f in folders if f != "__pycache__" and os.path.join(folder, f) != os.path.join(root, "test", "bench"))
        for name in sorted(names):
            if name.endswith(SUFFIXES) and name != "repeatable.test":  # which names them all
                yield os.path.join(folder, name)


def found(path):
    """(line, kind, text) of what differs."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    seeded = not IMPORT.search(text) or SEED.search(text)
    patterns = {kind: pattern for kind, pattern in KINDS.items() if path.endswith(CODE.get(kind, SUFFIXES))}
    patterns |= {} if seeded or not path.endswith(".py") else {"no seed ": GLOBAL}
    matches = [(match.start(), kind.strip(), match[0]) for kind, pattern in patterns.items() for match in re.finditer(pattern, text, re.M)]
    for start, kind, what in sorted(matches):
        yield text.count("\n", 0, start) + 1, kind, what


def check(root):
    used = set()
    for path in sources(root):
        name = os.path.relpath(path, root)
        kinds, _ = REASONS.get(name, ((), ""))
        for line, kind, text in found(path):
            if kind in kinds:
                used.add((name, kind))
            else:
                yield f"{name}:{line}: '{text}' differs from run to run or from host to host ({kind}): a seed, an injected host or a count is required"
    for name, (kinds, _) in sorted(REASONS.items()):
        for kind in kinds:
            if (name, kind) not in used and os.path.exists(os.path.join(root, "test", "README.md")):
                yield f"{name}: needs no reason for '{kind}' any more (REASONS in tools/check_repeatable.py)"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    problems = list(check(root))
    print("\n".join(problems), end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
