# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""time_passes.py SINTER OPT MODEL TRAINED: the table and the events of --time-passes: they parse, nest, add up to no more than
they lie in, name every pass of the pipeline, and change nothing of the module."""
import json
import re
import subprocess
import sys

SINTER, OPT, MODEL, TRAINED = sys.argv[1:]


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (args, done.stderr)
    return done.stderr


def events_of(path):
    with open(path, encoding="utf-8") as f:
        trace = json.load(f)
    named = {event["tid"] for event in trace["traceEvents"] if event["ph"] == "M" and event["name"] == "thread_name"}
    complete = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(complete) + len(named) == len(trace["traceEvents"])
    for event in complete:
        assert event["tid"] in named and event["dur"] >= 0 and event["ts"] >= 0 and event["args"]["cpu us"] >= 0, event
    return complete


def check_nesting(events):
    """Events of one thread lie in each other or apart, and what lies in one takes no longer than it."""
    for tid in {event["tid"] for event in events}:
        open_spans = []
        mine = sorted((e for e in events if e["tid"] == tid), key=lambda e: (e["ts"], -e["dur"]))
        for event in mine:
            begin, end = event["ts"], event["ts"] + event["dur"]
            while open_spans and open_spans[-1]["end"] <= begin + 1e-3:
                open_spans.pop()
            for outer in open_spans[-1:]:
                assert end <= outer["end"] + 1e-3, (event, outer)
                outer["inside"] += event["dur"]
                assert outer["inside"] <= outer["dur"] + 1e-1, outer
            open_spans.append({"end": end, "dur": event["dur"], "inside": 0.0})


def rows_of(table):
    row = re.compile(r"^ *(\d+\.\d+) +(\d+\.\d+) +\d+\.\d % +(\d+) +(?:(\d+) > (\d+))?( +)(\S.*)$")
    return [row.match(line) for line in table.splitlines() if row.match(line)]


ARGUMENTS = ["--target=x86-64-v3", "--threads=2"]
run(SINTER, "compile", MODEL, "-o", "m.smod", *ARGUMENTS)
with open("m.smod", "rb") as f:
    plain = f.read()
stderr = run(SINTER, "compile", MODEL, "-o", "m.smod", "--time-passes=t.json", *ARGUMENTS)
with open("m.smod", "rb") as f:
    assert f.read() == plain, "measuring changes the module"
assert "wrote t.json" in stderr
events = events_of("t.json")
check_nesting(events)

# The pass manager's own text says what the pipeline is.
pipeline = run(OPT, "--sinter-to-fused", "--dump-pass-pipeline", MODEL, "-o", "/dev/null")
passes = set(re.findall(r"\b(sinter-[a-z0-9-]+|canonicalize)\b", pipeline))
assert len(passes) > 15, pipeline
measured = {event["name"] for event in events if event["cat"] == "pass"}
assert passes <= measured, passes - measured
assert all("ops before" in event["args"] and "ops after" in event["args"] for event in events if event["cat"] == "pass")

# Phases follow each other on the main thread; kernels may be on others, each with its three steps.
phases = [event for event in events if event["cat"] == "phase"]
for name in ("import", "passes", "object code", "linking and writing"):
    assert any(event["name"] == name for event in phases), name
assert {event["tid"] for event in phases} == {0}
kernels = [event for event in events if event["cat"] == "kernel"]
for step in ("to LLVM", "LLVM's passes", "code generation"):
    assert sum(event["name"] == step for event in events) == len(kernels), step
assert {"linker", "file"} <= {event["name"] for event in events}

rows = rows_of(stderr)
names = [row[7] for row in rows]
assert names[0] == "all" and passes <= set(names), names
wall, depth = float(rows[0][1]), len(rows[0][6])
assert sum(float(row[1]) for row in rows if len(row[6]) == depth + 2) <= wall + 1e-3 * len(rows), stderr
assert sum(event["dur"] for event in phases) <= wall * 1e6 * 1.001 + 100
inner = [row for row in rows if len(row[6]) == depth + 4 and row[7] in passes]
assert sum(float(row[1]) for row in inner) <= float(rows[names.index("passes")][1]) + 1e-4 * len(inner), stderr

# Without a file there is the table alone, and without the flag nothing.
assert rows_of(run(SINTER, "compile", MODEL, "-o", "m.smod", "--time-passes"))
assert not rows_of(run(SINTER, "compile", MODEL, "-o", "m.smod"))

STEP = ["train-step", TRAINED, "--loss", "mse", "--optimizer", "sgd:lr=0.1", "-o", "step.smod", *ARGUMENTS]
run(SINTER, *STEP)
with open("step.smod", "rb") as f:
    plain = f.read()
run(SINTER, *STEP, "--time-passes=s.json")
with open("step.smod", "rb") as f:
    assert f.read() == plain
events = events_of("s.json")
check_nesting(events)
assert {"import", "import for inference", "loss, gradients and optimizer", "passes", "object code"} <= {event["name"] for event in events}
