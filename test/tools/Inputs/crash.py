# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""crash.py SINTER MODEL: sends a fatal signal to a program at work; it must say so in one line, leave a folder with the model and the
command line, and end with exit code 70. A model over 64 MiB is not copied."""
import filecmp
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sinter, model = sys.argv[1:]
large = "large.mlir"
with open(large, "w") as f:
    f.write("func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  %0 = sinter.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
            "  return %0 : tensor<4xf32>\n}\n" + ("//" + " " * 1021 + "\n") * (64 * 1024))
for fatal, path in ((signal.SIGSEGV, model), (signal.SIGABRT, model), (signal.SIGFPE, model), (signal.SIGABRT, large)):
    command = [sinter, "bench", path, "--seconds", "60"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # It is at work once its compiled code is there: executable pages of no file.
    while program.poll() is None and not re.search(r" r-xp \S+ 00:00 0 *$", open(f"/proc/{program.pid}/maps").read(), re.M):
        time.sleep(0.01)
    program.send_signal(fatal)
    _, text = program.communicate(timeout=300)
    assert program.returncode == 70, (fatal, program.returncode, text)
    assert text.startswith("sinter: internal error: ") and text.count("\n") == 1, text
    folder = re.search(r"a reproducer is in (.*)\)$", text.strip()).group(1)
    readme = open(os.path.join(folder, "README")).read()
    assert " ".join(command) in readme
    if path == large:
        assert "over 64 MiB" in readme and os.listdir(folder) == ["README"], (readme, os.listdir(folder))
    else:
        assert filecmp.cmp(os.path.join(folder, os.path.basename(path)), path, shallow=False)
    shutil.rmtree(folder)
os.remove(large)
