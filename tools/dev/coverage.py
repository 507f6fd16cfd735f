#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""coverage.py PROFILE PROGRAM...: the share of each reader's lines that ran, by llvm-cov. Exit code 1 where one is below 85 %."""
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LEAST = 85.0
# Each reader with its helpers. What writes, prints or runs is not among them, but where it lies in the same file.
READERS = {
    "ONNX files": ["compiler/onnx/" + name + ".cpp" for name in ("Check", "Order", "Outline", "Reader", "Schemas", "TensorData")],
    "ONNX operators": ["compiler/onnx/*.cpp"],
    "graph files (.sinter)": ["ir/file/" + name + ".cpp" for name in ("Elements", "FileBytes", "Names", "Reader", "Validate")],
    "safetensors": ["runtime/safetensors.c"],
    "json": ["runtime/json.c"],
    "modules and their code": ["runtime/smod.c", "runtime/code.c"],
    "npy and npz": ["runtime/npy.c", "runtime/npz.c", "runtime/inflate.c"],
    "tables and JSON lines": ["runtime/data/Csv.cpp", "runtime/data/JsonLines.cpp"],
    "TFRecord, tf.Example": ["runtime/data/TfRecord.cpp", "runtime/data/Example.cpp", "runtime/data/ExampleBatch.cpp", "runtime/data/ExampleFile.cpp", "runtime/data/ExampleColumn.h", "runtime/data/ExampleWire.h"],
    "tables of rows, vocabularies": ["runtime/data/RowFiles.cpp", "runtime/data/RowIndex.cpp", "runtime/data/RowStore.cpp", "runtime/data/RowVocabulary.cpp"],
    "feature columns": ["runtime/data/Columns.cpp"],
    "pictures": ["runtime/data/Pictures.cpp", "runtime/data/Png.cpp", "runtime/data/Jpeg.cpp"],
    "tokenizers": ["runtime/data/Tokenizer.cpp", "runtime/data/TokenizerFiles.cpp", "runtime/data/WordSplit.cpp"],
    "command line": ["tools/sinter/Command.cpp", "tools/sinter/Exit.cpp", "compiler/Targets.cpp", "compiler/train/OptimizerSpec.cpp",
                     "passes/gradient/CheckpointPolicy.cpp", "backends/cpu/Target.cpp"],
}
WRITERS = re.compile(r"compiler/onnx/(Export|Writer\w*)\.cpp")


def files_of(reader):
    found = {os.path.relpath(path, ROOT) for pattern in READERS[reader] for path in glob.glob(os.path.join(ROOT, pattern))}
    if reader == "ONNX operators":
        found -= set(READERS["ONNX files"])
    return {path for path in found if not WRITERS.match(path)}


def main():
    profile, *programs = sys.argv[1:]
    words = ["llvm-cov-22", "export", programs[0], *(word for program in programs[1:] for word in ("-object", program)),
             f"-instr-profile={profile}", "-summary-only"]
    report = json.loads(subprocess.run(words, capture_output=True, check=True, text=True).stdout)["data"][0]["files"]
    lines = {os.path.relpath(file["filename"], ROOT): file["summary"]["lines"] for file in report}
    low = False
    print(f"{'reader':24} {'lines':>6} {'reached':>8}   least")
    for reader in READERS:
        known = [(path, lines[path]) for path in sorted(files_of(reader)) if path in lines]
        count, covered = (sum(entry[1][key] for entry in known) for key in ("count", "covered"))
        share = 100 * covered / count if count else 0
        worst = min(known, key=lambda entry: entry[1]["percent"], default=None)
        low |= share < LEAST
        print(f"{reader:24} {count:6} {share:7.1f}%   " + (f"{worst[0]} {worst[1]['percent']:.1f}%" if worst else "no file was measured")
              + ("" if share >= LEAST else f"   BELOW {LEAST:.0f} %"))
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
