# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Medians, errors, ratios and comparisons of made-up times, whose answers follow by hand; then the table and the page of them."""
import math
import os
import statistics
import sys
import xml.etree.ElementTree

import numpy as np

bench = os.path.join(sys.argv[1], "test", "bench")
sys.path.insert(0, bench)
import figures
import host
import report

PROBE = {"gflops": 100.0, "gflops_with_loads": 90.0, "gbytes": {"1": 10.0, "2": 15.0}, "turns": []}


def close(got, want, off=1e-9):
    assert abs(got - want) <= off * max(1.0, abs(want)), (got, want)


def row(name, threads, times, work=(None, None), **extra):
    return figures.row(name, threads, times, work, PROBE, extra)


def medians():
    one = figures.summary([100.0, 104.0, 102.0, 98.0, 500.0])
    assert one["us"] == 102.0 and one["processes"] == 5
    assert figures.summary([7.0]) == {"us": 7.0, "error_us": None, "processes": 1}
    # The error against what it estimates: how far medians of 25 normal numbers scatter.
    draws = np.random.default_rng(5).normal(100, 4, (4000, 25))
    scatter = statistics.pstdev(np.median(draws, axis=1))
    close(statistics.fmean(figures.summary(list(d))["error_us"] for d in draws), scatter, 0.03)


def ratios():
    made = row("a", 1, {"sinter": [50.0, 50.0, 50.0], "onnxruntime": [80.0, 80.0, 80.0], "openvino": [60.0, 61.0, 62.0], "torch": []},
               (4e6, 250e3))
    close(made["ratio"], 61 / 50)
    assert made["best"] == "openvino" and "torch" not in made["engines"]
    close(made["error"], 61 / 50 * (1.2533 * 1 / math.sqrt(3)) / 61)
    close(made["share_of_peak"], 0.8)       # 4e6 operations in 50 us are 80 GF/s
    close(made["share_of_bandwidth"], 0.5)  # 250 kB in 50 us are 5 GB/s
    both = row("a", 2, {"sinter": [25.0], "onnxruntime": [40.0]}, (4e6, 250e3))
    close(both["share_of_peak"], 0.8)
    assert both["error"] is None
    rows = [made, both]
    figures.add_speedups(rows)
    assert both["speedup"] == 2.0 and both["peer_speedup"] == 2.0 and "speedup" not in made
    alone = row("b", 1, {"sinter": [], "onnxruntime": [3.0]})
    assert alone["ratio"] is None and alone["best"] is None and alone["share_of_peak"] is None
    close(figures.mean([4.0, 1.0]), math.sqrt(1.5))  # each counts at most 1.5
    close(figures.mean([0.5, 1.0]), math.sqrt(0.5))
    assert figures.means([*rows, alone])[1] == {"mean": figures.mean([61 / 50]), "rows": 1, "below": []}


def comparisons():
    def result(scale, noise):
        times = {"steady": 1000.0, "short": 10.0, "gone": 5.0}
        return {"rows": [row(n, 1, {"sinter": [t * scale * (1 + noise * k) for k in (-1, -1, 0, 1, 1)]}) for n, t in times.items()]}

    def slower(scale, noise, before=result(1, 0.001)):
        return {r["name"]: r["slower"] for r in figures.compare(before, result(scale, noise))}

    assert slower(1.05, 0.001) == {"steady": True, "short": False, "gone": False}  # below 20 us 10 % are allowed
    assert slower(1.15, 0.001) == {"steady": True, "short": True, "gone": True}
    assert not any(slower(1.02, 0.0001).values())  # sure, but below 3 %
    assert not any(slower(1.15, 0.1).values())     # far, but within three errors: 1.2533 * 0.1 / sqrt(5) = 5.6 %
    assert not any(slower(0.5, 0.001).values())    # faster
    change = figures.compare(result(1, 0.001), result(1.05, 0.001))[0]
    close(change["change"], 0.05)
    single = {"rows": [row("steady", 1, {"sinter": [9999.0]})]}
    assert [r["slower"] for r in figures.compare(result(1, 0), single)] == [False]  # one process has no error
    assert figures.compare(result(1, 0), {"rows": [row("new", 1, {"sinter": [1.0]}), row("steady", 2, {"sinter": [1.0]})]}) == []


def pages():
    described = host.describe()
    assert described["cores"] >= 1 and described["cpu"] and host.kind({"cpu": "Some(R) CPU", "identity": "X 6 207", "cores": 2}) == "some-cpu-x-6-207-2-cores"
    rows = [row("<fast> & small", 1, {"sinter": [5.0, 5.1], "openvino": [9.0, 9.1]}, (4e5, 2e4), compile_s=1.25, module_bytes=2_500_000),
            row("slow", 1, {"sinter": [9.0, 9.1], "onnxruntime": [5.0, 5.1]}, (4e5, 2e4)), row("slow", 2, {"sinter": [6.0, 6.1]}), row("none", 1, {})]
    figures.add_speedups(rows)
    result = {"host": described, "load_after": 0.5, "probe": PROBE, "peers": {"onnxruntime": "1"}, "processes": 2, "seconds": 1, "version": "sinter",
              "rows": rows, "notes": {"none": ["it is exported from torch: <no torch>"]}, "means": figures.means(rows)}
    result["comparison"], result["compared"] = figures.compare({"rows": rows}, {"rows": rows}), "before.json"
    text = "\n".join(report.table(result))
    assert "none: it is exported from torch: <no torch>" in text and "below 0.95: slow" in text, text
    assert "slower: none" in "\n".join(report.comparison(result["comparison"], "before.json"))
    page = report.page(result)
    tree = xml.etree.ElementTree.fromstring(page.split("\n", 1)[1])  # every tag is closed, every sign escaped
    plots = tree.findall(".//{http://www.w3.org/2000/svg}svg")
    bars = [len(p.findall("{http://www.w3.org/2000/svg}rect")) for p in plots]
    assert bars == [2, 2, 2, 1], bars
    assert len(tree.findall(".//tr")) == 5
    assert not [e for e in tree.iter() if e.tag.rpartition("}")[2] in ("script", "link", "img", "iframe")]
    assert not [k for e in tree.iter() for k in e.attrib if k.rpartition("}")[2] in ("src", "href")]


def models():
    """The short forms of graphs: what they must compute at least, counted by hand."""
    import make_models
    import work
    import zoo
    from onnx import helper, TensorProto

    assert len(zoo.ROWS) >= 24 and set(zoo.QUICK) <= set(zoo.ROWS) and len(set(zoo.ROWS)) == len(zoo.ROWS)
    assert zoo.chosen(["gemm_1"], True) == ["gemm_1024"] and zoo.chosen(["x"], False) == []
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    g = make_models.Graph("t", {"x": ("batch", 8, 6, 6)})
    y = g.node("Conv", "x", g.weight(4, 2, 3, 3), kernel_shape=[3, 3], pads=[1] * 4, group=4)
    y = g.node("Gemm", g.node("Flatten", y, axis=1), g.weight(5, 4 * 36), transB=1)
    model = helper.make_model(helper.make_graph(g.nodes, "t", g.inputs, [value(y, None)], g.weights), opset_imports=[helper.make_opsetid("", 17)])
    flops, size = work.operations(model, {"x": np.zeros((3, 8, 6, 6), np.float32)})
    assert flops == 2 * 3 * 4 * 36 * 18 + 2 * 3 * 5 * 144, flops
    assert size == 4 * (4 * 18 + 5 * 144 + 3 * 8 * 36 + 3 * 5), size
    assert work.operations(*[helper.make_model(helper.make_graph([helper.make_node("MatMul", ["x", "y"], ["z"])], "u", [value("x", ["a", "b"]), value("y", None)], [value("z", None)])), {}])[0] is None


for check in medians, ratios, comparisons, pages, models:
    check()
