# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile_again.py SINTER MODEL COUNT FORMS FLAGS...: compiles in COUNT ways that should not matter, two at a time, and says
how many different contents each form (m.smod,m.o) has."""
import concurrent.futures
import hashlib
import os
import subprocess
import sys

sinter, model, count, forms = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split(",")
flags = sys.argv[5:]


def compile_once(i):
    folder = os.path.abspath(f"folder{i}" + "x" * (i % 7))
    os.makedirs(folder + "/tmp", exist_ok=True)
    environment = dict(os.environ, TMPDIR=folder + "/tmp", HOME=folder, LANG=["C", "C.UTF-8", "de_DE"][i % 3], TZ=f"UTC{i % 12}")
    environment.update({f"V{k}": "x" * 100 * k for k in range(i % 5)})
    digests = []
    for form in forms:
        command = [sinter, "compile", model, "-o", form, "--threads", str(1 + i % 3), *flags]
        subprocess.run(command, cwd=folder, env=environment, check=True, stderr=subprocess.DEVNULL)
        with open(f"{folder}/{form}", "rb") as file:
            digests.append(hashlib.sha256(file.read()).hexdigest())
    return digests


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = list(pool.map(compile_once, range(count)))
for form, digests in zip(forms, zip(*results)):
    print(f"{form}: {count} compiles gave {len(set(digests))}")
