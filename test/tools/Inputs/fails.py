# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fails.py CODE MESSAGE COMMAND...: holds if COMMAND ends with CODE, prints nothing but one line with MESSAGE in it to stderr, and
leaves the current folder as it was."""
import os
import subprocess
import sys

code, message, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
before = sorted(os.listdir())
done = subprocess.run(command, capture_output=True, text=True, timeout=300)
complaints = []
if done.returncode != code:
    complaints.append(f"requires exit code {code}, got {done.returncode}")
if done.stdout:
    complaints.append("requires nothing on stdout, got: " + done.stdout)
if not done.stderr.startswith("sinter: error: ") or message not in done.stderr or done.stderr.count("\n") != 1:
    complaints.append(f"requires one line with: {message}\ngot: {done.stderr}")
if sorted(os.listdir()) != before:
    complaints.append(f"requires no new file, found {sorted(set(os.listdir()) - set(before))}")
sys.exit("\n".join(complaints) if complaints else 0)
