# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The events of `sinter bench --profile`: they parse, follow one another, and are what the table says."""

import json
import re


def read(name):
    events = json.load(open(name + ".json"))["traceEvents"]
    threads = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    calls = [event for event in events if event["ph"] == "X"]
    for event in calls:
        assert event["ts"] >= 0 and event["dur"] >= 0, event
    for place in threads:
        own = [event for event in calls if event["tid"] == place]
        for before, after in zip(own, own[1:]):  # one after the other; a clock of a GPU ticks every microsecond
            assert after["ts"] >= before["ts"] + before["dur"] - 1, (before, after)
    rows = re.findall(r"^ +([\d.]+) +([\d.]+) +([\d.e+]+)  (CPU|device) +(.+)$", open(name + ".txt").read(), re.M)
    assert rows, name
    assert {(threads[event["tid"]], event["name"]) for event in calls} == {(row[3], row[4]) for row in rows}, (calls, rows)
    for row in rows:
        assert float(row[2]) == sum(event["name"] == row[4] and threads[event["tid"]] == row[3] for event in calls), row
    return rows


assert all(row[3] == "CPU" for row in read("cpu"))
gpu = read("gpu")
names = [row[4] for row in gpu if row[3] == "device"]
assert any(name.startswith("copy to the host") for name in names), names
assert any(not name.startswith("copy ") and name != "zeros" for name in names), names
