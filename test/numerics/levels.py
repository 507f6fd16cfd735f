# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPUs that tests of values compile for, with what /proc/cpuinfo must list so that this machine can run their code."""

NEEDS = {"x86-64": [], "x86-64-v2": [], "x86-64-v3": ["avx2"], "x86-64-v3,+avxvnni": ["avx_vnni"], "x86-64-v4": ["avx512bw"], "x86-64-v4,+avx512vnni": ["avx512_vnni"],
         "x86-64-v4,+avx512bf16": ["avx512_bf16"], "native": []}
USUAL = ["x86-64", "x86-64-v3", "x86-64-v4", "native"]


def features():
    with open("/proc/cpuinfo") as file:
        return set(next((line for line in file if line.startswith("flags")), "").split())


def numbered(targets, chosen=()):
    """(number, target) of those of `targets` that are chosen, or else whose code this machine runs."""
    here = features()
    return [(number, target) for number, target in enumerate(targets) if (target in chosen if chosen else here.issuperset(NEEDS[target]))]


def runnable(targets=USUAL):
    return [target for _, target in numbered(targets)]
