# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One configuration for all suites; the folders below test/ mirror the tree.
#
# Tools come from the build's bin/ and from LLVM's; %sinter, %python and %models are the other words a RUN
# line may use. `REQUIRES: models` (or python, x86, asan, ...) names what a test cannot do without.
import glob
import os
import platform
import shutil
import subprocess
import sys

import lit.formats

config.name = "sinter"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".td"]
config.excludes = ["Inputs", "cases", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.sinter_source, "test")
config.test_exec_root = os.path.join(config.sinter_build, "test")

tools = os.path.join(config.sinter_build, "bin")
config.environment["PATH"] = os.pathsep.join([tools, config.llvm_tools, os.environ.get("PATH", "/usr/bin:/bin")])
for name in ("HOME", "XDG_CACHE_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "SINTER_LONG"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sinter")
python = os.environ.get("SINTER_PYTHON") or os.path.join(cache, "venv", "bin", "python")
models = os.environ.get("SINTER_MODELS") or os.path.join(cache, "models")

# What libsinter_data.a was built to need.
libraries = ["-lz"] + [{"PNG": "-lpng", "JPEG": "-ljpeg"}[name] for name in config.data_packages.split(";") if name]
if {"-lpng", "-ljpeg"} <= set(libraries):
    config.available_features.add("pictures")
config.substitutions += [
    ("%data-libraries", " ".join(libraries)),
    ("%sinter", os.path.join(tools, "sinter")),
    ("%source", config.sinter_source),
    ("%build", config.sinter_build),
    ("%python", python),
    ("%models", models),
    ("%clang", config.clang),
    ("%kills", "50" if os.environ.get("SINTER_LONG") else "8"),
    ("%spoken-words", "" if os.environ.get("SINTER_LONG") else "--words yes,no,stop,go --voices 24"),
    ("%spoken-epochs", "20" if os.environ.get("SINTER_LONG") else "12"),
    ("%length", "LONG" if os.environ.get("SINTER_LONG") else "SHORT"),
    ("%onnxdata", "/usr/share/libonnx-testdata/data"),
]

config.available_features.add(platform.machine())
# Levels that this machine runs.
flags = set()
if os.path.exists("/proc/cpuinfo"):
    with open("/proc/cpuinfo") as file:
        flags = set(next((line for line in file if line.startswith("flags")), "").split())
if {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"} <= flags:
    config.available_features.add("x86-64-v3")
    if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
        config.available_features.add("x86-64-v4")
if os.path.exists(python):  # with numpy, onnx and onnxruntime
    config.available_features.add("python")
for path in os.listdir(models) if os.path.isdir(models) else []:
    if path.endswith(".onnx"):
        config.available_features.add("model-" + path[: -len(".onnx")])
for name in os.listdir(tools) if os.path.isdir(tools) else []:
    config.available_features.add("tool-" + name)
if os.path.exists(os.path.join(tools, "sinter")):  # matrix units, which the kernel may refuse
    doctor = subprocess.run([os.path.join(tools, "sinter"), "doctor"], capture_output=True, text=True).stdout
    target = next((line for line in doctor.splitlines() if line.startswith("target:")), "").split()
    if {"amx-tile", "amx-bf16", "amx-int8"} <= set(target):
        config.available_features.add("matrix-units")
if glob.glob("/usr/lib/*/libLLVM-1[4-9].so.1"):
    config.available_features.add("other-llvm")
if not config.sanitize and os.path.exists(os.path.join(config.sinter_build, "lib", "libsinter_compiler.so")):
    config.available_features.add("installable")
if subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "examples/Inputs/in_group.py")], capture_output=True).returncode == 0:
    config.available_features.add("control-groups")  # of memory
if os.path.isdir("/usr/share/libonnx-testdata/data"):
    config.available_features.add("onnx-testdata")
for name in ("espeak-ng", "gcc", "qemu-x86_64", "qemu-aarch64"):
    if shutil.which(name):
        config.available_features.add(name)
if os.path.exists("/usr/share/i18n/locales/de_DE") and shutil.which("localedef"):  # locales
    config.available_features.add("locale-sources")
if os.path.exists("/usr/aarch64-linux-gnu/lib/Scrt1.o"):  # libc6-dev-arm64-cross
    config.available_features.add("aarch64-libc")
if config.sanitize:
    config.available_features.update(config.sanitize.split(","))
