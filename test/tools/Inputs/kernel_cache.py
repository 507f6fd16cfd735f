# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kernel_cache.py SINTER MODEL TRAINED: modules that are compiled with object code of an earlier compilation are those that are
compiled without, whatever becomes of the folder."""
import glob
import json
import os
import shutil
import subprocess
import sys

SINTER, MODEL, TRAINED = sys.argv[1:]
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in ("SINTER_KERNEL_CACHE", "XDG_CACHE_HOME")}


def compile_to(output, *flags, model=MODEL, target="x86-64-v3", **environment):
    """Compiles; returns the bytes of the file and what was printed."""
    command = [SINTER, "compile", model, "-o", output, f"--target={target}", "--threads=2", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**ENVIRONMENT, **environment})
    assert done.returncode == 0, (command, done.stderr)
    with open(output, "rb") as f:
        return f.read(), done.stderr


def found(path="t.json"):
    """How many units a measured compilation looked up, and how many it found."""
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    looked = [event["args"]["found"] for event in events if event["name"] == "cache of kernels"]
    return len(looked), sum(looked)


def files(folder="kernels"):
    return sorted(glob.glob(f"{folder}/*.kernel"))


TIMES, CACHE = "--time-passes=t.json", "--kernel-cache=kernels"

# Cold, warm and without, in every form.
for output in ("m.smod", "m.o", "m.a", "m.so", "m"):
    shutil.rmtree("kernels", ignore_errors=True)
    plain, _ = compile_to(output)
    cold, printed = compile_to(output, CACHE, TIMES)
    assert "warning" not in printed, printed
    units, hits = found()
    assert units >= 3 and hits == 0, (units, hits)
    assert len(files()) == units and os.stat("kernels").st_mode & 0o777 == 0o700
    warm, printed = compile_to(output, CACHE, TIMES)
    assert found() == (units, units), found()
    assert plain == cold == warm, output
compile_to("m.smod", CACHE)
plain, _ = compile_to("m.smod")

# Kernels do not depend on what the module is called or on their numbers in it; all else has other keys.
compile_to("other.smod", CACHE, TIMES)
units, hits = found()
assert hits == units - 1, (units, hits)  # all but the entry functions, which bear the module's name
other, _ = compile_to("other.smod")
assert compile_to("other.smod", CACHE)[0] == other
for flags in ({"target": "x86-64-v2"}, {}):
    extra = [] if flags else ["-O1"]
    compile_to("m.smod", CACHE, TIMES, *extra, **flags)
    assert found()[1] == 0, (flags, extra)

# Files that are cut off, changed, exchanged or empty are as good as none, and replaced.
shutil.rmtree("kernels")
compile_to("m.smod", CACHE)
whole = {path: open(path, "rb").read() for path in files()}


def damage(change):
    for path, old in whole.items():
        with open(path, "wb") as f:
            f.write(change(path, old))
    assert compile_to("m.smod", CACHE, TIMES)[0] == plain
    assert found()[1] == 0
    assert {path: open(path, "rb").read() for path in files()} == whole


names = list(whole)
damage(lambda path, old: old[:-1])
damage(lambda path, old: old[:40])
damage(lambda path, old: b"")
damage(lambda path, old: old + b"\0")
damage(lambda path, old: old[:100] + bytes([old[100] ^ 1]) + old[101:])
damage(lambda path, old: old[:20] + bytes([old[20] ^ 1]) + old[21:])
damage(lambda path, old: whole[names[(names.index(path) + 1) % len(names)]])

# A folder that cannot be used costs a warning.
def warns(text, folder, **environment):
    module, printed = compile_to("m.smod", f"--kernel-cache={folder}", **environment)
    assert module == plain and f"warning: the cache of kernels is not used in full: {text}" in printed, printed


with open("file", "w", encoding="utf-8") as f:
    f.write("x")
warns("it requires a folder, got 'file'", "file")
warns("cannot make the folder '/proc/none/kernels': ", "/proc/none/kernels")
os.mkdir("open")
os.chmod("open", 0o777)
warns("it requires a folder of this user or root that nobody else may write to, got 'open'", "open")
if os.geteuid() == 0:
    print("root may write anywhere: no folder that is read only")
else:
    shutil.rmtree("kernels")
    os.mkdir("kernels", 0o500)
    warns("cannot write to 'kernels': Permission denied", "kernels")
    os.chmod("kernels", 0o700)
shutil.rmtree("kernels")
os.mkdir("kernels", 0o700)
limited = f"ulimit -f 1; trap '' XFSZ; exec {SINTER} inspect {MODEL} --kernels"  # writes nothing else
done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False, env={**ENVIRONMENT, "SINTER_KERNEL_CACHE": "kernels"})
assert done.returncode == 0 and "warning: the cache of kernels is not used in full: cannot write to 'kernels': File too large" in done.stderr, done
assert not glob.glob("kernels/*.tmp")

# The user's folder, and that of the environment.
home = os.path.abspath("home")
module, printed = compile_to("m.smod", "--kernel-cache", HOME=home)
assert module == plain and files("home/.cache/sinter/kernels"), printed
module, _ = compile_to("m.smod", "--kernel-cache", HOME=home, XDG_CACHE_HOME=home)
assert module == plain and files("home/sinter/kernels")
module, _ = compile_to("m.smod", SINTER_KERNEL_CACHE="named")
assert module == plain and files("named")

# Many at once share a folder.
shutil.rmtree("kernels")
several = [
    subprocess.Popen([SINTER, "compile", MODEL, "-o", f"p{i}/m.smod", "--target=x86-64-v3", CACHE], stderr=subprocess.PIPE)
    for i in range(4)
    if not os.makedirs(f"p{i}", exist_ok=True)
]
for i, process in enumerate(several):
    errors = process.communicate()[1]
    assert process.returncode == 0 and b"warning" not in errors, errors
    with open(f"p{i}/m.smod", "rb") as f:
        assert f.read() == plain
assert len(files()) == units and not glob.glob("kernels/*.tmp")

# The folder holds no more than it may: what was used longest ago goes.
for i in range(3):
    with open(f"kernels/{i:064x}.kernel", "wb") as f:
        f.write(bytes(600 << 10))
    os.utime(f"kernels/{i:064x}.kernel", (i + 1, i + 1))
os.remove([path for path in files() if os.path.getsize(path) < 600 << 10][0])
assert compile_to("m.smod", CACHE, "--kernel-cache-size=1")[0] == plain
left = [os.path.basename(path) for path in files()]
assert f"{2:064x}.kernel" in left and f"{1:064x}.kernel" not in left and f"{0:064x}.kernel" not in left, left
assert len(left) == units + 1, left

# What others have put there stays.
for name in ("notes.kernel", "letter.txt", "notes.kernel.1.0.tmp"):
    with open(f"kernels/{name}", "wb") as f:
        f.write(bytes(2 << 20))
    os.utime(f"kernels/{name}", (1, 1))
os.remove([path for path in files() if os.path.getsize(path) < 600 << 10][0])
assert compile_to("m.smod", CACHE, "--kernel-cache-size=1")[0] == plain
for name in ("notes.kernel", "letter.txt", "notes.kernel.1.0.tmp"):
    assert os.path.exists(f"kernels/{name}"), name
    os.remove(f"kernels/{name}")

# A training step.
STEP = ["train-step", TRAINED, "--loss", "mse", "--optimizer", "sgd:lr=0.1", "-o", "step.smod", "--target=x86-64-v3"]
modules = []
for extra in ([], ["--kernel-cache=steps"], ["--kernel-cache=steps", TIMES]):
    done = subprocess.run([SINTER, *STEP, *extra], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    with open("step.smod", "rb") as f:
        modules.append(f.read())
assert modules[0] == modules[1] == modules[2]
assert found()[0] == found()[1] > 0
