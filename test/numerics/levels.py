# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPUs that tests of values compile for, with what /proc/cpuinfo must list so that this machine can run their code."""

NEEDS = {"x86-64": [], "x86-64-v2": [], "x86-64-v3": ["avx2"], "x86-64-v3,+avxvnni": ["avx_vnni"], "x86-64-v4": ["avx512bw"], "x86-64-v4,+avx512vnni": ["avx512_vnni"],
         "x86-64-v4,+avx512bf16": ["avx512_bf16"], "native": []}
USUAL = ["x86-64", "x86-64-v3", "x86-64-v4", "native"]


def runnable(targets=USUAL):
    """Those of `targets` whose code this machine runs, in their order."""
    with open("/proc/cpuinfo") as file:
        flags = set(next((line for line in file if line.startswith("flags")), "").split())
    return [target for target in targets if flags.issuperset(NEEDS[target])]
