# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command in a control group that may use so much memory, files' pages included, and says whether it used all.

usage: in_group.py MEBIBYTES COMMAND...; without arguments: ends with 0 where such a group can be made"""
import os
import subprocess
import sys

OLD, NEW = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"


def make():
    """The folder of a new group, the names of its limit and of how often that was met; None where it cannot be made."""
    for root, limit, met in ((OLD, "memory.limit_in_bytes", "memory.failcnt"), (NEW, "memory.max", "memory.events")):
        group = f"{root}/sinter-test-{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError:
            continue
        if os.access(f"{group}/{limit}", os.W_OK) and os.access(f"{group}/cgroup.procs", os.W_OK):
            return group, limit, met
        os.rmdir(group)
    return None


def times(text):
    words = text.split()  # a number, or names and numbers
    return int(words[words.index("max") + 1] if "max" in words else words[0])


def main():
    made = make()
    if not made:
        sys.exit("no control group of memory can be made here")
    group, limit, met = made
    try:
        if len(sys.argv) < 3:
            return
        with open(f"{group}/{limit}", "w") as file:
            file.write(str(int(sys.argv[1]) << 20))

        def enter():
            with open(f"{group}/cgroup.procs", "w") as file:
                file.write("0")

        status = subprocess.run(sys.argv[2:], preexec_fn=enter).returncode
        with open(f"{group}/{met}") as file:
            print("the group's memory was full" if times(file.read()) else "the group's memory sufficed", file=sys.stderr)
        if status:
            sys.exit(status)
    finally:
        os.rmdir(group)


main()
