# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table for a terminal, and one HTML page with plots that needs nothing else."""
import html
import math

SHORT = {"onnxruntime": "ort", "openvino": "openvino", "torch": "torch", "compile": "t.compile", "jax": "jax"}


def show(value, pattern):
    return pattern.format(value) if value is not None else "-"


def host_lines(result):
    host, probe = result["host"], result["probe"]
    several = max(probe["gbytes"], key=int)
    return [
        f"{host['cpu']} ({host['identity']}), {host['cores']} cores{', a virtual machine' if host['virtual'] else ''}, {host['memory_gb']} GB, {host['system']}",
        f"features: {' '.join(host['features']) or 'none of those looked for'}; caches: {host['caches'] or 'unknown'}; load {host['load']:.1f} at the start, "
        f"{result['load_after']:.1f} at the end",
        f"one core: {probe['gflops']:.1f} GF/s f32 multiply-adds, {probe['gflops_with_loads']:.1f} with loads; reading memory {probe['gbytes']['1']:.1f} GB/s, "
        f"{probe['gbytes'][several]:.1f} on {several} threads",
        f"peers: {', '.join(f'{n} {v}' for n, v in result['peers'].items()) or 'none'}; {result['processes']} processes a figure, {result['seconds']:g} s each; "
        f"{result['version']}",
    ]


def columns(result):
    """(title, pattern, value of a row) of each column behind name and threads."""
    engines = [e for e in SHORT if any(e in r["engines"] for r in result["rows"])]
    us = lambda engine: lambda r: r["engines"].get(engine, {}).get("us")
    return [
        ("ours us", "{:.1f}", us("sinter")), *((f"{SHORT[e]} us", "{:.1f}", us(e)) for e in engines),
        ("ratio", "{:.2f}", lambda r: r["ratio"]), ("+-", "{:.2f}", lambda r: r["error"]), ("best", "{}", lambda r: r["best"] and SHORT[r["best"]]),
        ("of peak", "{:.0%}", lambda r: r["share_of_peak"]), ("of bw", "{:.0%}", lambda r: r["share_of_bandwidth"]),
        ("speed-up", "{:.2f}", lambda r: r.get("speedup")), ("peer's", "{:.2f}", lambda r: r.get("peer_speedup")),
        ("compile s", "{:.1f}", lambda r: r.get("compile_s")), ("MB", "{:.1f}", lambda r: r["module_bytes"] / 1e6 if r.get("module_bytes") else None),
    ]


def table(result):
    wanted = columns(result)
    lines = [["model", "threads", *(title for title, _, _ in wanted)]]
    for r in result["rows"]:
        lines.append([r["name"], str(r["threads"]), *(show(value(r), pattern) for _, pattern, value in wanted)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = [f"{line[0]:<{widths[0]}}  " + "  ".join(f"{c:>{w}}" for c, w in zip(line[1:], widths[1:])) for line in lines]
    return [*host_lines(result), "(ratio: the best peer's time over ours; above 1 we are faster)", *text, *summary_lines(result)]


def summary_lines(result):
    lines = [f"{name}: {note}" for name, notes in result["notes"].items() for note in notes]
    for threads, m in result["means"].items():
        below = ", ".join(m["below"]) or "none"
        lines.append(f"{threads} thread{'s' if int(threads) > 1 else ''}: geometric mean {m['mean']:.3f} of {m['rows']} rows (each at most 1.5); below 0.95: {below}")
    return lines


def comparison(rows, before):
    lines = [f"against {before}:", f"{'model':<22} {'threads':>7} {'before us':>11} {'now us':>11} {'change':>8} {'+-':>7}"]
    for r in rows:
        lines.append(f"{r['name']:<22} {r['threads']:>7} {r['before_us']:>11.1f} {r['now_us']:>11.1f} {r['change']:>+8.1%} "
                     f"{show(r['error'], '{:.1%}'):>7}" + ("  SLOWER" if r["slower"] else ""))
    slower = [f"{r['name']} on {r['threads']}" for r in rows if r["slower"]]
    lines.append(f"slower: {', '.join(slower) or 'none'}")
    return lines


def bars(title, rows, value, unit, marks, logarithmic=False):
    """A plot with a bar for each row: one SVG element."""
    found = [(f"{r['name']}, {r['threads']}", value(r)) for r in rows if value(r) is not None]
    if not found:
        return ""
    scale = (lambda v: math.log2(max(v, 2**-4))) if logarithmic else (lambda v: v)
    low = min(0.0, *(scale(v) for v in [*marks, *(v for _, v in found)])) if logarithmic else 0.0
    high = max(scale(v) for v in [*marks, *(v for _, v in found)])
    left, width, step, top = 210, 620, 15, 26
    x = lambda v: left + (scale(v) - low) / ((high - low) or 1) * width
    height = top + step * len(found) + 8
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{left + width + 80}" height="{height}" font-size="11">',
             f'<text x="{left}" y="11" font-weight="bold">{html.escape(title)}</text>']
    for mark in marks:
        parts.append(f'<line x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{top - 8}" y2="{height - 6}" stroke="#999"/>'
                     f'<text x="{x(mark):.1f}" y="{top - 10}" text-anchor="middle" fill="#666">{mark:g}</text>')
    zero = x(1) if logarithmic else left
    for i, (name, v) in enumerate(found):
        y, end = top + step * i, x(v)
        colour = "#c0392b" if logarithmic and v < 0.95 else "#2471a3"
        parts.append(f'<text x="{left - 6}" y="{y + 10}" text-anchor="end">{html.escape(name)}</text>'
                     f'<rect x="{min(zero, end):.1f}" y="{y + 2}" width="{max(abs(end - zero), 1):.1f}" height="{step - 4}" fill="{colour}"/>'
                     f'<text x="{max(zero, end) + 4:.1f}" y="{y + 10}">{html.escape(unit.format(v))}</text>')
    return "".join([*parts, "</svg>"])


def html_table(result):
    wanted = columns(result)
    head = "".join(f"<th>{html.escape(t)}</th>" for t in ["model", "threads", *(title for title, _, _ in wanted)])
    body = []
    for r in result["rows"]:
        cells = [r["name"], str(r["threads"]), *(show(value(r), pattern) for _, pattern, value in wanted)]
        body.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>")
    return f"<table><tr>{head}</tr>{''.join(body)}</table>"


def page(result):
    rows, lines = result["rows"], [*host_lines(result), *summary_lines(result)]
    plots = [
        bars("best peer's time / ours (red: below 0.95)", rows, lambda r: r["ratio"], "{:.2f}", [0.5, 1, 2, 4], logarithmic=True),
        bars("share of the measured multiply-add peak", rows, lambda r: r["share_of_peak"], "{:.0%}", [0.25, 0.5, 0.75, 1]),
        bars("share of the measured memory bandwidth (above 1: from caches)", [r for r in rows if (r["share_of_bandwidth"] or 0) <= 4],
             lambda r: r["share_of_bandwidth"], "{:.0%}", [0.5, 1]),
        bars("speed-up over one thread", rows, lambda r: r.get("speedup"), "{:.2f}", [1, 2]),
    ]
    changes = f"<h2>Changes</h2><pre>{html.escape(chr(10).join(comparison(result['comparison'], result['compared'])))}</pre>" if "comparison" in result else ""
    style = "body{font:13px sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:2px 8px;text-align:right;border-bottom:1px solid #ddd}td:first-child{text-align:left}svg{display:block;margin:1.5em 0}"
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>sinter bench</title><style>{style}</style></head><body><h1>sinter bench</h1>'
            f"{''.join(f'<p>{html.escape(line)}</p>' for line in lines)}{''.join(plots)}{html_table(result)}{changes}</body></html>\n")
