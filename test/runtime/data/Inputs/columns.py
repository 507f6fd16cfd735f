# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feature columns, fitted and applied by sinter_data_dump, against NumPy.

    columns.py DUMP FOLDER
"""
import json
import os
import subprocess
import sys

import numpy

dump, folder = sys.argv[1:]
rng = numpy.random.default_rng(5)
n = 1000
age = rng.integers(18, 90, n).astype(float)
age[::97] = numpy.nan
income = numpy.exp(rng.normal(10, 1, n))
city = rng.choice(["Ulm", "Köln", "Bonn", "Trier", "x,y"], n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
floor = rng.integers(-1, 5, n)
table, spec = os.path.join(folder, "t.csv"), os.path.join(folder, "spec.json")
with open(table, "w") as f:
    f.write("age,income,city,floor\n")
    for a, i, c, l in zip(age, income, city, floor):
        f.write(f'{"" if numpy.isnan(a) else a},{i!r},"{c}",{l}\n'.replace("np.float64(", "").replace("),", ","))
with open(spec, "w") as f:
    json.dump({"columns": [
        {"name": "age", "normalize": True, "into": "dense"},
        {"name": "city_hot", "kind": "vocabulary", "key": "city", "most": 3, "oov": 1, "as": "indicator", "into": "dense"},
        {"name": "income", "missing": 0},
        {"name": "income_range", "kind": "bucketed", "key": "income", "quantiles": 5, "as": "embedding", "dim": 2},
        {"name": "age_range", "kind": "bucketed", "key": "age", "boundaries": [30, 50, 70]},
        {"name": "city", "kind": "vocabulary", "least": 120},
        {"name": "floor", "kind": "identity", "buckets": 5}]}, f)
done = subprocess.run([dump, "columns", spec, table], capture_output=True, text=True)
columns = {}
for line in done.stdout.splitlines():
    for part in line.replace("]", "] ").split(" "):
        if "=" in part:
            name, kind = part.split("=")
            columns.setdefault(name, []).append([])
        elif part:
            columns[name][-1].append(float(part))
columns = {name: numpy.concatenate([numpy.array(part) for part in parts]) for name, parts in columns.items()}
failures = 0


def expect(name, got, wanted, tolerance=0.0):
    global failures
    got, wanted = numpy.asarray(got, float), numpy.asarray(wanted, float)
    if got.shape != wanted.shape or not numpy.allclose(got, wanted, rtol=tolerance, atol=tolerance):
        failures += 1
        print(name, "differs:", got[:5], wanted[:5])


mean, deviation = numpy.nanmean(age), numpy.nanstd(age)
names, counts = numpy.unique(city, return_counts=True)
order = sorted(range(len(names)), key=lambda i: (-counts[i], names[i].encode()))
vocabulary = [str(names[i]) for i in order]
hot = numpy.zeros((n, 4))
for r, c in enumerate(city):
    hot[r, min(vocabulary.index(c), 3)] = 1
dense = numpy.concatenate([((numpy.nan_to_num(age, nan=mean) - mean) / deviation)[:, None], hot], 1)
boundaries = numpy.quantile(income, [0.2, 0.4, 0.6, 0.8])
expect("dense", columns.get("dense", []), dense.ravel(), 1e-6)
expect("income", columns.get("income", []), income.astype("f4"))
expect("income_range", columns.get("income_range", []), numpy.digitize(income.astype("f4"), boundaries))
expect("age_range", columns.get("age_range", []), numpy.where(numpy.isnan(age), -1, numpy.digitize(numpy.nan_to_num(age), [30, 50, 70])))
kept = [v for v in vocabulary if counts[list(names).index(v)] >= 120]
expect("city", columns.get("city", []), [kept.index(c) if c in kept else -1 for c in city])
expect("floor", columns.get("floor", []), floor)
with open(spec) as f:
    saved = {c["name"]: c for c in json.load(f)["columns"]}
expect("mean", saved["age"].get("mean", 0), mean, 1e-12)
expect("deviation", saved["age"].get("deviation", 0), deviation, 1e-12)
expect("boundaries", saved["income_range"].get("boundaries", []), boundaries, 1e-6)
if saved["city"].get("values") != kept:
    failures += 1
    print("vocabulary", saved["city"].get("values"), kept)
print(done.stderr[-300:], failures, "failures")
