# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths that lead to no model: folders, pipes, devices, links, files of no bytes; for each kind of file that a command reads."""
import os
import socket

import numpy as np
from onnx import TensorProto as T

from hostile_models import ANY, DAMAGE, FILE, LIMIT, RUNS, UNFIT, UNSUPPORTED, ints, model_of, node, value

USAGE, NO_FILE = 2, {FILE, DAMAGE, UNFIT}
KINDS = ("onnx", "sinter", "mlir", "smod", "so", "other")


def places(folder):
    """Paths of what is no regular file, or an odd one, by name; each ends in nothing that says what it is."""
    os.mkdir(os.path.join(folder, "places"))
    at = lambda name: os.path.join(folder, "places", name)
    os.mkdir(at("folder"))
    os.mkfifo(at("pipe"))
    os.symlink(at("ring-b"), at("ring-a"))
    os.symlink(at("ring-a"), at("ring-b"))
    os.symlink(at("nothing"), at("dangling"))
    os.symlink("/dev/zero", at("zero"))
    os.symlink("/dev/full", at("full"))
    os.symlink("/dev/null", at("null"))
    os.symlink("/dev/stdin", at("stdin"))
    os.symlink("/proc/self/mem", at("memory"))
    os.symlink("/proc/self/environ", at("environment"))
    os.symlink(at("pipe"), at("to-pipe"))
    open(at("empty"), "wb").close()
    with open(at("sparse"), "wb") as f:
        f.truncate(2**31 + 4096)
    with open(at("sparse-most"), "wb") as f:
        f.truncate(2**42)
    with open(at("unreadable"), "wb") as f:
        f.write(b"x")
    os.chmod(at("unreadable"), 0)
    here = os.getcwd()
    os.chdir(at(""))  # the name of a socket has room for little
    socket.socket(socket.AF_UNIX).bind("socket")
    os.chdir(here)
    return {name: at(name) for name in sorted(os.listdir(at("")))} | {"none": at("nothing"), "below-file": at("empty/x"), "long": at("x" * 300), "longer": at("x/" * 3000)}


def models(c):
    for name, path in places(c.folder).items():
        for kind in KINDS:
            link = os.path.join(c.folder, f"{name}.{kind}")
            if name in ("none", "below-file", "long", "longer"):
                link = f"{path}.{kind}"
            else:
                os.symlink(path, link)
            commands = [["run", link]]
            if name.startswith("sparse"):
                commands = [["inspect", link]]
            elif kind in ("onnx", "smod"):
                commands += [["inspect", link], ["compile", link, "-o", os.path.join(c.folder, "made.smod")]]
            for words in commands:
                if name == "sparse" and kind in ("mlir", "so"):
                    continue  # text of gigabytes is read
                allowed = NO_FILE | ({LIMIT, UNSUPPORTED} if name.startswith("sparse") else set())
                c.command(f"path-{name}-{kind}-{words[0]}", words, {USAGE} if words[0] == "compile" and kind in ("smod", "so") else allowed)


def tensors(c):
    """The same as inputs of a good model."""
    path = os.path.join(c.folder, "neg.onnx")
    with open(path, "wb") as f:
        f.write(model_of([node("Neg", "x", "y")], [value("x", [2])], [value("y", None)]).SerializeToString())
    for name, place in places_again(c.folder).items():
        for kind in ("npy", "npz", "raw"):
            if name == "sparse-most" and kind == "raw":
                continue
            link = os.path.join(c.folder, f"{name}.{kind}")
            os.symlink(place, link)
            c.command(f"input-{name}-{kind}", ["run", path, "--input", f"x=@{link}"], NO_FILE | {LIMIT})
    np.save(os.path.join(c.folder, "objects.npy"), np.array([{}, None], dtype=object), allow_pickle=True)
    c.command("input-objects", ["run", path, "--input", f"x=@{c.folder}/objects.npy"], {DAMAGE, UNSUPPORTED, UNFIT})
    for text in ("@", "@/", "@.npy", "@@", "@\n", "", "=", "1e999", "-", "+1", "0x10", "nan", "inf", "1" * 400, "random:", "random:-1", "random:x", "random:99999999999999999999999", "ones ", "zeros:1"):
        c.command(f"input-text-{len(c.list)}", ["run", path, "--input", f"x={text}"], ANY | {FILE, USAGE})
    for text in ("x", "=1", "x=", "x=x", "x=-1", "x=1x", "x=?", "x=2x2", "x=99999999999999999999", "x=0", "x=2?", "x= 2", "y=2", "x=2;3", "x=" + "1x" * 40 + "1"):
        c.command(f"shape-text-{len(c.list)}", ["run", path, "--input", "x=ones", "--shape", text], {RUNS, UNFIT, USAGE, LIMIT, DAMAGE})


def places_again(folder):
    at = os.path.join(folder, "places")
    return {name: os.path.join(at, name) for name in sorted(os.listdir(at))}


def external(c):
    """External data that is not what the tensor says."""
    deep = os.path.join(c.folder, "deep")
    os.mkdir(deep)
    with open(os.path.join(deep, "w.bin"), "wb") as f:
        f.write(bytes(64))
    with open(os.path.join(deep, "none.bin"), "wb"):
        pass
    with open(os.path.join(deep, "sparse.bin"), "wb") as f:
        f.truncate(2**40)
    for name, place in places_again(c.folder).items():
        os.symlink(place, os.path.join(deep, name + ".link"))
    links = [{"location": f"deep/{name}.link"} for name in places_again(c.folder) if not name.startswith("sparse")]
    lies = [{"location": "deep/w.bin", "offset": "56", "length": "8"}, {"location": "deep/w.bin", "offset": "57"}, {"location": "deep/w.bin", "offset": "64"}, {"location": "deep/w.bin", "offset": "65"},
            {"location": "deep/w.bin", "length": "7"}, {"location": "deep/w.bin", "length": "9"}, {"location": "deep/w.bin", "length": "0"}, {"location": "deep/w.bin", "offset": str(2**64)},
            {"location": "deep/w.bin", "offset": str(2**63 - 1), "length": str(2**63 - 1)}, {"location": "deep/w.bin", "offset": "0x10"}, {"location": "deep/w.bin", "offset": " 4"},
            {"location": "deep/w.bin", "offset": "1e1"}, {"location": "deep/none.bin"}, {"location": "deep"}, {"location": "deep/"}, {"location": "deep/w.bin/"}, {"location": "./deep//w.bin"},
            {"location": "deep/../deep/w.bin"}, {"location": "deep/w.bin", "checksum": "00"}, {"location": "deep/w.bin", "unknown": "1"}, {"location": "~/x"}, {"location": "$HOME"}, {"location": "file:///etc/passwd"}, {"location": "\\\\host\\x"}, {"location": "C:\\x"}]
    for k, lie in enumerate(lies + links):
        tensor = T(name="w", data_type=T.FLOAT, dims=[2], data_location=T.EXTERNAL)
        for key, text in lie.items():
            tensor.external_data.add(key=key, value=text)
        c.add(f"outside-{k}", model_of([node("Neg", "w", "y")], [], [value("y", None)], [tensor]), {RUNS, DAMAGE, FILE})
    twice = T(name="w", data_type=T.FLOAT, dims=[2], data_location=T.EXTERNAL)
    for place in ("deep/w.bin", "w.bin"):
        twice.external_data.add(key="location", value=place)
    c.add("outside-twice", model_of([node("Neg", "w", "y")], [], [value("y", None)], [twice]), {RUNS, DAMAGE, FILE})
    both = T(name="w", data_type=T.FLOAT, dims=[2], data_location=T.EXTERNAL, raw_data=bytes(8))
    both.external_data.add(key="location", value="deep/w.bin")
    c.add("outside-and-inside", model_of([node("Neg", "w", "y")], [], [value("y", None)], [both]), {RUNS, DAMAGE})
    for kind in (T.STRING, T.BOOL, T.INT4, T.FLOAT8E4M3FN, 99):
        tensor = T(name="w", data_type=kind, dims=[2], data_location=T.EXTERNAL)
        tensor.external_data.add(key="location", value="deep/w.bin")
        c.add(f"outside-type-{kind}", model_of([node("Identity", "w", "y")], [], [value("y", None, kind)], [tensor]), ANY)
    large = T(name="w", data_type=T.FLOAT, dims=[2**34], data_location=T.EXTERNAL)
    large.external_data.add(key="location", value="deep/sparse.bin")
    c.add("outside-sparse", model_of([node("Neg", "w", "y")], [], [value("y", None)], [large]), {LIMIT, DAMAGE})
    many = [T(name=f"w{k}", data_type=T.FLOAT, dims=[16], data_location=T.EXTERNAL) for k in range(2000)]
    for tensor in many:
        tensor.external_data.add(key="location", value="deep/w.bin")
    c.add("outside-many", model_of([node("Sum", " ".join(t.name for t in many), "y")], [], [value("y", None)], many), {RUNS, LIMIT})


FAMILIES = [models, tensors, external]
