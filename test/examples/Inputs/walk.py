# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""walk.py EXAMPLES PREFIX PYTHON: does what examples/WALK.md says, as it is printed there, in the folder where it is called: its programs and
its configuration become files, its commands run one after the other. PREFIX is an installed Sinter, PYTHON one with NumPy."""
import os
import re
import shutil
import subprocess
import sys

examples, prefix, python = sys.argv[1:]
with open(os.path.join(examples, "WALK.md")) as file:
    text = file.read()
programs = dict(re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S))
assert sorted(programs) == ["c", "cpp"], sorted(programs)
blocks = re.findall(r"(?:^    .*\n)+", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
configurations = [block for block in blocks if block.startswith("    {")]
assert len(configurations) == 1, configurations
for name, content in (("net.cpp", programs["cpp"]), ("use.c", programs["c"]), ("config.json", configurations[0])):
    with open(name, "w") as file:
        file.write(content)
shutil.copy(os.path.join(examples, "train_main.c"), ".")

commands = [line.strip() for block in blocks if block not in configurations for line in block.splitlines()]
assert len(commands) == 5, commands
for command in commands:
    print("$", command, flush=True)
    run = re.sub(r"^python3(?= )", lambda _: python, command)
    done = subprocess.run(["bash", "-ec", run], env={**os.environ, "S": os.path.abspath(prefix)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, flush=True)
    if done.returncode:
        sys.exit(f"failed with {done.returncode}: {command}")
