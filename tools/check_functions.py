#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says which public function of the tracer has no row in test/numerics/, and which row names no function.

    check_functions.py [ROOT]

A function is what compiler/trace/ops_*.hpp and random.hpp declare in namespace sinter or sinter::random: free functions,
operators, and the members of Tensor and Key that the sources beside them define; and what the entries of
ir/Elementwise.td name as a function. A row begins with the function's name: `{"reshape", ...`, or
`ROW(sin, ...`.
"""
import glob
import os
import re
import sys

SCOPE = re.compile(r"^namespace ([\w: ]+) \{|^\} // namespace ([\w: ]+)", re.M)
FUNCTION = re.compile(
    r"^(?:inline )?(?:[\w:]+(?:<[\w:, ]+>)?) &?(operator ?(?:\(\)|\[\]|[^\s\w(]+)|\w+)\(", re.M)
DEFINED = re.compile(
    r"^(?:[\w:]+(?:<[\w:, ]+>)?) &?(?:Tensor::|Key::)(operator ?(?:\(\)|\[\]|[^\s\w(]+)|\w+)\(", re.M)
MEMBER = re.compile(r"^template <class\.\.\. Rest> (?:Tensor|Update) Tensor::(operator\(\)|\w+)\(", re.M)
ENTRY = re.compile(r'^def \w+Op : Sinter_(?:(?:Math)?(Function)|\w+)<"(\w+)"[^{]*\{(.*?)^\}', re.M | re.S)
NAMED = re.compile(r'let function = "(\w*)"')
ROW = re.compile(r'^\s*(?:(?:ROW2?|REDUCTION)\((\w+)|\{\s*"([^"]+)",|OPERATOR\("([^"]+)")', re.M)


def functions(root):
    found = {}
    for path in sorted(glob.glob(os.path.join(root, "compiler", "trace", "ops_*.hpp"))
                       + [os.path.join(root, "compiler", "trace", "random.hpp")]):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        events = [(m.start(), "scope", m) for m in SCOPE.finditer(text)]
        events += [(m.start(), "function", m) for pattern in (FUNCTION, MEMBER) for m in pattern.finditer(text)]
        source = path[:-len(".hpp")] + ".cpp"
        if os.path.exists(source):
            with open(source, encoding="utf-8") as f:
                for match in DEFINED.finditer(f.read()):
                    found[match.group(1).replace(" ", "")] = os.path.relpath(source, root)
        scopes = []
        for _, kind, match in sorted(events, key=lambda event: event[0]):
            if kind == "scope":
                if match.group(1):
                    scopes.append(match.group(1))
                else:
                    scopes.pop()
            elif "detail" not in scopes:
                name = match.group(1).replace(" ", "")
                found["random::" + name if scopes[-1:] == ["random"] else name] = os.path.relpath(path, root)
    return found


def entries(root):
    found = {}
    with open(os.path.join(root, "ir", "Elementwise.td"), encoding="utf-8") as f:
        for is_function, mnemonic, body in ENTRY.findall(f.read()):
            named = NAMED.search(body)
            if named or is_function:
                found[named.group(1) if named else mnemonic] = "ir/Elementwise.td"
    return found


def rows(root):
    found = {}
    for path in sorted(glob.glob(os.path.join(root, "test", "numerics", "*Rows.cpp"))):
        with open(path, encoding="utf-8") as f:
            for row in ROW.findall(f.read()):
                name = row[0] or row[1] or "operator" + row[2]
                found[name] = os.path.basename(path)
    return found


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    defined, tested = functions(root) | entries(root), rows(root)
    complaints = [f"{defined[name]}: {name} requires a row in test/numerics/, found none"
                  for name in sorted(defined.keys() - tested.keys())]
    complaints += [f"test/numerics/{tested[name]}: the row {name} names no function of compiler/trace/"
                   for name in sorted(tested.keys() - defined.keys())]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
