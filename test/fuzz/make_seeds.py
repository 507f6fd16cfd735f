#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make_seeds.py BUILD FOLDER: small good files, and some that are nearly good, of the kinds that have none in the tree: one folder for each fuzzer."""
import base64
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib

import onnx_seeds

build, folder = sys.argv[1:]


def put(kind, name, content):
    os.makedirs(os.path.join(folder, kind), exist_ok=True)
    with open(os.path.join(folder, kind, name), "wb") as f:
        f.write(content)


def safetensors(tensors, metadata=None, spaces=0, header=None):
    entries, data = {}, b""
    if metadata is not None:
        entries["__metadata__"] = metadata
    for name, (dtype, shape, content) in tensors.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = (header or json.dumps(entries)).encode() + b" " * spaces
    return struct.pack("<Q", len(text)) + text + data


WIDTHS = {"BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2, "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8}
every = {f"w.{dtype}": (dtype, [2], bytes(2 * width)) for dtype, width in WIDTHS.items()}
put("safetensors", "types", safetensors(every))
put("safetensors", "metadata", safetensors({"x": ("F32", [2, 3], bytes(24))}, {"format": "pt", "a\"b": "\u00e9\n\ud83d\ude00"}, spaces=5))
put("safetensors", "none", safetensors({}))
put("safetensors", "scalar", safetensors({"s": ("I64", [], bytes(8)), "e": ("F32", [0, 4], b"")}))
put("safetensors", "unknown", safetensors({"f8": ("F8_E4M3", [4], bytes(4)), "x": ("F32", [1], bytes(4))}))
put("safetensors", "order", safetensors({}, header='{"b":{"data_offsets":[4,8],"shape":[1],"dtype":"F32"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}') + bytes(8))
put("safetensors", "escapes", safetensors({}, header='{"\\u0061\\n\\t\\\\\\/\\"\\ud83d\\ude00":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}') + b"x")
for name, header in {"twice": '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
                     "hole": '{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', "key": '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}}',
                     "missing": '{"a":{"dtype":"U8","shape":[1]}}', "wide": '{"a":{"dtype":"U8","shape":[99999999999,9999999999],"data_offsets":[0,1]}}',
                     "size": '{"a":{"dtype":"U16","shape":[1],"data_offsets":[0,1]}}', "backwards": '{"a":{"dtype":"U8","shape":[0],"data_offsets":[1,0]}}', "list": "[]", "text": '"a"'}.items():
    put("safetensors", name, safetensors({}, header=header) + b"xy")

for name, text in {"object": '{"a": 1, "b": [2, 30], "c": "text"}', "escapes": '"\\u00e9\\n\\r\\t\\b\\f\\\\\\/\\"\\ud83d\\ude00 \u00e9"', "numbers": "[0, 1, 9223372036854775807, 9223372036854775808, 007]",
                   "bad": '"\\x \\ud800 \\udc00 \\u12', "control": '"a\x01b', "spaces": " \t\r\n { } [ ] : , "}.items():
    for first in (0, 1, 2):
        put("json", f"{name}{first}", bytes([first]) + text.encode())



def varint(number):
    low = bytes()
    while number > 127:
        low, number = low + bytes([number & 127 | 128]), number >> 7
    return low + bytes([number])


def message(*fields):
    """Protobuf's fields (number, content) that are bytes or messages."""
    return b"".join(varint(number << 3 | 2) + varint(len(content)) + content for number, content in fields)


def feature(values):
    """tf.train.Feature of strings, floats or integers."""
    if isinstance(values[0], bytes):
        return message((1, message(*((1, value) for value in values))))
    if isinstance(values[0], float):
        return message((2, message((1, struct.pack(f"<{len(values)}f", *values)))))
    return message((3, message((1, b"".join(varint(value) for value in values)))))


def features(**named):
    return message(*((1, message((1, name.encode()), (2, feature(values)))) for name, values in named.items()))


# The names are those that ExampleFuzz.cpp asks for.
for name, named in {"fits": {"a": [1], "b": [b"x", b"yz"], "c": [0.5, 1.0, 2.0, 3.0]}, "pairs": {"a": [5, 6], "b": [b"x"], "c": [0.5, 1.0]},
                    "missing": {"c": [0.5, 1.0]}, "many": {"a": [1], "b": [b"x", b"y", b"z"], "c": [1.0, 2.0]}, "odd": {"a": [1], "b": [b"", b""], "c": [1.0, 2.0, 3.0]},
                    "wide": {"a": [1 << 40, 1], "c": [1.0, 2.0]}, "kinds": {"a": [0.5], "b": [1], "c": [b"x"]}}.items():
    put("example", name, message((1, features(**named))))
def unusual(name, content):
    """An example whose one feature has these bytes."""
    return message((1, message((1, message((1, name.encode()), (2, content))))))


put("example", "alone", unusual("a", bytes([0x1A, 2, 0x08, 1])) + unusual("c", bytes([0x12, 5, 0x0D, 0, 0, 0, 63])))  # not packed
put("example", "cut", unusual("c", message((2, message((1, bytes(6)))))))
for name, steps in {"steps": {"b": [[b"p", b"q"], [b"r"]], "c": [[0.5, 1.5], [2.0, 3.0]]}, "uneven": {"c": [[0.5, 1.5], [2.0]]}}.items():
    lists = message(*((1, message((1, key.encode()), (2, message(*((1, feature(step)) for step in value))))) for key, value in steps.items()))
    put("example", name, message((1, features(a=[3, 4])), (2, lists)))


def npy(header, data, version=1):
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def archive(method=zipfile.ZIP_STORED, large=False):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as zipped:
        for name in ("x", "y"):
            info = zipfile.ZipInfo(name + ".npy")
            info.compress_type = method
            with zipped.open(info, "w", force_zip64=large) as member:
                member.write(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", bytes(24)))
    return out.getvalue()


stored, end = archive(), b"PK\x05\x06"
put("npz", "stored.npz", stored)
put("npz", "deflated.npz", archive(zipfile.ZIP_DEFLATED))
put("npz", "large.npz", archive(large=True))
directory = stored.index(b"PK\x01\x02")
put("npz", "encrypted.npz", stored[:directory + 8] + b"\x01" + stored[directory + 9:])
for name, wide in (("zip64", 0), ("zip64-outside", 1 << 40)):  # what does not fit in 32 bits, in the directory's extra field and at its end
    at, size = stored.index(end), struct.unpack_from("<I", stored, stored.index(end) + 12)[0]
    entry = stored[directory:at]
    length = struct.unpack_from("<H", entry, 28)[0]
    first = entry[:20] + b"\xff" * 8 + entry[28:30] + struct.pack("<H", 20) + entry[32:46] + entry[46:46 + length] + struct.pack("<HHQQ", 1, 16, *struct.unpack_from("<II", entry, 24)[:1] * 2)
    listing = first + entry[46 + length:]
    record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 2, 2, len(listing), directory)
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, directory + len(listing) + wide, 1)
    put("npz", name + ".npz", stored[:directory] + listing + record + locator + end + b"\0\0\0\0" + b"\xff" * 12 + b"\0\0")
for k, descr in enumerate(("<f8", "<f2", "|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", ">i8", "<u8", "<c8", "|O", "<V2")):
    put("npy", f"type{k}.npy", npy("{'descr': '%s', 'fortran_order': %s, 'shape': (2,), }" % (descr, k % 2 == 1), bytes(16), 1 + k % 3))

here = os.path.dirname(os.path.abspath(__file__))
for k, text in enumerate(("tnative,+avx512f,-avx2", "taarch64,x86-64,x86-64-v2,x86-64-v3,x86-64-v4", "tcpu:znver5,apple-m4", "tgraviton2,skylake,skylake",
                          "tneoverse-n1,+sve2,-sve,+bf16", "tx86-64,+", "tskylakes", "pall", "precompute", "pimplicit", "pbinomial(5)", "pperiod(0)",
                          "osgd:lr=0.1,lr=2", "osgd:nesterov=1,lr=1", "oadam:beta1=1,lr=2", "olamb:lr=1,schedule=step", "oadagrad:lr=1,steps=5", "ormsprop",
                          "sf ix:ab oy:cd yn ss:a\n\nf ix:ab oy:cd yn ss:a", "sf ix:ab\n\nf ix:ba", "sf\ng\n\nf", "sf sx:a\n\nf sy:a",
                          "sf yn\n\nf ym", "sf ox:a\n\nf ox:ab", "sf\n\ng", "w--shape\nx=1x", "w--shape\n=1", "w--rate\n-1",
                          "mcannot be opened: \x1b[31m\xc2\x9b\n", "mrequires less (kMaxRank)", *("m" + "\1" * n for n in range(1, 16)))):
    put("flags", f"text{k}", text.encode("latin-1"))
hosts = os.path.join(here, "..", "hosts")
for name in sorted(os.listdir(hosts)):
    if name.endswith(".host"):
        with open(os.path.join(hosts, name), "rb") as f:
            put("flags", name, b"h" + (b"" if len(name) % 2 else b",-avx2") + b"\n" + f.read())

for k, content in enumerate(onnx_seeds.seeds()):
    for kind in ("onnx", "onnx_import", "graph_load"):
        put(kind, f"made{k:03}", content)

os.makedirs(os.path.join(folder, "code"), exist_ok=True)
shutil.copy(os.path.join(build, "lib", "runtime_test_code.so"), os.path.join(folder, "code", "test"))
inputs = os.path.join(here, "..", "tools", "Inputs")
sinter = os.path.join(build, "bin", "sinter")
modules = {"one": ("linear", []), "hashes": ("linear", ["--sha256"]), "three": ("linear", ["--target=x86-64-v2,x86-64-v3,x86-64-v4"]),
           "aarch64": ("linear", ["--target=aarch64"]), "imports": ("power", [])}
for name, (graph, options) in modules.items():
    if not os.path.exists(sinter):
        continue
    path = os.path.join(folder, "smod", name + ".smod")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run([sinter, "compile", os.path.join(inputs, graph + ".mlir"), "-o", path, "--force", *options], check=True, capture_output=True)
    with open(path, "rb") as f:
        module = f.read()
    at = module.find(b"\x7fELF")
    if graph == "power" or name == "one":
        put("code", name, module[at:at + 65536])

# Pictures, sounds, tokenizers, feature columns.
inputs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runtime", "data", "Inputs")
with open(os.path.join(inputs, "jpeg_gold.json")) as f:
    for name, picture in json.load(f)["pictures"].items():
        put("pictures", name + ".jpg", base64.b64decode(picture["file"]))
for kind, depth, channels in ((0, 1, 1), (0, 8, 1), (0, 16, 1), (2, 8, 3), (2, 16, 3), (3, 2, 1), (3, 8, 1), (4, 8, 2), (6, 8, 4), (6, 16, 4)):
    for interlaced in 0, 1:
        chunks = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, depth, kind, 0, 0, interlaced))]
        if kind == 3:
            chunks += [(b"PLTE", bytes(range(12))), (b"tRNS", b"\x80")]
        elif kind < 4:
            chunks += [(b"tRNS", bytes(2 * channels))]
        chunks += [(b"IDAT", zlib.compress(bytes(1 + (channels * depth + 7) // 8))), (b"IEND", b"")]
        put("pictures", f"{kind}-{depth}-{interlaced}.png",
            b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks))
for name, text in (("1", b"P1 3 1 #x\n101"), ("2", b"P2 2 1 9 5 6"), ("3", b"P3 1 1 900 1 2 3"), ("4", b"P4 3 1\n\xa0"), ("5", b"P5 2 1 255 \7\x09"), ("6", b"P6 1 1 65535 abcdef")):
    put("pictures", name + ".pnm", text)


def wav(kind, bits, data, channels=1, extra=b""):
    head = struct.pack("<HHIIHH", kind, channels, 8000, 8000 * channels * bits // 8, channels * bits // 8, bits) + extra
    body = b"WAVE" + b"fmt " + struct.pack("<I", len(head)) + head + b"LIST" + struct.pack("<I", 2) + b"ab" + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


for kind, bits in ((1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)):
    put("wav", f"{kind}-{bits}", wav(kind, bits, bytes(range(48)), 2))
put("wav", "extensible", wav(0xFFFE, 16, b"abcd", 1, struct.pack("<HHIH", 22, 16, 0, 1) + bytes(14)))
put("wav", "stream", wav(1, 16, b"abcd")[:-8] + struct.pack("<I", 0xFFFFFFFF) + b"abcd")

model = '{"model": {"type": "BPE", "vocab": {@BYTES@, "ab": 256, "\u0120a": 257}, "merges": ["a b", ["\u0120", "a"]]%s}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": %s, "use_regex": %s}, "added_tokens": [{"id": 258, "content": "<x>", "special": true}]}'
for i, (more, blank, pattern) in enumerate((("", "false", "true"), (', "ignore_merges": true', "true", "false"))):
    put("tokenizer", f"json{i}", b"\0" + (model % (more, blank, pattern)).encode())
put("tokenizer", "sequence", b"\0" + b'{"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]}, "model": {"vocab": {@BYTES@}, "merges": [], "byte_fallback": false, "dropout": null, "end_of_word_suffix": ""}, "normalizer": null, "post_processor": {"type": "ByteLevel"}}')
put("tokenizer", "gpt2", b"\1" + '{@BYTES@, "ab": 256, "ba": 257}\0#version: 0.2\na b\r\nb a\n'.encode())
for i, text in enumerate(("don't we'll 'tis 1st  two\n\n x", "Größe 数字 ١٢٣ ½\u00a0\u3000 \U0001F600", "aaaa abab " * 20)):
    put("tokenizer", f"text{i}", bytes([2 + i]) + text.encode())
put("tokenizer", "bytes", b"\5\xff\xc0\xe0\x80\xed\xa0\x80\xf4\x90\x80\x80\xc3")
for i, columns in enumerate((
        [{"name": "a", "kind": "numeric", "key": "x", "normalize": True, "missing": 1.5, "into": "dense"}], [{"name": "b", "kind": "bucketed", "boundaries": [0, 1]}],
        [{"name": "q", "kind": "bucketed", "quantiles": 3, "as": "indicator", "into": "m"}], [{"name": "m", "mean": 1, "deviation": 2, "size": 3}],
        [{"name": "c", "kind": "vocabulary", "values": ["x", "a"], "as": "indicator", "oov": 2, "most": 5, "least": 1}],
        [{"name": "d", "kind": "hashed", "buckets": 10, "as": "embedding", "dim": 4, "combiner": "mean", "table": "t", "size": -1}],
        [{"name": "f", "kind": "identity", "buckets": 5}, {"name": "e", "kind": "crossed", "keys": ["d", "f"], "buckets": 7}],
        [{"name": "w", "kind": "vocabulary", "dtype": "i64", "sequence": True, "size": -1}])):
    put("columns", f"one{i}", json.dumps({"columns": columns}).encode())
put("columns", "name", b'{"columns": [{"name": 5}]}')


# Folders of rows: description, index, log. See RowsFuzz.cpp and RowStore.h.
def rows_folder(places, records, rows=40, segment=2, shards=1, seed=1, fields=(("t", 4, "f32", 0.5),), changed=0, segments=None, magic=b"snrows01", **more):
    """`records`: for each segment, the rows it was written for."""
    description = {"rows": rows, "shards": shards, "seed": seed, "segment": segment,
                   "fields": [{"name": name, "count": count, "stored": stored, "bound": bound} for name, count, stored, bound in fields], **more}
    width = sum({"f32": 4 * count, "bf16": 2 * count}.get(stored, 4 + count) for _, count, stored, _ in fields)
    log = b"".join(struct.pack(f"<{segment}q", *part, *[-1] * (segment - len(part))) + bytes(range(segment * width)) for part in records)
    index = magic + struct.pack("<4q", rows, segment, len(records) if segments is None else segments, 7)
    index += b"".join((places.get(row, -1) + 1).to_bytes(5, "little") for row in range(rows)) + struct.pack("<Q", changed) * ((rows + 63) // 64) + bytes(4)
    text = json.dumps(description).encode()
    return struct.pack("<H", len(text)) + text + struct.pack("<H", len(index)) + index + log


for name, content in {
        "empty": rows_folder({}, []), "some": rows_folder({3: 0, 5: 1, 7: 2}, [[3, 5], [7]], changed=1 << 5), "dead": rows_folder({5: 1, 7: 4}, [[3, 5], [3, 3], [7]]),
        "one": rows_folder({0: 0}, [[0]], rows=1, segment=1), "wide": rows_folder({9: 3}, [[1, 2, 3, 9]], segment=4, fields=(("t", 3, "bf16", 0), ("s", 2, "i8", 1), ("u", 1, "f32", 0))),
        "many": rows_folder({row: row for row in range(160)}, [list(range(k, k + 8)) for k in range(0, 160, 8)], rows=160, segment=8),
        "wrong": rows_folder({3: 0, 5: 1}, [[5, 3]]), "beyond": rows_folder({3: 9}, [[3]]), "twice": rows_folder({3: 0, 4: 0}, [[3]]), "short": rows_folder({3: 9}, [[3]], segments=5),
        "huge": rows_folder({}, [], segments=1 << 50), "magic": rows_folder({}, [], magic=b"snrows99"), "shards": rows_folder({}, [], shards=2),
        "stored": rows_folder({}, [], fields=(("t", 4, "f16", 0),)), "segment": rows_folder({}, [], segment=70000), "rows": rows_folder({}, [], rows=40, seed=-1),
        "names": rows_folder({}, [], fields=(("t", 1, "f32", 0), ("t", 1, "f32", 0))), "bound": rows_folder({}, [], fields=(("t", 1, "f32", -1),)),
        "count": rows_folder({}, [], fields=(("t", 0, "f32", 0),)), "text": struct.pack("<H", 2) + b"{]" + bytes(2)}.items():
    put("rows", name, b"\1" + content)
put("rows", "checksum", b"\0" + rows_folder({3: 0}, [[3]]))


def vocabulary(settings=(40, 2, 100, 9), ids=(5, 8), rows=(1, 4), counts=(3, 2), seen=(9, 1), candidates=(1, 27), occurrences=(1, 1), dtype="I64"):
    named = {"settings": settings, "ids": ids, "rows": rows, "counts": counts, "seen": seen, "candidates": candidates, "occurrences": occurrences}
    return safetensors({name: (dtype, [len(values)], struct.pack(f"<{len(values)}q", *values)) for name, values in named.items()})


for name, content in {"words": vocabulary(), "full": vocabulary(settings=(3, 1, 2, 3), rows=(1, 2), seen=(1, 2)), "few": vocabulary(settings=(9, 5, 3, 9)), "old": vocabulary(settings=(1 << 32, 1, 9, 9)),
                      "settings": vocabulary(settings=(1, 2)), "options": vocabulary(settings=(1, 0, 0, 1)), "zero": vocabulary(settings=(40, 0, 1, 9)), "batch": vocabulary(settings=(40, 1, 1, -1)),
                      "sizes": vocabulary(seen=(1,)), "twice": vocabulary(rows=(4, 4)), "same": vocabulary(ids=(5, 5)), "counts": vocabulary(counts=(0, 1)), "times": vocabulary(occurrences=(0, 1)),
                      "both": vocabulary(candidates=(5, 6)), "type": vocabulary(dtype="U64")}.items():
    put("rows", "vocabulary-" + name, b"\2" + content)
