# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shared_weights.py ONE.json BOTH.json: what `inspect --json` says of modules for one target and for that and another."""
import json
import sys

one, both = (json.load(open(path))["sections"] for path in sys.argv[1:])
alone, together = one[-1]["bytes"], both[-1]["bytes"]
reads = [section["weight_bytes"] for section in both if section["kind"] == "code"]
assert len(reads) == 2 and max(reads) < together < sum(reads), (reads, together)
print(f"the second target adds {'less' if together - alone < alone / 2 else 'more'} than half")
