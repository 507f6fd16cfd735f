# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that other libraries write, as sinter_data_dump reads them, and the other way round.

    files.py DUMP FOLDER

numpy writes npy and npz, Python's csv tables, protobuf's own package the examples (from the published message types), and gzip
and zlib compress. CRC-32C is computed bit by bit here.
"""
import csv
import gzip
import io
import json
import os
import random
import struct
import subprocess
import sys
import zlib

import numpy

dump, folder = sys.argv[1], sys.argv[2]
os.makedirs(folder, exist_ok=True)
failures = 0
TABLE = []
for i in range(256):
    for _ in range(8):
        i = (i >> 1) ^ (0x82F63B78 if i & 1 else 0)
    TABLE.append(i)
DTYPES = {"f8": "f64", "f4": "f32", "b1": "i1", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "ui8"}


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def path(name, data=None):
    name = os.path.join(folder, name)
    if data is not None:
        with open(name, "wb") as f:
            f.write(data)
    return name


def run(*arguments, stdin=None):
    done = subprocess.run([dump, *arguments], capture_output=True, text=True, input=stdin)
    if done.returncode:
        return [f"ended with {done.returncode}: {done.stderr[-200:]}"]
    return done.stdout.split("\n")[:-1]


def expect(name, got, wanted):
    global failures
    if got == wanted:
        print(f"{name}: {len(wanted)} records")
        return
    failures += 1
    for i in range(max(len(got), len(wanted))):
        a, b = (x[i] if i < len(x) else "nothing" for x in (got, wanted))
        if a != b:
            print(f"{name}: record {i}\n  required {b[:300]}\n  got      {a[:300]}")
            break


def expect_error(name, got, text):
    global failures
    if not got or not got[-1].startswith("error ") or text not in got[-1]:
        failures += 1
        print(f"{name}: required the error '{text}', got {got[-1:]}")


def number(x):
    if isinstance(x, (float, numpy.floating)):
        return "nan" if x != x else "%.17g" % float(x)
    return str(int(x))


def column(name, value):
    if isinstance(value, list) and value and isinstance(value[0], bytes):
        return f"{name}=bytes[{len(value)}]" + "".join(" '" + v.hex() for v in value)
    if isinstance(value, (bytes, str)):
        value = value.encode() if isinstance(value, str) else value
        return f"{name}=bytes[scalar] '" + value.hex()
    value = numpy.asarray(value)
    dims = "x".join(map(str, value.shape)) or "scalar"
    return f"{name}={DTYPES[value.dtype.str[1:]]}[{dims}]" + "".join(" " + number(x) for x in value.ravel())


# Arrays.
rng = numpy.random.default_rng(1)
arrays = {"a": rng.standard_normal((300, 2, 3)).astype("f4"), "b": rng.integers(-99, 99, (300,)), "c": rng.integers(0, 2, (300, 1)) > 0}
rows = [" ".join(column(k, v[i]) for k, v in arrays.items()) for i in range(300)]
for order in "C", "F":
    numpy.save(path("x.npy"), numpy.asarray(arrays["a"], order=order))
    expect("npy " + order, run("npy", path("x.npy")), [column("x", r) for r in arrays["a"]])
numpy.savez(path("x.npz"), **arrays)
expect("npz", run("npz", path("x.npz")), rows)
numpy.savez_compressed(path("x.npz"), **arrays)
expect("npz deflated", run("npz", path("x.npz")), rows)
header, data = {}, b""
for name, array in arrays.items():
    kind = {"f4": "F32", "i8": "I64", "b1": "BOOL"}[array.dtype.str[1:]]
    header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
    data += array.tobytes()
header = json.dumps(header).encode()
path("x.safetensors", struct.pack("<Q", len(header)) + header + data)
expect("safetensors", run("safetensors", path("x.safetensors")), rows)
numpy.save(path("scalar.npy"), numpy.float32(1))
expect_error("npy scalar", run("npy", path("scalar.npy")), "column 'x' requires a first dim of records, got a scalar")
with open(path("x.npy"), "rb") as f:
    expect_error("npy cut", run("npy", path("cut.npy", f.read()[:-1])), "bytes of data, got")
for code, kind in ((8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")):
    array = (rng.standard_normal((20, 3)) * 50).astype(kind)
    content = bytes([0, 0, code, 2]) + struct.pack(">II", 20, 3) + array.astype(">" + kind).tobytes()
    expect("idx " + kind, run("idx", path("x.idx", content)), [column("x", r) for r in array])
    expect("idx.gz " + kind, run("idx", path("x.idx.gz", gzip.compress(content))), [column("x", r) for r in array])
expect_error("idx cut", run("idx", path("cut.idx", content[:-1])), "requires 480 bytes, got 479")
expect_error("idx longer", run("idx", path("long.idx", content + b"x")), "bytes behind the array of 20x3")
expect_error("idx huge", run("idx", path("huge.idx", bytes([0, 0, 14, 4]) + b"\xff" * 16)), "a value requires less than 2^63")
expect_error("idx large", run("idx", path("large.idx", bytes([0, 0, 14, 2]) + b"\0\xff\xff\xff\0\0\xff\xff")), "at most 4294967296 bytes")
expect_error("idx magic", run("idx", path("bad.idx", b"abcd")), "an IDX file is required")

# Tables: fields of everything that matters, with Python's own writer, and read back by Python's own reader.
words = ["", "plain", "with,comma", 'with "quotes"', "two\nlines", "crlf\r\ninside", " spaces ", "tab\there", "ünïcode", '"', '""', "NA"]
choice = random.Random(2)
for dialect, separator in (("excel", ","), ("excel-tab", "\t"), ("unix", ",")):
    for number_of_rows in 1, 50, 3000:
        text = io.StringIO()
        writer = csv.writer(text, dialect)
        writer.writerow(["id", "value", "word", "other"])
        for i in range(number_of_rows):
            writer.writerow([i, choice.choice([repr(choice.gauss(0, 1e5)), "1e300", "-7", ""]) if i else "0.5", choice.choice(words) or "x",
                             choice.choice(words) * choice.choice([1, 1, 1, 40])])
        content = text.getvalue()
        records = list(csv.reader(io.StringIO(content, newline=""), dialect))[1:]
        wanted = []
        for r in records:
            value = float(r[1]) if r[1] else float("nan")
            wanted.append(" ".join([column("id", int(r[0])), column("value", value), column("word", r[2]), column("other", r[3])]))
        name = f"csv {dialect} {number_of_rows}"
        if dialect != "unix":  # which quotes all fields, so that nothing is missing
            expect(name, run("csv", separator, path("x.csv", content.encode())), wanted)
            expect(name + " BOM", run("csv", separator, path("x.csv", b"\xef\xbb\xbf" + content.encode())), wanted)
            expect(name + " gzip", run("csv", separator, path("x.csv.gz", gzip.compress(content.encode()))), wanted)
wide = ",".join(f"c{i}" for i in range(3000)) + "\n" + ",".join(str(i) for i in range(3000)) + "\n"
expect("csv wide", run("csv", ",", path("wide.csv", wide.encode())), [" ".join(column(f"c{i}", i) for i in range(3000))])
expect("csv no end", run("csv", ",", path("x.csv", b"a,b\n1,2\n\n3,4")), ["a=i64[scalar] 1 b=i64[scalar] 2", "a=i64[scalar] 3 b=i64[scalar] 4"])
expect("csv CR", run("csv", ",", path("x.csv", b"a,b\r1,2\r3,4\r")), ["a=i64[scalar] 1 b=i64[scalar] 2", "a=i64[scalar] 3 b=i64[scalar] 4"])
expect("csv ranges", run("csv", ",", path("x.csv", b"a\n1e999\n-1e-999\n-1e999\n")), ["a=f64[scalar] inf", "a=f64[scalar] -0", "a=f64[scalar] -inf"])
good = b"a,b\n" + b"1,2\n" * 2000
expect_error("csv fields", run("csv", ",", path("x.csv", good + b"1\n")), "x.csv' record 2000 at byte 8004: a row of 2 fields is required, got 1")
expect_error("csv type", run("csv", ",", path("x.csv", good + b"1,x\n")), "record 2000 at byte 8004: column 'b' requires a value of i64, got 'x'")
expect_error("csv missing", run("csv", ",", path("x.csv", good + b"1,\n")), "column 'b' requires a value of i64, got ''")
expect_error("csv quote", run("csv", ",", path("x.csv", good + b'1,"2\n')), "a quote is required to be closed before the file ends")
expect_error("csv header", run("csv", ",", path("x.csv", b"a,a\n1,2\n")), "the header requires distinct names, got 'a' twice")
expect_error("csv gzip cut", run("csv", ",", path("x.csv.gz", gzip.compress(good)[:-9])), "the compressed file is truncated")
expect_error("csv gzip bad", run("csv", ",", path("x.csv.gz", gzip.compress(good)[:10] + b"\xff" * 50)), "the file is not what gzip writes")


# JSON lines: texts of Python's json, escaped and not, as its own reader has them.
for ascii_only in True, False:
    texts, wanted = [], []
    for i in range(500):
        x = {"i": choice.randrange(-2**63, 2**63), "f": choice.choice([choice.gauss(0, 1e3), choice.randrange(99), 1e-300, -0.0, None]), "t": i % 3 == 0,
             "s": choice.choice(words + ["\U0001f600 \x7f \u2028 \\ /", "\b\f\n\r\t\x01"]), "v": [choice.gauss(0, 1) for _ in range(i % 4 + 1)],
             "m": [[i, 2], [3, 4], [5, 6]], "w": ["a", "b\n"], "extra": [{"deep": [None, [], {}]}, 1]}
        line = json.dumps(x, ensure_ascii=ascii_only)
        texts.append(line + choice.choice(["\n", "\r\n", "\n\n"]))
        y = json.loads(line)
        f = float("nan") if y["f"] is None else float(y["f"])
        wanted.append(" ".join([column("i", y["i"]), column("f", f), column("t", numpy.bool_(y["t"])), column("s", y["s"]), column("v", y["v"]),
                                column("m", y["m"]), column("w", [w.encode() for w in y["w"]]), column("extra", json.dumps(y["extra"]))]))
    content = "".join(texts).encode()
    expect("jsonl", run("jsonl", path("x.jsonl", content)), wanted)
    expect("jsonl.gz", run("jsonl", path("x.jsonl.gz", gzip.compress(content))), wanted)
for bad, error in ((b'{"a": 01}', "a number, string, array, true, false or null is required"), (b'{"a": 1} x', "one object a line is required, got more"),
                   (b'{"a": [1, [2]]}', "a rectangular array is required"), (b'{"a": [[1, 2], [3]]}', "got 2 and 1 elements"), (b'{"a": "x}', "a string is required to end"),
                   (b'{"a": "\\q"}', "an escape of JSON is required"), (b'{"a": "\\ud800"}', "surrogates in pairs"), (b'{"a": "\\ud800\\u0041"}', "second half of a surrogate pair"),
                   (b'{"a": "\\u12"}', "four hexadecimal digits"), (b'{"a": 1e999}', "within the range of f64"), (b'["a"]', "'{' is required"), (b'{"a": ' + b"[" * 20 + b"]" * 20 + b"}", "at most 16 dims"),
                   (b'{"z": ' + b"[" * 2000 + b"]" * 2000 + b"}", "nested at most 1000 deep"), (b"{}", "member 'a' requires i64, got nothing"), (b'{"a": "x"}', "member 'a' requires i64, got a string"),
                   (b'{"a": 0.5}', "member 'a' requires i64, got a number"), (b'{"a": true}', "got true or false"), (b'{"a": null}', "got null")):
    expect_error("jsonl", run("jsonl", path("x.jsonl", b'{"a": 1}\n' * 1000 + bad)), error)
expect_error("jsonl place", run("jsonl", path("x.jsonl", b'{"a": 1}\n' * 1000 + b'{"a": }')), "x.jsonl' record 1000 at byte 9006: a number")


# TFRecord.
def tfrecord(records):
    return b"".join(struct.pack("<Q", len(r)) + struct.pack("<I", masked_crc(struct.pack("<Q", len(r)))) + r + struct.pack("<I", masked_crc(r))
                    for r in records)


records = [choice.randbytes(choice.choice([0, 1, 7, 300, 5000])) for _ in range(60)]
content = tfrecord(records)
wanted = [column("record", r) for r in records]
packed = {"": content, ".gz": gzip.compress(content), ".zlib": zlib.compress(content), ".2.gz": gzip.compress(content[:999]) + gzip.compress(content[999:])}
for suffix, data in packed.items():
    expect("tfrecord" + suffix, run("tfrecord", path("x.tfrecord" + suffix, data)), wanted)
for suffix in "", ".gz", ".zlib":
    written = path("written.tfrecord" + suffix)
    run("write", written, stdin="".join(r.hex() + "\n" for r in records))
    with open(written, "rb") as f:
        data = f.read()
    data = gzip.decompress(data) if suffix == ".gz" else zlib.decompress(data) if suffix else data
    expect("tfrecord written" + suffix, [data.hex()], [content.hex()])
first = len(tfrecord(records[:30]))
bad = bytearray(content)
bad[first + 3] ^= 1
expect_error("tfrecord length", run("tfrecord", path("bad.tfrecord", bad)), f"record 30 at byte {first}: a length's checksum does not fit")
expect_error("tfrecord cut", run("tfrecord", path("bad.tfrecord", content[:-1])), f"record 59 at byte {len(tfrecord(records[:59]))}: a record of")
expect_error("tfrecord head", run("tfrecord", path("bad.tfrecord", content + b"abc")), "a record requires 12 bytes of length and checksum, got 3")
bad = bytearray(content)
bad[-1] ^= 1
expect_error("tfrecord crc", run("tfrecord", path("bad.tfrecord", bad)), "record 59 at byte")
huge = struct.pack("<Q", 1 << 60)
expect_error("tfrecord huge", run("tfrecord", path("bad.tfrecord", huge + struct.pack("<I", masked_crc(huge)))), "a record requires at most 268435456 bytes, got 1152921504606846976")
bomb = struct.pack("<Q", 200 << 20)
bomb = zlib.compress(bomb + struct.pack("<I", masked_crc(bomb)) + bytes(1 << 22))
expect_error("tfrecord bomb", run("tfrecord", path("bomb.tfrecord.zlib", bomb)), "a record of 209715200 bytes is truncated")

# tf.Example by protobuf's own package: the message types from their public description.
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

f = descriptor_pb2.FileDescriptorProto(name="example.proto", package="t", syntax="proto3")


def message(name, *fields):
    m = f.message_type.add(name=name)
    for i, (field, kind, label) in enumerate(fields):
        d = m.field.add(name=field, number=i + 1, label=3 if label == "repeated" else 1)
        if isinstance(kind, int):
            d.type = kind
        else:
            d.type, d.type_name = 11, ".t." + kind
        if label == "one":
            d.oneof_index = 0
    if any(label == "one" for _, _, label in fields):
        m.oneof_decl.add(name="kind")
    return m


def with_map(name, field, value):
    m = message(name, (field, f"{name}.Entry", "repeated"))
    entry = m.nested_type.add(name="Entry")
    entry.field.add(name="key", number=1, label=1, type=9)
    entry.field.add(name="value", number=2, label=1, type=11, type_name=".t." + value)
    entry.options.map_entry = True
    m.field[0].name, entry.name = field, "".join(p.capitalize() for p in field.split("_")) + "Entry"
    m.field[0].type_name = f".t.{name}.{entry.name}"


message("BytesList", ("value", 12, "repeated"))
message("FloatList", ("value", 2, "repeated"))
message("Int64List", ("value", 3, "repeated"))
message("Feature", ("bytes_list", "BytesList", "one"), ("float_list", "FloatList", "one"), ("int64_list", "Int64List", "one"))
message("FeatureList", ("feature", "Feature", "repeated"))
with_map("Features", "feature", "Feature")
with_map("FeatureLists", "feature_list", "FeatureList")
message("Example", ("features", "Features", ""))
message("SequenceExample", ("context", "Features", ""), ("feature_lists", "FeatureLists", ""))
pool = descriptor_pool.DescriptorPool()
pool.Add(f)
Example, Sequence = (message_factory.GetMessageClass(pool.FindMessageTypeByName("t." + n)) for n in ("Example", "SequenceExample"))
examples, wanted = [], []
for i in range(40):
    e = Example()
    e.features.feature["n"].int64_list.value.extend(choice.randrange(-2**63, 2**63) for _ in range(choice.randrange(1, 5)))
    e.features.feature["f"].float_list.value.extend(choice.gauss(0, 1) for _ in range(choice.randrange(1, 5)))
    e.features.feature["s"].bytes_list.value.extend(choice.randbytes(choice.randrange(9)) for _ in range(choice.randrange(1, 5)))
    examples.append(e.SerializeToString(deterministic=True))
    kinds = {"n": numpy.array(e.features.feature["n"].int64_list.value, "i8"), "f": numpy.array(e.features.feature["f"].float_list.value, "f4"),
             "s": list(e.features.feature["s"].bytes_list.value)}
    wanted.append(sorted(column(k, v) for k, v in kinds.items()))
got = run("example", path("x.tfrecord", tfrecord(examples)))
expect("example", [sorted(" ".join(l.replace(" n=", "\nn=").replace(" f=", "\nf=").replace(" s=", "\ns=").split(" ")).split("\n")) for l in got], wanted)
sequences, wanted = [], []
for i in range(20):
    s = Sequence()
    s.context.feature["id"].int64_list.value.append(i)
    steps = choice.randrange(4)
    texts = [choice.randbytes(3) for _ in range(steps)]
    frames = rng.standard_normal((steps, 3)).astype("f4")
    s.feature_lists.feature_list["words"].feature.extend([])
    s.feature_lists.feature_list["frames"].feature.extend([])
    for t, frame in zip(texts, frames):
        s.feature_lists.feature_list["words"].feature.add().bytes_list.value.append(t)
        s.feature_lists.feature_list["frames"].feature.add().float_list.value.extend(frame)
    sequences.append(s.SerializeToString())
    wanted.append(" ".join([column("id", i), column("words", texts) if texts else "words=bytes[0]", column("frames", frames)]))
expect("sequence", run("sequence", path("x.tfrecord", tfrecord(sequences))), wanted)
expect_error("example cut", run("example", path("x.tfrecord", tfrecord([examples[0][:-1]]))), "a tf.Example requires fields within their message")
expect_error("example lacks", run("sequence", path("x.tfrecord", tfrecord([b""]))), "feature 'id' is required, the record lacks it")

# Ours, read by protobuf.
run("makeexample", path("ours.tfrecord"))


def records_of(name):
    with open(path(name), "rb") as file:
        data = file.read()
    while data:
        size = struct.unpack("<Q", data[:8])[0]
        yield data[12:12 + size]
        data = data[16 + size:]


ours = [Example.FromString(r).features.feature for r in records_of("ours.tfrecord")]
expect("example written",
       [list(ours[0]["a"].int64_list.value), list(ours[0]["b"].float_list.value), list(ours[0]["c"].bytes_list.value),
        list(ours[0]["d"].int64_list.value), list(ours[0]["e"].float_list.value), ours[0]["none"].WhichOneof("kind"), len(ours[1])],
       [[1, -2, -2**63, 2**63 - 1], [1.5, -0.25], [b"x", b"\0\xff"], [255], [0.5], "int64_list", 0])
s = Sequence.FromString(next(records_of("ours.tfrecord.sequences")))
lists = s.feature_lists.feature_list
expect("sequence written",
       [list(s.context.feature["id"].int64_list.value), [x.bytes_list.value[0] for x in lists["words"].feature],
        [list(x.float_list.value) for x in lists["frames"].feature]], [[7], [b"the", b"cat"], [[1, 2, 3], [4, 5, 6]]])
print(f"{failures} failures")
sys.exit(failures > 0)
