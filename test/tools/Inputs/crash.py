# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""crash.py SINTER MODEL: sends a fatal signal to a program at work; it must say so in one line, leave a folder with the model and the
command line, and end with exit code 70."""
import filecmp
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sinter, model = sys.argv[1:]
command = [sinter, "bench", model, "--seconds", "60"]
for fatal in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE):
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # It is at work once its compiled code is there: executable pages of no file.
    while program.poll() is None and not re.search(r" r-xp \S+ 00:00 0 *$", open(f"/proc/{program.pid}/maps").read(), re.M):
        time.sleep(0.01)
    program.send_signal(fatal)
    _, text = program.communicate(timeout=300)
    assert program.returncode == 70, (fatal, program.returncode, text)
    assert text.startswith("sinter: internal error: ") and text.count("\n") == 1, text
    folder = re.search(r"a reproducer is in (.*)\)$", text.strip()).group(1)
    assert filecmp.cmp(os.path.join(folder, os.path.basename(model)), model, shallow=False)
    assert " ".join(command) in open(os.path.join(folder, "README")).read()
    shutil.rmtree(folder)
