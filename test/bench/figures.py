# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From times of processes to what is said of them: medians, their errors, ratios, and what became slower."""
import math
import statistics

CAP = 1.5     # a ratio counts at most so much in a mean
FLOOR = 0.95  # below it a row is named
SLOWER, SLOWER_SHORT, SHORT_US, ERRORS = 0.03, 0.10, 20.0, 3.0


def summary(times):
    """Median and its standard error, of one figure a process. The error is that of a normal sample's median: 1.2533 s / sqrt(n).

    Outliers make it larger, so that an unquiet run claims less. One process alone has no error.
    """
    us = statistics.median(times)
    error = 1.2533 * statistics.stdev(times) / math.sqrt(len(times)) if len(times) > 1 else None
    return {"us": us, "error_us": error, "processes": len(times)}


def relative(figure):
    """The relative standard error; None where there is none."""
    return figure["error_us"] / figure["us"] if figure["error_us"] is not None else None


def joined(*errors):
    """Of a quotient of independent figures."""
    return None if None in errors else math.sqrt(sum(e * e for e in errors))


def ratio(ours, peers):
    """Best peer's time over ours, its error, and the peer's name; `peers` maps names to summaries."""
    if not ours or not peers:
        return None
    best = min(peers, key=lambda name: peers[name]["us"])
    value = peers[best]["us"] / ours["us"]
    error = joined(relative(ours), relative(peers[best]))
    return {"ratio": value, "error": None if error is None else value * error, "best": best}


def mean(ratios):
    """Geometric, each ratio at most CAP."""
    return math.exp(statistics.fmean(math.log(min(r, CAP)) for r in ratios)) if ratios else None


def compare(before, now):
    """Rows of two results that both have: `change` is our time now over before, less 1, and `slower` says that it is beyond
    3 % (10 % below 20 us) and beyond three standard errors. Without errors, of single processes, nothing is called slower."""
    old = {(r["name"], r["threads"]): r["engines"].get("sinter") for r in before["rows"]}
    found = []
    for row in now["rows"]:
        a, b = old.get((row["name"], row["threads"])), row["engines"].get("sinter")
        if not a or not b:
            continue
        value = b["us"] / a["us"]
        error = joined(relative(a), relative(b))
        allowed = SLOWER_SHORT if min(a["us"], b["us"]) < SHORT_US else SLOWER
        slower = error is not None and value - 1 > allowed and value - 1 > ERRORS * value * error
        found.append({"name": row["name"], "threads": row["threads"], "before_us": a["us"], "now_us": b["us"], "change": value - 1,
                      "error": None if error is None else value * error, "slower": slower})
    return found


def row(name, threads, times, work, probe, extra):
    """A row of the table. `times` maps engines to one median a process in us; `work` is (operations, bytes)."""
    engines = {engine: summary(found) for engine, found in times.items() if found}
    ours = engines.get("sinter")
    made = {"name": name, "threads": threads, "engines": engines, **extra}
    made.update(ratio(ours, {e: s for e, s in engines.items() if e != "sinter"}) or {"ratio": None, "error": None, "best": None})
    operations, size = work
    peak, bandwidth = probe["gflops"] * threads, probe["gbytes"].get(str(threads))
    made["share_of_peak"] = operations / ours["us"] * 1e-3 / peak if ours and operations else None
    made["share_of_bandwidth"] = size / ours["us"] * 1e-3 / bandwidth if ours and size and bandwidth else None
    return made


def add_speedups(rows):
    """How much faster than on one thread, of us and of the best peer."""
    single = {r["name"]: r for r in rows if r["threads"] == 1}
    for made in rows:
        one = single.get(made["name"])
        if made["threads"] == 1 or not one:
            continue
        pairs = [(one["engines"].get(e), made["engines"].get(e)) for e in ("sinter", made["best"])]
        made["speedup"], made["peer_speedup"] = (a["us"] / b["us"] if a and b else None for a, b in pairs)


def means(rows):
    """Geometric mean and count of the rows with a ratio, by threads."""
    found = {}
    for threads in sorted({r["threads"] for r in rows}):
        ratios = [r["ratio"] for r in rows if r["threads"] == threads and r["ratio"]]
        if ratios:
            found[threads] = {"mean": mean(ratios), "rows": len(ratios), "below": [r["name"] for r in rows if r["threads"] == threads and r["ratio"] and r["ratio"] < FLOOR]}
    return found
