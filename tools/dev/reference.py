#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a reference page for each public header: its functions and layers as they are declared, with what is said above
them, and what tracing found that they take, give and refuse.

    reference.py BUILD FACTS OUT

BUILD holds include/, FACTS is what functions_tests writes to SINTER_WRITE_REFERENCE, OUT the folder of the pages. What
is declared comes from clang. A public function about which nothing is said fails, and so does one of ops_*.hpp about
which tracing found nothing. A comment counts for the declarations that follow it without a blank line between.
"""
import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SOURCES = {"C++": ["sinter/sinter.hpp", "sinter/nn.hpp", "sinter/nn_sequence.hpp", "sinter/nn_tables.hpp", "sinter/losses.hpp", "sinter/train.hpp",
                   "sinter/custom_op.hpp"],
           "data and training, C++": ["data/" + name for name in ("Open.h", "Columns.h", "Media.h", "Text.h", "Tokenizer.h", "Arrays.h", "JsonLines.h", "Random.h", "RowCache.h", "RowVocabulary.h")] + ["train/Trainer.h"],
           "C": ["sinter/sinter.h", "device.h", "driver.h", "host.h", "smod.h", "data/data.h", "train/train.h"]}
# Headers without a page: what they declare is in namespace detail, or in those that they include.
WITHOUT = {"anytree.hpp", "fields.hpp", "host.hpp", "ops.hpp", "sinter.hpp", "value.hpp"}
DECLARED = {"FunctionDecl", "FunctionTemplateDecl", "CXXRecordDecl", "ClassTemplateDecl", "EnumDecl", "TypeAliasDecl", "TypedefDecl",
            "RecordDecl"}
FUNCTIONS = {"FunctionDecl", "FunctionTemplateDecl"}
MAX_SHAPES = 4

Declaration = collections.namedtuple("Declaration", "name kind file first last text")


class Reader:
    """The declarations of namespace sinter (all, for C) in clang's dump, with their places in the headers."""

    def __init__(self):
        self.file, self.sources, self.found, self.seen = "", {}, [], set()

    def source(self, path):
        if path not in self.sources:
            with open(path, encoding="utf-8") as file:
                self.sources[path] = file.read()
        return self.sources[path]

    def place(self, location):
        """Places name their file only where it is another one than before."""
        for part in (location.get("spellingLoc"), location.get("expansionLoc")):
            if part:
                location.update(self.place(part))
        if "offset" in location:
            self.file = location.get("file", self.file)
            location["file"] = self.file
        return location

    def locate(self, node):
        for location in (node.get("loc"), *(node.get("range", {}).get(end) for end in ("begin", "end"))):
            if location:
                self.place(location)
        for child in node.get("inner", ()):
            self.locate(child)

    def add(self, node, scope):
        begin, end = node["range"].get("begin", {}), node["range"].get("end", {})
        path = begin.get("file")
        if not path or "offset" not in end or not is_public(path):
            return
        text = self.source(path)
        stop = end["offset"] + end.get("tokLen", 1)
        body = find_body(node)
        if body:
            stop = body["range"]["begin"]["offset"]
        name = "::".join([*scope, node["name"]])
        place = (path, begin["offset"], node["name"])
        if place in self.seen or node["name"].startswith("_"):
            return
        self.seen.add(place)
        first = text.count("\n", 0, begin["offset"])
        last = text.count("\n", 0, end["offset"])
        declared = text[begin["offset"]:stop]
        if node["kind"] in FUNCTIONS:
            declared = re.split(r"\)\s*:\s", declared)[0] + (")" if re.search(r"\)\s*:\s", declared) else "")
        self.found.append(Declaration(name, node["kind"], path, first, last, declared.strip().rstrip(";").rstrip()))

    def walk(self, node, scope):
        kind, name = node.get("kind"), node.get("name", "")
        if node.get("isImplicit") or name == "detail":
            return
        if kind == "NamespaceDecl":
            inner = scope if name in ("sinter", "") or node.get("isInline") else [*scope, name]
        elif kind == "LinkageSpecDecl":
            inner = scope
        else:
            if kind in DECLARED and name:
                self.add(node, scope)
            return
        for child in node.get("inner", ()):
            self.walk(child, inner)


def is_public(path):
    return re.search(r"(include/sinter|runtime/(data|train))/\w+\.(h|hpp)$", path) or re.search(r"runtime/(sinter|device|driver|host|smod)\.h$", path)


def find_body(node):
    if node["kind"] == "FunctionTemplateDecl":
        node = next((child for child in node.get("inner", ()) if child["kind"] == "FunctionDecl"), {})
    return next((child for child in node.get("inner", ()) if child["kind"] == "CompoundStmt"), None) if node.get("kind") == "FunctionDecl" else None


def declarations(build, headers, language):
    text = "".join(f"#include <{header}>\n" for header in headers)
    standard = "-std=c11" if language == "c" else "-std=c++20"
    command = ["clang++-22", "-x", language, standard, "-fsyntax-only", "-I", os.path.join(build, "include"), "-I", os.path.join(ROOT, "runtime"),
               "-I", ROOT, "-Xclang", "-ast-dump=json", *(["-Xclang", "-ast-dump-filter=sinter"] if language == "c++" else []), "-"]
    dumped = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    reader, decoder, at = Reader(), json.JSONDecoder(), 0
    while at < len(dumped):
        node, at = decoder.raw_decode(dumped, at)
        reader.locate(node)
        for child in node.get("inner", ()) if node.get("kind") == "TranslationUnitDecl" else (node,):
            reader.walk(child, [])
        at = re.compile(r"\s*").match(dumped, at).end()
    return reader


Group = collections.namedtuple("Group", "section comment members")


def comment_above(lines, above):
    """The words of `///` lines, or of a C comment, that end at `above`; and the line before them."""
    comment = []
    while above >= 0 and lines[above].startswith("///"):
        comment.insert(0, lines[above][3:].strip())
        above -= 1
    if not comment and above >= 0 and lines[above].endswith("*/") and lines[above].startswith(("/*", " *")):
        while above >= 0:
            line = lines[above]
            comment.insert(0, line.strip("/* ").strip())
            above -= 1
            if line.startswith("/*"):
                break
    return above, comment


def grouped(reader, path):
    """The declarations of a header under their comments and sections, in their order."""
    lines = reader.source(path).split("\n")
    section, groups, ends = "", [], {}
    found = sorted((d for d in reader.found if d.file == path), key=lambda d: (d.first, d.last))
    place = 0
    for declaration in found:
        for line in lines[place:declaration.first]:
            if heading := re.match(r"//===-+ (.*?) -*===//", line):
                section = heading[1]
        place = max(place, declaration.first)
        above, comment = comment_above(lines, declaration.first - 1)
        follows = above in ends and not comment
        ends[declaration.last] = len(groups) - (1 if follows else 0)
        if follows:
            groups[ends[above]].members.append(declaration)
            ends[declaration.last] = ends[above]
        else:
            groups.append(Group(section, " ".join(comment), [declaration]))
    return groups


def read_facts(path):
    facts = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, kind, first, second = line.rstrip("\n").split("\t")
            facts[name][kind].setdefault(first, second)
    return facts


def facts_text(facts):
    def element(types):
        return ", ".join(re.sub(r"\[.*?\]", "", part) for part in re.findall(r"\w+\[[^\]]*\]", types)) or types

    lines = []
    takes = collections.defaultdict(list)
    for dtype, types in facts["takes"].items():
        gives = element(types)
        takes["the same" if set(gives.split(", ")) == {dtype} else gives].append(dtype)
    for gives, dtypes in takes.items():
        lines.append(f"* Takes {', '.join(dtypes)}; gives {gives}.")
    refused = collections.defaultdict(list)
    for dtype, message in facts["refuses"].items():
        if dtype not in facts["takes"]:
            refused[message.replace(dtype, "...")].append(dtype)
    for message, dtypes in refused.items():
        lines.append(f"* Refuses {', '.join(dtypes)}: `{message}`.")
    shapes = [(given, types) for given, types in facts["shapes"].items() if "0" not in re.findall(r"\b\d+\b", given)]
    for given, types in sorted(shapes, key=lambda pair: -len(pair[0]))[:MAX_SHAPES]:
        lines.append(f"* `{given or '()'}` gives `{types}`.")
    for given, message in facts["misfit"].items():
        lines.append(f"* `{given}` is refused: `{message}`.")
    return lines


def head(text):
    lines = []
    for line in text.split("\n")[2:]:
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return " ".join(lines).strip()


def page(reader, path, facts, complaints, index, out):
    name = "sinter/" + re.sub(r".*(include/sinter|runtime)/", "", path)
    target = name[len("sinter/"):].replace("/", "-") + ".md"
    lines, section = [f"# `<{name}>`", "", head(reader.source(path)), ""], ""
    said = 0
    for group in grouped(reader, path):
        if group.section != section:
            section = group.section
            lines += [f"## {section}", ""]
        names = list(dict.fromkeys(member.name for member in group.members))
        lines += ["### " + ", ".join(f"`{n}`" for n in names), "", "```cpp", *(member.text + ";" for member in group.members), "```", ""]
        if group.comment:
            lines += [group.comment, ""]
        for n in names:
            if n in facts and n.startswith("nn::") and n[4].isupper():
                lines += [*facts_text(facts[n]), ""]
        functions = [member.name for member in group.members if member.kind in FUNCTIONS]
        for n in dict.fromkeys(functions):
            index.setdefault(n, target)
            said += 1
            if n in facts:
                title = [f"`{n}`:", ""] if len(names) > 1 else []
                lines += [*title, *facts_text(facts[n]), ""]
            elif re.match(r"ops_\w+\.hpp", os.path.basename(path)) and "operator" not in n:
                complaints.append(f"{name}: nothing was found out about {n}")
            if n not in facts and not group.comment:
                complaints.append(f"{name}: nothing is said about {n}")
        for member in group.members:
            if member.kind not in FUNCTIONS and not group.comment and re.match(r"nn::[A-Z]", member.name):
                complaints.append(f"{name}: nothing is said about {member.name}")
    if len(lines) > 4:
        with open(os.path.join(out, target), "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        return name, target, said
    return None


def installed(build):
    """The public headers, below sinter/: those of the build folder, and what cmake/SinterInstall.cmake lists."""
    with open(os.path.join(ROOT, "cmake", "SinterInstall.cmake"), encoding="utf-8") as file:
        text = file.read()
    names = {name for name in os.listdir(os.path.join(build, "include", "sinter")) if name.endswith((".h", ".hpp"))}
    names |= set(re.findall(r"/runtime/(\w+\.h)", text))
    for folder in ("data", "train"):
        names |= {f"{folder}/{name}.h" for name in re.search(rf"set\(_{folder} ([^)]*)\)", text)[1].split()}
    return sorted(names)


def main():
    build, facts_path, out = sys.argv[1:]
    facts, complaints, index = read_facts(facts_path), [], {}
    os.makedirs(out, exist_ok=True)
    contents = ["# Reference", "", "What each public header declares. Element types, shapes and errors of tensor functions are what tracing them shows."]
    for title, headers in SOURCES.items():
        reader = declarations(build, headers, "c" if title == "C" else "c++")
        contents += ["", f"## {title}", ""]
        for path in sorted({d.file for d in reader.found}):
            if title != "C" and path.endswith((f"{os.sep}sinter.h", "abi.h")):
                continue
            if (written := page(reader, path, facts, complaints, index, out)):
                contents.append(f"* [`<{written[0]}>`]({written[1]}), {written[2]} functions")
    for name in installed(build):
        if name not in WITHOUT and not os.path.exists(os.path.join(out, name.replace("/", "-") + ".md")):
            complaints.append(f"sinter/{name}: no page is written, as no header of SOURCES includes it")
    contents += ["", "## Functions", "", ", ".join(f"[`{name}`]({target})" for name, target in sorted(index.items()))]
    with open(os.path.join(out, "README.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(contents) + "\n")
    print("\n".join(complaints[:1000]), file=sys.stderr)
    print(f"{len(index)} functions, {len(facts)} of them traced; pages are in {out}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
