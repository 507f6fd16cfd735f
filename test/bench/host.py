# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What machine this is, and what it can do at best, measured."""
import os
import platform
import re
import subprocess

here = os.path.dirname(os.path.abspath(__file__))
FEATURES = ["avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "avx512_vnni", "avx_vnni", "amx_bf16", "amx_int8",
            "asimd", "bf16", "i8mm", "sve", "sve2"]


def first(pattern, text):
    found = re.search(pattern, text, re.M)
    return found[1].strip() if found else ""


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def caches():
    """Sizes by level, as the kernel gives them: "L1d 48K, L2 2048K, L3 260M"."""
    base, found = "/sys/devices/system/cpu/cpu0/cache", []
    for index in sorted(os.listdir(base)) if os.path.isdir(base) else []:
        level, kind, size = (read(f"{base}/{index}/{name}").strip() for name in ("level", "type", "size"))
        if kind in ("Data", "Unified"):
            found.append(f"L{level}{'d' if kind == 'Data' else ''} {size}")
    return ", ".join(found)


def describe():
    cpu = read("/proc/cpuinfo")
    flags = set(first(r"^(?:flags|Features)\s*: (.*)$", cpu).split())
    identity = [first(rf"^{name}\s*: (.*)$", cpu) for name in ("vendor_id", "cpu family", "model", "stepping")]
    return {
        "machine": platform.machine(),
        "cpu": first(r"^model name\s*: (.*)$", cpu) or platform.processor() or "unknown",
        "identity": " ".join(i for i in identity if i) or first(r"^CPU part\s*: (.*)$", cpu),
        "features": [f for f in FEATURES if f in flags],
        "cores": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "virtual": "hypervisor" in flags,
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "load": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.release()}",
    }


def kind(host):
    """A file name for hosts of this kind: results of the same kind replace each other."""
    text = f"{host['cpu']} {host['identity']} {host['cores']} cores"
    text = text.replace("(R)", " ").replace("(TM)", " ").lower()
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")


class Probe:
    """The program peak.c, compiled into a folder; each call measures again."""

    def __init__(self, folder, compiler="clang-22"):
        self.binary = os.path.join(folder, "peak")
        source = os.path.join(here, "peak.c")
        if not os.path.exists(self.binary) or os.path.getmtime(self.binary) < os.path.getmtime(source):
            subprocess.run([compiler, "-std=gnu11", "-O2", "-ffp-contract=fast", "-pthread", source, "-o", self.binary], check=True)
        self.turns = []

    def measure(self, threads):
        figures = subprocess.run([self.binary, str(threads)], capture_output=True, text=True, check=True).stdout.split()
        self.turns.append([float(f) for f in figures])

    def best(self, threads):
        """GF/s of a core, the same with loads, GB/s of one thread and of `threads`."""
        fma, loads, single, several = (max(column) for column in zip(*self.turns))
        return {"gflops": fma, "gflops_with_loads": loads, "gbytes": {"1": single, str(threads): max(several, single)}, "turns": self.turns}
